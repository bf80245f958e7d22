"""The pod's side of an explanation: what it asks for, and every offering and node that would do or would not."""

from __future__ import annotations

from collections.abc import Sequence

from packer import cost
from packer.explain.values import PodFacts, Priced, Survey
from packer.model import GroupedReason, NodeTerm, Pod, PodSpec, Toleration
from packer.obstacles import Obstacle, grouped, port_text, wanted
from packer.rules import State, selector_text
from packer.situation import Situation
from packer.why import obstacles_of
from packer.words import an_hour, count

MOST_NAMED = 5


def facts_of(situation: Situation, pod: Pod) -> PodFacts:
    """What the pod asks for, in words a person would use."""
    gang = f"{pod.gang.name}, starts with {pod.gang.minimum} more" if pod.gang else ""
    return PodFacts(pod.spec.requests, tuple(_constraints(pod.spec)), pod.priority, gang, situation.rule(pod).name)


def _constraints(spec: PodSpec) -> list[str]:
    found = [wanted(req) for req in spec.selector]
    if spec.node_terms is not None:
        found.append("required node affinity: " + (" or ".join(_term(term) for term in spec.node_terms) or "no term"))
    found += ["a volume in " + " or ".join(_term(term) for term in terms) for terms in spec.volume_terms]
    found += [f"tolerates {_toleration(toleration)}" for toleration in spec.tolerations]
    found += [f"host port {port_text(port)}" for port in spec.host_ports]
    for constraint in spec.spread:
        strength = "spread" if constraint.hard else "spread if possible"
        found.append(f"{strength} over {constraint.topology_key}, max skew {constraint.max_skew}, of {selector_text(constraint.selector)}")
    found += [f"beside pods with {selector_text(term.selector)} in one {term.topology_key}" for term in spec.affinity]
    found += [f"apart from pods with {selector_text(term.selector)} by {term.topology_key}" for term in spec.anti_affinity]
    found += [f"sole user of claim {claim}" for claim in spec.exclusive_claims]
    if spec.max_price_microusd_per_hour is not None:
        found.append(f"at most {an_hour(spec.max_price_microusd_per_hour)} for its node")
    if spec.expected_duration_s is not None:
        found.append(f"lasts {count(spec.expected_duration_s, 'second')}")
    return found


def _term(term: NodeTerm) -> str:
    return " and ".join(wanted(req) for req in (*term.expressions, *term.fields)) or "nothing"


def _toleration(toleration: Toleration) -> str:
    key = toleration.key or "every taint"
    value = f"={toleration.value}" if toleration.operator != "Exists" and toleration.value else ""
    return f"{key}{value}{':' + toleration.effect if toleration.effect else ''}"


def survey_offerings(situation: Situation, pod: Pod) -> Survey:
    """Offerings by what is fixed: resources, labels, taints, ports, policy, price, stock. What a plan uses up does not count here."""
    places, possible = situation.overview(pod)
    rule, policy = situation.rule(pod), situation.problem.policy
    priced = [
        Priced(
            offering.key,
            offering.price_microusd_per_hour,
            offering.price_microusd_per_hour + policy.node_fee_microusd_per_hour + cost.adder(pod.spec, rule, offering, policy),
        )
        for offering in possible
    ]
    priced.sort(key=lambda one: (one.added_microusd_per_hour, one.offering))
    excluded = tuple(GroupedReason(group.code, group.message, offerings=group.places) for group in grouped(places))
    kinds: dict[tuple[str, str, int], Priced] = {}
    for one in priced:
        kinds.setdefault((one.offering.instance_type, one.offering.capacity_type, one.added_microusd_per_hour), one)
    return Survey(len(situation.problem.offerings), len(possible), tuple(kinds.values())[:MOST_NAMED], (), excluded)


def survey_nodes(situation: Situation, pod: Pod, state: State) -> Survey:
    """Existing nodes as the finished plan leaves them, this pod taken out."""
    names: list[str] = []
    places: list[tuple[Sequence[Obstacle], int]] = []
    for node in sorted(situation.problem.nodes, key=lambda node: node.name):
        obstacles = situation.static_node_obstacles(pod, node, state.nodes[node.name].free) or obstacles_of(state, pod, node.name)
        if obstacles:
            places.append((obstacles, 1))
        else:
            names.append(node.name)
    excluded = tuple(GroupedReason(group.code, group.message, nodes=group.places) for group in grouped(places))
    return Survey(len(situation.problem.nodes), len(names), (), tuple(names[:MOST_NAMED]), excluded)
