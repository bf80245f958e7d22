package main

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// cluster is the scheduler's view of nodes and the pods on them. It stands in for the scheduler's own snapshot, whose
// AssumePod leaves the lists of nodes with (anti-)affinity pods as they were, so that a replay step by step would miss them.
type cluster struct {
	byName       map[string]*framework.NodeInfo
	all          []fwk.NodeInfo
	affinity     []fwk.NodeInfo
	antiAffinity []fwk.NodeInfo
	claims       map[string]bool
}

func newCluster(nodes []*v1.Node, pods []*v1.Pod) (*cluster, error) {
	c := &cluster{byName: map[string]*framework.NodeInfo{}, claims: map[string]bool{}}
	for _, node := range nodes {
		info := framework.NewNodeInfo()
		info.SetNode(node)
		c.byName[node.Name] = info
		c.all = append(c.all, info)
	}
	for _, pod := range pods {
		// kube-scheduler's informer leaves out pods that have finished: they hold nothing.
		if pod.Status.Phase == v1.PodSucceeded || pod.Status.Phase == v1.PodFailed {
			continue
		}
		if err := c.assume(pod); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// assume puts a pod whose spec.nodeName is set onto its node.
func (c *cluster) assume(pod *v1.Pod) error {
	info, ok := c.byName[pod.Spec.NodeName]
	if !ok {
		return fmt.Errorf("pod %s/%s is on node %q, which is not in the input", pod.Namespace, pod.Name, pod.Spec.NodeName)
	}
	podInfo, err := framework.NewPodInfo(pod)
	if err != nil {
		return fmt.Errorf("pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	hadAffinity, hadAnti := len(info.PodsWithAffinity) > 0, len(info.PodsWithRequiredAntiAffinity) > 0
	info.AddPodInfo(podInfo)
	if !hadAffinity && len(info.PodsWithAffinity) > 0 {
		c.affinity = append(c.affinity, info)
	}
	if !hadAnti && len(info.PodsWithRequiredAntiAffinity) > 0 {
		c.antiAffinity = append(c.antiAffinity, info)
	}
	for _, volume := range pod.Spec.Volumes {
		if volume.PersistentVolumeClaim != nil {
			c.claims[pod.Namespace+"/"+volume.PersistentVolumeClaim.ClaimName] = true
		}
	}
	return nil
}

// The scheduler's lister interfaces.

func (c *cluster) NodeInfos() fwk.NodeInfoLister           { return c }
func (c *cluster) StorageInfos() fwk.StorageInfoLister     { return c }
func (c *cluster) PodGroupStates() fwk.PodGroupStateLister { return nil }
func (c *cluster) List() ([]fwk.NodeInfo, error)           { return c.all, nil }
func (c *cluster) IsPVCUsedByPods(key string) bool         { return c.claims[key] }

func (c *cluster) HavePodsWithAffinityList() ([]fwk.NodeInfo, error) { return c.affinity, nil }

func (c *cluster) HavePodsWithRequiredAntiAffinityList() ([]fwk.NodeInfo, error) {
	return c.antiAffinity, nil
}

func (c *cluster) Get(name string) (fwk.NodeInfo, error) {
	if info, ok := c.byName[name]; ok {
		return info, nil
	}
	return nil, fmt.Errorf("no node %q", name)
}
