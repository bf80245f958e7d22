"""Workloads of the benchmarks: the same for the same seed, on any machine, and what they claim to be."""

from __future__ import annotations

import hashlib
import json
from collections import Counter

import pytest

from cloud import catalog
from packer import parse
from packer.model import CPU, GPU, HOSTNAME, MEMORY, PODS, ZONE, NodeTerm, Pod
from perf import generators
from perf.objects import to_kubernetes

ON_DEMAND = catalog.load("aws", regions=["us-east-1"], capacity_types=["on-demand"])[0]


def fingerprint(pods: tuple[Pod, ...]) -> str:
    return hashlib.sha256(repr(pods).encode()).hexdigest()[:12]


@pytest.mark.parametrize("name", sorted(generators.WORKLOADS))
def test_a_seed_gives_the_same_pods_again_and_another_seed_others(name: str) -> None:
    """Figures in perf/README can be had again only if their input can."""
    make = generators.WORKLOADS[name]
    pods = make(600, 1)
    assert len(pods) == 600
    assert len({pod.key for pod in pods}) == 600
    assert fingerprint(pods) == fingerprint(make(600, 1))
    assert name == "homogeneous" or fingerprint(pods) != fingerprint(make(600, 2))


def test_the_stream_of_numbers_is_pinned() -> None:
    """A change of Python or of a generator that changes the workloads must be seen: every figure would mean another thing."""
    sizes = [(pod.spec.requests[CPU], pod.spec.requests[MEMORY] >> 20) for pod in generators.generic(5, 7)]
    assert sizes == [(250, 100), (100, 1024), (100, 1024), (500, 100), (500, 2048)]


def test_diverse_is_a_fifth_of_each_kind() -> None:
    """Karpenter's benchmark at v1.14.1, whose results ours stand beside."""
    kinds = Counter(
        (tuple(c.topology_key for c in p.spec.spread), tuple(t.topology_key for t in p.spec.affinity), bool(p.spec.anti_affinity))
        for p in generators.diverse(1003, 3)
    )
    assert kinds == {
        ((), (), False): 203,
        ((ZONE,), (), False): 200,
        ((HOSTNAME,), (), False): 200,
        ((), (ZONE,), False): 200,
        ((), (), True): 200,
    }


@pytest.mark.parametrize(("classes", "pods"), [(1, 1), (20, 1000), (100, 100_000), (2000, 2000), (2000, 10_000)])
def test_classes_have_exactly_the_pods_and_shapes_asked_for(classes: int, pods: int) -> None:
    """The ladder's rungs are named by these two numbers."""
    made = generators.classes(classes, pods, 5)
    assert len(made) == pods
    assert len({pod.labels["app"] for pod in made}) == classes


def test_zones_and_spot_restrict_the_share_that_they_say() -> None:
    """3 in 10 shapes are tied to a zone, 4 in 10 refuse spot."""
    made = generators.classes(2000, 2000, 1, zones=("a", "b"))
    keys = Counter(requirement.key for pod in made for requirement in pod.spec.selector)
    assert keys[ZONE] == pytest.approx(600, rel=0.15)
    assert keys["bayplan.io/capacity-type"] == pytest.approx(800, rel=0.15)


def test_existing_nodes_balance_their_books() -> None:
    """Free room is allocatable less what their pods hold: check.py recomputes it."""
    for node in generators.existing_nodes(50, ON_DEMAND, 2):
        for resource in (CPU, MEMORY):
            held = sum(pod.spec.requests.get(resource, 0) for pod in node.pods)
            assert node.free[resource] == node.allocatable[resource] - held >= 0
        assert node.free[PODS] == node.allocatable[PODS] - len(node.pods) >= 0


def test_families_leave_out_what_a_policy_would() -> None:
    """Benchmarks speak of families c, m, r and g of generation 4 and later, less burstable types and slices of a GPU."""
    kept = generators.of_families(ON_DEMAND, ("c", "m", "r", "g"))
    types = {offering.key.instance_type for offering in kept}
    assert {"c5.large", "m7g.4xlarge", "g5.xlarge"} <= types
    assert not {"t3.large", "g6f.large", "c3.large", "x2gd.large"} & types


def test_scaling_counts_devices_in_parts() -> None:
    """The Alibaba trace speaks of thousandths of a GPU."""
    one = next(o for o in ON_DEMAND if o.key.instance_type == "g5.12xlarge")
    (scaled,) = generators.scaled([one], GPU, 1000)
    assert scaled.allocatable[GPU] == 4000
    assert scaled.allocatable[CPU] == one.allocatable[CPU]


def test_the_kubernetes_form_holds_everything() -> None:
    """Peers read these objects: one for each node, running pod, daemon and waiting pod."""
    nodes = generators.existing_nodes(3, ON_DEMAND, 1)
    problem = generators.problem(generators.diverse(30, 1), ON_DEMAND[:5], nodes)
    kinds = Counter(item["kind"] for item in to_kubernetes(problem))
    assert kinds == {"Node": 3, "DaemonSet": 4, "Pod": 30 + sum(len(node.pods) for node in nodes)}


def test_the_kubernetes_form_reads_back_as_the_same_pods() -> None:
    """Ours and the peers plan the same input only if nothing is lost on the way."""
    nodes = generators.existing_nodes(3, ON_DEMAND, 1)
    pods = (
        *generators.diverse(60, 1, hostname_affinity=True),
        *generators.gpu_mix(60, 2),
        *generators.classes(40, 40, 3, zones=("us-east-1a", "us-east-1b")),
    )
    problem = generators.problem(pods, ON_DEMAND, nodes)
    raw = parse.read_objects([json.dumps({"kind": "List", "apiVersion": "v1", "items": to_kubernetes(problem)}).encode()])
    again = parse.build_problem(raw, ON_DEMAND, None)
    specs = {pod.key: pod for pod in again.pods}
    assert len(specs) == len(pods)
    for pod in pods:
        read = specs[pod.key]
        assert dict(read.labels) == dict(pod.labels)
        assert constraints(read) == constraints(pod)
    assert {node.name: dict(node.free) for node in again.nodes} == {node.name: dict(node.free) for node in nodes}
    assert sorted(dict(d.spec.requests).items() for d in again.daemons) == sorted(dict(d.spec.requests).items() for d in problem.daemons)


def constraints(pod: Pod) -> tuple[object, ...]:
    """All that restricts a pod, in one form: a node selector may come back as the only term of a node affinity."""
    spec = pod.spec
    terms = spec.node_terms or (NodeTerm(),)
    nodes = [sorted((*spec.selector, *term.expressions)) for term in terms]
    return dict(spec.requests), nodes, spec.spread, spec.affinity, spec.anti_affinity
