"""The independent judge of a plan: given the input and the plan, it names every broken rule. Plain Python, no solver, no arrays.

It shares with the solver only the model, the rules and the price list (cost.py). The bound itself is re-verified by recheck.py.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from packer import cost
from packer import policy as policies
from packer.model import Launch, Limits, Offering, Plan, Pod, PolicyRule, Problem, Status, Why
from packer.order import Order, placement_order


class Code(StrEnum):
    """Rules of a plan as a whole. What kube-scheduler refuses, and what policies refuse, has the codes of :class:`packer.model.Why`."""

    POD_UNKNOWN = "PodUnknown"
    POD_MISSING = "PodMissing"
    POD_TWICE = "PodTwice"
    SKIPPED = "SkippedDiffers"
    NODE_UNKNOWN = "NodeUnknown"
    OFFERING_UNKNOWN = "OfferingUnknown"
    NAME_TAKEN = "NameTaken"
    LAUNCH_EMPTY = "LaunchEmpty"
    PRICE = "PriceDiffers"
    COST = "CostDiffers"
    OBJECTIVE = "ObjectiveDiffers"
    BOUND = "BoundAboveObjective"
    STATUS = "StatusWrong"
    LEFTOVER = "LeftoverFits"


@dataclass(frozen=True, slots=True)
class Violation:
    """One broken rule: its code, what is wrong with numbers, and the pod, launch, offering or gang that it is about."""

    code: str
    message: str
    subject: str


def check_plan(problem: Problem, plan: Plan) -> tuple[Violation, ...]:
    """All violations of ``plan``, in a fixed order; none means that the plan can be carried out as it stands and costs what it says."""
    found = [*_lists(problem, plan), *_launches(problem, plan)]
    order = placement_order(problem, plan)
    found += [Violation(str(reason.code), f"on {r.node}: {reason.message}", r.pod) for r in order.refusals for reason in r.reasons]
    found += [*_permissions(problem, plan), *_stock(problem, plan), *_limits(problem, plan), *_gangs(problem, plan)]
    found += [*_leftovers(problem, plan, order), *_figures(problem, plan), *_status(problem, plan)]
    return tuple(found)


def _lists(problem: Problem, plan: Plan) -> Iterator[Violation]:
    """Every waiting pod is in exactly one list; skipped is the problem's own; placements name existing nodes."""
    known = {pod.key for pod in problem.pods}
    seen = Counter(_mentions(plan))
    for key in sorted(seen):
        if key not in known:
            yield Violation(Code.POD_UNKNOWN, "the input has no such waiting pod", key)
        elif seen[key] > 1:
            yield Violation(Code.POD_TWICE, f"is in the plan {seen[key]} times", key)
    for key in sorted(known - set(seen)):
        yield Violation(Code.POD_MISSING, "is in none of launches, placements and unplaced", key)
    if Counter(skip.pod for skip in plan.skipped) != Counter(skip.pod for skip in problem.skipped):
        differing = {skip.pod for skip in plan.skipped} ^ {skip.pod for skip in problem.skipped}
        yield Violation(Code.SKIPPED, "skipped pods are not those of the input", min(differing, default="skipped"))
    nodes = {node.name for node in problem.nodes}
    for placement in plan.placements:
        if placement.node not in nodes:
            yield Violation(Code.NODE_UNKNOWN, f"is placed on {placement.node}, which does not exist", placement.pod)


def _mentions(plan: Plan) -> Iterator[str]:
    for launch in plan.launches:
        yield from launch.pods
    yield from (placement.pod for placement in plan.placements)
    yield from (unplaced.pod for unplaced in plan.unplaced)


def _launches(problem: Problem, plan: Plan) -> Iterator[Violation]:
    """Launches have names of their own, pods, offerings that exist, and their prices."""
    offerings = _offerings(problem)
    taken = {node.name for node in problem.nodes}
    for launch in plan.launches:
        if launch.name in taken:
            yield Violation(Code.NAME_TAKEN, "another node has this name", launch.name)
        taken.add(launch.name)
        if not launch.pods:
            yield Violation(Code.LAUNCH_EMPTY, f"{launch.offering} is bought for no pod", launch.name)
        offering = offerings.get(launch.offering)
        if offering is None:
            yield Violation(Code.OFFERING_UNKNOWN, f"the catalog has no {launch.offering}", launch.name)
        elif offering.price_microusd_per_hour != launch.price_microusd_per_hour:
            message = f"price {launch.price_microusd_per_hour}, the catalog says {offering.price_microusd_per_hour}"
            yield Violation(Code.PRICE, message, launch.name)


