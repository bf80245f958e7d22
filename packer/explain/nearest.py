"""The nearest miss of an unplaced pod: for each lever (pod, policy, catalog) the least change that would place it, verified by the rules.

Every offering and every node of the finished plan is a place; each place's obstacles give the changes that it would take. The cheapest
sets of changes are applied to the input and judged again, until one holds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, product

from packer import cost
from packer.explain.changes import WHOLE, Change, Input, changes, limit_change, texts
from packer.explain.story import node_cost
from packer.explain.values import Lever, Remedy
from packer.model import Limits, Offering, Pod, Why
from packer.obstacles import Obstacle, label_obstacles, port_obstacles, shortages, taint_obstacles
from packer.rules import State
from packer.situation import Situation, over_limits
from packer.why import BETWEEN_PODS, Trials, obstacles_of
from packer.words import place_name

MOST_TRIED = 40
"""Sets of changes that are verified for one lever."""
MOST_TRIED_WITH_STATE = 6
"""The same for pods whose spread needs the whole cluster's state anew each time."""
MOST_COMBINED = 6
"""Ways to combine the changes of one place."""


@dataclass(frozen=True, slots=True)
class _Place:
    """Somewhere the pod could go if its obstacles were gone: a fresh node of ``offering``, or the node called ``node``."""

    offering: Offering | None
    node: str
    obstacles: tuple[Obstacle, ...]

    @property
    def name(self) -> str:
        if not self.node:
            return place_name(self.offering.key) if self.offering else ""
        return f"{'new' if self.offering else 'existing'} node {self.node}"


@dataclass(frozen=True, slots=True)
class _Candidate:
    place: _Place
    lever: Lever
    changes: tuple[Change, ...]

    @property
    def size(self) -> int:
        return sum(change.size for change in self.changes)

    def rank(self) -> tuple[int, int, int, str, tuple[str, ...]]:
        price = self.place.offering.price_microusd_per_hour if self.place.offering and not self.place.node else 0
        return self.size, len(self.changes), price, self.place.name, tuple(change.text for change in self.changes)


def nearest_misses(situation: Situation, pod: Pod, state: State) -> tuple[Remedy, ...]:
    """At most one remedy a lever, the smallest change first. Empty when no place is near, or when the pod would fit as things are."""
    search = _Search(situation, pod, state)
    places = list(search.places())
    if any(not place.obstacles for place in places):
        return ()
    found = []
    for lever in (Lever.POD, Lever.POLICY, Lever.CATALOG):
        best = search.best(lever, places)
        if best is not None:
            found.append(best)
    if not found:
        mixed = search.best(Lever.MIXED, places)
        found = [mixed] if mixed is not None else []
    return tuple(remedy for _, remedy in sorted(found, key=lambda entry: entry[0]))


