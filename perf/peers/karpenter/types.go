package main

import (
	"sort"

	corev1 "k8s.io/api/core/v1"
	v1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/scheduling"
)

// registerLabels makes every label of the offerings one that pods may select on, as a cloud provider does for its own labels.
func registerLabels(types []instanceType) {
	for _, t := range types {
		for _, o := range t.Offerings {
			for key := range o.Labels {
				v1.WellKnownLabels.Insert(key)
			}
		}
	}
}

// instanceTypes gives Karpenter the same machines that we plan with. Capacity is our allocatable and the overhead is zero, so
// that both sides have the same room. A label that a type lacks is required not to exist, as cloud providers say it.
func instanceTypes(types []instanceType) []*cloudprovider.InstanceType {
	keys := map[string]bool{}
	for _, t := range types {
		for _, o := range t.Offerings {
			for key := range o.Labels {
				keys[key] = true
			}
		}
	}
	out := make([]*cloudprovider.InstanceType, 0, len(types))
	for _, t := range types {
		out = append(out, newInstanceType(t, keys))
	}
	return out
}

func newInstanceType(t instanceType, keys map[string]bool) *cloudprovider.InstanceType {
	values := map[string]map[string]bool{}
	for key := range keys {
		values[key] = map[string]bool{}
	}
	offerings := cloudprovider.Offerings{}
	for _, o := range t.Offerings {
		own := map[string]string{}
		for key, value := range o.Labels {
			own[key] = value
		}
		own[corev1.LabelTopologyZone], own[v1.CapacityTypeLabelKey] = o.Zone, o.CapacityType
		for key, value := range own {
			if values[key] == nil {
				values[key] = map[string]bool{}
			}
			values[key][value] = true
		}
		offerings = append(offerings, &cloudprovider.Offering{
			Price: o.Price, Available: o.Available, Requirements: scheduling.NewLabelRequirements(own),
		})
	}
	requirements := scheduling.NewRequirements(scheduling.NewRequirement(corev1.LabelInstanceTypeStable, corev1.NodeSelectorOpIn, t.Name))
	for key, set := range values {
		if len(set) == 0 {
			requirements.Add(scheduling.NewRequirement(key, corev1.NodeSelectorOpDoesNotExist))
			continue
		}
		list := make([]string, 0, len(set))
		for value := range set {
			list = append(list, value)
		}
		sort.Strings(list)
		requirements.Add(scheduling.NewRequirement(key, corev1.NodeSelectorOpIn, list...))
	}
	keepDiffering(offerings, values)
	return &cloudprovider.InstanceType{
		Name: t.Name, Requirements: requirements, Offerings: offerings, Capacity: t.Allocatable,
		Overhead: &cloudprovider.InstanceTypeOverhead{},
	}
}

// keepDiffering leaves an offering only the requirements in which the type's offerings differ: what they share, the type says
// already, and Karpenter's providers too give offerings zone and capacity type only. It keeps Solve as fast as theirs.
func keepDiffering(offerings cloudprovider.Offerings, values map[string]map[string]bool) {
	for _, o := range offerings {
		for key := range o.Requirements {
			if key != corev1.LabelTopologyZone && key != v1.CapacityTypeLabelKey && len(values[key]) == 1 {
				delete(o.Requirements, key)
			}
		}
	}
}
