"""What a plan costs, in whole micro-dollars an hour: the objective of formulation.md, its adders, and what counts against limits.

Pure integers, shared by the solver (which needs each term per class and offering) and the judge (which adds them up again).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from packer import policy as policies
from packer.model import Launch, Limits, Node, Offering, OfferingKey, Plan, Pod, PodSpec, Policy, PolicyRule, Problem, Resources

PPM = 1_000_000
HOUR_S = 3600


def objective(problem: Problem, plan: Plan) -> int:
    """``objectivePerHour``: what launches cost for as long as they are needed, node fees, what existing nodes cost longer, and the adders.

    Names that the problem does not know cost nothing here; the judge reports them.
    """
    offerings = {offering.key: offering for offering in problem.offerings}
    pods = {pod.key: pod for pod in problem.pods}
    nodes = {node.name: node for node in problem.nodes}
    adders = _Adders(problem.policy)
    total = 0
    for launch in plan.launches:
        placed = [pods[key] for key in launch.pods if key in pods]
        total += launch_objective(launch, placed, problem.policy) + adders.of(placed, offerings.get(launch.offering))
    joined: dict[str, list[Pod]] = {}
    for placement in plan.placements:
        if placement.pod in pods and placement.node in nodes:
            joined.setdefault(placement.node, []).append(pods[placement.pod])
    for name, placed in joined.items():
        key = nodes[name].offering
        total += extension(nodes[name], placed, problem.policy) + adders.of(placed, offerings.get(key) if key else None)
    return total


def launch_objective(launch: Launch, pods: Iterable[Pod], policy: Policy) -> int:
    """A new node: price × min(latest end, horizon) / horizon, plus the node fee."""
    latest = max((end_s(pod.spec, policy) for pod in pods), default=policy.horizon_s)
    return prorated(launch.price_microusd_per_hour, latest, policy.horizon_s) + policy.node_fee_microusd_per_hour


def extension(node: Node, pods: Iterable[Pod], policy: Policy) -> int:
    """What an existing node costs because the pods keep it beyond the time at which it would have ended. 0 if its price is unknown."""
    if node.price_microusd_per_hour is None or node.ends_in_s is None:
        return 0
    latest = max((end_s(pod.spec, policy) for pod in pods), default=0)
    return prorated(node.price_microusd_per_hour, max(0, latest - min(node.ends_in_s, policy.horizon_s)), policy.horizon_s)


def end_s(spec: PodSpec, policy: Policy) -> int:
    """Seconds after which the pod is over, at most the horizon; unknown counts as the horizon."""
    return min(spec.expected_duration_s or policy.horizon_s, policy.horizon_s)


def prorated(price_microusd_per_hour: int, duration_s: int, horizon_s: int) -> int:
    """price × min(duration, horizon) / horizon, rounded up."""
    return -(-price_microusd_per_hour * min(duration_s, horizon_s) // horizon_s)


def alternative_for(rule: PolicyRule, offering: Offering) -> int | None:
    """The alternative that serves the rule's pods on this offering: of those that permit it the least penalty, the first on ties."""
    permitted = policies.allowed(rule, offering)
    return min(permitted, key=lambda entry: (entry[1], entry[0]))[0] if permitted else None


def may_buy(policy: Policy, pod: Pod, offering: Offering) -> bool:
    """Whether the pod's rule and its own price limit permit a new machine of ``offering`` for it."""
    ceiling = pod.spec.max_price_microusd_per_hour
    if ceiling is not None and offering.price_microusd_per_hour > ceiling:
        return False
    return alternative_for(policies.rule_for(policy, pod), offering) is not None


def may_join(policy: Policy, pod: Pod, offering: Offering | None, *, bought: bool) -> bool:
    """Whether the pod may use free room on a node without touching a limit: never where its alternative is limited, and on a bought
    machine only if it might have been bought for it. What stands already is kube-scheduler's to use, its offering known or not."""
    if offering is None:
        return True
    rule = policies.rule_for(policy, pod)
    index = alternative_for(rule, offering)
    if index is not None and rule.alternatives[index].limits != Limits():
        return False
    return not bought or may_buy(policy, pod, offering)


