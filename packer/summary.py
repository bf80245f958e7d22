"""What a plan comes to: how full each node is, equal nodes together, cost by type. Statistics only; views turn them into text."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from packer.model import (
    CAPACITY_TYPE,
    INSTANCE_TYPE,
    PODS,
    ZONE,
    Daemon,
    Node,
    Offering,
    OfferingKey,
    Plan,
    Pod,
    Problem,
    Resources,
    Status,
)
from packer.rules.nodes import daemon_overhead, daemons_for
from packer.words import resource_order

_GENERATED = re.compile(r"(-[0-9a-f]{6,10})?-([0-9]+|[bcdfghjklmnpqrstvwxz2456789]{5})$")
"""What controllers append to a name: an ordinal, or (a template hash and) five letters of Kubernetes' safe alphabet."""


@dataclass(frozen=True, slots=True)
class Share:
    """Pods of one workload on one node, and what they ask for together (slots included)."""

    workload: str
    pods: int
    requests: Resources


@dataclass(frozen=True, slots=True)
class NodeUse:
    """One node as the plan leaves it. Resources contain ``pods``, the slots. ``price_microusd_per_hour`` is None when unknown."""

    name: str
    existing: bool
    offering: OfferingKey | None
    instance_type: str
    zone: str
    capacity_type: str
    price_microusd_per_hour: int | None
    allocatable: Resources
    overhead: Resources
    """Held by daemons (new nodes) or by all that runs there (existing nodes)."""
    planned: Resources
    """Taken by the plan's pods."""
    pods: tuple[str, ...]
    shares: tuple[Share, ...]
    """What each workload of the plan takes of the node, most pods first."""

    def used(self, resource: str) -> int:
        return self.overhead.get(resource, 0) + self.planned.get(resource, 0)


@dataclass(frozen=True, slots=True)
class NodeGroup:
    """Nodes that cannot be told apart but by their names and their pods' names."""

    nodes: tuple[NodeUse, ...]

    @property
    def first(self) -> NodeUse:
        return self.nodes[0]

    @property
    def price_microusd_per_hour(self) -> int:
        """Of all nodes of the group together; 0 for nodes that stand already."""
        return 0 if self.first.existing else len(self.nodes) * (self.first.price_microusd_per_hour or 0)

    @property
    def pods(self) -> int:
        return sum(len(node.pods) for node in self.nodes)


@dataclass(frozen=True, slots=True)
class TypeUse:
    """All new nodes of one offering."""

    offering: OfferingKey
    nodes: int
    price_microusd_per_hour: int
    """Of one node."""
    allocatable: Resources
    used: Resources
    pods: int

    @property
    def cost_microusd_per_hour(self) -> int:
        return self.nodes * self.price_microusd_per_hour


@dataclass(frozen=True, slots=True)
class Summary:
    """A plan in numbers. ``resources`` are those that the plan's pods ask for, in reading order, ``pods`` last."""

    status: Status
    truncated: bool
    nodes: tuple[NodeUse, ...]
    groups: tuple[NodeGroup, ...]
    types: tuple[TypeUse, ...]
    resources: tuple[str, ...]
    pods_new: int
    pods_existing: int
    pods_unplaced: int
    pods_skipped: int
    cost_microusd_per_hour: int
    objective_microusd_per_hour: int
    lower_bound_microusd_per_hour: int
    totals: Resources = field(default_factory=dict)
    """Allocatable of all new nodes."""
    totals_used: Resources = field(default_factory=dict)

    @property
    def new_nodes(self) -> int:
        return sum(not node.existing for node in self.nodes)

    @property
    def existing_used(self) -> int:
        return sum(node.existing for node in self.nodes)

    @property
    def pods_placed(self) -> int:
        return self.pods_new + self.pods_existing


def summarize(problem: Problem, plan: Plan) -> Summary:
    """Statistics of ``plan``, whose names and offerings are those of ``problem``; existing nodes that receive no pod stay out."""
    pods = {pod.key: pod for pod in problem.pods}
    nodes = tuple(_node_uses(problem, plan, pods))
    types = _types(nodes)
    names = {name for pod in problem.pods for name in pod.spec.requests} | {PODS}
    new = [node for node in nodes if not node.existing]
    return Summary(
        status=plan.status,
        truncated=plan.truncated,
        nodes=nodes,
        groups=group_nodes(nodes),
        types=types,
        resources=tuple(resource_order(names)),
        pods_new=sum(len(node.pods) for node in new),
        pods_existing=len(plan.placements),
        pods_unplaced=len(plan.unplaced),
        pods_skipped=len(plan.skipped),
        cost_microusd_per_hour=plan.cost_microusd_per_hour,
        objective_microusd_per_hour=plan.objective_microusd_per_hour,
        lower_bound_microusd_per_hour=plan.lower_bound_microusd_per_hour,
        totals=total(node.allocatable for node in new),
        totals_used=total(used_of(node) for node in new),
    )


def workload_of(pod: Pod | None, key: str) -> str:
    """The name under which a pod's siblings are counted: its owner's, else its own without what controllers append."""
    if pod is not None and pod.owner is not None:
        return f"{pod.namespace}/{pod.owner.name}"
    return _GENERATED.sub("", key)


