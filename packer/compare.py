"""What differs between two plans, and what packing the running nodes anew would save. Pure comparison; no solving here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace

from packer.model import Node, OfferingKey, Plan, Pod, Problem

_STAYS = frozenset({"DaemonSet", "Node"})
"""Kinds of owners whose pods belong to their node: daemons, and static (mirror) pods."""


@dataclass(frozen=True, slots=True)
class TypeChange:
    """How many nodes of one offering each plan buys, and what they cost together."""

    offering: OfferingKey
    before: int
    after: int
    cost_before_microusd_per_hour: int
    cost_after_microusd_per_hour: int


@dataclass(frozen=True, slots=True)
class Move:
    """Where a pod goes in each plan: an instance type, an existing node's name, "unplaced", "skipped" or "absent"."""

    pod: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Comparison:
    """The differences from plan ``before`` to plan ``after``; money in micro-dollars an hour."""

    same: bool
    """Equal in all that a digest covers of them: launches, placements, unplaced, skipped and money."""
    cost_before: int
    cost_after: int
    objective_before: int
    objective_after: int
    bound_before: int
    bound_after: int
    nodes_before: int
    nodes_after: int
    placed_before: int
    placed_after: int
    types: tuple[TypeChange, ...]
    """Offerings whose number of nodes or cost differs, by the size of the difference in cost."""
    moves: tuple[Move, ...]
    """Pods whose kind of place differs."""
    newly_placed: tuple[str, ...]
    newly_unplaced: tuple[str, ...]

    @property
    def cost_change(self) -> int:
        return self.cost_after - self.cost_before


@dataclass(frozen=True, slots=True)
class Saving:
    """What a cheaper way costs against a dearer one that serves as the yardstick; micro-dollars an hour."""

    against: str
    """The yardstick in words: "the nodes that run now"."""
    cost_before: int
    cost_after: int

    @property
    def saved(self) -> int:
        return self.cost_before - self.cost_after


@dataclass(frozen=True, slots=True)
class Repack:
    """What runs now against a plan that packs the same pods onto nodes bought anew. An estimate: it prices no move.

    ``kept`` are nodes left as they are: without a known price, or with a pod that must not move.
    """

    cost_now: int
    cost_repacked: int
    nodes_now: int
    nodes_repacked: int
    pods_moved: int
    unplaced: tuple[str, ...]
    kept: tuple[tuple[str, str], ...]
    """(node, why it was left alone)."""
    bare: tuple[str, ...]
    """Pods without an owner: nothing would start them again."""
    types_now: tuple[tuple[str, int, int], ...]
    """(instance type, nodes, cost) of the nodes that would be replaced, dearest first."""
    types_repacked: tuple[tuple[str, int, int], ...]

    @property
    def saving(self) -> Saving:
        return Saving("the nodes that run now", self.cost_now, self.cost_repacked)

    @property
    def worthwhile(self) -> bool:
        """Cheaper, and every pod that runs now has a place."""
        return not self.unplaced and self.cost_repacked < self.cost_now


def compare_plans(before: Plan, after: Plan) -> Comparison:
    """All differences that matter to a person, from ``before`` to ``after``. Names of launches do not matter, only what they are."""
    places_before, places_after = _places(before), _places(after)
    keys = sorted(places_before.keys() | places_after.keys())
    moves = tuple(
        Move(key, places_before.get(key, "absent"), places_after.get(key, "absent"))
        for key in keys
        if places_before.get(key, "absent") != places_after.get(key, "absent")
    )
    waiting_before = {unplaced.pod for unplaced in before.unplaced}
    waiting_after = {unplaced.pod for unplaced in after.unplaced}
    return Comparison(
        same=_essence(before) == _essence(after),
        cost_before=before.cost_microusd_per_hour,
        cost_after=after.cost_microusd_per_hour,
        objective_before=before.objective_microusd_per_hour,
        objective_after=after.objective_microusd_per_hour,
        bound_before=before.lower_bound_microusd_per_hour,
        bound_after=after.lower_bound_microusd_per_hour,
        nodes_before=len(before.launches),
        nodes_after=len(after.launches),
        placed_before=_placed(before),
        placed_after=_placed(after),
        types=_type_changes(before, after),
        moves=moves,
        newly_placed=tuple(sorted(waiting_before - waiting_after)),
        newly_unplaced=tuple(sorted(waiting_after - waiting_before)),
    )


def repack_problem(problem: Problem) -> Problem:
    """The question "what would all this cost if it were bought today?": the movable pods of every replaceable node, on new nodes only.

    Pods that wait already are left out, so that both sides serve the same pods. Nodes that are left as they are (``kept_nodes``) neither
    give up pods nor offer room.
    """
    kept = {name for name, _ in kept_nodes(problem)}
    moving = tuple(pod for node in problem.nodes if node.name not in kept for pod in node.pods if _moves(pod))
    return replace(problem, pods=moving, nodes=(), skipped=(), notices=())


