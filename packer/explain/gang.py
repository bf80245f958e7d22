"""The nearest miss of a gang: with how many of its members it could start, found by placing them one at a time."""

from __future__ import annotations

from packer.explain.story import node_cost
from packer.explain.values import Lever, Remedy
from packer.model import Launch, Pod
from packer.rules import State
from packer.situation import Situation
from packer.words import count

MOST_MEMBERS = 500


def smaller_gang(situation: Situation, pod: Pod) -> Remedy | None:
    """A start with fewer members, all of which were given a place under the rules, stock and limits; None where none or all have one.

    A greedy placement, so the gang might start with more than it says, never with fewer.
    """
    if pod.gang is None or pod.gang.minimum < 2:
        return None
    placed = {key for launch in situation.launches for key in launch.pods} | {placement.pod for placement in situation.placements}
    members = [
        other
        for key, other in sorted(situation.pods.items())
        if other.namespace == pod.namespace and other.gang is not None and other.gang.name == pod.gang.name and key not in placed
    ][:MOST_MEMBERS]
    state, launches, added = situation.fresh_state(), list(situation.launches), 0
    started = 0
    for member in members:
        current = Situation(situation.problem, launches, situation.placements) if len(launches) > len(situation.launches) else situation
        if _join(current, state, member):
            started += 1
            continue
        launch = _launched(current, state, member, f"gang-{len(launches)}")
        if launch is not None:
            launches.append(launch)
            added += node_cost(current, current.offerings[launch.offering], [member])
            started += 1
    if not 0 < started < pod.gang.minimum:
        return None
    change = f"let gang {pod.gang.name} start with {count(started, 'pod')} (now it needs {pod.gang.minimum})"
    where = f"{count(len(launches) - len(situation.launches), 'new node')} with the other members"
    return Remedy(Lever.POD, (change,), where, added)


def _join(situation: Situation, state: State, pod: Pod) -> bool:
    """Puts the pod onto a node that stands or is bought already, if one takes it."""
    ready = {node.name for node in situation.problem.nodes if node.ready}
    for name, node in state.nodes.items():
        allowed = not situation.permission_obstacles(pod, node.offering) if node.offering else name in ready
        if allowed and not state.why_not(pod, name):
            state.place(pod, name)
            return True
    return False


def _launched(situation: Situation, state: State, pod: Pod, name: str) -> Launch | None:
    """Buys the cheapest machine that takes the pod, if there is one within stock and limits. Spread is judged once, on the cheapest."""
    options = sorted(
        (offering.price_microusd_per_hour, offering.key)
        for choice in situation.choices(pod)
        if not choice.obstacles
        for offering in choice.offerings
    )
    for price, key in options:
        offering = situation.offerings[key]
        if situation.plan_obstacles(offering, pod):
            continue
        state.launch(name, offering)
        if state.why_not(pod, name):
            return None
        state.place(pod, name)
        return Launch(name, key, price, (pod.key,))
    return None
