"""Why pods cannot be placed, in few words and with numbers: for every offering and every existing node, grouped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from packer.model import GroupedReason, Launch, Offering, Placement, Pod, Problem, Unplaced, Why
from packer.obstacles import Obstacle, grouped, requirement_keys
from packer.rules import State
from packer.situation import TRIAL, Situation

BETWEEN_PODS = frozenset({Why.TOPOLOGY_SPREAD, Why.POD_AFFINITY, Why.POD_ANTI_AFFINITY, Why.EXCLUSIVE_CLAIM, Why.DEVICE})
"""Rules whose answer depends on where other pods are."""


def reasons_for(problem: Problem, pod: Pod, situation: Situation | None = None) -> tuple[GroupedReason, ...]:
    """Why ``pod`` has no place: offerings first, then existing nodes. Hand over one ``Situation`` for many pods: it remembers.

    The numbers of offerings add up to all offerings, those of nodes to all nodes, so that nothing is left unsaid.
    """
    return _Answer(situation or Situation(problem), pod).reasons()


def unplaced_with_reasons(
    problem: Problem, launches: Iterable[Launch], placements: Iterable[Placement], pods: Iterable[str]
) -> tuple[Unplaced, ...]:
    """``Plan.unplaced`` for pods that a plan of these launches and placements leaves out, by name."""
    situation = Situation(problem, launches, placements)
    known: dict[object, tuple[GroupedReason, ...]] = {}
    result = []
    for key in sorted(pods):
        pod = situation.pods[key]
        labels = tuple(sorted(pod.labels.items())) if _counted(pod) or situation.repelling_keys else ()
        alike = (id(pod.spec), id(situation.rule(pod)), pod.namespace, labels, pod.gang)
        if alike not in known:
            known[alike] = reasons_for(problem, pod, situation)
        result.append(Unplaced(key, known[alike]))
    return tuple(result)


def _counted(pod: Pod) -> bool:
    return bool(pod.spec.spread or pod.spec.affinity or pod.spec.anti_affinity)


class _Answer:
    """One pod's reasons, from what no plan changes to what this plan has used up."""

    def __init__(self, situation: Situation, pod: Pod) -> None:
        self.situation, self.pod = situation, pod

    def reasons(self) -> tuple[GroupedReason, ...]:
        problem = self.situation.problem
        if not problem.offerings and not problem.nodes:
            return (GroupedReason(Why.NOTHING_OFFERED, "there is no offering and no node at all"),)
        offerings, open_choices = self._offerings()
        nodes = self._nodes()
        found = [GroupedReason(group.code, group.message, offerings=group.places) for group in grouped(offerings)]
        found += [GroupedReason(group.code, group.message, nodes=group.places) for group in grouped(nodes)]
        if self.pod.gang is not None and (open_choices or not found):
            found.insert(0, self._gang())
        elif open_choices:
            found.append(self._left_out(open_choices))
        return tuple(found)

    def _offerings(self) -> tuple[list[tuple[Sequence[Obstacle], int]], int]:
        """Obstacles of each group of offerings, and how many offerings have none even after the plan."""
        places, possible = self.situation.overview(self.pod)
        trials = Trials(self.situation, self.pod)
        left = 0
        for offering in sorted(possible, key=lambda offering: (offering.price_microusd_per_hour, offering.key)):
            obstacles = self.situation.plan_obstacles(offering, self.pod) or trials.obstacles(offering)
            if obstacles:
                places.append((obstacles, 1))
            else:
                left += 1
        return places, left

    def _nodes(self) -> list[tuple[Sequence[Obstacle], int]]:
        situation, pod = self.situation, self.pod
        free = situation.free_after_plan() if situation.placements else {}
        places: list[tuple[Sequence[Obstacle], int]] = []
        for node in situation.problem.nodes:
            obstacles = situation.static_node_obstacles(pod, node, free.get(node.name, node.free))
            if not obstacles and (_counted(pod) or pod.spec.exclusive_claims or situation.placements):
                obstacles = obstacles_of(situation.state(), pod, node.name)
            if obstacles:
                places.append((obstacles, 1))
        return places

    def _gang(self) -> GroupedReason:
        assert self.pod.gang is not None
        gang = self.pod.gang
        return GroupedReason(Why.GANG, f"gang {gang.name} starts with {gang.minimum} more pods or not at all, and so many found no place")

    def _left_out(self, number: int) -> GroupedReason:
        return GroupedReason(
            Why.LIMIT,
            "possible by every rule, but left out under stock, limits and more urgent pods, or within the search's budget",
            number,
        )


def obstacles_of(state: State, pod: Pod, node: str) -> list[Obstacle]:
    """What the scheduler's filters say of one node of a finished plan."""
    return [Obstacle(reason.code, reason.message, reason.message) for reason in state.why_not(pod, node)]


class Trials:
    """A new node put beside the finished plan, once for each domain: do the pods of the plan keep this one off it?"""

    def __init__(self, situation: Situation, pod: Pod) -> None:
        self._situation, self._pod = situation, pod
        keys = {constraint.topology_key for constraint in pod.spec.spread}
        keys |= {term.topology_key for term in (*pod.spec.affinity, *pod.spec.anti_affinity)} | situation.repelling_keys
        self._keys = tuple(sorted(keys | requirement_keys(pod.spec)))
        self._known: dict[object, list[Obstacle]] = {}
        self._wanted = bool(keys or pod.spec.exclusive_claims)

    def obstacles(self, offering: Offering) -> list[Obstacle]:
        """What spread, affinity and claims say there; nothing when the plan is too large to try."""
        if not self._wanted:
            return []
        view = self._situation.view(offering)
        alike = (self._keys, tuple(view.labels.get(key) for key in self._keys), view.taints)
        if alike not in self._known:
            state = self._situation.trial(alike, offering)
            found = obstacles_of(state, self._pod, TRIAL) if state else []
            self._known[alike] = [obstacle for obstacle in found if obstacle.code in BETWEEN_PODS]
        return self._known[alike]