def kept_nodes(problem: Problem) -> tuple[tuple[str, str], ...]:
    """Nodes that a repack leaves alone, each with the reason, by name."""
    kept = []
    for node in sorted(problem.nodes, key=lambda node: node.name):
        pinned = sorted(pod.key for pod in node.pods if _must_stay(pod))
        if node.price_microusd_per_hour is None:
            kept.append((node.name, "its price is unknown: no offering of the catalog matches it"))
        elif pinned:
            kept.append((node.name, f"{pinned[0]} must not be disrupted"))
    return tuple(kept)


def compare_running(problem: Problem, repacked: Plan) -> Repack:
    """The nodes of ``problem`` that run now against ``repacked``, the plan of ``repack_problem(problem)``."""
    kept = kept_nodes(problem)
    left_alone = {name for name, _ in kept}
    replaced = [node for node in problem.nodes if node.name not in left_alone]
    moving = [pod for node in replaced for pod in node.pods if _moves(pod)]
    return Repack(
        cost_now=sum(node.price_microusd_per_hour or 0 for node in replaced),
        cost_repacked=repacked.cost_microusd_per_hour,
        nodes_now=len(replaced),
        nodes_repacked=len(repacked.launches),
        pods_moved=len(moving),
        unplaced=tuple(sorted(unplaced.pod for unplaced in repacked.unplaced)),
        kept=kept,
        bare=tuple(sorted(pod.key for pod in moving if pod.owner is None)),
        types_now=_by_type((_type_of(node), node.price_microusd_per_hour or 0) for node in replaced),
        types_repacked=_by_type((launch.offering.instance_type, launch.price_microusd_per_hour) for launch in repacked.launches),
    )


def _moves(pod: Pod) -> bool:
    return not pod.terminating and (pod.owner is None or pod.owner.kind not in _STAYS)


def _must_stay(pod: Pod) -> bool:
    return _moves(pod) and pod.do_not_disrupt


def _type_of(node: Node) -> str:
    return node.offering.instance_type if node.offering else node.labels.get("node.kubernetes.io/instance-type", "unknown")


def _by_type(priced: Iterable[tuple[str, int]]) -> tuple[tuple[str, int, int], ...]:
    nodes: Counter[str] = Counter()
    cost: Counter[str] = Counter()
    for name, price in priced:
        nodes[name] += 1
        cost[name] += price
    return tuple(sorted(((name, nodes[name], cost[name]) for name in nodes), key=lambda line: (-line[2], line[0])))


def _places(plan: Plan) -> dict[str, str]:
    places = {pod: str(launch.offering) for launch in plan.launches for pod in launch.pods}
    places.update((placement.pod, placement.node) for placement in plan.placements)
    places.update((unplaced.pod, "unplaced") for unplaced in plan.unplaced)
    places.update((skipped.pod, "skipped") for skipped in plan.skipped)
    return places


def _placed(plan: Plan) -> int:
    return sum(len(launch.pods) for launch in plan.launches) + len(plan.placements)


def _essence(plan: Plan) -> tuple[object, ...]:
    """What makes two plans the same one, leaving out names made from hashes, messages, stages and status."""
    return (
        sorted((launch.offering, launch.price_microusd_per_hour, sorted(launch.pods)) for launch in plan.launches),
        sorted((placement.pod, placement.node) for placement in plan.placements),
        sorted(unplaced.pod for unplaced in plan.unplaced),
        sorted((skipped.pod, skipped.reason) for skipped in plan.skipped),
        plan.cost_microusd_per_hour,
        plan.objective_microusd_per_hour,
        plan.lower_bound_microusd_per_hour,
    )


def _type_changes(before: Plan, after: Plan) -> tuple[TypeChange, ...]:
    nodes: tuple[Counter[OfferingKey], Counter[OfferingKey]] = (Counter(), Counter())
    costs: tuple[Counter[OfferingKey], Counter[OfferingKey]] = (Counter(), Counter())
    for side, plan in enumerate((before, after)):
        for launch in plan.launches:
            nodes[side][launch.offering] += 1
            costs[side][launch.offering] += launch.price_microusd_per_hour
    changes = (
        TypeChange(key, nodes[0][key], nodes[1][key], costs[0][key], costs[1][key])
        for key in nodes[0].keys() | nodes[1].keys()
        if nodes[0][key] != nodes[1][key] or costs[0][key] != costs[1][key]
    )
    return tuple(
        sorted(
            changes, key=lambda change: (-abs(change.cost_after_microusd_per_hour - change.cost_before_microusd_per_hour), change.offering)
        )
    )