def total(many: Iterable[Resources]) -> dict[str, int]:
    """The sum of resources, key by key."""
    result: Counter[str] = Counter()
    for one in many:
        for name, value in one.items():
            result[name] += value
    return dict(result)


def used_of(node: NodeUse) -> dict[str, int]:
    return total((node.overhead, node.planned))


def requests_of(pods: Iterable[Pod]) -> dict[str, int]:
    """What pods ask for together, their slots included."""
    result: Counter[str] = Counter()
    for pod in pods:
        result[PODS] += 1
        for name, value in pod.spec.requests.items():
            result[name] += value
    return dict(result)


class Overheads:
    """Daemons' share of a fresh node, remembered by offering."""

    def __init__(self, daemons: tuple[Daemon, ...]) -> None:
        self._daemons = daemons
        self._known: dict[OfferingKey, dict[str, int]] = {}

    def of(self, offering: Offering) -> dict[str, int]:
        if offering.key not in self._known:
            self._known[offering.key] = daemon_overhead(daemons_for(offering.labels, offering.taints, self._daemons))[0]
        return self._known[offering.key]


def _node_uses(problem: Problem, plan: Plan, pods: dict[str, Pod]) -> Iterator[NodeUse]:
    offerings = {offering.key: offering for offering in problem.offerings}
    overheads = Overheads(problem.daemons)
    for launch in plan.launches:
        offering = offerings.get(launch.offering)
        yield NodeUse(
            name=launch.name,
            existing=False,
            offering=launch.offering,
            instance_type=launch.offering.instance_type,
            zone=launch.offering.zone,
            capacity_type=launch.offering.capacity_type,
            price_microusd_per_hour=launch.price_microusd_per_hour,
            allocatable=dict(offering.allocatable) if offering else {},
            overhead=overheads.of(offering) if offering else {},
            planned=requests_of(pods[key] for key in launch.pods if key in pods),
            pods=launch.pods,
            shares=_shares(launch.pods, pods),
        )
    placed: dict[str, list[str]] = defaultdict(list)
    for placement in plan.placements:
        placed[placement.node].append(placement.pod)
    nodes = {node.name: node for node in problem.nodes}
    for name in sorted(placed):
        if name in nodes:
            yield _existing_use(nodes[name], tuple(placed[name]), pods)


def _existing_use(node: Node, keys: tuple[str, ...], pods: dict[str, Pod]) -> NodeUse:
    held = {name: value - node.free.get(name, value) for name, value in node.allocatable.items()}
    held[PODS] = held.get(PODS) or len(node.pods)
    return NodeUse(
        name=node.name,
        existing=True,
        offering=node.offering,
        instance_type=node.labels.get(INSTANCE_TYPE, ""),
        zone=node.labels.get(ZONE, ""),
        capacity_type=node.labels.get(CAPACITY_TYPE, node.offering.capacity_type if node.offering else ""),
        price_microusd_per_hour=node.price_microusd_per_hour,
        allocatable=dict(node.allocatable),
        overhead=held,
        planned=requests_of(pods[key] for key in keys if key in pods),
        pods=keys,
        shares=_shares(keys, pods),
    )


def _shares(keys: tuple[str, ...], pods: dict[str, Pod]) -> tuple[Share, ...]:
    members: dict[str, list[str]] = defaultdict(list)
    for key in keys:
        members[workload_of(pods.get(key), key)].append(key)
    shares = (Share(name, len(own), requests_of(pods[key] for key in own if key in pods)) for name, own in members.items())
    return tuple(sorted(shares, key=lambda share: (-share.pods, share.workload)))


def group_nodes(nodes: Iterable[NodeUse]) -> tuple[NodeGroup, ...]:
    """Equal nodes together: new nodes by cost of the group (dearest first), then existing ones."""
    groups: dict[object, list[NodeUse]] = defaultdict(list)
    for node in nodes:
        identity = (
            node.existing,
            node.offering,
            node.instance_type,
            node.zone,
            node.price_microusd_per_hour,
            tuple(sorted(node.allocatable.items())),
            tuple(sorted(node.overhead.items())),
            tuple(sorted(node.planned.items())),
            tuple((share.workload, share.pods, tuple(sorted(share.requests.items()))) for share in node.shares),
        )
        groups[identity].append(node)
    made = (NodeGroup(tuple(sorted(members, key=lambda node: node.name))) for members in groups.values())
    return tuple(
        sorted(made, key=lambda group: (group.first.existing, -group.price_microusd_per_hour, -len(group.nodes), group.first.name))
    )


def _types(nodes: tuple[NodeUse, ...]) -> tuple[TypeUse, ...]:
    by_offering: dict[OfferingKey, list[NodeUse]] = defaultdict(list)
    for node in nodes:
        if not node.existing and node.offering is not None:
            by_offering[node.offering].append(node)
    types = (
        TypeUse(
            offering=key,
            nodes=len(members),
            price_microusd_per_hour=members[0].price_microusd_per_hour or 0,
            allocatable=total(node.allocatable for node in members),
            used=total(used_of(node) for node in members),
            pods=sum(len(node.pods) for node in members),
        )
        for key, members in by_offering.items()
    )
    return tuple(sorted(types, key=lambda use: (-use.cost_microusd_per_hour, use.offering)))
