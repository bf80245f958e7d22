package main

import (
	"context"
	"errors"
	"sort"
	"syscall"
	"time"

	"github.com/awslabs/operatorpkg/status"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"
	fakeclient "sigs.k8s.io/controller-runtime/pkg/client/fake"
	v1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/controllers/provisioning/scheduling"
	"sigs.k8s.io/karpenter/pkg/controllers/state"
	"sigs.k8s.io/karpenter/pkg/events"
	"sigs.k8s.io/karpenter/pkg/operator/injection"
	"sigs.k8s.io/karpenter/pkg/operator/options"
)

// solve runs one repeat from scratch: instance types, cluster, topology and scheduler are all new.
func solve(ctx context.Context, p *problem) (*run, error) {
	ctx = options.ToContext(injection.WithControllerName(ctx, "provisioner"), &options.Options{
		CPURequests: 1000, PreferencePolicy: options.PreferencePolicyRespect, MinValuesPolicy: options.MinValuesPolicyStrict,
		IgnoreDRARequests: true, FeatureGates: options.DefaultFeatureGates(),
	})
	pods := make([]*corev1.Pod, len(p.Pods))
	for i, pod := range p.Pods {
		pods[i] = pod.DeepCopy()
	}
	started := time.Now()
	scheduler, err := newScheduler(ctx, p, pods)
	if err != nil {
		return nil, err
	}
	out := &run{SetupSeconds: time.Since(started).Seconds(), Claims: []claim{}, Errors: map[string]string{}}
	limited := ctx
	if p.TimeoutSeconds > 0 {
		var cancel context.CancelFunc
		limited, cancel = context.WithTimeout(ctx, time.Duration(p.TimeoutSeconds*float64(time.Second)))
		defer cancel()
	}
	started, busy := time.Now(), processorSeconds()
	results, err := scheduler.Solve(limited, pods)
	out.Seconds, out.ProcessorSeconds = time.Since(started).Seconds(), processorSeconds()-busy
	// As in the provisioner: a time-out keeps what was scheduled until then.
	if out.TimedOut = errors.Is(err, context.DeadlineExceeded); err != nil && !out.TimedOut {
		return nil, err
	}
	results = results.TruncateInstanceTypes(ctx, scheduling.MaxInstanceTypes)
	for _, nodeClaim := range results.NewNodeClaims {
		out.Claims = append(out.Claims, launch(nodeClaim))
	}
	for pod, why := range results.PodErrors {
		out.Errors[pod.Namespace+"/"+pod.Name] = why.Error()
	}
	return out, nil
}

// processorSeconds that this process has used, garbage collection included.
func processorSeconds() float64 {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return 0
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano()).Seconds()
}

// newScheduler makes what Karpenter's Provisioner.NewScheduler makes for one node pool and an empty cluster.
func newScheduler(ctx context.Context, p *problem, pods []*corev1.Pod) (*scheduling.Scheduler, error) {
	pool := &v1.NodePool{
		ObjectMeta: metav1.ObjectMeta{Name: "default"},
		Spec: v1.NodePoolSpec{
			Limits: v1.Limits(p.Limits),
			Template: v1.NodeClaimTemplate{Spec: v1.NodeClaimTemplateSpec{
				NodeClassRef: &v1.NodeClassReference{Group: "bayplan.io", Kind: "NodeClass", Name: "default"},
				Taints:       p.Taints,
			}},
		},
	}
	types := map[string][]*cloudprovider.InstanceType{pool.Name: instanceTypes(p.InstanceTypes)}
	pools := []*v1.NodePool{pool}
	client := fakeclient.NewClientBuilder().WithScheme(scheme.Scheme).Build()
	real := clock.RealClock{}
	cluster := state.NewCluster(real, client, provider{})
	opts := []scheduling.Options{
		scheduling.DisableReservedCapacityFallback,
		scheduling.NumConcurrentReconciles(1),
		scheduling.MinValuesPolicy(options.MinValuesPolicyStrict),
	}
	topology, err := scheduling.NewTopology(ctx, client, cluster, nil, pools, types, pods, opts...)
	if err != nil {
		return nil, err
	}
	return scheduling.NewScheduler(ctx, client, pools, cluster, nil, topology, types, p.Daemons,
		events.NewRecorder(&record.FakeRecorder{}), real, nil, nil, opts...), nil
}

// launch picks the cheapest available offering that is compatible with the claim; ties by name and zone.
func launch(nodeClaim *scheduling.NodeClaim) claim {
	out := claim{Options: len(nodeClaim.InstanceTypeOptions), Pods: []string{}}
	for _, pod := range nodeClaim.Pods {
		out.Pods = append(out.Pods, pod.Namespace+"/"+pod.Name)
	}
	sort.Strings(out.Pods)
	best := -1.0
	for _, it := range nodeClaim.InstanceTypeOptions {
		for _, o := range it.Offerings.Available().Compatible(nodeClaim.Requirements) {
			name, zone, capacity := it.Name, o.Zone(), o.CapacityType()
			if best < 0 || o.Price < best || o.Price == best && lessThan(name, zone, capacity, &out) {
				best, out.InstanceType, out.Zone, out.CapacityType = o.Price, name, zone, capacity
			}
		}
	}
	return out
}

func lessThan(name, zone, capacity string, other *claim) bool {
	if name != other.InstanceType {
		return name < other.InstanceType
	}
	if zone != other.Zone {
		return zone < other.Zone
	}
	return capacity < other.CapacityType
}

// provider is a cloud provider that is never asked for anything: the scheduler gets its instance types directly.
type provider struct{}

func (provider) Create(context.Context, *v1.NodeClaim) (*v1.NodeClaim, error) { return nil, errUnused }
func (provider) Delete(context.Context, *v1.NodeClaim) error                  { return errUnused }
func (provider) Get(context.Context, string) (*v1.NodeClaim, error)           { return nil, errUnused }
func (provider) List(context.Context) ([]*v1.NodeClaim, error)                { return nil, errUnused }
func (provider) Name() string                                                 { return "bayplan" }
func (provider) RepairPolicies() []cloudprovider.RepairPolicy                 { return nil }
func (provider) GetSupportedNodeClasses() []status.Object                     { return nil }

func (provider) GetInstanceTypes(context.Context, *v1.NodePool) ([]*cloudprovider.InstanceType, error) {
	return nil, errUnused
}

func (provider) IsDrifted(context.Context, *v1.NodeClaim) (cloudprovider.DriftReason, error) {
	return "", errUnused
}

var errUnused = errors.New("this cloud provider only offers instance types")
