// Command filters replays plans through kube-scheduler's own filter plugins.
//
// It reads one replay a line from standard input and writes one verdict a line to standard output, both JSON. A replay is a
// cluster (nodes, the pods bound to them, and the namespaces, volumes and claims that matter), steps (a pod and the node it is
// to go to, in order) and leftovers (pods that the plan leaves unplaced). Each step is judged against the cluster as the steps
// before it left it, then carried out even if it was refused; with probe, each is tried on every node first. Each leftover is
// tried on every node at the end.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"sort"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/metrics"
)

type replay struct {
	Nodes     []*v1.Node        `json:"nodes"`
	Pods      []*v1.Pod         `json:"pods"`
	Objects   []json.RawMessage `json:"objects"`
	Steps     []step            `json:"steps"`
	Leftovers []*v1.Pod         `json:"leftovers"`
	Probe     bool              `json:"probe"`
}

// step: a pod and its node; an empty node is a probe alone.
type step struct {
	Pod  *v1.Pod `json:"pod"`
	Node string  `json:"node"`
}

type verdict struct {
	Refusals []refusal    `json:"refusals"`
	Accepted []acceptance `json:"accepted"`
	// Takers says for each step which nodes would take the pod at that moment, if the replay asked to probe.
	Takers [][]string `json:"takers,omitempty"`
	Error  string     `json:"error,omitempty"`
}

// refusal: kube-scheduler would not put the pod there at that moment.
type refusal struct {
	Pod     string   `json:"pod"`
	Node    string   `json:"node"`
	Plugin  string   `json:"plugin"`
	Reasons []string `json:"reasons"`
}

// acceptance: a leftover pod that these nodes would still take.
type acceptance struct {
	Pod   string   `json:"pod"`
	Nodes []string `json:"nodes"`
}

func main() {
	klog.SetLogger(klog.Logger{})
	metrics.Register()
	if err := serve(context.Background(), os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "filters:", err)
		os.Exit(1)
	}
}

func serve(ctx context.Context, in io.Reader, out io.Writer) error {
	decoder, writer := json.NewDecoder(bufio.NewReaderSize(in, 1<<20)), bufio.NewWriter(out)
	encoder := json.NewEncoder(writer)
	for {
		var request replay
		if err := decoder.Decode(&request); err == io.EOF {
			return nil
		} else if err != nil {
			return fmt.Errorf("reading a replay: %w", err)
		}
		answer, err := judge(ctx, &request)
		if err != nil {
			answer = &verdict{Error: err.Error()}
		}
		if err := encoder.Encode(answer); err != nil {
			return err
		}
		if err := writer.Flush(); err != nil {
			return err
		}
	}
}

func judge(ctx context.Context, request *replay) (*verdict, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	objects, err := decode(request.Objects)
	if err != nil {
		return nil, err
	}
	pods := append([]*v1.Pod{}, request.Pods...)
	for _, s := range request.Steps {
		pods = append(pods, s.Pod)
	}
	state, err := newCluster(request.Nodes, request.Pods)
	if err != nil {
		return nil, err
	}
	f, err := newFilters(ctx, state, withNamespaces(objects, append(pods, request.Leftovers...)))
	if err != nil {
		return nil, err
	}
	answer := &verdict{Refusals: []refusal{}, Accepted: []acceptance{}}
	for _, s := range request.Steps {
		if request.Probe {
			takers, err := f.takers(ctx, s.Pod)
			if err != nil {
				return nil, err
			}
			answer.Takers = append(answer.Takers, takers)
		}
		if s.Node == "" {
			continue
		}
		if err := f.carryOut(ctx, s, answer); err != nil {
			return nil, err
		}
	}
	for _, pod := range request.Leftovers {
		takers, err := f.takers(ctx, pod)
		if err != nil {
			return nil, err
		}
		if len(takers) > 0 {
			answer.Accepted = append(answer.Accepted, acceptance{Pod: key(pod), Nodes: takers})
		}
	}
	return answer, nil
}

func (f *filters) carryOut(ctx context.Context, s step, answer *verdict) error {
	node, err := f.cluster.Get(s.Node)
	if err != nil {
		return err
	}
	refused, err := f.refusals(ctx, s.Pod, []fwk.NodeInfo{node})
	if err != nil {
		return err
	}
	if why, ok := refused[s.Node]; ok {
		answer.Refusals = append(answer.Refusals, why)
	}
	bound := s.Pod.DeepCopy()
	bound.Spec.NodeName = s.Node
	return f.cluster.assume(bound)
}

// takers are the names of all nodes that would take the pod now, sorted.
func (f *filters) takers(ctx context.Context, pod *v1.Pod) ([]string, error) {
	refused, err := f.refusals(ctx, pod, f.cluster.all)
	if err != nil {
		return nil, err
	}
	takers := []string{}
	for name := range f.cluster.byName {
		if _, ok := refused[name]; !ok {
			takers = append(takers, name)
		}
	}
	sort.Strings(takers)
	return takers, nil
}

func decode(raw []json.RawMessage) ([]runtime.Object, error) {
	objects := make([]runtime.Object, 0, len(raw))
	for _, text := range raw {
		object, _, err := scheme.Codecs.UniversalDeserializer().Decode(text, nil, nil)
		if err != nil {
			return nil, fmt.Errorf("object %.80s: %w", text, err)
		}
		objects = append(objects, object)
	}
	return objects, nil
}
