"""Small random clusters that mix every rule a pod can carry, drawn so that rules meet: few labels, few zones, little room."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from packer.model import (
    CPU,
    GPU,
    HOSTNAME,
    MEMORY,
    PODS,
    UNSCHEDULABLE_TAINT,
    ZONE,
    Daemon,
    Effect,
    HostPort,
    Node,
    NodeTerm,
    Offering,
    OfferingKey,
    Operator,
    Pod,
    PodAffinityTerm,
    PodSpec,
    Problem,
    Requirement,
    Selector,
    SpreadConstraint,
    Taint,
    Toleration,
)

T = TypeVar("T")
MIB = 1 << 20
NAMESPACES = ("default", "other")
ZONES = ("a", "b", "c")
KEYS = ("app", "tier")
VALUES = ("x", "y")
TAINTS = (
    Taint("team", "red", Effect.NO_SCHEDULE),
    Taint("team", "blue", Effect.NO_EXECUTE),
    Taint("soft", "", Effect.PREFER_NO_SCHEDULE),
    Taint(UNSCHEDULABLE_TAINT, "", Effect.NO_SCHEDULE),
)


def world(seed: int) -> Problem:
    """Up to 4 existing nodes with pods on them, 3 offerings, 2 daemons and 8 waiting pods."""
    rng = random.Random(seed)
    offerings = tuple(_offering(rng, i) for i in range(rng.randint(1, 3)))
    nodes = tuple(_node(rng, f"n{i}") for i in range(rng.randint(0, 4)))
    daemons = tuple(
        Daemon("kube-system", f"agent-{i}", PodSpec({CPU: 50}, tolerations=_some(rng, _toleration), host_ports=_some(rng, _port, 0.2)))
        for i in range(rng.randint(0, 2))
    )
    shared = [_spec(rng) for _ in range(3)]
    pods = tuple(_pod(rng, f"p{i}", rng.choice(shared) if rng.random() < 0.6 else _spec(rng)) for i in range(rng.randint(3, 8)))
    return Problem(pods, nodes, offerings, daemons)


def _offering(rng: random.Random, i: int) -> Offering:
    zone, cpu = rng.choice(ZONES), rng.choice((1000, 2000, 4000))
    labels = {ZONE: zone, "disk": rng.choice(("ssd", "hdd")), "cores": str(cpu // 1000)}
    allocatable = {CPU: cpu, MEMORY: cpu * 2 * MIB, PODS: rng.choice((3, 6, 110))} | ({GPU: 2} if rng.random() < 0.3 else {})
    return Offering(
        OfferingKey("", "", zone, f"t{i}", "on-demand"), cpu * 100, allocatable, labels, _some(rng, lambda r: r.choice(TAINTS[:3]), 0.3)
    )


def _node(rng: random.Random, name: str) -> Node:
    allocatable = {CPU: rng.choice((1000, 2000, 4000)), MEMORY: 4096 * MIB, PODS: rng.choice((3, 6, 110))}
    labels = {ZONE: rng.choice(ZONES), "disk": rng.choice(("ssd", "hdd")), HOSTNAME: name}
    for key in (ZONE, HOSTNAME, "disk"):
        if rng.random() < 0.1:
            del labels[key]
    pods = tuple(_pod(rng, f"{name}-{i}", _spec(rng, small=True), terminating=rng.random() < 0.2) for i in range(rng.randint(0, 3)))
    free = dict(allocatable)
    for pod in pods:
        free[PODS] -= 1
        for resource, amount in pod.spec.requests.items():
            free[resource] = free.get(resource, 0) - amount
    return Node(name, labels, _some(rng, lambda r: r.choice(TAINTS), 0.3), allocatable, free, pods)


def _pod(rng: random.Random, name: str, spec: PodSpec, *, terminating: bool = False) -> Pod:
    labels = {key: rng.choice(VALUES) for key in KEYS if rng.random() < 0.7}
    namespace = rng.choice(NAMESPACES)
    if rng.random() < 0.1:
        spec = replace(spec, exclusive_claims=(f"{namespace}/claim-{rng.randint(0, 1)}",))
    return Pod(namespace, name, name, spec, labels, terminating=terminating)


def _spec(rng: random.Random, *, small: bool = False) -> PodSpec:
    requests = {CPU: rng.choice((100, 250) if small else (100, 500, 1000, 1500)), MEMORY: rng.choice((64, 512, 1024)) * MIB}
    if rng.random() < 0.1 and not small:
        requests[GPU] = 1
    return PodSpec(
        requests,
        selector=_some(rng, _requirement, 0.15),
        node_terms=_some(rng, _term, 0.9) if rng.random() < 0.15 else None,
        volume_terms=((NodeTerm((Requirement(ZONE, Operator.IN, (rng.choice(ZONES),)),)),),) if rng.random() < 0.1 else (),
        tolerations=_some(rng, _toleration, 0.4),
        host_ports=_some(rng, _port, 0.2),
        spread=_some(rng, _spread, 0.4),
        affinity=_some(rng, _affinity, 0.2),
        anti_affinity=_some(rng, _affinity, 0.25),
    )


def _some(rng: random.Random, make: Callable[[random.Random], T], chance: float = 0.5) -> tuple[T, ...]:
    """None, one or two, without repeats."""
    found: list[T] = []
    while len(found) < 2 and rng.random() < chance:
        item = make(rng)
        if item not in found:
            found.append(item)
    return tuple(found)


def _requirement(rng: random.Random) -> Requirement:
    key = rng.choice((ZONE, "disk", "cores", "absent"))
    values = {ZONE: ZONES, "disk": ("ssd", "hdd"), "cores": ("1", "2", "4"), "absent": ("1",)}[key]
    operator = rng.choice((Operator.IN, Operator.IN, Operator.NOT_IN, Operator.EXISTS, Operator.DOES_NOT_EXIST, Operator.GT, Operator.LT))
    if operator in (Operator.EXISTS, Operator.DOES_NOT_EXIST):
        return Requirement(key, operator)
    if operator in (Operator.GT, Operator.LT):
        return Requirement("cores", operator, (rng.choice(("1", "2", "3")),))
    return Requirement(key, operator, _subset(rng, values))


def _subset(rng: random.Random, values: Sequence[str]) -> tuple[str, ...]:
    return tuple(sorted(rng.sample(values, rng.randint(1, len(values)))))


def _term(rng: random.Random) -> NodeTerm:
    fields = (Requirement("metadata.name", Operator.IN, (rng.choice(("n0", "n1")),)),) if rng.random() < 0.15 else ()
    return NodeTerm(_some(rng, _requirement, 0.7), fields)


def _toleration(rng: random.Random) -> Toleration:
    key = rng.choice(("", "team", "team", "soft", UNSCHEDULABLE_TAINT))
    effect = rng.choice(("", "", "NoSchedule", "NoExecute"))
    if not key or rng.random() < 0.4:
        return Toleration(key, "Exists", "", effect)
    return Toleration(key, "Equal", rng.choice(("", "red", "blue")), effect)


def _port(rng: random.Random) -> HostPort:
    return HostPort(rng.choice(("0.0.0.0", "10.0.0.1", "10.0.0.2")), rng.choice(("TCP", "TCP", "UDP")), rng.choice((80, 443)))


def _selector(rng: random.Random) -> Selector | None:
    dice = rng.random()
    if dice < 0.05:
        return None
    if dice < 0.1:
        return Selector()
    key = rng.choice(KEYS)
    operator = rng.choice((Operator.IN, Operator.IN, Operator.IN, Operator.NOT_IN, Operator.EXISTS, Operator.DOES_NOT_EXIST))
    bare = operator in (Operator.EXISTS, Operator.DOES_NOT_EXIST)
    return Selector((Requirement(key, operator, () if bare else _subset(rng, VALUES)),))


def _spread(rng: random.Random) -> SpreadConstraint:
    return SpreadConstraint(
        rng.choice((ZONE, ZONE, HOSTNAME, "disk")),
        rng.choice((1, 1, 2)),
        _selector(rng),
        hard=rng.random() < 0.85,
        min_domains=rng.choice((1, 1, 2, 3)),
        honor_node_affinity=rng.random() < 0.7,
        honor_node_taints=rng.random() < 0.4,
    )


def _affinity(rng: random.Random) -> PodAffinityTerm:
    everywhere = rng.random() < 0.1
    return PodAffinityTerm(
        rng.choice((ZONE, HOSTNAME, "disk")), _selector(rng), () if everywhere else _subset(rng, NAMESPACES), all_namespaces=everywhere
    )
