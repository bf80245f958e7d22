"""A problem and what a plan does with it: what keeps a pod off each offering and node, by nature or because the plan used it up.

Offerings that a spec cannot tell apart are judged once, so that a spec against thousands of offerings costs milliseconds.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from packer import cost
from packer import policy as policies
from packer.model import (
    DEFAULT_RULE,
    PODS,
    Launch,
    Limits,
    Node,
    Offering,
    OfferingKey,
    Placement,
    Pod,
    PolicyRule,
    Problem,
    Resources,
    Why,
)
from packer.obstacles import Obstacle, label_obstacles, port_obstacles, requirement_keys, shortages, taint_obstacles
from packer.rules import NodeView, State, existing_view, new_view
from packer.words import amount, an_hour, count, exact_amount

MOST_TRIALS = 6
"""States of the finished plan with one more node, over all pods that are asked about: each holds the whole cluster."""
MOST_PODS_FOR_TRIALS = 20_000
TRIAL = "a-new-node"
POD_PRICE = "max-hourly-cost"
"""Subject of the obstacle that the pod's own price limit makes; a policy's has its rule's message."""


@dataclass(frozen=True, slots=True)
class Choice:
    """Offerings that are alike for one pod: all with these obstacles, none of which depends on the plan."""

    offerings: tuple[Offering, ...]
    """Cheapest first."""
    view: NodeView
    obstacles: tuple[Obstacle, ...]

    @property
    def cheapest(self) -> Offering:
        return self.offerings[0]


class _Partition(NamedTuple):
    """Offerings by what a kind of spec can see of them: how much room, and all the rest. Cells are (room, site, offerings)."""

    rooms: tuple[Resources, ...]
    sites: tuple[Offering, ...]
    cells: tuple[tuple[int, int, tuple[Offering, ...]], ...]


def _by_price(offering: Offering) -> tuple[int, OfferingKey]:
    return offering.price_microusd_per_hour, offering.key