def _permissions(problem: Problem, plan: Plan) -> Iterator[Violation]:
    """Bought machines are permitted by the pod's policy rule and by its own price limit. What stands already is kube-scheduler's to use."""
    pods, offerings = _pods(problem), _offerings(problem)
    for launch in plan.launches:
        offering = offerings.get(launch.offering)
        for pod in _known(launch.pods, pods):
            if offering is not None:
                yield from _permission(problem, pod, offering)


def _permission(problem: Problem, pod: Pod, offering: Offering) -> Iterator[Violation]:
    rule = policies.rule_for(problem.policy, pod)
    if not policies.allowed(rule, offering):
        yield Violation(Why.POLICY, f"rule {rule.name} does not permit {offering.key}", pod.key)
    ceiling = pod.spec.max_price_microusd_per_hour
    if ceiling is not None and offering.price_microusd_per_hour > ceiling:
        yield Violation(Why.MAX_PRICE, f"{offering.key} costs {offering.price_microusd_per_hour}, at most {ceiling} is allowed", pod.key)


def _stock(problem: Problem, plan: Plan) -> Iterator[Violation]:
    bought = Counter(launch.offering for launch in plan.launches)
    for offering in sorted(problem.offerings, key=lambda o: o.key):
        available = offering.available_count
        if available is not None and bought[offering.key] > available:
            yield Violation(Why.STOCK, f"{bought[offering.key]} bought, {available} available", str(offering.key))


def _limits(problem: Problem, plan: Plan) -> Iterator[Violation]:
    """The cluster's limits and those of each rule's alternatives hold over what runs and what the plan adds.

    A limit that is passed already is broken only by a plan that adds to it.
    """
    offerings = _offerings(problem)
    bought = [(launch, offerings[launch.offering]) for launch in plan.launches if launch.offering in offerings]
    total, added = cost.used_by_cluster(problem), cost.Usage()
    for _, offering in bought:
        for usage in (total, added):
            usage.add(offering.price_microusd_per_hour, offering.allocatable)
    yield from _over(problem.policy.limits, total, added, "the cluster")
    for rule in _rules(problem):
        for index, alternative in enumerate(rule.alternatives):
            if alternative.limits != Limits():
                total, added = _usage_of(problem, plan, rule, index, bought)
                yield from _over(alternative.limits, total, added, f"{rule.name}/{alternative.name}")


def _rules(problem: Problem) -> Iterable[PolicyRule]:
    found: dict[int, PolicyRule] = {}
    for pod in problem.pods:
        rule = policies.rule_for(problem.policy, pod)
        found.setdefault(id(rule), rule)
    return sorted(found.values(), key=lambda rule: rule.name)


def _usage_of(
    problem: Problem, plan: Plan, rule: PolicyRule, index: int, bought: list[tuple[Launch, Offering]]
) -> tuple[cost.Usage, cost.Usage]:
    """What counts against one alternative in all, and what of that the plan adds: nodes that get their first pod under it."""
    pods, offerings = _pods(problem), _offerings(problem)

    def serves(keys: Iterable[str], offering: Offering) -> bool:
        return cost.alternative_for(rule, offering) == index and any(
            policies.rule_for(problem.policy, pod) is rule for pod in _known(keys, pods)
        )

    total, added = cost.used_by_alternative(problem, rule, index), cost.Usage()
    for launch, offering in bought:
        if serves(launch.pods, offering):
            for usage in (total, added):
                usage.add(offering.price_microusd_per_hour, offering.allocatable)
    joined: dict[str, list[str]] = {}
    for placement in plan.placements:
        joined.setdefault(placement.node, []).append(placement.pod)
    for node in problem.nodes:
        known = offerings.get(node.offering) if node.offering else None
        counted = any(policies.rule_for(problem.policy, pod) is rule for pod in node.pods)
        if known and not counted and serves(joined.get(node.name, ()), known):
            for usage in (total, added):
                usage.add(node.price_microusd_per_hour or 0, node.allocatable)
    return total, added


