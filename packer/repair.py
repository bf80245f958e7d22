"""The safety net under the arrays: whatever the judge's order of binding refuses is taken off and put where the rules allow it.

Rules whose outcome depends on the order of binding (a spread selector that does not match its own pod, affinity across groups) are not
all expressed in arrays. Here each such pod is placed one at a time against a full State, so that a plan is always valid; and pods that
were left over are given any room that kube-scheduler would give them anyway.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np

from packer import cost
from packer.decode import Assignment, launches_of, placements_of
from packer.dense import Dense
from packer.model import Plan, Pod, Problem, Status
from packer.order import Order, placement_order
from packer.rules import State

ROUNDS = 4
"""Taking pods off can break the affinity of others: look again, but not for ever."""
KINDS_TRIED = 8
"""Cheapest machines tried for a pod that fits nowhere else."""


def repaired(problem: Problem, dense: Dense, assignment: Assignment) -> Assignment:
    """The assignment with every refused pod moved to where it may be, and leftover room used."""
    ruled = len(dense.groups.kind) > 0 or any(pod.spec.anti_affinity for node in dense.nodes for pod in node.pods)
    waiting = any(_may_join(pod) for pod in assignment.unplaced)
    if not ruled and not waiting:
        return assignment
    for last in range(ROUNDS):
        order = placement_order(problem, _draft(dense, assignment))
        refused = {refusal.pod for refusal in order.refusals}
        if not refused and (not waiting or last):
            return assignment
        assignment = _placed_again(problem, dense, _without(assignment, refused), refused, order)
    while True:
        # Taking a pod off can leave others without their company; each turn takes at least one more.
        refused = {refusal.pod for refusal in placement_order(problem, _draft(dense, assignment)).refusals}
        if not refused:
            return assignment
        assignment = _without(assignment, refused)


def is_valid(problem: Problem, dense: Dense, assignment: Assignment) -> bool:
    """Could kube-scheduler bind the assignment as it stands, in some order?"""
    return not placement_order(problem, _draft(dense, assignment)).refusals


def _may_join(pod: Pod) -> bool:
    return pod.gang is None


def _may_use(problem: Problem, dense: Dense, state: State, pod: Pod, name: str) -> bool:
    """Free room counts for a pod as the judge counts it: policies and limits of bought machines hold for whoever joins them."""
    bought = state.nodes[name].offering
    if bought is not None:
        return cost.may_join(problem.policy, pod, bought, bought=True)
    key = next(node.offering for node in dense.nodes if node.name == name)
    return cost.may_join(problem.policy, pod, next((o for o in dense.offerings if o.key == key), None), bought=False)


def _draft(dense: Dense, assignment: Assignment) -> Plan:
    return Plan(Status.FEASIBLE, launches_of(dense, assignment), placements_of(dense, assignment), (), (), (), 0, 0, 0)


def _without(assignment: Assignment, pods: set[str]) -> Assignment:
    if not pods:
        return assignment
    off = [pod for _, held in assignment.launches for pod in held if pod.key in pods]
    off += [pod for pod, _ in assignment.placements if pod.key in pods]
    launches = ((index, tuple(pod for pod in held if pod.key not in pods)) for index, held in assignment.launches)
    return Assignment(
        tuple(entry for entry in launches if entry[1]),
        tuple(entry for entry in assignment.placements if entry[0].key not in pods),
        tuple(sorted((*assignment.unplaced, *off), key=lambda pod: (pod.namespace, pod.name, pod.uid))),
    )


def _placed_again(problem: Problem, dense: Dense, assignment: Assignment, refused: set[str], before: Order) -> Assignment:
    """Each unplaced pod onto any node of the plan that takes it; refused ones also onto a new machine."""
    order = placement_order(problem, _draft(dense, assignment)) if refused else before
    state = order.state
    launches = [[index, list(pods)] for index, pods in assignment.launches]
    named = launches_of(dense, assignment)
    by_content = {(launch.offering, launch.pods): launch.name for launch in named}
    home: dict[str, list[Pod]] = {}
    for launch, (_, pods) in zip(assignment.launches, launches, strict=True):
        home[by_content[dense.offerings[launch[0]].key, tuple(pod.key for pod in launch[1])]] = pods  # type: ignore[assignment]
    nodes = {node.name: n for n, node in enumerate(dense.nodes)}
    placements = list(assignment.placements)
    full: set[object] = set()
    left: list[Pod] = []
    for pod in sorted(assignment.unplaced, key=lambda p: (-p.priority, p.namespace, p.name, p.uid)):
        kind = state.same_kind(pod)
        target = None
        if _may_join(pod) and kind not in full:
            target = next((name for name in state.nodes if state.admits(pod, name) and _may_use(problem, dense, state, pod, name)), None)
        if target is None:
            full.add(kind)
            if pod.key in refused:
                target = _new_node(dense, launches, pod, state)
        if target is None:
            left.append(pod)
            continue
        state.place(pod, target)
        if target in nodes:
            placements.append((pod, nodes[target]))
        elif target in home:
            home[target].append(pod)
        else:
            launches.append([int(target.rsplit("#", 1)[1]), [pod]])
            home[target] = launches[-1][1]  # type: ignore[assignment]
    placements.sort(key=lambda entry: (entry[0].namespace, entry[0].name))
    return replace(
        assignment,
        launches=tuple((int(index), tuple(sorted(pods, key=lambda p: (p.namespace, p.name)))) for index, pods in launches),  # type: ignore[call-overload]
        placements=tuple(placements),
        unplaced=tuple(sorted(left, key=lambda pod: (pod.namespace, pod.name, pod.uid))),
    )


def _new_node(dense: Dense, launches: list[list[object]], pod: Pod, state: State) -> str | None:
    """The cheapest machine that takes the pod by itself and that stock and limits still allow, launched into the state."""
    c = next((c for c, group in enumerate(dense.classes) if pod in group.pods), None)
    items = [i for i, item in enumerate(dense.items) if any(part == c for part, _ in item.parts)]
    if c is None or not items:
        return None
    p = dense.packing
    bought = Counter(int(index) for index, _ in launches)  # type: ignore[call-overload]
    kinds = [
        b
        for b in np.nonzero((dense.relaxed.most[items[0]] > 0) & ~p.existing)[0]
        if not dense.bins[b].charged and not p.limit_use[:, b].any()
    ]
    for b in sorted(kinds, key=lambda b: (int(p.price[b]), int(b)))[:KINDS_TRIED]:
        index = dense.bins[b].hosts[0]
        offering = dense.offerings[index]
        if offering.available_count is not None and bought[index] >= offering.available_count:
            continue
        name = f"repair-{len(launches)}-{b}#{index}"
        state.launch(name, offering)
        if not state.why_not(pod, name):
            return name
        state.withdraw(name)
    return None
