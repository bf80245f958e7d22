"""The same problem as Kubernetes objects and plain offerings, for programs of others: Karpenter's scheduler, kube-scheduler's filters.

What has no place in a manifest is refused rather than lost (volumes that are already resolved, exclusive claims).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from packer.model import (
    CPU,
    PODS,
    Daemon,
    Node,
    NodeTerm,
    Offering,
    Operator,
    Pod,
    PodAffinityTerm,
    PodSpec,
    Problem,
    Requirement,
    Resources,
    Selector,
    SpreadConstraint,
    Taint,
)

Object = dict[str, Any]
NATIVE = ("cpu", "memory", "ephemeral-storage", "pods")


def to_kubernetes(problem: Problem) -> list[Object]:
    """Nodes, the pods that run on them, daemon sets and waiting pods, in this order."""
    running = [pod_object(pod, node.name) for node in problem.nodes for pod in node.pods]
    return [
        *map(node_object, problem.nodes),
        *running,
        *map(daemon_object, problem.daemons),
        *map(pod_object, problem.pods),
    ]


def offerings_json(offerings: Iterable[Offering]) -> list[Object]:
    """Offerings with integer resources (millicores, bytes, counts) and prices (micro-dollars an hour)."""
    return [
        {
            "provider": o.key.provider,
            "region": o.key.region,
            "zone": o.key.zone,
            "instanceType": o.key.instance_type,
            "capacityType": o.key.capacity_type,
            "priceMicrousdPerHour": o.price_microusd_per_hour,
            "allocatable": dict(o.allocatable),
            "labels": dict(o.labels),
            "taints": _taints(o.taints),
            "availableCount": o.available_count,
        }
        for o in offerings
    ]


def write(problem: Problem, path: Path) -> None:
    """One JSON file: ``{"objects": [...], "offerings": [...]}``."""
    document = {"objects": to_kubernetes(problem), "offerings": offerings_json(problem.offerings)}
    path.write_text(json.dumps(document, separators=(",", ":")), encoding="utf-8")


def pod_object(pod: Pod, node_name: str = "") -> Object:
    """A waiting pod, or with ``node_name`` one that runs there."""
    spec = _pod_spec(pod.spec, pod.namespace)
    if pod.priority:
        spec["priority"] = pod.priority
    if node_name:
        spec["nodeName"] = node_name
    metadata = {"name": pod.name, "namespace": pod.namespace, "uid": pod.uid, "labels": dict(pod.labels)}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": spec,
        "status": {"phase": "Running" if node_name else "Pending"},
    }


def daemon_object(daemon: Daemon) -> Object:
    labels = {"daemon": daemon.name, **daemon.labels}
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": daemon.name, "namespace": daemon.namespace},
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": _pod_spec(daemon.spec, daemon.namespace)},
        },
    }


def node_object(node: Node) -> Object:
    allocatable = quantities(node.allocatable)
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": node.name, "labels": dict(node.labels)},
        "spec": {"taints": _taints(node.taints)},
        "status": {
            "allocatable": allocatable,
            "capacity": allocatable,
            "conditions": [{"type": "Ready", "status": "True" if node.ready else "False"}],
        },
    }


def quantities(resources: Resources) -> dict[str, str]:
    """cpu as millicores, all else as plain integers: exact."""
    return {name: f"{amount}m" if name == CPU else str(amount) for name, amount in resources.items()}


def _pod_spec(spec: PodSpec, namespace: str) -> Object:
    if spec.volume_terms or spec.exclusive_claims:
        raise ValueError("volumes cannot be written back as a manifest")
    requests = quantities({name: amount for name, amount in spec.requests.items() if name != PODS})
    extended = {name: amount for name, amount in requests.items() if name not in NATIVE}
    container: Object = {"name": "main", "image": "registry.example/app:1", "resources": {"requests": requests, "limits": extended}}
    if spec.host_ports:
        container["ports"] = [
            {"containerPort": p.port, "hostPort": p.port, "protocol": p.protocol, "hostIP": p.ip} for p in spec.host_ports
        ]
    out: Object = {"containers": [container]}
    if affinity := _affinity(spec, namespace):
        out["affinity"] = affinity
    if spec.tolerations:
        fields = ("key", "operator", "value", "effect")
        out["tolerations"] = [{f: getattr(t, f) for f in fields if getattr(t, f)} for t in spec.tolerations]
    if spec.spread:
        out["topologySpreadConstraints"] = [_spread(constraint) for constraint in spec.spread]
    return out


def _affinity(spec: PodSpec, namespace: str) -> Object:
    """``selector`` is joined to each required term: both forms are ANDed by kube-scheduler (NodeAffinity)."""
    out: Object = {}
    if spec.selector or spec.node_terms is not None:
        terms = (NodeTerm(),) if spec.node_terms is None else spec.node_terms
        joined = [
            _node_term(NodeTerm((*spec.selector, *t.expressions), t.fields)) for t in terms if spec.node_terms is None or t != NodeTerm()
        ]
        out["nodeAffinity"] = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": joined or [{}]}}
    if spec.preferred_terms:
        wishes = [{"weight": weight, "preference": _node_term(term)} for weight, term in spec.preferred_terms]
        out.setdefault("nodeAffinity", {})["preferredDuringSchedulingIgnoredDuringExecution"] = wishes
    for name, required, preferred in (
        ("podAffinity", spec.affinity, spec.preferred_affinity),
        ("podAntiAffinity", spec.anti_affinity, spec.preferred_anti_affinity),
    ):
        part: Object = {}
        if required:
            part["requiredDuringSchedulingIgnoredDuringExecution"] = [_pod_term(term, namespace) for term in required]
        if preferred:
            part["preferredDuringSchedulingIgnoredDuringExecution"] = [
                {"weight": weight, "podAffinityTerm": _pod_term(term, namespace)} for weight, term in preferred
            ]
        if part:
            out[name] = part
    return out


def _node_term(term: NodeTerm) -> Object:
    out: Object = {}
    if term.expressions:
        out["matchExpressions"] = [_expression(e) for e in term.expressions]
    if term.fields:
        out["matchFields"] = [_expression(e) for e in term.fields]
    return out


def _pod_term(term: PodAffinityTerm, namespace: str) -> Object:
    out: Object = {"topologyKey": term.topology_key}
    if term.selector is not None:
        out["labelSelector"] = _selector(term.selector)
    if term.all_namespaces:
        out["namespaceSelector"] = {}
    elif term.namespaces and term.namespaces != (namespace,):
        out["namespaces"] = list(term.namespaces)
    return out


def _spread(constraint: SpreadConstraint) -> Object:
    out: Object = {
        "topologyKey": constraint.topology_key,
        "maxSkew": constraint.max_skew,
        "whenUnsatisfiable": "DoNotSchedule" if constraint.hard else "ScheduleAnyway",
        "nodeAffinityPolicy": "Honor" if constraint.honor_node_affinity else "Ignore",
        "nodeTaintsPolicy": "Honor" if constraint.honor_node_taints else "Ignore",
    }
    if constraint.selector is not None:
        out["labelSelector"] = _selector(constraint.selector)
    if constraint.hard and constraint.min_domains > 1:
        out["minDomains"] = constraint.min_domains
    return out


def _selector(selector: Selector) -> Object:
    """Equalities as matchLabels, as people write them; the rest as expressions."""
    plain = {r.key: r.values[0] for r in selector.requirements if r.operator is Operator.IN and len(r.values) == 1}
    others = [r for r in selector.requirements if not (r.operator is Operator.IN and len(r.values) == 1 and plain[r.key] == r.values[0])]
    out: Object = {"matchLabels": plain} if plain else {}
    if others:
        out["matchExpressions"] = [_expression(r) for r in others]
    return out


def _expression(requirement: Requirement) -> Object:
    out: Object = {"key": requirement.key, "operator": str(requirement.operator)}
    if requirement.values:
        out["values"] = list(requirement.values)
    return out


def _taints(taints: Sequence[Taint]) -> list[Mapping[str, str]]:
    return [{"key": t.key, "value": t.value, "effect": str(t.effect)} for t in taints]
