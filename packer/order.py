"""An order in which kube-scheduler could bind a plan's pods, or what refuses them.

All nodes of the plan stand from the start (pods are released when their nodes are ready). Spread and affinity depend on the order of
binding: one pod makes room for, or stands in the way of, the next. Everything else does not, so only those pods are put in order:
first those with rules, emptiest domain first; the others when no ruled pod can move. If that gets stuck, small cases are searched through.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from packer.model import Placement, Plan, Pod, Problem, Reason, Why
from packer.reorder import ORDER_DEPENDENT, reordered
from packer.rules import Event, State

SEARCH_QUESTIONS = 20_000
"""How many placements the search may try; a pure count, so that the verdict never depends on the machine."""

SEARCH_PODS = 200
"""The search goes one level deeper for each pod, so larger cases are left to the greedy order."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """A pod that is refused where the plan wants it, with the first reason of each code."""

    pod: str
    node: str
    reasons: tuple[Reason, ...]


@dataclass(frozen=True, slots=True)
class Order:
    """``steps`` in binding order; refused pods are among them, bound nevertheless so that one fault does not drag others along."""

    steps: tuple[Placement, ...]
    refusals: tuple[Refusal, ...]
    state: State
    """The cluster with the whole plan in it."""


@dataclass(slots=True)
class _Group:
    """Pods that no rule can tell apart, bound for one node."""

    rank: int
    node: str
    pods: list[Pod]
    lane: _Lane


@dataclass(slots=True)
class _Lane:
    """Groups of one kind whose nodes share every domain but the hostname: a rule over a larger domain refuses all of them or none."""

    rank: int
    ready: deque[_Group] = field(default_factory=deque)
    asleep: bool = False
    queued: bool = False


def placement_order(problem: Problem, plan: Plan) -> Order:
    """Binds the plan's pods one by one onto the problem's nodes and the plan's launches. Pods, nodes and offerings that the problem
    does not know are passed over, as are second mentions of a pod: the judge reports those by itself.
    """
    state = State.of(problem)
    wanted = list(_assignments(problem, plan, state))
    for pod, _ in wanted:
        state.order_matters(pod)  # tells the State every rule before the first question
    ruled, counted, free = _split(state, wanted)
    run = _Run(state)
    for pod, node in free:
        run.bind(pod, node)
    hopeless = len(run.refusals)
    if not run.greedy(_groups(state, ruled), counted):
        if len(run.refusals) > hopeless:
            # A pod that is refused in any order leaves nothing to search for.
            run.force()
        else:
            run.again(len(free), ruled, counted)
    return Order(tuple(run.steps), tuple(run.refusals), state)


def _assignments(problem: Problem, plan: Plan, state: State) -> Iterator[tuple[Pod, str]]:
    """Launches the plan's nodes and yields (pod, node), canonically ordered."""
    pods = {pod.key: pod for pod in problem.pods}
    offerings = {offering.key: offering for offering in problem.offerings}
    wanted: dict[str, str] = {}
    for launch in sorted(plan.launches, key=lambda launch: launch.name):
        if launch.offering in offerings and launch.name not in state.nodes:
            state.launch(launch.name, offerings[launch.offering])
            for key in launch.pods:
                wanted.setdefault(key, launch.name)
    for placement in plan.placements:
        if placement.node in state.nodes:
            wanted.setdefault(placement.pod, placement.node)
    for key in sorted(wanted):
        if key in pods:
            yield pods[key], wanted[key]


Assigned = list[tuple[Pod, str]]


def _split(state: State, wanted: Assigned) -> tuple[Assigned, Assigned, Assigned]:
    """Pods with spread or affinity of their own; pods that such rules count; and the rest, whose order is all the same."""
    ruled: Assigned = []
    counted: Assigned = []
    free: Assigned = []
    for pod, node in wanted:
        (ruled if state.order_matters(pod) else counted if state.is_counted(pod) else free).append((pod, node))
    return ruled, counted, free


def _groups(state: State, assigned: Assigned) -> list[_Group]:
    groups: dict[tuple[int, str], _Group] = {}
    lanes: dict[object, _Lane] = {}
    for pod, node in assigned:
        kind = id(state.same_kind(pod))
        group = groups.get((kind, node))
        if group is None:
            lane = lanes.setdefault((kind, state.shared_domains(pod, node)), _Lane(len(lanes)))
            group = groups[kind, node] = _Group(len(groups), node, [], lane)
            lane.ready.append(group)
        group.pods.append(pod)
    for group in groups.values():
        group.pods.reverse()
    return list(groups.values())