def _over(limits: Limits, total: cost.Usage, added: cost.Usage, whose: str) -> Iterator[Violation]:
    rows = [("cost", limits.cost_microusd_per_hour, total.cost_microusd_per_hour, added.cost_microusd_per_hour)]
    rows.append(("nodes", limits.nodes, total.nodes, added.nodes))
    rows += [
        (name, limits.resources[name], total.resources.get(name, 0), added.resources.get(name, 0)) for name in sorted(limits.resources)
    ]
    for name, limit, used, new in rows:
        if limit is not None and used > limit and new > 0:
            yield Violation(Why.LIMIT, f"{name}: {used} of {limit}", whose)


def _gangs(problem: Problem, plan: Plan) -> Iterator[Violation]:
    """A gang starts with at least its minimum, or not at all."""
    unplaced = {entry.pod for entry in plan.unplaced}
    placed: Counter[tuple[str, str]] = Counter()
    minimum: dict[tuple[str, str], int] = {}
    for pod in problem.pods:
        if pod.gang is not None:
            gang = (pod.namespace, pod.gang.name)
            minimum[gang] = max(minimum.get(gang, 0), pod.gang.minimum)
            placed[gang] += pod.key not in unplaced
    for gang in sorted(minimum):
        if 0 < placed[gang] < minimum[gang]:
            yield Violation(Why.GANG, f"{placed[gang]} placed, at least {minimum[gang]} start together", "/".join(gang))


def _leftovers(problem: Problem, plan: Plan, order: Order) -> Iterator[Violation]:
    """No pod is left unplaced that kube-scheduler would bind to a node of the final state. Gangs wait as a whole and are not asked.

    A bought node counts for a pod only if the pod's policy permits the machine, and none where that alternative is limited.
    """
    pods, offerings = _pods(problem), _offerings(problem)
    known = {node.name: offerings.get(node.offering) if node.offering else None for node in problem.nodes if node.ready}
    rooms = [
        (node.name, node.offering or known.get(node.name), node.offering is not None)
        for node in order.state.nodes.values()
        if node.offering is not None or node.name in known
    ]
    bound = {step.pod for step in order.steps}
    asked: set[tuple[int, int]] = set()
    for entry in sorted(plan.unplaced, key=lambda entry: entry.pod):
        pod = pods.get(entry.pod)
        if pod is None or pod.gang is not None or pod.key in bound:
            continue
        rule = policies.rule_for(problem.policy, pod)
        kind = (id(order.state.same_kind(pod)), id(rule))
        if kind in asked:
            continue
        asked.add(kind)
        for name, offering, bought in rooms:
            if order.state.admits(pod, name) and cost.may_join(problem.policy, pod, offering, bought=bought):
                yield Violation(Code.LEFTOVER, f"is unplaced but fits {name}", pod.key)
                break


def _figures(problem: Problem, plan: Plan) -> Iterator[Violation]:
    """Cost, objective and bound, added up again."""
    total = sum(launch.price_microusd_per_hour for launch in plan.launches)
    if plan.cost_microusd_per_hour != total:
        yield Violation(Code.COST, f"cost {plan.cost_microusd_per_hour}, the launches add up to {total}", "plan")
    objective = cost.objective(problem, plan)
    if plan.objective_microusd_per_hour != objective:
        yield Violation(Code.OBJECTIVE, f"objective {plan.objective_microusd_per_hour}, it adds up to {objective}", "plan")
    if plan.lower_bound_microusd_per_hour > plan.objective_microusd_per_hour:
        message = f"bound {plan.lower_bound_microusd_per_hour} is above the objective {plan.objective_microusd_per_hour}"
        yield Violation(Code.BOUND, message, "plan")


def _status(problem: Problem, plan: Plan) -> Iterator[Violation]:
    """infeasible: pods wait and none was placed; optimal: the bound is met."""
    placed = bool(plan.placements) or any(launch.pods for launch in plan.launches)
    stuck = bool(problem.pods) and not placed
    if stuck != (plan.status is Status.INFEASIBLE):
        yield Violation(
            Code.STATUS, f"{plan.status}, although {'no pod was placed' if stuck else 'pods were placed or none waits'}", "plan"
        )
    elif plan.status is Status.OPTIMAL and plan.lower_bound_microusd_per_hour < plan.objective_microusd_per_hour:
        yield Violation(Code.STATUS, "optimal, although the bound is below the objective", "plan")


def _offerings(problem: Problem) -> dict[object, Offering]:
    return {offering.key: offering for offering in problem.offerings}


def _pods(problem: Problem) -> dict[str, Pod]:
    return {pod.key: pod for pod in problem.pods}


def _known(keys: Iterable[str], pods: dict[str, Pod]) -> list[Pod]:
    return [pods[key] for key in keys if key in pods]