class _Search:
    def __init__(self, situation: Situation, pod: Pod, state: State) -> None:
        self._situation, self._pod, self._state = situation, pod, state
        self._trials = Trials(situation, pod)
        self._launched = 0
        self._changes: dict[tuple[Obstacle, int], list[Change]] = {}

    def places(self) -> Iterator[_Place]:
        """Kinds of offerings, then every node of the finished plan."""
        situation, pod = self._situation, self._pod
        for choice in situation.choices(pod):
            if choice.obstacles:
                yield _Place(choice.cheapest, "", (*choice.obstacles, *situation.plan_obstacles(choice.cheapest, pod)))
                continue
            for offering in choice.offerings:
                found = (*situation.plan_obstacles(offering, pod), *self._trials.obstacles(offering))
                yield _Place(offering, "", found)
        ready = {node.name for node in situation.problem.nodes if node.ready}
        for name, node in self._state.nodes.items():
            if node.offering is None and name not in ready:
                continue
            spec = pod.spec
            found = (
                *shortages(spec.requests, node.free),
                *label_obstacles(spec, node.labels, node.node_name),
                *taint_obstacles(spec, node.taints),
                *port_obstacles(spec.host_ports, tuple(node.ports), "a pod there"),
                *(situation.permission_obstacles(pod, node.offering) if node.offering else ()),
            )
            yield _Place(node.offering, name, found or tuple(obstacles_of(self._state, pod, name)))

    def best(self, lever: Lever, places: Sequence[_Place]) -> tuple[tuple[int, int], Remedy] | None:
        """The smallest verified remedy by one lever alone (or by any mixture), with its size."""
        candidates = sorted((c for place in places for c in self._candidates(lever, place)), key=_Candidate.rank)
        most = MOST_TRIED_WITH_STATE if self._pod.spec.spread else MOST_TRIED
        for candidate in islice(candidates, most):
            added = self._verified(candidate)
            if added is not None:
                priced = None if any(change.lever is Lever.CATALOG and change.size > WHOLE for change in candidate.changes) else added
                return (candidate.size, added), Remedy(lever, texts(candidate.changes), candidate.place.name, priced)
        return None

    def _candidates(self, lever: Lever, place: _Place) -> Iterator[_Candidate]:
        options = []
        for obstacle in place.obstacles:
            fitting = [change for change in self._changes_of(obstacle, place) if lever in (change.lever, Lever.MIXED)]
            if not fitting:
                return
            options.append(fitting[: 4 if obstacle.code in BETWEEN_PODS else 2])
        for combined in islice(product(*options), MOST_COMBINED):
            yield _Candidate(place, lever, tuple({change.text: change for change in combined}.values()))

    def _changes_of(self, obstacle: Obstacle, place: _Place) -> list[Change]:
        """Catalog and policy can do nothing about a node that stands or is bought: its offering is not theirs to change any more."""
        key = (obstacle, id(place.offering) if not place.node else 0)
        if key not in self._changes:
            rule = self._situation.rule(self._pod)
            given = Input(self._situation.problem, self._pod, place.offering if not place.node else None)
            if obstacle.code is Why.LIMIT and given.offering is not None:
                self._changes[key] = self._raised(given, place)
            else:
                self._changes[key] = changes(obstacle, given, rule)
        return self._changes[key]

    def _raised(self, given: Input, place: _Place) -> list[Change]:
        situation, offering = self._situation, given.offering
        assert offering is not None
        rule = situation.rule(self._pod)
        if over_limits(situation.problem.policy.limits, situation.usage, offering, ""):
            return [limit_change(given, rule, situation.usage, None)]
        index = cost.alternative_for(rule, offering)
        if index is None or rule.alternatives[index].limits == Limits():
            return []
        return [limit_change(given, rule, situation.usage_of(rule, index), index)]

    def _verified(self, candidate: _Candidate) -> int | None:
        """What the pod would add there in micro-dollars an hour once the changes are made; None if the rules still refuse it."""
        given = Input(self._situation.problem, self._pod, candidate.place.offering)
        for change in candidate.changes:
            given = change.apply(given)
        situation = self._situation.with_problem(given.problem)
        if candidate.place.node:
            if given.offering is not None and situation.permission_obstacles(given.pod, given.offering):
                return None
            return None if self._state.why_not(given.pod, candidate.place.node) else 0
        assert given.offering is not None
        situation.forget(given.offering.key)
        try:
            if situation.static_obstacles(given.pod, given.offering) or situation.plan_obstacles(given.offering, given.pod):
                return None
            return None if self._refused(given) else node_cost(situation, given.offering, [given.pod])
        finally:
            situation.forget(given.offering.key)

    def _refused(self, given: Input) -> bool:
        """Whether the finished plan's pods keep the changed pod off a fresh node."""
        assert given.offering is not None
        state = self._situation.fresh_state(without=self._pod.key) if given.pod.spec.spread else self._state
        self._launched += 1
        name = f"tried-{self._launched}"
        state.launch(name, given.offering)
        return bool(state.why_not(given.pod, name))
