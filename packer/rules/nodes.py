"""What a node offers, whether it stands already or is yet to be bought: labels, taints, room after daemons, ports.

A new node has its offering's labels and a hostname of its own; the daemons that accept it take their requests and host ports
(kubernetes/pkg/controller/daemon: nodeShouldRunDaemonPod). On existing nodes daemons already run, or do not, as the input says.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from packer.model import (
    FARGATE,
    HOSTNAME,
    PODS,
    Daemon,
    HostPort,
    Labels,
    Node,
    Offering,
    Pod,
    Reason,
    Resources,
    Taint,
)
from packer.rules.fit import fits, port_reason
from packer.rules.labels import node_affinity_holds, node_labels_ok, taint_reason, untolerated


class NodeLike(Protocol):
    """What ``static_reasons`` looks at. ``node_name`` None: a node to come, whose name nobody knows."""

    @property
    def node_name(self) -> str | None: ...
    @property
    def labels(self) -> Labels: ...
    @property
    def taints(self) -> tuple[Taint, ...]: ...
    @property
    def free(self) -> Resources: ...
    @property
    def ports(self) -> tuple[HostPort, ...]: ...


@dataclass(frozen=True, slots=True)
class NodeView:
    """A node as the filters see it before anything is planned onto it. ``free`` is what is left after daemons and running pods."""

    node_name: str | None
    labels: Labels
    taints: tuple[Taint, ...]
    free: Resources
    ports: tuple[HostPort, ...] = ()
    daemons: tuple[Daemon, ...] = field(default=())


def existing_view(node: Node) -> NodeView:
    """An existing node with all that runs on it taken off."""
    ports = tuple(port for pod in node.pods for port in pod.spec.host_ports)
    return NodeView(node.name, node.labels, node.taints, node.free, ports)


def new_view(offering: Offering, daemons: Sequence[Daemon] = (), name: str = "") -> NodeView:
    """A fresh node of ``offering`` with its daemons on it; ``name`` is the launch's, used as its hostname label only."""
    labels = new_node_labels(offering, name)
    run = daemons_for(labels, offering.taints, daemons)
    used, ports = daemon_overhead(run)
    return NodeView(None, labels, offering.taints, take(offering.allocatable, used), ports, run)


def new_node_labels(offering: Offering, name: str = "") -> dict[str, str]:
    return {**offering.labels, HOSTNAME: name}


def daemons_for(labels: Labels, taints: Sequence[Taint], daemons: Iterable[Daemon]) -> tuple[Daemon, ...]:
    """The daemons that run on a new node with these labels and taints: node affinity holds, every hard taint is tolerated.
    None do on Fargate, where each pod has a machine of its own.
    """
    if labels.get(FARGATE[0]) == FARGATE[1]:
        return ()
    full = labels if HOSTNAME in labels else {**labels, HOSTNAME: ""}
    return tuple(d for d in daemons if node_affinity_holds(d.spec, full, None) and not untolerated(d.spec, taints))


def daemon_overhead(daemons: Iterable[Daemon]) -> tuple[dict[str, int], tuple[HostPort, ...]]:
    """Requests (one pod slot each) and host ports of the daemons that run on a node."""
    used: dict[str, int] = {}
    ports: list[HostPort] = []
    for daemon in daemons:
        used[PODS] = used.get(PODS, 0) + 1
        for name, amount in daemon.spec.requests.items():
            used[name] = used.get(name, 0) + amount
        ports.extend(daemon.spec.host_ports)
    return used, tuple(ports)


def take(free: Resources, used: Resources) -> dict[str, int]:
    """``free`` less ``used``. What the node does not list stays unlisted: it is unlimited, or nobody can ask for it."""
    return {name: amount - used.get(name, 0) for name, amount in free.items()}


def static_reasons(pod: Pod, where: NodeLike) -> tuple[Reason, ...]:
    """All that keeps ``pod`` off a node whatever else is planned: labels, volumes, taints, room, host ports. Empty: it could go there."""
    reasons = list(affinity_and_taint_reasons(pod, where.labels, where.taints, where.node_name))
    reasons.extend(fits(pod.spec.requests, where.free))
    clash = port_reason(pod.spec.host_ports, where.ports)
    return (*reasons, clash) if clash else tuple(reasons)


def affinity_and_taint_reasons(pod: Pod, labels: Labels, taints: Sequence[Taint], node_name: str | None) -> tuple[Reason, ...]:
    """The filters that no pod on the node can change: NodeAffinity, volumes, TaintToleration."""
    reasons = []
    elsewhere = node_labels_ok(pod.spec, labels, node_name)
    if elsewhere:
        reasons.append(elsewhere)
    hard = untolerated(pod.spec, taints)
    if hard:
        reasons.append(taint_reason(hard))
    return tuple(reasons)


class NodeState:
    """One node of a State. Read it freely; change it through the State only."""

    __slots__ = ("devices", "free", "labels", "name", "node_name", "offering", "pods", "ports", "shape", "taints")

    def __init__(self, name: str, node_name: str | None, labels: Labels, taints: tuple[Taint, ...], free: Resources, shape: int) -> None:
        self.name, self.node_name, self.labels, self.taints, self.shape = name, node_name, labels, taints, shape
        self.free = dict(free)
        self.pods: dict[str, Pod] = {}
        self.ports: dict[HostPort, int] = {}
        self.devices = 0
        self.offering: Offering | None = None
