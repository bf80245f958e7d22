"""Selectors, affinity, tolerations and spread constraints: Kubernetes' forms to the model's, in one canonical order.

What the API server folds into a selector at creation (matchLabelKeys, mismatchLabelKeys) is folded here too, once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from packer.errors import InputError
from packer.model import (
    Effect,
    NodeTerm,
    Operator,
    PodAffinityTerm,
    Requirement,
    Selector,
    SpreadConstraint,
    Taint,
    Toleration,
)
from packer.parse import schema
from packer.rules.labels import selector_matches

Namespaces = Mapping[str, Mapping[str, str]]
_SELECTOR_OPERATORS = {op.value: op for op in (Operator.IN, Operator.NOT_IN, Operator.EXISTS, Operator.DOES_NOT_EXIST)}
_NODE_OPERATORS = {op.value: op for op in Operator}
_TOLERATION_OPERATORS = ("Equal", "Exists", "Lt", "Gt")
_EFFECTS = {effect.value: effect for effect in Effect}


def requirement(part: schema.Expression, where: str, operators: Mapping[str, Operator] = _NODE_OPERATORS) -> Requirement:
    """One expression. Raises InputError for an operator that does not exist."""
    operator = operators.get(part.operator)
    if operator is None or not part.key:
        raise InputError(f"{part.operator!r} on key {part.key!r} is not an expression", where=where, mend=f"use {', '.join(operators)}")
    takes_values = operator not in (Operator.EXISTS, Operator.DOES_NOT_EXIST)
    return Requirement(part.key, operator, tuple(sorted(set(part.values or ()))) if takes_values else ())


def equalities(labels: Mapping[str, str] | None) -> tuple[Requirement, ...]:
    """matchLabels and nodeSelector: each label has exactly this value."""
    return tuple(Requirement(key, Operator.IN, (value,)) for key, value in sorted((labels or {}).items()))


def selector(part: schema.LabelSelector | None, where: str, more: Iterable[Requirement] = ()) -> Selector | None:
    """A LabelSelector with further requirements folded in; None stays None and matches nothing."""
    if part is None:
        return None
    found = {*equalities(part.match_labels), *more}
    for index, expression in enumerate(part.match_expressions or ()):
        found.add(requirement(expression, f"{where}.matchExpressions[{index}]", _SELECTOR_OPERATORS))
    return Selector(tuple(sorted(found)))


def node_term(part: schema.NodeSelectorTerm, where: str) -> NodeTerm:
    """One NodeSelectorTerm; an empty one matches nothing."""
    return NodeTerm(
        tuple(sorted({requirement(one, f"{where}.matchExpressions[{i}]") for i, one in enumerate(part.match_expressions or ())})),
        tuple(sorted({requirement(one, f"{where}.matchFields[{i}]") for i, one in enumerate(part.match_fields or ())})),
    )


def node_terms(part: schema.NodeSelector | None, where: str) -> tuple[NodeTerm, ...] | None:
    """The ORed terms of a NodeSelector; None without one."""
    if part is None:
        return None
    return tuple(sorted({node_term(one, f"{where}.nodeSelectorTerms[{i}]") for i, one in enumerate(part.node_selector_terms or ())}))


def preferred_terms(parts: Iterable[schema.PreferredTerm] | None, where: str) -> tuple[tuple[int, NodeTerm], ...]:
    """Weighted node terms. An empty preference matches everything (so it ranks nothing) and is left out."""
    found = [(one.weight, node_term(one.preference, f"{where}[{i}]")) for i, one in enumerate(parts or ()) if one.preference]
    return tuple(sorted(item for item in found if item[1] != NodeTerm()))


def tolerations(parts: Iterable[schema.TolerationPart] | None, where: str = "spec.tolerations") -> tuple[Toleration, ...]:
    """Tolerations without their seconds, which do not matter for placement. Raises InputError for unknown operators and effects."""
    found = set()
    for index, part in enumerate(parts or ()):
        operator, effect = part.operator or "Equal", part.effect or ""
        if operator not in _TOLERATION_OPERATORS or (effect and effect not in _EFFECTS):
            wrong = operator if operator not in _TOLERATION_OPERATORS else effect
            raise InputError(
                f"{wrong!r} does not exist", where=f"{where}[{index}]", mend=f"use {', '.join((*_TOLERATION_OPERATORS, *_EFFECTS))}"
            )
        found.add(Toleration(part.key or "", operator, "" if operator == "Exists" else part.value or "", effect))
    return tuple(sorted(found))


def taints(parts: Iterable[schema.TaintPart] | None, where: str = "spec.taints") -> tuple[Taint, ...]:
    """Taints of a node. Raises InputError for an unknown effect."""
    found = set()
    for index, part in enumerate(parts or ()):
        if part.effect not in _EFFECTS:
            raise InputError(f"{part.effect!r} is not an effect", where=f"{where}[{index}]", mend=f"use {', '.join(_EFFECTS)}")
        found.add(Taint(part.key, part.value or "", _EFFECTS[part.effect]))
    return tuple(sorted(found))


def spread(
    parts: Iterable[schema.TopologySpread] | None, labels: Mapping[str, str], where: str = "spec.topologySpreadConstraints"
) -> tuple[SpreadConstraint, ...]:
    """topologySpreadConstraints of a pod with these labels. By default node affinity is honoured and taints are not (KEP-3094)."""
    found = [_spread_constraint(part, labels, f"{where}[{index}]") for index, part in enumerate(parts or ())]
    return tuple(sorted(dict.fromkeys(found), key=repr))


def _spread_constraint(part: schema.TopologySpread, labels: Mapping[str, str], where: str) -> SpreadConstraint:
    _one_of(part.when_unsatisfiable, ("DoNotSchedule", "ScheduleAnyway"), f"{where}.whenUnsatisfiable")
    _one_of(part.node_affinity_policy, ("Honor", "Ignore"), f"{where}.nodeAffinityPolicy")
    _one_of(part.node_taints_policy, ("Honor", "Ignore"), f"{where}.nodeTaintsPolicy")
    if part.max_skew < 1 or not part.topology_key:
        raise InputError("maxSkew must be at least 1 and topologyKey set", where=where, mend="see topologySpreadConstraints")
    hard = part.when_unsatisfiable != "ScheduleAnyway"
    return SpreadConstraint(
        topology_key=part.topology_key,
        max_skew=part.max_skew,
        selector=selector(part.label_selector, f"{where}.labelSelector", _label_keys(part.match_label_keys, Operator.IN, labels)),
        hard=hard,
        min_domains=part.min_domains or 1 if hard else 1,
        honor_node_affinity=part.node_affinity_policy != "Ignore",
        honor_node_taints=part.node_taints_policy == "Honor",
    )


def affinity_terms(
    parts: Iterable[schema.AffinityTerm] | None, namespace: str, labels: Mapping[str, str], namespaces: Namespaces, where: str
) -> tuple[PodAffinityTerm, ...]:
    """Required pod (anti-)affinity terms of a pod in ``namespace`` with these labels."""
    found = [affinity_term(part, namespace, labels, namespaces, f"{where}[{index}]") for index, part in enumerate(parts or ())]
    return tuple(sorted(dict.fromkeys(found), key=repr))


def weighted_terms(
    parts: Iterable[schema.WeightedAffinityTerm] | None,
    namespace: str,
    labels: Mapping[str, str],
    namespaces: Namespaces,
    where: str,
) -> tuple[tuple[int, PodAffinityTerm], ...]:
    """Preferred pod (anti-)affinity terms with their weights."""
    found = [
        (part.weight, affinity_term(part.pod_affinity_term, namespace, labels, namespaces, f"{where}[{index}]"))
        for index, part in enumerate(parts or ())
        if part.pod_affinity_term
    ]
    return tuple(sorted(found, key=repr))


def affinity_term(
    part: schema.AffinityTerm, namespace: str, labels: Mapping[str, str], namespaces: Namespaces, where: str
) -> PodAffinityTerm:
    """One term: its own namespace without any given, else the named ones and those that namespaceSelector picks."""
    if not part.topology_key:
        raise InputError("topologyKey is empty", where=where, mend="name a node label such as topology.kubernetes.io/zone")
    more = (*_label_keys(part.match_label_keys, Operator.IN, labels), *_label_keys(part.mismatch_label_keys, Operator.NOT_IN, labels))
    chosen = selector(part.namespace_selector, f"{where}.namespaceSelector")
    everywhere = chosen is not None and not chosen.requirements
    named = set(part.namespaces or ())
    if chosen is not None and not everywhere:
        named |= {name for name, own in namespaces.items() if selector_matches(chosen, own)}
    elif chosen is None and not named:
        named = {namespace}
    return PodAffinityTerm(
        topology_key=part.topology_key,
        selector=selector(part.label_selector, f"{where}.labelSelector", more),
        namespaces=() if everywhere else tuple(sorted(named)),
        all_namespaces=everywhere,
    )


def label_keys(spec: schema.PodSpecPart) -> tuple[str, ...]:
    """Label keys whose values the pod's own constraints take over (matchLabelKeys and mismatchLabelKeys)."""
    terms: list[schema.AffinityTerm] = []
    affinity = spec.affinity or schema.Affinity()
    for part in (affinity.pod_affinity, affinity.pod_anti_affinity):
        if part:
            terms += part.required or ()
            terms += [one.pod_affinity_term for one in part.preferred or () if one.pod_affinity_term]
    found = {key for one in spec.topology_spread_constraints or () for key in one.match_label_keys or ()}
    found |= {key for term in terms for key in (*(term.match_label_keys or ()), *(term.mismatch_label_keys or ()))}
    return tuple(sorted(found))


def _label_keys(keys: Iterable[str] | None, operator: Operator, labels: Mapping[str, str]) -> tuple[Requirement, ...]:
    """Keys that the pod does not have are left out, as the API server and kube-scheduler do."""
    return tuple(Requirement(key, operator, (labels[key],)) for key in keys or () if key in labels)


def _one_of(value: str | None, allowed: tuple[str, ...], where: str) -> None:
    if value is not None and value not in allowed:
        raise InputError(f"{value!r} does not exist", where=where, mend=f"use {' or '.join(allowed)}")
