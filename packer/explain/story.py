"""Why a pod's node is of its type: what fills it, what the neighbouring types lack or cost, and what the pod itself adds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from packer import cost
from packer.explain.values import Filling, NodeStory, Priced
from packer.model import PODS, Launch, Node, Offering, Placement, Pod, PolicyRule, Resources, Why
from packer.obstacles import Obstacle, label_obstacles, message_of, port_obstacles, shortages, taint_obstacles
from packer.rules import State
from packer.situation import Situation
from packer.summary import requests_of
from packer.words import resource_order

MOST_VERIFIED = 8
"""Alternatives that are tried on the whole cluster's state before giving up: each costs one state."""
MOST_NAMED = 5


def launch_story(situation: Situation, pod: Pod, launch: Launch, state: State) -> NodeStory:
    """The story of a node to buy. ``state`` is the finished plan without ``pod``."""
    offering = situation.offerings[launch.offering]
    contents = [situation.pods[key] for key in launch.pods if key in situation.pods]
    rest = [other for other in contents if other.key != pod.key]
    here = node_cost(situation, offering, contents)
    ranked = _ranked(situation, contents)
    view = situation.view(offering)
    overhead = {name: value - view.free.get(name, 0) for name, value in offering.allocatable.items()}
    return NodeStory(
        name=launch.name,
        offering=launch.offering,
        price_microusd_per_hour=launch.price_microusd_per_hour,
        pods=launch.pods,
        fillings=fillings(offering.allocatable, overhead, contents, pod),
        runner_up=_first_that_holds(situation, launch, contents, ranked, here, lambda other: other.key != offering.key),
        next_cheaper=_next_cheaper(situation, contents, ranked, offering, here),
        next_dearer=_first_that_holds(
            situation, launch, contents, ranked, here, lambda other: other.key.instance_type != offering.key.instance_type, dearer=True
        ),
        without_pod=_without(situation, launch, rest, here),
        other_nodes=other_nodes(situation, pod, state, launch.name),
        alone=_alone(situation, pod),
    )


def existing_story(situation: Situation, pod: Pod, node: Node, placements: Iterable[Placement], state: State) -> NodeStory:
    """The story of a pod on a node that stands already."""
    keys = tuple(placement.pod for placement in placements if placement.node == node.name)
    contents = [situation.pods[key] for key in keys if key in situation.pods]
    overhead = {name: value - node.free.get(name, 0) for name, value in node.allocatable.items()}
    return NodeStory(
        name=node.name,
        offering=node.offering,
        price_microusd_per_hour=node.price_microusd_per_hour,
        pods=keys,
        fillings=fillings(node.allocatable, overhead, contents, pod),
        other_nodes=other_nodes(situation, pod, state, node.name),
        alone=_alone(situation, pod),
    )


def fillings(allocatable: Resources, overhead: Resources, contents: Sequence[Pod], pod: Pod) -> tuple[Filling, ...]:
    """The node's resources that anybody on it asks for, in reading order."""
    planned, own = requests_of(contents), requests_of([pod])
    names = resource_order(name for name in allocatable if allocatable[name] and (planned.get(name) or overhead.get(name)))
    return tuple(Filling(name, allocatable[name], overhead.get(name, 0), planned.get(name, 0), own.get(name, 0)) for name in names)


def node_cost(situation: Situation, offering: Offering, pods: Sequence[Pod]) -> int:
    """What a node of the offering with these pods adds to the objective."""
    return _cost_of_kinds(situation, offering, _kinds(situation, pods))


def _kinds(situation: Situation, pods: Sequence[Pod]) -> list[tuple[Pod, PolicyRule, int]]:
    """Pods that cost the same on any offering, together: (one of them, its rule, how many)."""
    kinds: dict[tuple[int, int], tuple[Pod, PolicyRule, int]] = {}
    for pod in pods:
        rule = situation.rule(pod)
        first, _, number = kinds.get((id(pod.spec), id(rule)), (pod, rule, 0))
        kinds[id(pod.spec), id(rule)] = (first, rule, number + 1)
    return list(kinds.values())


def _cost_of_kinds(situation: Situation, offering: Offering, kinds: Sequence[tuple[Pod, PolicyRule, int]]) -> int:
    policy = situation.problem.policy
    launch = Launch("", offering.key, offering.price_microusd_per_hour, ())
    adders = sum(number * cost.adder(pod.spec, rule, offering, policy) for pod, rule, number in kinds)
    return cost.launch_objective(launch, (pod for pod, _, _ in kinds), policy) + adders