class Situation:
    """A problem, and what a plan does with it so far. Answers what keeps a pod off each place; remembers by spec."""

    def __init__(self, problem: Problem, launches: Iterable[Launch] = (), placements: Iterable[Placement] = ()) -> None:
        self.problem = problem
        self.launches, self.placements = tuple(launches), tuple(placements)
        self.pods = {pod.key: pod for pod in problem.pods}
        self.offerings = {offering.key: offering for offering in problem.offerings}
        self.usage = cost.used_by_cluster(problem)
        self._bought: dict[OfferingKey, int] = defaultdict(int)
        for launch in self.launches:
            self._bought[launch.offering] += 1
            offering = self.offerings.get(launch.offering)
            self.usage.add(launch.price_microusd_per_hour, offering.allocatable if offering else {})
        self._views: dict[OfferingKey, NodeView] = {}
        self._verdicts: dict[int, list[Obstacle | None]] = {}
        self._partitions: dict[object, _Partition] = {}
        self._choices: dict[tuple[int, int], tuple[Choice, ...]] = {}
        self._usages: dict[tuple[int, int], cost.Usage] = {}
        self._reduced: dict[str, Situation] = {}
        self._kept: list[object] = []
        self._state: State | None = None
        self._tried: dict[object, State] = {}
        terms = (term for pod in (*problem.pods, *(pod for node in problem.nodes for pod in node.pods)) for term in pod.spec.anti_affinity)
        self.repelling_keys = frozenset(term.topology_key for term in terms)
        """Topology keys of all anti-affinity: by these, pods can keep off others that ask for nothing."""

    def rule(self, pod: Pod) -> PolicyRule:
        return policies.rule_for(self.problem.policy, pod)

    def view(self, offering: Offering) -> NodeView:
        """A fresh node of the offering with its daemons."""
        if offering.key not in self._views:
            self._views[offering.key] = new_view(offering, self.problem.daemons)
        return self._views[offering.key]

    def choices(self, pod: Pod) -> tuple[Choice, ...]:
        """Every offering of the problem, in groups that the pod cannot tell apart, with all obstacles that no plan can change."""
        rule = self.rule(pod)
        key = (id(pod.spec), id(rule))
        if key not in self._choices:
            self._kept.extend((pod.spec, rule))  # their ids must stay theirs
            partition = self._partition(pod, rule)
            short, elsewhere = self._judged(pod, partition)
            self._choices[key] = tuple(
                Choice(cell, self.view(cell[0]), (*short[room], *elsewhere[site])) for room, site, cell in partition.cells
            )
        return self._choices[key]

    def overview(self, pod: Pod) -> tuple[list[tuple[Sequence[Obstacle], int]], list[Offering]]:
        """The same in few words: obstacles with the number of offerings that have them, and the offerings without any.

        Offerings with the same kinds of obstacles are one entry with the most that any of them has, and one with the least.
        """
        partition = self._partition(pod, self.rule(pod))
        short, elsewhere = self._judged(pod, partition)
        kinds = [tuple(one.subject for one in obstacles) for obstacles in short]
        possible: list[Offering] = []
        tally: dict[tuple[tuple[str, ...], int], list[tuple[int, int]]] = defaultdict(list)
        for room, site, cell in partition.cells:
            if short[room] or elsewhere[site]:
                tally[kinds[room], site].append((room, len(cell)))
            else:
                possible.extend(cell)
        places: list[tuple[Sequence[Obstacle], int]] = []
        for (kind, site), rooms in tally.items():
            number = sum(size for _, size in rooms)
            alike = [short[room] for room, _ in rooms]
            for pick, times in ((max, 1), (min, number - 1)):
                if times:
                    shown = (pick((one[i] for one in alike), key=lambda obstacle: obstacle.have) for i in range(len(kind)))
                    places.append(((*shown, *elsewhere[site]), times))
        return places, possible

    def _judged(self, pod: Pod, partition: _Partition) -> tuple[list[tuple[Obstacle, ...]], list[tuple[Obstacle, ...]]]:
        """Obstacles of each room and of each site."""
        short = [tuple(shortages(pod.spec.requests, room)) for room in partition.rooms]
        return short, [tuple(self.site_obstacles(pod, offering)) for offering in partition.sites]

    def static_node_obstacles(self, pod: Pod, node: Node, free: Resources) -> list[Obstacle]:
        """What keeps the pod off an existing node with ``free`` left, other than spread and affinity."""
        found = [] if node.ready else [Obstacle(Why.TAINT, "not ready", "the node is not ready")]
        found += shortages(pod.spec.requests, free)
        found += label_obstacles(pod.spec, node.labels, node.name) + taint_obstacles(pod.spec, node.taints)
        return found + port_obstacles(pod.spec.host_ports, existing_view(node).ports, "a pod that runs there")

    def plan_obstacles(self, offering: Offering, pod: Pod) -> list[Obstacle]:
        """What the plan has used up: stock, and limits of the policy and of the pod's alternative."""
        found = []
        if offering.available_count is not None and 0 < offering.available_count <= self._bought[offering.key]:
            text = f"all {offering.available_count} in stock are used by the plan"
            found.append(Obstacle(Why.STOCK, str(offering.key), text))
        found += over_limits(self.problem.policy.limits, self.usage, offering, "the policy")
        rule = self.rule(pod)
        index = cost.alternative_for(rule, offering)
        if index is not None and rule.alternatives[index].limits != Limits():
            usage = self.usage_of(rule, index)
            found += over_limits(rule.alternatives[index].limits, usage, offering, f"alternative {rule.alternatives[index].name!r}")
        return found

    def state(self) -> State:
        """The cluster with all that the plan does; built at first need."""
        if self._state is None:
            self._state = self.fresh_state()
        return self._state

    def fresh_state(self, without: str = "") -> State:
        """A state of its own, optionally without one pod."""
        state = State.of(self.problem)
        for launch in self.launches:
            if launch.offering in self.offerings:
                state.launch(launch.name, self.offerings[launch.offering])
                for key in launch.pods:
                    if key in self.pods and key != without:
                        state.place(self.pods[key], launch.name)
        for placement in self.placements:
            if placement.pod in self.pods and placement.node in state.nodes and placement.pod != without:
                state.place(self.pods[placement.pod], placement.node)
        return state

    def trial(self, alike: object, offering: Offering) -> State | None:
        """The finished plan with a node ``TRIAL`` of the offering, shared by all that ask with an equal ``alike``; None past the limits."""
        if alike not in self._tried:
            if len(self._tried) == MOST_TRIALS or len(self.problem.pods) > MOST_PODS_FOR_TRIALS:
                return None
            self._tried[alike] = self.fresh_state()
            self._tried[alike].launch(TRIAL, offering)
        return self._tried[alike]

    def without_launch(self, launch: Launch) -> Situation:
        """The same plan, but for one launch."""
        if launch.name not in self._reduced:
            rest = (other for other in self.launches if other.name != launch.name)
            reduced = self._reduced[launch.name] = Situation(self.problem, rest, self.placements)
            reduced._views = self._views
        return self._reduced[launch.name]

    def with_problem(self, problem: Problem) -> Situation:
        """The same plan judged under another policy."""
        return self if problem is self.problem else Situation(problem, self.launches, self.placements)

    def forget(self, key: OfferingKey) -> None:
        """Judge this offering's fresh node anew: a changed offering is about to be asked about under the same key, or was."""
        self._views.pop(key, None)

    def free_after_plan(self) -> dict[str, dict[str, int]]:
        """What is left of each existing node, without building a state."""
        free = {node.name: dict(node.free) for node in self.problem.nodes}
        for placement in self.placements:
            pod, room = self.pods.get(placement.pod), free.get(placement.node)
            if pod is not None and room is not None:
                for name, wanted in (*pod.spec.requests.items(), (PODS, 1)):
                    room[name] = room.get(name, 0) - wanted
        return free

    def _partition(self, pod: Pod, rule: PolicyRule) -> _Partition:
        spec = pod.spec
        resources, keys = tuple(sorted({*spec.requests, PODS})), tuple(sorted(requirement_keys(spec)))
        ports, price = bool(spec.host_ports), spec.max_price_microusd_per_hour
        identity = (resources, keys, id(rule), ports, price)
        if identity not in self._partitions:
            rooms: dict[object, int] = {}
            sites: dict[object, int] = {}
            room_views: list[Resources] = []
            site_offerings: list[Offering] = []
            cells: dict[tuple[int, int], list[Offering]] = defaultdict(list)
            for offering, verdict in zip(self.problem.offerings, self._verdict_of(rule), strict=True):
                view = self.view(offering)
                room = rooms.setdefault(tuple(view.free.get(name) for name in resources), len(rooms))
                if room == len(room_views):
                    room_views.append(view.free)
                alike = (
                    tuple(view.labels.get(name) for name in keys),
                    view.taints,
                    verdict,
                    view.ports if ports else (),
                    price is not None and offering.price_microusd_per_hour > price,
                    offering.available_count == 0,
                )
                site = sites.setdefault(alike, len(sites))
                if site == len(site_offerings):
                    site_offerings.append(offering)
                cells[room, site].append(offering)
            ordered = ((room, site, tuple(sorted(cell, key=_by_price))) for (room, site), cell in cells.items())
            self._partitions[identity] = _Partition(tuple(room_views), tuple(site_offerings), tuple(ordered))
        return self._partitions[identity]

    def _verdict_of(self, rule: PolicyRule) -> list[Obstacle | None]:
        """What the rule says of each offering, in the order of the problem's."""
        if id(rule) not in self._verdicts:
            self._kept.append(rule)
            self._verdicts[id(rule)] = [self._policy_obstacle(rule, offering) for offering in self.problem.offerings]
        return self._verdicts[id(rule)]

    def _policy_obstacle(self, rule: PolicyRule, offering: Offering) -> Obstacle | None:
        reason = policies.why_not(rule, offering)
        if reason is not None and rule is DEFAULT_RULE:
            kind = "burstable types" if offering.burstable else "slices of GPUs"
            return Obstacle(reason.code, kind, f"{kind} are out unless a policy allows them")
        return None if reason is None else Obstacle(reason.code, reason.message, reason.message)

    def static_obstacles(self, pod: Pod, offering: Offering) -> list[Obstacle]:
        """What keeps the pod off a fresh node of the offering whatever is planned, other than spread and affinity."""
        return shortages(pod.spec.requests, self.view(offering).free) + self.site_obstacles(pod, offering)

    def site_obstacles(self, pod: Pod, offering: Offering) -> list[Obstacle]:
        """The part of ``static_obstacles`` that has nothing to do with room."""
        spec, view = pod.spec, self.view(offering)
        found = label_obstacles(spec, view.labels, None) + taint_obstacles(spec, view.taints)
        found += port_obstacles(spec.host_ports, view.ports, "a daemon of every such node")
        found += self._device_obstacles(pod) + self.permission_obstacles(pod, offering)
        if offering.available_count == 0:
            found.append(Obstacle(Why.STOCK, "stock", "none in stock"))
        return found

    def permission_obstacles(self, pod: Pod, offering: Offering) -> list[Obstacle]:
        """What the policy and the pod's own price limit say against a machine to buy."""
        spec, verdict = pod.spec, self._policy_obstacle(self.rule(pod), offering)
        found = [verdict] if verdict else []
        if spec.max_price_microusd_per_hour is not None and offering.price_microusd_per_hour > spec.max_price_microusd_per_hour:
            text = f"dearer than the {an_hour(spec.max_price_microusd_per_hour)} that the pod allows"
            found.append(Obstacle(Why.MAX_PRICE, POD_PRICE, text))
        return found

    def _device_obstacles(self, pod: Pod) -> list[Obstacle]:
        if self.problem.device_share is None:
            return []
        resource, size = self.problem.device_share
        wanted = pod.spec.requests.get(resource, 0)
        if wanted <= size or wanted % size == 0:
            return []
        return [Obstacle(Why.DEVICE, resource, f"{resource} {wanted} is neither within one device of {size} nor a multiple of it")]

    def usage_of(self, rule: PolicyRule, alternative: int) -> cost.Usage:
        """What counts against one alternative's limits: running nodes and the plan's launches with a pod of the rule."""
        known = self._usages.get((id(rule), alternative))
        if known is not None:
            return known
        usage = self._usages[id(rule), alternative] = cost.used_by_alternative(self.problem, rule, alternative)
        for launch in self.launches:
            offering = self.offerings.get(launch.offering)
            if offering is None or cost.alternative_for(rule, offering) != alternative:
                continue
            if any(key in self.pods and self.rule(self.pods[key]) is rule for key in launch.pods):
                usage.add(launch.price_microusd_per_hour, offering.allocatable)
        return usage


def over_limits(limits: Limits, used: cost.Usage, offering: Offering, whose: str) -> list[Obstacle]:
    """Every limit that one more node of the offering would break, with what is used, the limit and what the node adds."""
    found = []
    cap, total = limits.cost_microusd_per_hour, used.cost_microusd_per_hour + offering.price_microusd_per_hour
    if cap is not None and total > cap:
        text = f"{whose} allows {an_hour(cap)}, {an_hour(used.cost_microusd_per_hour)} is spent"
        found.append(Obstacle(Why.LIMIT, f"{whose}: cost", text))
    if limits.nodes is not None and used.nodes + 1 > limits.nodes:
        text = f"{whose} allows {count(limits.nodes, 'node')}, {used.nodes} in use"
        found.append(Obstacle(Why.LIMIT, f"{whose}: nodes", text))
    for name, most in sorted(limits.resources.items()):
        there, added = used.resources.get(name, 0), offering.allocatable.get(name, 0)
        if added and there + added > most:
            text = f"{whose} allows {name} {exact_amount(name, most)}, {amount(name, there)} in use"
            found.append(Obstacle(Why.LIMIT, f"{whose}: {name}", text))
    return found
