package main

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/latest"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodevolumelimits"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
)

// filterPlugins are the default profile's plugins that decide whether a pod may run on a node, in the default order. Sorting
// and binding are there because a profile must have them; preemption, scoring, devices by claim and gangs are left out.
var filterPlugins = []string{
	names.PrioritySort, names.NodeUnschedulable, names.NodeName, names.TaintToleration, names.NodeAffinity, names.NodePorts,
	names.NodeResourcesFit, names.VolumeRestrictions, names.NodeVolumeLimits, names.VolumeBinding, names.VolumeZone,
	names.PodTopologySpread, names.InterPodAffinity, names.DefaultBinder,
}

// filters runs kube-scheduler's own PreFilter and Filter plugins over a cluster.
type filters struct {
	framework framework.Framework
	cluster   *cluster
}

// newFilters builds the framework over the cluster. objects are all else that the plugins read: namespaces, volumes, claims, classes.
func newFilters(ctx context.Context, c *cluster, objects []runtime.Object) (*filters, error) {
	client := fake.NewClientset(objects...)
	factory := informers.NewSharedInformerFactory(client, 0)
	profile, err := profileOf(filterPlugins)
	if err != nil {
		return nil, err
	}
	f, err := frameworkruntime.NewFramework(ctx, plugins.NewInTreeRegistry(), profile,
		frameworkruntime.WithClientSet(client),
		frameworkruntime.WithInformerFactory(factory),
		frameworkruntime.WithSnapshotSharedLister(c),
		frameworkruntime.WithSharedCSIManager(nodevolumelimits.NewCSIManager(factory.Storage().V1().CSINodes().Lister())),
		frameworkruntime.WithParallelism(1),
	)
	if err != nil {
		return nil, err
	}
	if err := fill(ctx, factory, objects); err != nil {
		return nil, err
	}
	return &filters{framework: f, cluster: c}, nil
}

// fill lets the informers read the objects. Waiting for informers takes a tenth of a second, so an input that has nothing but
// namespaces is written into their store directly.
func fill(ctx context.Context, factory informers.SharedInformerFactory, objects []runtime.Object) error {
	for _, object := range objects {
		if _, ok := object.(*v1.Namespace); !ok {
			factory.Start(ctx.Done())
			factory.WaitForCacheSync(ctx.Done())
			return nil
		}
	}
	for _, object := range objects {
		if err := factory.Core().V1().Namespaces().Informer().GetIndexer().Add(object); err != nil {
			return err
		}
	}
	return nil
}

// profileOf is the default profile, with its default arguments, of the named plugins only.
func profileOf(wanted []string) (*config.KubeSchedulerProfile, error) {
	defaults, err := latest.Default()
	if err != nil {
		return nil, err
	}
	profile := defaults.Profiles[0]
	enabled := map[string]config.Plugin{}
	for _, plugin := range profile.Plugins.MultiPoint.Enabled {
		enabled[plugin.Name] = plugin
	}
	kept := config.PluginSet{}
	for _, name := range wanted {
		plugin, ok := enabled[name]
		if !ok {
			return nil, fmt.Errorf("plugin %s is not in the default profile", name)
		}
		kept.Enabled = append(kept.Enabled, plugin)
	}
	profile.Plugins = &config.Plugins{MultiPoint: kept}
	return &profile, nil
}

// refusals says which of the nodes refuse the pod now, and why. Nodes that would take it are absent.
func (f *filters) refusals(ctx context.Context, pod *v1.Pod, nodes []fwk.NodeInfo) (map[string]refusal, error) {
	state := framework.NewCycleState()
	allowed, status, _ := f.framework.RunPreFilterPlugins(ctx, state, pod)
	out := map[string]refusal{}
	for _, node := range nodes {
		name, verdict := node.Node().Name, status
		switch {
		case !status.IsSuccess():
		case !allowed.AllNodes() && !allowed.NodeNames.Has(name):
			verdict = fwk.NewStatus(fwk.UnschedulableAndUnresolvable, "not among the nodes that PreFilter allows").WithPlugin(names.NodeAffinity)
		default:
			verdict = f.framework.RunFilterPlugins(ctx, state, pod, node)
		}
		if verdict.Code() == fwk.Error {
			return nil, fmt.Errorf("pod %s on node %s: %w", key(pod), name, verdict.AsError())
		}
		if !verdict.IsSuccess() {
			out[name] = refusal{Pod: key(pod), Node: name, Plugin: verdict.Plugin(), Reasons: verdict.Reasons()}
		}
	}
	return out, nil
}

func key(pod *v1.Pod) string { return pod.Namespace + "/" + pod.Name }

// withNamespaces adds the namespaces that pods live in and that nobody described: InterPodAffinity looks them up.
func withNamespaces(objects []runtime.Object, pods []*v1.Pod) []runtime.Object {
	known := map[string]bool{}
	for _, object := range objects {
		if namespace, ok := object.(*v1.Namespace); ok {
			if namespace.Labels == nil {
				namespace.Labels = map[string]string{}
			}
			namespace.Labels[v1.LabelMetadataName] = namespace.Name
			known[namespace.Name] = true
		}
	}
	for _, pod := range pods {
		if !known[pod.Namespace] {
			known[pod.Namespace] = true
			objects = append(objects, &v1.Namespace{ObjectMeta: metav1.ObjectMeta{
				Name: pod.Namespace, Labels: map[string]string{v1.LabelMetadataName: pod.Namespace}}})
		}
	}
	return objects
}
