"""Labels, selectors, taints and terms: the requirement algebra of kube-scheduler (v1.36).

Sources: k8s.io/apimachinery/pkg/labels (Requirement.Matches), component-helpers/scheduling/corev1/nodeaffinity,
k8s.io/api/core/v1 (Toleration.ToleratesTaint), plugins TaintToleration, NodeUnschedulable and VolumeBinding.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from packer.model import (
    Effect,
    Labels,
    NodeTerm,
    Operator,
    Pod,
    PodAffinityTerm,
    PodSpec,
    Reason,
    Requirement,
    Selector,
    Taint,
    Toleration,
    Why,
)

NAME_FIELD = "metadata.name"
_INTEGER = re.compile(r"[+-]?[0-9]+", re.ASCII)
_INT64 = 1 << 63


def matches(req: Requirement, labels: Labels) -> bool:
    """Whether ``labels`` meet one expression. NotIn and DoesNotExist hold for an absent key; Gt and Lt need int64 on both sides."""
    value = labels.get(req.key)
    match req.operator:
        case Operator.IN:
            return value is not None and value in req.values
        case Operator.NOT_IN:
            return value is None or value not in req.values
        case Operator.EXISTS:
            return value is not None
        case Operator.DOES_NOT_EXIST:
            return value is None
    mine, bound = _int64(value), _int64(req.values[0] if len(req.values) == 1 else None)
    if mine is None or bound is None:
        return False
    return mine > bound if req.operator is Operator.GT else mine < bound


def _int64(text: str | None) -> int | None:
    """What strconv.ParseInt(text, 10, 64) returns, None for an error."""
    if text is None or not _INTEGER.fullmatch(text):
        return None
    value = int(text)
    return value if -_INT64 <= value < _INT64 else None


def selector_matches(selector: Selector | None, labels: Labels) -> bool:
    """A LabelSelector: None matches nothing, an empty one everything."""
    return selector is not None and all(matches(req, labels) for req in selector.requirements)


def term_holds(term: NodeTerm, labels: Labels, node_name: str | None) -> bool:
    """One NodeSelectorTerm. Empty matches nothing. ``node_name`` None: a node to come, of unknown name; only NotIn can match it."""
    if not term.expressions and not term.fields:
        return False
    return all(matches(req, labels) for req in term.expressions) and all(_field_holds(req, node_name) for req in term.fields)


def _field_holds(req: Requirement, node_name: str | None) -> bool:
    value = node_name if req.key == NAME_FIELD else ""
    if req.operator is Operator.IN:
        return value is not None and value in req.values
    return req.operator is Operator.NOT_IN and (value is None or value not in req.values)


def node_affinity_holds(spec: PodSpec, labels: Labels, node_name: str | None) -> bool:
    """nodeSelector and required node affinity (NodeAffinity); this is also what nodeAffinityPolicy: Honor looks at."""
    if not all(matches(req, labels) for req in spec.selector):
        return False
    return spec.node_terms is None or any(term_holds(term, labels, node_name) for term in spec.node_terms)


def node_labels_ok(spec: PodSpec, labels: Labels, node_name: str | None) -> Reason | None:
    """The first of nodeSelector, required terms and volumes that refuses such a node, or None (NodeAffinity, VolumeBinding, VolumeZone)."""
    for req in spec.selector:
        if not matches(req, labels):
            return Reason(Why.NODE_SELECTOR, f"{requirement_text(req)}, node has {_found(req.key, labels)}")
    if spec.node_terms is not None and not any(term_holds(term, labels, node_name) for term in spec.node_terms):
        return Reason(Why.NODE_AFFINITY, f"no required term holds: {_terms_text(spec.node_terms)}")
    for terms in spec.volume_terms:
        if not any(term_holds(term, labels, node_name) for term in terms):
            return Reason(Why.VOLUME_TOPOLOGY, f"a volume is elsewhere: {_terms_text(terms)}")
    return None


def tolerates(tolerations: Iterable[Toleration], taint: Taint) -> bool:
    """Whether any toleration covers the taint. Gt and Lt are behind a gate that is off in v1.36, so they cover nothing."""
    return any(_tolerates(toleration, taint) for toleration in tolerations)


def _tolerates(toleration: Toleration, taint: Taint) -> bool:
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    if toleration.operator in ("", "Equal"):
        return toleration.value == taint.value
    return toleration.operator == "Exists"


def untolerated(spec: PodSpec, taints: Sequence[Taint]) -> tuple[Taint, ...]:
    """The NoSchedule and NoExecute taints that the pod does not tolerate (TaintToleration, NodeUnschedulable)."""
    return tuple(taint for taint in taints if taint.effect is not Effect.PREFER_NO_SCHEDULE and not tolerates(spec.tolerations, taint))


def taint_reason(taints: Sequence[Taint]) -> Reason:
    texts = sorted(f"{t.key}={t.value}:{t.effect}" if t.value else f"{t.key}:{t.effect}" for t in taints)
    return Reason(Why.TAINT, "untolerated " + ", ".join(texts))


def term_matches(term: PodAffinityTerm, owner_namespace: str, other: Pod) -> bool:
    """Whether a pod (anti-)affinity term of a pod in ``owner_namespace`` selects ``other`` (framework.AffinityTerm.Matches).

    Namespaces are resolved by the parser; none at all means the owner's.
    """
    if not term.all_namespaces and other.namespace not in (term.namespaces or (owner_namespace,)):
        return False
    return selector_matches(term.selector, other.labels)


def requirement_text(req: Requirement) -> str:
    """``zone In (a, b)``, for messages."""
    return f"{req.key} {req.operator}" + (f" ({', '.join(req.values)})" if req.values else "")


def selector_text(selector: Selector | None) -> str:
    if selector is None:
        return "nothing"
    return " and ".join(requirement_text(req) for req in selector.requirements) or "every pod"


def _terms_text(terms: Sequence[NodeTerm]) -> str:
    texts = (" and ".join(requirement_text(req) for req in (*term.expressions, *term.fields)) for term in terms)
    return " or ".join(f"[{text}]" for text in texts) or "no terms"


def _found(key: str, labels: Labels) -> str:
    value = labels.get(key)
    return "no such label" if value is None else repr(value)
