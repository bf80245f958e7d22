"""Why pods of a plan are left unplaced, in few words with numbers: cached by class, so thousands of pods cost little.

Static obstacles come from :mod:`packer.obstacles`; what is left are stock, limits, gangs and the rules between pods.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from packer import policy as policies
from packer.decode import Assignment
from packer.dense import Dense
from packer.model import GroupedReason, Offering, Pod, PolicyRule, Problem, Why
from packer.obstacles import Obstacle, grouped, label_obstacles, port_obstacles, shortages, taint_obstacles
from packer.rules import NodeView, existing_view, new_view

_RULES = (
    ("exclusive_claims", Why.EXCLUSIVE_CLAIM, "its ReadWriteOncePod claim is used by another pod"),
    ("affinity", Why.POD_AFFINITY, "no node that could be had meets its pod affinity"),
    ("anti_affinity", Why.POD_ANTI_AFFINITY, "pod anti-affinity keeps it off every node that could be had"),
    ("spread", Why.TOPOLOGY_SPREAD, "its topology spread would be broken on every node that could be had"),
)


def reasons_for_unplaced(problem: Problem, dense: Dense, assignment: Assignment) -> dict[str, tuple[GroupedReason, ...]]:
    """Reasons of every unplaced pod, by ``namespace/name``."""
    found: dict[str, tuple[GroupedReason, ...]] = {}
    known: dict[tuple[int, int, str], tuple[GroupedReason, ...]] = {}
    views = _Views(problem, dense)
    bought = Counter(index for index, _ in assignment.launches)
    for pod in assignment.unplaced:
        rule = policies.rule_for(problem.policy, pod)
        key = (id(pod.spec), id(rule), pod.gang.name if pod.gang else "")
        if key not in known:
            known[key] = views.reasons(pod, rule, bought)
        found[pod.key] = known[key]
    return found


class _Views:
    """Every place there is, as an empty node that a pod could be judged on; made when first needed."""

    def __init__(self, problem: Problem, dense: Dense) -> None:
        self._problem, self._dense = problem, dense
        self._fresh: list[NodeView] | None = None
        self._standing: list[NodeView] | None = None

    def reasons(self, pod: Pod, rule: PolicyRule, bought: Counter[int]) -> tuple[GroupedReason, ...]:
        """Static obstacles of offerings and of nodes, grouped; then what took the offerings that remain."""
        if self._fresh is None or self._standing is None:
            daemons = self._problem.daemons
            self._fresh = [new_view(offering, daemons) for offering in self._dense.offerings]
            self._standing = [existing_view(node) for node in self._dense.nodes]
        offerings = [
            (_policy_obstacles(rule, pod, offering) or _obstacles(pod, view, "a DaemonSet"))
            for offering, view in zip(self._dense.offerings, self._fresh, strict=True)
        ]
        nodes = [_obstacles(pod, view, "a pod there") for view in self._standing]
        out = [GroupedReason(g.code, g.message, offerings=g.places) for g in grouped((o, 1) for o in offerings if o)]
        out += self._remaining(pod, [i for i, o in enumerate(offerings) if not o], sum(1 for o in nodes if not o), bought)
        out += [GroupedReason(g.code, g.message, nodes=g.places) for g in grouped((o, 1) for o in nodes if o)]
        if not self._dense.offerings and not self._dense.nodes:
            out.append(GroupedReason(Why.NOTHING_OFFERED, "there is neither a node nor an offering"))
        return tuple(out)

    def _remaining(self, pod: Pod, possible: Sequence[int], nodes: int, bought: Counter[int]) -> list[GroupedReason]:
        """Places that suit the pod by themselves: what keeps it off them all the same."""
        if not possible and not nodes:
            return []
        if pod.gang and pod.gang.minimum > 0:
            text = f"gang {pod.gang.name} starts with {pod.gang.minimum} more pods or not at all, and fewer can be placed"
            return [GroupedReason(Why.GANG, text, offerings=len(possible), nodes=nodes)]
        sold_out = [
            i
            for i in possible
            if self._dense.offerings[i].available_count is not None and bought[i] >= (self._dense.offerings[i].available_count or 0)
        ]
        out = [GroupedReason(Why.STOCK, "all that can be had of these machines is taken", offerings=len(sold_out))] if sold_out else []
        rest = len(possible) - len(sold_out)
        if rest or nodes:
            code, text = _rule_between_pods(pod)
            out.append(GroupedReason(code, text, offerings=rest, nodes=nodes))
        return out


def _rule_between_pods(pod: Pod) -> tuple[Why, str]:
    for name, code, text in _RULES:
        if getattr(pod.spec, name):
            return code, text
    return Why.LIMIT, "a limit or the room of more urgent pods leaves nothing for it"


def _policy_obstacles(rule: PolicyRule, pod: Pod, offering: Offering) -> list[Obstacle]:
    top = pod.spec.max_price_microusd_per_hour
    if top is not None and offering.price_microusd_per_hour > top:
        return [Obstacle(Why.MAX_PRICE, "price", "costs more than bayplan.io/max-hourly-cost allows")]
    if policies.allowed(rule, offering):
        return []
    reason = policies.why_not(rule, offering)
    return [Obstacle(reason.code, reason.message, reason.message)]


def _obstacles(pod: Pod, view: NodeView, holder: str) -> list[Obstacle]:
    spec = pod.spec
    return [
        *label_obstacles(spec, view.labels, view.node_name),
        *taint_obstacles(spec, view.taints),
        *port_obstacles(spec.host_ports, view.ports, holder),
        *shortages(spec.requests, view.free),
    ]