class _Run:
    """One greedy pass. What is refused sleeps until the event that it waits for: a whole lane, or one group where only its node is full."""

    def __init__(self, state: State) -> None:
        self.state = state
        self.steps: list[Placement] = []
        self.refusals: list[Refusal] = []
        self._groups: list[_Group] = []
        self._queue: list[tuple[tuple[int, ...], int, _Lane]] = []
        self._sleepers: dict[Event, list[_Group | _Lane]] = {}

    def bind(self, pod: Pod, node: str, reasons: tuple[Reason, ...] | None = None) -> None:
        """Places a pod, noting why it should not be there if it should not, and wakes those whom this may help."""
        refused = self.state.why_not(pod, node) if reasons is None else reasons
        if refused:
            self.refusals.append(Refusal(pod.key, node, _first_of_each(refused)))
        self.steps.append(Placement(pod.key, node))
        for event in self.state.place(pod, node):
            for sleeper in self._sleepers.pop(event, ()):
                self._wake(sleeper)

    def greedy(self, groups: list[_Group], counted: Assigned) -> bool:
        """Ruled pods whenever one can move, emptiest domain first; else the next pod that is merely counted. False if some stay asleep."""
        self._groups = groups
        for group in groups:
            self._enqueue(group.lane)
        self._drain()
        for pod, node in counted:
            self.bind(pod, node)
            self._drain()
        return not any(group.pods for group in groups)

    def again(self, kept: int, ruled: Assigned, counted: Assigned) -> None:
        """All but the first ``kept`` steps anew: carefully, else by search if the pods are few, else against the rules for who is stuck."""
        pods = {pod.key: (pod, node) for pod, node in (*ruled, *counted)}
        self._take_off(self.steps[kept:], pods)
        del self.steps[kept:]
        steps, stuck = reordered(self.state, ruled, counted)
        if stuck and len(pods) <= SEARCH_PODS:
            self._take_off(steps, pods)
            search = _Search(self.state, _groups(self.state, [*ruled, *counted]))
            if search.go():
                steps, stuck = search.steps, set()
            else:
                for step in steps:
                    self.state.place(pods[step.pod][0], step.node)
        self.steps += steps
        for key in sorted(stuck):
            self.bind(*pods[key])

    def _take_off(self, steps: list[Placement], pods: dict[str, tuple[Pod, str]]) -> None:
        for step in reversed(steps):
            self.state.remove(pods[step.pod][0], step.node)

    def force(self) -> None:
        """Binds who is left against the rules, one at a time, in canonical order: each is reported, then counts like any other."""
        for group in self._groups:
            while group.pods:
                self.bind(group.pods.pop(), group.node)
                self._drain()

    def _drain(self) -> None:
        while self._queue:
            load, _, lane = heapq.heappop(self._queue)
            lane.queued = False
            while lane.ready and not lane.ready[0].pods:
                lane.ready.popleft()
            if lane.ready:
                group = lane.ready[0]
                now = self.state.spread_load(group.pods[-1], group.node)
                if now == load or not self._queue or now <= self._queue[0][0]:
                    self._advance(lane, group)
                self._enqueue(lane)

    def _advance(self, lane: _Lane, group: _Group) -> None:
        """Binds one pod of the lane's first group, or puts the lane or the group to sleep."""
        reasons = self.state.why_not(group.pods[-1], group.node)
        if reasons and all(reason.code in ORDER_DEPENDENT for reason in reasons):
            event, whole = self.state.blocker(group.pods[-1], group.node)
            sleeper: _Group | _Lane = lane if whole else group
            self._sleepers.setdefault(event, []).append(sleeper)
            if whole:
                lane.asleep = True
            else:
                lane.ready.popleft()
            return
        lane.ready.rotate(-1)
        self.bind(group.pods.pop(), group.node, reasons)

    def _enqueue(self, lane: _Lane) -> None:
        while lane.ready and not lane.ready[0].pods:
            lane.ready.popleft()
        if lane.ready and not lane.asleep and not lane.queued:
            lane.queued = True
            first = lane.ready[0]
            heapq.heappush(self._queue, (self.state.spread_load(first.pods[-1], first.node), lane.rank, lane))

    def _wake(self, sleeper: _Group | _Lane) -> None:
        lane = sleeper if isinstance(sleeper, _Lane) else sleeper.lane
        if isinstance(sleeper, _Lane):
            lane.asleep = False
        else:
            lane.ready.append(sleeper)
        self._enqueue(lane)


def _first_of_each(reasons: Iterable[Reason]) -> tuple[Reason, ...]:
    first: dict[Why, Reason] = {}
    for reason in reasons:
        first.setdefault(reason.code, reason)
    return tuple(first.values())


class _Search:
    """Remembers which sets of bound pods are dead ends: what is allowed next depends on the set alone, not on how it came about."""

    def __init__(self, state: State, groups: list[_Group]) -> None:
        self._state, self._groups = state, groups
        self._left = [len(group.pods) for group in groups]
        self._dead: set[tuple[int, ...]] = set()
        self._questions = 0
        self.steps: list[Placement] = []

    def go(self) -> bool:
        if not any(self._left):
            return True
        key = tuple(self._left)
        if key in self._dead:
            return False
        for i, group in enumerate(self._groups):
            if not self._left[i]:
                continue
            pod = group.pods[self._left[i] - 1]
            self._questions += 1
            if self._questions > SEARCH_QUESTIONS:
                return False
            if self._state.why_not(pod, group.node):
                continue
            self._left[i] -= 1
            self._state.place(pod, group.node)
            self.steps.append(Placement(pod.key, group.node))
            if self.go():
                return True
            self.steps.pop()
            self._state.remove(pod, group.node)
            self._left[i] += 1
        self._dead.add(key)
        return False
