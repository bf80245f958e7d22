"""Kinds of pods (one spec, one look to every selector) and the two filters that look at other pods.

Sources: kube-scheduler's PodTopologySpread (filtering.go, common.go) and InterPodAffinity (filtering.go).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from packer.model import (
    HOSTNAME,
    Labels,
    NodeTerm,
    Pod,
    PodAffinityTerm,
    PodSpec,
    Reason,
    Requirement,
    Selector,
    SpreadConstraint,
    Taint,
    Why,
)
from packer.rules.labels import node_affinity_holds, selector_matches, selector_text, untolerated
from packer.rules.nodes import NodeState
from packer.rules.topology import Signature, Spot, SpreadCounter, TermCounter


class Kind:
    """Pods of one spec that look alike to every selector, with the counters that decide about them."""

    __slots__ = ("affinity", "anti", "names_nodes", "own_match", "owned", "signature", "spread", "static", "terms")

    def __init__(self, pod: Pod, signature: Signature) -> None:
        self.signature = signature
        self.names_nodes = _names_nodes(pod.spec)
        self.static: dict[str | int, tuple[Reason, ...]] = {}
        self.spread: list[tuple[SpreadConstraint, SpreadCounter, bool]] = []
        self.affinity: TermCounter | None = None
        self.terms: tuple[PodAffinityTerm, ...] = ()
        self.own_match = False
        self.anti: list[tuple[str, Selector | None, TermCounter]] = []
        self.owned: list[TermCounter] = []


class Eligible:
    """Which nodes count for one spread constraint of one spec; nodes that look alike share the answer."""

    __slots__ = ("_by_name", "_constraint", "_keys", "_known", "_spec")

    def __init__(self, constraint: SpreadConstraint, spec: PodSpec, keys: frozenset[str]) -> None:
        self._constraint, self._spec, self._keys = constraint, spec, keys
        self._by_name = constraint.honor_node_affinity and _names_nodes(spec)
        self._known: dict[str | int, bool] = {}

    def __call__(self, spot: Spot) -> bool:
        assert isinstance(spot, NodeState)
        key = spot.name if self._by_name else spot.shape
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = node_eligible_for_spread(self._constraint, self._spec, spot.labels, spot.taints, spot.node_name)
        return known


def node_eligible_for_spread(
    constraint: SpreadConstraint, spec: PodSpec, labels: Labels, taints: Sequence[Taint], node_name: str | None = None
) -> bool:
    """Whether a node's domain and pods count for the constraint (PodTopologySpread: all topology keys, then the two node policies)."""
    if not all(other.topology_key in labels for other in spec.spread if other.hard):
        return False
    if constraint.honor_node_affinity and not node_affinity_holds(spec, labels, node_name):
        return False
    return not (constraint.honor_node_taints and untolerated(spec, taints))


def spread_counts_pod(constraint: SpreadConstraint, namespace: str, other: Pod) -> bool:
    """Whether a pod that is placed counts for the constraint of a pod in ``namespace`` (countPodsMatchSelector).

    Terminating pods do not, and an empty selector counts nothing although it matches the pod itself.
    """
    if other.terminating or other.namespace != namespace or constraint.selector is None or not constraint.selector.requirements:
        return False
    return selector_matches(constraint.selector, other.labels)


def spread_refuses(constraint: SpreadConstraint, counter: SpreadCounter, own: bool, where: NodeState) -> bool:
    """count in the node's domain + self-match - global minimum > maxSkew, or no such label on the node (PodTopologySpread's Filter)."""
    value = where.labels.get(constraint.topology_key)
    return value is None or counter.counts.get(value, 0) + own - counter.minimum(constraint.min_domains) > constraint.max_skew


def spread_reasons(kind: Kind, where: NodeState) -> Iterator[Reason]:
    for constraint, counter, own in kind.spread:
        if not spread_refuses(constraint, counter, own, where):
            continue
        value = where.labels.get(constraint.topology_key)
        if value is None:
            yield Reason(Why.TOPOLOGY_SPREAD, f"node has no label {constraint.topology_key}")
            continue
        would, least = counter.counts.get(value, 0) + own, counter.minimum(constraint.min_domains)
        text = f"{constraint.topology_key}={value} would have {would} pods, the least domain {least}: over {constraint.max_skew}"
        yield Reason(Why.TOPOLOGY_SPREAD, text)


def affinity_reasons(kind: Kind, where: NodeState) -> Iterator[Reason]:
    """satisfyPodAffinity: every term finds a pod that matches all terms; or none does anywhere and the pod matches them itself."""
    counter = kind.affinity
    assert counter is not None
    missing = [term for term in kind.terms if term.topology_key not in where.labels]
    lonely = [term for term in kind.terms if not counter.at(term.topology_key, where)]
    if missing:
        yield Reason(Why.POD_AFFINITY, f"node has no label {missing[0].topology_key}")
    elif lonely and (counter.counts or not kind.own_match):
        key = lonely[0].topology_key
        yield Reason(Why.POD_AFFINITY, f"no pod with {selector_text(lonely[0].selector)} in {key}={where.labels[key]}")


def _names_nodes(spec: PodSpec) -> bool:
    """Whether the spec can tell nodes apart that look alike: by hostname or by name."""
    groups: tuple[Sequence[NodeTerm], ...] = (spec.node_terms or (), *spec.volume_terms)
    terms = [term for group in groups for term in group]
    expressions: list[Requirement] = [*spec.selector, *(req for term in terms for req in term.expressions)]
    return any(req.key == HOSTNAME for req in expressions) or any(term.fields for term in terms)