def adder(spec: PodSpec, rule: PolicyRule, offering: Offering, policy: Policy) -> int:
    """The added cost of one pod on a node of ``offering``: its alternative's penalty and its spot risk. Never negative."""
    index = alternative_for(rule, offering)
    penalty = 0 if index is None else rule.alternatives[index].penalty_microusd_per_hour
    return penalty + spot_risk(spec, offering, policy)


def spot_risk(spec: PodSpec, offering: Offering, policy: Policy) -> int:
    """What interruptions are expected to waste an hour: price × the pod's dominant share × interruptions an hour × hours of work lost.

    The share is the greatest of request / allocatable (before daemons), at most 1. Rounded up; 0 without interruptions or restart cost.
    """
    restart_s = policy.default_restart_cost_s if spec.restart_cost_s is None else spec.restart_cost_s
    if restart_s <= 0 or offering.interruptions_per_hour_ppm <= 0:
        return 0
    wanted, whole = dominant_share(spec.requests, offering.allocatable)
    return -(-offering.price_microusd_per_hour * wanted * offering.interruptions_per_hour_ppm * restart_s // (whole * PPM * HOUR_S))


def dominant_share(requests: Resources, allocatable: Resources) -> tuple[int, int]:
    """The greatest request / allocatable as a fraction (numerator, denominator), at most (1, 1); (0, 1) for a pod that asks for nothing."""
    best = (0, 1)
    for name, wanted in requests.items():
        whole = allocatable.get(name, 0)
        if whole > 0 and wanted * best[1] > best[0] * whole:
            best = (wanted, whole)
    return best if best[0] <= best[1] else (1, 1)


class _Adders:
    """Sums adders, working each out once for pods of one spec under one rule."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._known: dict[tuple[int, int, OfferingKey], int] = {}

    def of(self, pods: Iterable[Pod], offering: Offering | None) -> int:
        return 0 if offering is None else sum(self._one(pod, offering) for pod in pods)

    def _one(self, pod: Pod, offering: Offering) -> int:
        rule = policies.rule_for(self._policy, pod)
        key = (id(pod.spec), id(rule), offering.key)
        if key not in self._known:
            self._known[key] = adder(pod.spec, rule, offering, self._policy)
        return self._known[key]


@dataclass(slots=True)
class Usage:
    """What counts against Limits: prices, nodes and allocatable added up."""

    cost_microusd_per_hour: int = 0
    nodes: int = 0
    resources: dict[str, int] = field(default_factory=dict)

    def add(self, price_microusd_per_hour: int, allocatable: Resources) -> None:
        """Counts one more node."""
        self.cost_microusd_per_hour += price_microusd_per_hour
        self.nodes += 1
        for name, amount in allocatable.items():
            self.resources[name] = self.resources.get(name, 0) + amount


def used_by_cluster(problem: Problem) -> Usage:
    """What runs already and counts against the policy's own limits: existing nodes whose offering is known."""
    usage = Usage()
    for node in problem.nodes:
        if node.offering is not None:
            usage.add(node.price_microusd_per_hour or 0, node.allocatable)
    return usage


def used_by_alternative(problem: Problem, rule: PolicyRule, alternative: int) -> Usage:
    """What runs already under one alternative: existing nodes of a known offering with a running pod that it serves there."""
    usage = Usage()
    offerings = {offering.key: offering for offering in problem.offerings}
    for node in problem.nodes:
        offering = offerings.get(node.offering) if node.offering else None
        if offering is None or alternative_for(rule, offering) != alternative:
            continue
        if any(policies.rule_for(problem.policy, pod) is rule for pod in node.pods):
            usage.add(node.price_microusd_per_hour or 0, node.allocatable)
    return usage
