"""Small problems in few words, for the solver's tests."""

from __future__ import annotations

from typing import Any

from packer.model import (
    ARCH,
    HOSTNAME,
    INSTANCE_TYPE,
    OS,
    ZONE,
    Node,
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
)

GIB = 1 << 30
_POD_FIELDS = ("priority", "gang", "terminating", "labels")


def offering(name: str, cpu: int, price: float, zone: str = "z-a", *, memory: int = 64, **fields: Any) -> Offering:
    """``cpu`` in cores, ``memory`` in GiB, ``price`` in dollars an hour."""
    resources = {"cpu": cpu * 1000, "memory": memory * GIB, "pods": 30, **fields.pop("resources", {})}
    labels = {OS: "linux", ARCH: "amd64", INSTANCE_TYPE: name, **({ZONE: zone} if zone else {}), **fields.pop("labels", {})}
    key = OfferingKey("test", "here", zone, name, fields.pop("capacity_type", "on-demand"))
    return Offering(key, round(price * 1e6), resources, labels, **fields)


def pod(name: str, cpu: float = 1, memory: int = 1, **fields: Any) -> Pod:
    """``cpu`` in cores. Fields of the pod and of its spec in one list."""
    own = {key: fields.pop(key) for key in _POD_FIELDS if key in fields}
    requests = {"cpu": round(cpu * 1000), "memory": memory * GIB, **fields.pop("resources", {})}
    return Pod("default", name, f"uid-{name}", PodSpec(requests=requests, **fields), **own)


def pods(stem: str, count: int, cpu: float = 1, **fields: Any) -> tuple[Pod, ...]:
    """``count`` equal pods."""
    first = pod(f"{stem}-0", cpu, **fields)
    return tuple(
        Pod(first.namespace, f"{stem}-{i}", f"uid-{stem}-{i}", first.spec, first.labels, first.priority, first.gang) for i in range(count)
    )


def node(name: str, cpu: float, zone: str = "z-a", *, holds: tuple[Pod, ...] = (), **fields: Any) -> Node:
    """An existing node with ``cpu`` cores, and what it holds taken off."""
    allocatable = {"cpu": round(cpu * 1000), "memory": 64 * GIB, "pods": 110, **fields.pop("resources", {})}
    free = dict(allocatable)
    for held in holds:
        free["pods"] -= 1
        for key, value in held.spec.requests.items():
            free[key] -= value
    labels = {HOSTNAME: name, OS: "linux", ARCH: "amd64", **({ZONE: zone} if zone else {}), **fields.pop("labels", {})}
    return Node(name, labels, fields.pop("taints", ()), allocatable, free, holds, **fields)


def matching(**labels: str) -> Selector:
    """A selector of matchLabels."""
    return Selector(tuple(Requirement(key, Operator.IN, (value,)) for key, value in sorted(labels.items())))


def spread(key: str = ZONE, skew: int = 1, *, app: str = "web", **fields: Any) -> tuple[SpreadConstraint, ...]:
    """A hard topology spread of pods labelled ``app``."""
    return (SpreadConstraint(key, skew, matching(app=app), **fields),)


def near(key: str = HOSTNAME, *, app: str = "web") -> tuple[PodAffinityTerm, ...]:
    """One term of pod affinity, or of anti-affinity, to pods labelled ``app``."""
    return (PodAffinityTerm(key, matching(app=app), ("default",)),)


def problem(waiting: tuple[Pod, ...], offerings: tuple[Offering, ...], nodes: tuple[Node, ...] = (), **fields: Any) -> Problem:
    return Problem(pods=waiting, nodes=nodes, offerings=offerings, **fields)
