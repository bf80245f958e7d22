// Command karpenter-peer packs pods with Karpenter's own scheduler, so that its plans can be compared with ours.
//
// It reads one problem as JSON from standard input and writes JSON to standard output: for each repeat the seconds that Solve
// took, and the machines that Karpenter would launch with their pods. Everything around the scheduler is as its provisioner has
// it (one worker, strict reserved capacity, results truncated to the instance types that one launch may name), except that the
// client is a fake, the cluster is empty, and nothing is launched: the launch is the cheapest available offering that is
// compatible with the claim.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

type problem struct {
	InstanceTypes []instanceType      `json:"instanceTypes"`
	Taints        []corev1.Taint      `json:"taints"`
	Limits        corev1.ResourceList `json:"limits"`
	Pods          []*corev1.Pod       `json:"pods"`
	// Daemons are pods, one for each DaemonSet.
	Daemons []*corev1.Pod `json:"daemons"`
	Repeats int           `json:"repeats"`
	// TimeoutSeconds stops one Solve; 0 is never. Karpenter's provisioner gives it a minute.
	TimeoutSeconds float64 `json:"timeoutSeconds"`
}

type instanceType struct {
	Name        string              `json:"name"`
	Allocatable corev1.ResourceList `json:"allocatable"`
	Offerings   []offering          `json:"offerings"`
}

type offering struct {
	Zone         string            `json:"zone"`
	CapacityType string            `json:"capacityType"`
	Price        float64           `json:"price"`
	Available    bool              `json:"available"`
	Labels       map[string]string `json:"labels"`
}

type answer struct {
	Repeats []run `json:"repeats"`
}

type run struct {
	// SetupSeconds built the topology and the scheduler; Seconds is Solve alone, by the wall clock, ProcessorSeconds what it computed.
	SetupSeconds     float64           `json:"setupSeconds"`
	Seconds          float64           `json:"seconds"`
	ProcessorSeconds float64           `json:"processorSeconds"`
	TimedOut         bool              `json:"timedOut"`
	Claims           []claim           `json:"claims"`
	Errors           map[string]string `json:"errors"`
}

// claim is one machine that Karpenter would launch. Options is how many instance types it left to the launch.
type claim struct {
	InstanceType string   `json:"instanceType"`
	Zone         string   `json:"zone"`
	CapacityType string   `json:"capacityType"`
	Options      int      `json:"options"`
	Pods         []string `json:"pods"`
}

func main() {
	log.SetLogger(logr.Discard())
	var p problem
	if err := json.NewDecoder(os.Stdin).Decode(&p); err != nil {
		fail("reading the problem: %v", err)
	}
	registerLabels(p.InstanceTypes)
	out := answer{}
	for i := range max(1, p.Repeats) {
		one, err := solve(context.Background(), &p)
		if err != nil {
			fail("repeat %d: %v", i, err)
		}
		out.Repeats = append(out.Repeats, *one)
		fmt.Fprintf(os.Stderr, "karpenter: repeat %d: %d machines, %d pods left, %s\n", i+1, len(one.Claims), len(one.Errors),
			time.Duration(one.Seconds*float64(time.Second)).Round(time.Millisecond))
	}
	if err := json.NewEncoder(os.Stdout).Encode(out); err != nil {
		fail("writing the answer: %v", err)
	}
}

func fail(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "karpenter-peer: "+format+"\n", args...)
	os.Exit(1)
}
