"""Plans replayed through kube-scheduler's own filter plugins (the Go program in ``filters/``).

A plan becomes what the scheduler would meet: existing nodes and the pods on them, one fresh node for each launch with its daemons'
pods, and then the plan's pods one by one in the order in which they can be bound. Where the input was made of Kubernetes objects, those
very objects are replayed, so that our parser is judged too; else objects are made from the model.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import Any

import orjson

from packer import rules
from packer.model import ATTACHABLE_PREFIX, HOSTNAME, Daemon, Node, NodeTerm, Offering, Placement, Plan, Pod, PodSpec, Problem
from perf.objects import node_object, pod_object
from perf.peers.gobuild import binary

Json = dict[str, Any]
MODULE = Path(__file__).parent / "filters"
CLUSTER_KINDS = frozenset(
    ("Namespace", "PersistentVolume", "PersistentVolumeClaim", "StorageClass", "CSINode", "CSIDriver", "CSIStorageCapacity")
)
PLENTY = "1000000000"


@dataclass(frozen=True, slots=True)
class Raw:
    """The Kubernetes objects that a problem was read from, by namespace/name (nodes by name)."""

    pods: Mapping[str, Json] = field(default_factory=dict)
    nodes: Mapping[str, Json] = field(default_factory=dict)
    others: Sequence[Json] = ()

    @classmethod
    def of(cls, objects: Iterable[Json]) -> Raw:
        pods: dict[str, Json] = {}
        nodes: dict[str, Json] = {}
        others: list[Json] = []
        for item in objects:
            metadata = item.get("metadata", {})
            if item.get("kind") == "Pod":
                namespace = metadata.setdefault("namespace", "default")
                metadata.setdefault("uid", f"{namespace}/{metadata['name']}")
                pods[f"{namespace}/{metadata['name']}"] = item
            elif item.get("kind") == "Node":
                nodes[metadata["name"]] = item
            elif item.get("kind") in CLUSTER_KINDS:
                others.append(item)
        return cls(pods, nodes, others)


@dataclass(frozen=True, slots=True)
class Verdict:
    """``refusals``: steps that kube-scheduler would not take. ``accepted``: leftover pods and the nodes that would take them.
    ``takers``: for each step of a probe, the nodes that would take its pod at that moment."""

    refusals: tuple[str, ...]
    accepted: Mapping[str, tuple[str, ...]]
    takers: tuple[frozenset[str], ...]


class Filters:
    """The running Go program: one question, one answer. Use it as a context manager."""

    def __init__(self) -> None:
        self._process = subprocess.Popen([str(binary(MODULE, "filters"))], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        if self._process.stdin is None or self._process.stdout is None:
            raise AssertionError("no pipes to the filter program")
        self._questions, self._answers = self._process.stdin, self._process.stdout

    def __enter__(self) -> Filters:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._questions.close()
        self._answers.close()
        self._process.wait(timeout=30)

    def judge(self, request: Json) -> Verdict:
        self._questions.write(orjson.dumps(request) + b"\n")
        self._questions.flush()
        line = self._answers.readline()
        if not line:
            raise AssertionError(f"the filter program ended with exit code {self._process.wait(timeout=30)}; its message is above")
        answer = orjson.loads(line)
        if answer.get("error"):
            raise AssertionError(f"the filter replay failed: {answer['error']}")
        return Verdict(
            tuple(f"{r['pod']} on {r['node']}: {r['plugin']}: {'; '.join(r['reasons'])}" for r in answer["refusals"]),
            {item["pod"]: tuple(item["nodes"]) for item in answer["accepted"]},
            tuple(frozenset(names) for names in answer.get("takers", ())),
        )


def plan_request(problem: Problem, plan: Plan, steps: Sequence[Placement], raw: Raw | None = None) -> Json:
    """A replay of ``plan`` in the order of ``steps``, with its unplaced pods as leftovers."""
    offerings = {o.key: o for o in problem.offerings}
    launches = {launch.name: offerings[launch.offering] for launch in plan.launches}
    return request(problem, launches, [(s.pod, s.node) for s in steps], [u.pod for u in plan.unplaced], raw)


def request(
    problem: Problem,
    launches: Mapping[str, Offering],
    steps: Sequence[tuple[str, str]],
    leftovers: Sequence[str] = (),
    raw: Raw | None = None,
    *,
    probe: bool = False,
) -> Json:
    """A replay as the Go program reads it. ``steps``: (pod key, node name); an empty node name with ``probe`` only asks."""
    raw = raw or Raw()
    waiting = {pod.key: pod for pod in problem.pods}
    resources = sorted({r for pod in problem.pods for r in pod.spec.requests if r.startswith(ATTACHABLE_PREFIX)})
    nodes = [deepcopy(raw.nodes[node.name]) if node.name in raw.nodes else node_object(node) for node in problem.nodes]
    bound = [_raw_bound(raw, pod, node.name) or _object(pod, node.name) for node in problem.nodes for pod in node.pods]
    for name, offering in sorted(launches.items()):
        nodes.append(_new_node(name, offering))
        daemons = rules.daemons_for(rules.new_node_labels(offering, name), offering.taints, problem.daemons)
        bound += [_daemon_pod(daemon, name) for daemon in daemons]
    for node in nodes:
        # A node that does not list volume slots has no limit (NodeVolumeLimits); NodeResourcesFit would read that as none.
        status = node.setdefault("status", {})
        status["allocatable"] = dict.fromkeys(resources, PLENTY) | status.get("allocatable", {})
    everyone = [pod for pod in (*waiting.values(), *(p for node in problem.nodes for p in node.pods)) if pod.key not in raw.pods]
    return {
        "nodes": nodes,
        "pods": bound,
        "objects": [*raw.others, *_volumes(everyone)],
        "steps": [{"pod": raw.pods.get(key) or _object(waiting[key]), "node": node} for key, node in steps],
        "leftovers": [raw.pods.get(key) or _object(waiting[key]) for key in leftovers],
        "probe": probe,
    }


def _raw_bound(raw: Raw, pod: Pod, node: str) -> Json | None:
    found = raw.pods.get(pod.key)
    return found and {**found, "spec": {**found["spec"], "nodeName": node}}


def _new_node(name: str, offering: Offering) -> Json:
    labels = {**offering.labels, HOSTNAME: name}
    return node_object(Node(name, labels, offering.taints, offering.allocatable, offering.allocatable))


def _daemon_pod(daemon: Daemon, node: str) -> Json:
    name = f"{daemon.name}-{node}"
    return _object(Pod(daemon.namespace, name, f"{daemon.namespace}/{name}", daemon.spec, daemon.labels), node)


def _object(pod: Pod, node: str = "") -> Json:
    """The pod with its volumes, which the common writer of manifests leaves to us."""
    out = pod_object(replace(pod, spec=replace(pod.spec, volume_terms=(), exclusive_claims=())), node)
    if pod.terminating:
        out["metadata"] |= {"deletionTimestamp": "2020-01-01T00:00:00Z", "deletionGracePeriodSeconds": 600}
    if claims := _claims(pod):
        out["spec"]["volumes"] = [
            {"name": f"v{i}", "persistentVolumeClaim": {"claimName": claim}} for i, (claim, _, _) in enumerate(claims)
        ]
    return out


def _claims(pod: Pod) -> list[tuple[str, tuple[NodeTerm, ...], str]]:
    found = [(f"{pod.name}-v{i}", terms, "ReadWriteOnce") for i, terms in enumerate(pod.spec.volume_terms)]
    return found + [(claim.rpartition("/")[2], (), "ReadWriteOncePod") for claim in pod.spec.exclusive_claims]


def _volumes(pods: Iterable[Pod]) -> list[Json]:
    """Bound claims and their volumes, which restrict nodes by their node affinity."""
    out: dict[str, list[Json]] = {}
    for pod in pods:
        for claim, terms, mode in _claims(pod):
            out[f"{pod.namespace}-{claim}"] = _bound_claim(pod.namespace, claim, terms, mode)
    return [item for key in sorted(out) for item in out[key]]


def _bound_claim(namespace: str, claim: str, terms: Sequence[NodeTerm], mode: str) -> list[Json]:
    volume, common = f"{namespace}-{claim}", {"accessModes": [mode], "storageClassName": ""}
    spec: Json = {
        **common,
        "capacity": {"storage": "1Gi"},
        "claimRef": {"kind": "PersistentVolumeClaim", "namespace": namespace, "name": claim, "uid": volume},
        "csi": {"driver": "disk.example", "volumeHandle": volume},
    }
    if terms:
        probe = pod_object(Pod("", "", "", PodSpec({}, node_terms=tuple(terms))))
        affinity = probe["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
        spec["nodeAffinity"] = {"required": affinity}
    metadata = {"name": claim, "namespace": namespace, "uid": volume, "annotations": {"pv.kubernetes.io/bind-completed": "yes"}}
    return [
        {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": metadata,
            "spec": {**common, "volumeName": volume, "resources": {"requests": {"storage": "1Gi"}}},
            "status": {"phase": "Bound"},
        },
        {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": volume}, "spec": spec, "status": {"phase": "Bound"}},
    ]