def lacks(situation: Situation, offering: Offering, pods: Sequence[Pod]) -> list[Obstacle]:
    """All that keeps these pods together off a fresh node of the offering, other than spread, affinity, stock and limits."""
    view = situation.view(offering)
    wanted = requests_of(pods)
    slots = wanted.pop(PODS, 0)
    found = [one for one in shortages(wanted, view.free) if one.subject != PODS]
    if slots > view.free.get(PODS, 0):
        found.append(Obstacle(Why.INSUFFICIENT_PODS, PODS, "", view.free.get(PODS, 0), slots))
    for pod in _one_of_each(pods):
        found += label_obstacles(pod.spec, view.labels, None) + taint_obstacles(pod.spec, view.taints)
        found += port_obstacles(pod.spec.host_ports, view.ports, "a daemon")
        found += situation.permission_obstacles(pod, offering)
    return found


def other_nodes(situation: Situation, pod: Pod, state: State, own: str) -> tuple[str, ...]:
    """Nodes of the finished plan with room for this pod, existing ones first; the policy's permission is asked for bought ones."""
    found = []
    for name in sorted(state.nodes, key=lambda name: (state.nodes[name].offering is not None, name)):
        node = state.nodes[name]
        if name == own or state.why_not(pod, name):
            continue
        if node.offering is None or not situation.permission_obstacles(pod, node.offering):
            found.append(name)
            if len(found) == MOST_NAMED:
                break
    return tuple(found)


def _one_of_each(pods: Iterable[Pod]) -> Iterator[Pod]:
    """One pod for each spec and set of labels."""
    seen = set()
    for pod in pods:
        kind = (id(pod.spec), pod.namespace, pod.priority, tuple(sorted(pod.labels.items())))
        if kind not in seen:
            seen.add(kind)
            yield pod


def _ranked(situation: Situation, pods: Sequence[Pod]) -> list[tuple[int, Offering]]:
    """Every offering with the cost of holding these pods, cheapest first."""
    kinds = _kinds(situation, pods)
    priced = [(_cost_of_kinds(situation, offering, kinds), offering) for offering in situation.problem.offerings]
    return sorted(priced, key=lambda entry: (entry[0], entry[1].key))


def _first_that_holds(
    situation: Situation,
    launch: Launch,
    contents: Sequence[Pod],
    ranked: Sequence[tuple[int, Offering]],
    here: int,
    wanted: Callable[[Offering], bool],
    *,
    dearer: bool = False,
) -> Priced | None:
    tried = 0
    for price, offering in ranked:
        if (dearer and price <= here) or not wanted(offering) or offering.available_count == 0 or lacks(situation, offering, contents):
            continue
        if situation.without_launch(launch).plan_obstacles(offering, contents[0]):
            continue
        tried += 1
        if _accepted(situation, launch, contents, offering):
            return Priced(offering.key, offering.price_microusd_per_hour, price - here)
        if tried == MOST_VERIFIED:
            return None
    return None


def _accepted(situation: Situation, launch: Launch, contents: Sequence[Pod], offering: Offering) -> bool:
    """Whether kube-scheduler would bind all these pods to a node of ``offering`` in place of the launch, in some order."""
    state = situation.without_launch(launch).fresh_state()
    state.launch(launch.name, offering)
    waiting = list(contents)
    while waiting:
        left = []
        for pod in waiting:
            if state.why_not(pod, launch.name):
                left.append(pod)
            else:
                state.place(pod, launch.name)
        if len(left) == len(waiting):
            return False
        waiting = left
    return True


def _next_cheaper(
    situation: Situation, contents: Sequence[Pod], ranked: Sequence[tuple[int, Offering]], offering: Offering, here: int
) -> Priced | None:
    """The dearest other type below this one: preferably one that only lacks room, since that says what fills the node."""
    cheaper = [(price, o) for price, o in ranked if price < here and o.key.instance_type != offering.key.instance_type]
    fallback: Priced | None = None
    for price, other in reversed(cheaper):
        missing = lacks(situation, other, contents)
        words = tuple(dict.fromkeys(message_of([(one, 1)]) for one in missing))
        priced = Priced(other.key, other.price_microusd_per_hour, price - here, words)
        if missing and all(one.want for one in missing):
            return priced
        if missing and fallback is None:
            fallback = priced
    return fallback


def _without(situation: Situation, launch: Launch, rest: Sequence[Pod], here: int) -> Priced | None:
    """The cheapest node for what remains when the pod is gone; None when the pod is alone there (then its node goes with it)."""
    if not rest:
        return None
    found = _first_that_holds(situation, launch, rest, _ranked(situation, rest), here, lambda _: True)
    return found if found is None or found.added_microusd_per_hour < 0 else None


def _alone(situation: Situation, pod: Pod) -> Priced | None:
    """The cheapest offering for this pod alone, as far as stock and limits are left."""
    options = [
        (node_cost(situation, offering, [pod]), offering)
        for choice in situation.choices(pod)
        if not choice.obstacles
        for offering in choice.offerings
    ]
    for price, offering in sorted(options, key=lambda entry: (entry[0], entry[1].key)):
        if not situation.plan_obstacles(offering, pod):
            return Priced(offering.key, offering.price_microusd_per_hour, price)
    return None
