"""Policies: which pods may run on which offerings, at what penalty and within what limits. The form is described in docs/policies.md.

The first rule that matches a pod decides. Its alternatives are a union; a pod that no rule matches may run on every offering but
burstable and fractional-GPU ones (DEFAULT_RULE).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from packer import quantity
from packer.config import nearest
from packer.errors import InputError, UsageError
from packer.model import (
    ARCH,
    CAPACITY_TYPE,
    CATEGORY,
    CPU,
    DEFAULT_RULE,
    FAMILY,
    GENERATION,
    GPU_COUNT,
    GPU_MEMORY,
    GPU_MODEL,
    INSTANCE_TYPE,
    OS,
    PROVIDER,
    REGION,
    ZONE,
    Alternative,
    Limits,
    Offering,
    Operator,
    Pod,
    Policy,
    PolicyRule,
    Reason,
    Requirement,
    Selector,
    Why,
)
from packer.quantity import MEBI
from packer.rules.labels import matches, requirement_text, selector_matches

API_VERSION: Final = "bayplan.io/v1alpha1"
KIND: Final = "NodePolicy"
FRIENDLY: Final = {
    "family": FAMILY,
    "generation": GENERATION,
    "category": CATEGORY,
    "arch": ARCH,
    "os": OS,
    "gpu-model": GPU_MODEL,
    "gpu-memory": GPU_MEMORY,
    "gpu-count": GPU_COUNT,
    "capacity-type": CAPACITY_TYPE,
    "zone": ZONE,
    "region": REGION,
    "provider": PROVIDER,
    "instance-type": INSTANCE_TYPE,
}
"""Short names of the node labels that requirements speak of. Any other label is named in full; one without a slash as ``label:NAME``."""

_NUMERIC = (GENERATION, GPU_MEMORY, GPU_COUNT)
_CAPACITY_TYPES = ("on-demand", "spot", "reserved")
_LABEL_NAME = re.compile(r"([A-Za-z0-9.-]+/)?[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?")
_POLICY_KEYS = ("rules", "limits", "nodeFeePerHour", "horizon", "defaultRestartCost")
_DOCUMENT_KEYS = ("apiVersion", "kind", "metadata", "spec")
_RULE_KEYS = ("name", "match", "alternatives")
_MATCH_KEYS = ("matchLabels", "matchExpressions", "namespaces", "priority")
_ALTERNATIVE_KEYS = ("name", "requirements", "maxPricePerHour", "penaltyPerHour", "limits", "allow")
_LIMIT_KEYS = ("costPerHour", "nodes", "resources")
_OPERATOR_KEYS = ("in", "notIn", "exists", "gt", "lt", "atLeast", "atMost")
_ALLOWED = ("burstable", "fractional-gpu")


def load_policy(text: str) -> Policy:
    """A policy from YAML (or JSON): a NodePolicy object, or the bare mapping of its spec.

    Raises UsageError that names the path and what would be right, for unknown keys above all.
    """
    import yaml

    try:
        document = yaml.safe_load(text)
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise UsageError(f"policy is not YAML: {' '.join(str(error).split())}") from error
    body = _mapping(document, "policy")
    if {"apiVersion", "kind", "spec"} & body.keys():
        _known(body, _DOCUMENT_KEYS, "policy")
        for key, wanted in (("apiVersion", API_VERSION), ("kind", KIND)):
            if body.get(key) != wanted:
                raise UsageError(f"policy.{key}: {body.get(key)!r} is not {wanted}")
        return _policy(_mapping(body.get("spec"), "policy.spec"), "policy.spec")
    return _policy(body, "policy")


def rule_for(policy: Policy, pod: Pod) -> PolicyRule:
    """The first rule that matches the pod, else DEFAULT_RULE (always the same object)."""
    return next((rule for rule in policy.rules if rule_matches(rule, pod)), DEFAULT_RULE)


def rule_matches(rule: PolicyRule, pod: Pod) -> bool:
    """Whether all of the rule's conditions hold for the pod; a rule without conditions matches every pod."""
    if rule.namespaces and pod.namespace not in rule.namespaces:
        return False
    if rule.priority_at_least is not None and pod.priority < rule.priority_at_least:
        return False
    if rule.priority_at_most is not None and pod.priority > rule.priority_at_most:
        return False
    return selector_matches(rule.selector, pod.labels)


def allowed(rule: PolicyRule, offering: Offering) -> tuple[tuple[int, int], ...]:
    """(index of the alternative, its penalty in micro-dollars an hour per pod) of all alternatives that take the offering, in order."""
    return tuple((index, one.penalty_microusd_per_hour) for index, one in enumerate(rule.alternatives) if _refusal(one, offering) is None)


def why_not(rule: PolicyRule, offering: Offering) -> Reason | None:
    """Why no alternative of the rule takes the offering: what the last of them, the fallback, holds against it. None if one does.

    Price is the reason only where nothing but the price is wrong.
    """
    refusals = [_refusal(one, offering) for one in rule.alternatives]
    if any(reason is None for reason in refusals):
        return None
    told = [reason for reason in refusals if reason is not None]
    if not told:
        return Reason(Why.POLICY, f"rule {rule.name} has no alternatives")
    chosen = next((reason for reason in told if reason.code is Why.MAX_PRICE), told[-1])
    return Reason(chosen.code, f"rule {rule.name}: {chosen.message}")


def _refusal(one: Alternative, offering: Offering) -> Reason | None:
    missed = next((requirement for requirement in one.requirements if not matches(requirement, offering.labels)), None)
    if missed is not None:
        return Reason(Why.POLICY, f"alternative {one.name} wants {requirement_text(missed)}")
    if offering.burstable and not one.allow_burstable:
        return Reason(Why.POLICY, f"alternative {one.name} does not allow burstable families")
    if offering.fractional_gpu and not one.allow_fractional_gpu:
        return Reason(Why.POLICY, f"alternative {one.name} does not allow slices of GPUs")
    limit = one.max_price_microusd_per_hour
    if limit is not None and offering.price_microusd_per_hour > limit:
        return Reason(Why.MAX_PRICE, f"alternative {one.name} pays at most ${quantity.format_usd(limit)} an hour for a node")
    return None


def _policy(body: Mapping[str, Any], where: str) -> Policy:
    _known(body, _POLICY_KEYS, where)
    rules = tuple(_rule(item, f"{where}.rules[{index}]", index) for index, item in enumerate(_list(body.get("rules"), f"{where}.rules")))
    names = [rule.name for rule in rules]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise UsageError(f"{where}.rules: two rules are called {twice[0]!r}; give each its own name")
    defaults = Policy()
    horizon = _duration(body, "horizon", where, defaults.horizon_s)
    if horizon <= 0:
        raise UsageError(f"{where}.horizon: it must be more than 0")
    return Policy(
        rules=rules,
        limits=_limits(body.get("limits"), f"{where}.limits"),
        node_fee_microusd_per_hour=_usd(body, "nodeFeePerHour", where) or 0,
        default_restart_cost_s=_duration(body, "defaultRestartCost", where, defaults.default_restart_cost_s),
        horizon_s=horizon,
    )


def _rule(item: Any, where: str, index: int) -> PolicyRule:
    body = _mapping(item, where)
    _known(body, _RULE_KEYS, where)
    name = _text(body, "name", where) or f"rule-{index}"
    match = _mapping(body.get("match"), f"{where}.match")
    _known(match, _MATCH_KEYS, f"{where}.match")
    alternatives = _list(body.get("alternatives"), f"{where}.alternatives")
    if not alternatives:
        raise UsageError(f"{where}.alternatives: rule {name!r} has none; give at least one, `- name: any` allows every offering")
    priority = _mapping(match.get("priority"), f"{where}.match.priority")
    _known(priority, ("atLeast", "atMost"), f"{where}.match.priority")
    return PolicyRule(
        name=name,
        alternatives=tuple(_alternative(one, f"{where}.alternatives[{i}]", i) for i, one in enumerate(alternatives)),
        selector=_selector(match, f"{where}.match"),
        namespaces=tuple(sorted(_texts(match.get("namespaces"), f"{where}.match.namespaces"))),
        priority_at_least=_integer(priority, "atLeast", f"{where}.match.priority"),
        priority_at_most=_integer(priority, "atMost", f"{where}.match.priority"),
    )


def _selector(match: Mapping[str, Any], where: str) -> Selector:
    found = set()
    for key, value in _mapping(match.get("matchLabels"), f"{where}.matchLabels").items():
        if not isinstance(value, str):
            raise UsageError(f"{where}.matchLabels.{key}: {value!r} is not text; put it in quotes")
        found.add(Requirement(str(key), Operator.IN, (value,)))
    operators = [op.value for op in (Operator.IN, Operator.NOT_IN, Operator.EXISTS, Operator.DOES_NOT_EXIST)]
    for index, item in enumerate(_list(match.get("matchExpressions"), f"{where}.matchExpressions")):
        path = f"{where}.matchExpressions[{index}]"
        body = _mapping(item, path)
        _known(body, ("key", "operator", "values"), path)
        operator = _text(body, "operator", path)
        if operator not in operators:
            raise UsageError(f"{path}.operator: {operator!r} is not one of {', '.join(operators)}{nearest(operator, operators)}")
        values = tuple(sorted(set(_texts(body.get("values"), f"{path}.values"))))
        if bool(values) != (operator in ("In", "NotIn")):
            raise UsageError(f"{path}.values: {operator} takes {'at least one value' if not values else 'no values'}")
        key = _text(body, "key", path)
        if not key:
            raise UsageError(f"{path}.key: it is missing; name a label of the pods")
        found.add(Requirement(key, Operator(operator), values))
    return Selector(tuple(sorted(found)))


def _alternative(item: Any, where: str, index: int) -> Alternative:
    body = _mapping(item, where)
    _known(body, _ALTERNATIVE_KEYS, where)
    found: set[Requirement] = set()
    for key, value in _mapping(body.get("requirements"), f"{where}.requirements").items():
        found.update(_requirements(str(key), value, f"{where}.requirements.{key}"))
    allow = _texts(body.get("allow"), f"{where}.allow")
    for word in allow:
        if word not in _ALLOWED:
            raise UsageError(f"{where}.allow: {word!r} is not one of {', '.join(_ALLOWED)}{nearest(word, _ALLOWED)}")
    return Alternative(
        name=_text(body, "name", where) or f"alternative-{index}",
        requirements=tuple(sorted(found)),
        max_price_microusd_per_hour=_usd(body, "maxPricePerHour", where),
        penalty_microusd_per_hour=_usd(body, "penaltyPerHour", where) or 0,
        limits=_limits(body.get("limits"), f"{where}.limits"),
        allow_burstable="burstable" in allow,
        allow_fractional_gpu="fractional-gpu" in allow,
    )


def _requirements(key: str, value: Any, where: str) -> list[Requirement]:
    """One entry of ``requirements``: a value or a list is ``in``; a mapping has operators, all of which must hold."""
    label = _label(key, where)
    body: Mapping[Any, Any] = value if isinstance(value, Mapping) else {"in": value}
    if not body:
        raise UsageError(f"{where}: it is empty; give a value, a list or operators ({', '.join(_OPERATOR_KEYS)})")
    _known(body, _OPERATOR_KEYS, where)
    found = []
    for operator, operand in body.items():
        path = f"{where}.{operator}" if isinstance(value, Mapping) else where
        if operator in ("in", "notIn"):
            values = tuple(sorted({_value(label, one, path) for one in (operand if isinstance(operand, list) else [operand])}))
            if not values:
                raise UsageError(f"{path}: it is empty; give at least one value")
            found.append(Requirement(label, Operator.IN if operator == "in" else Operator.NOT_IN, values))
        elif operator == "exists":
            if not isinstance(operand, bool):
                raise UsageError(f"{path}: {operand!r} is neither true nor false")
            found.append(Requirement(label, Operator.EXISTS if operand else Operator.DOES_NOT_EXIST))
        else:
            found.append(_bound(label, operator, operand, path))
    return found


def _bound(label: str, operator: str, operand: Any, where: str) -> Requirement:
    """gt, lt, atLeast and atMost in Kubernetes' two strict operators. GPU memory is a quantity, rounded down to MiB as the label is."""
    if label == GPU_MEMORY:
        try:
            number = quantity.floor_units(operand) // MEBI
        except (InputError, TypeError) as error:
            raise UsageError(f"{where}: {operand!r} is not an amount of memory; write a quantity such as 16Gi") from error
    else:
        text = str(operand)
        if isinstance(operand, (bool, float)) or not re.fullmatch(r"[+-]?[0-9]{1,18}", text, re.ASCII):
            raise UsageError(f"{where}: {operand!r} is not a whole number")
        number = int(text)
    shift = {"atLeast": -1, "atMost": 1}.get(operator, 0)
    return Requirement(label, Operator.GT if operator in ("gt", "atLeast") else Operator.LT, (str(number + shift),))


def _label(key: str, where: str) -> str:
    if key in FRIENDLY:
        return FRIENDLY[key]
    name = key.removeprefix("label:")
    if _LABEL_NAME.fullmatch(name) and (name != key or "/" in key):
        return name
    known = f"the keys are {', '.join(FRIENDLY)}, a full label key, or label:NAME for one without a slash"
    raise UsageError(f"{where}: unknown key{nearest(key, FRIENDLY)}; {known}")


def _value(label: str, value: Any, where: str) -> str:
    if isinstance(value, bool) or not isinstance(value, (str, int)) or value == "":
        raise UsageError(f"{where}: {value!r} is not text; put it in quotes")
    if label == GPU_MEMORY and isinstance(value, str) and not value.isdecimal():
        try:
            return str(quantity.floor_units(value) // MEBI)
        except InputError as error:
            raise UsageError(f"{where}: {error.what}") from error
    if label == CAPACITY_TYPE:
        kind = str(value).lower().replace("_", "-")
        if kind not in _CAPACITY_TYPES:
            raise UsageError(f"{where}: {value!r} is not one of {', '.join(_CAPACITY_TYPES)}{nearest(kind, _CAPACITY_TYPES)}")
        return kind
    if label in _NUMERIC and not str(value).isdecimal():
        raise UsageError(f"{where}: {value!r} is not a whole number")
    return str(value)


def _limits(item: Any, where: str) -> Limits:
    body = _mapping(item, where)
    _known(body, _LIMIT_KEYS, where)
    nodes = _integer(body, "nodes", where)
    if nodes is not None and nodes < 0:
        raise UsageError(f"{where}.nodes: it must not be negative")
    resources = {}
    for name, amount in _mapping(body.get("resources"), f"{where}.resources").items():
        try:
            resources[str(name)] = (quantity.floor_milli if name == CPU else quantity.floor_units)(amount)
        except (InputError, TypeError) as error:
            raise UsageError(f"{where}.resources.{name}: {amount!r} is not a quantity; write one such as 64, 500m or 256Gi") from error
    return Limits(_usd(body, "costPerHour", where), nodes, resources)


def _known(body: Mapping[Any, Any], keys: Sequence[str], where: str) -> None:
    for key in body:
        if key not in keys:
            raise UsageError(f"{where}.{key}: unknown key{nearest(str(key), keys)}; the keys are {', '.join(keys)}")


def _mapping(item: Any, where: str) -> Mapping[Any, Any]:
    if item is None:
        return {}
    if not isinstance(item, Mapping):
        raise UsageError(f"{where}: expected a mapping, got {item!r}")
    return item


def _list(item: Any, where: str) -> list[Any]:
    if item is None:
        return []
    if not isinstance(item, list):
        raise UsageError(f"{where}: expected a list, got {item!r}")
    return item


def _texts(item: Any, where: str) -> list[str]:
    found = [item] if isinstance(item, str) else _list(item, where)
    wrong = next((one for one in found if not isinstance(one, str)), None)
    if wrong is not None:
        raise UsageError(f"{where}: {wrong!r} is not text; put it in quotes")
    return found


def _text(body: Mapping[str, Any], key: str, where: str) -> str:
    value = body.get(key, "")
    if not isinstance(value, str):
        raise UsageError(f"{where}.{key}: {value!r} is not text; put it in quotes")
    return value


def _integer(body: Mapping[str, Any], key: str, where: str) -> int | None:
    value = body.get(key)
    if value is not None and (isinstance(value, bool) or not isinstance(value, int)):
        raise UsageError(f"{where}.{key}: {value!r} is not a whole number")
    return value


def _usd(body: Mapping[str, Any], key: str, where: str) -> int | None:
    value = body.get(key)
    if value is None:
        return None
    try:
        return quantity.parse_usd(value)
    except InputError as error:
        raise UsageError(f"{where}.{key}: {error}") from error


def _duration(body: Mapping[str, Any], key: str, where: str, default: int) -> int:
    value = body.get(key)
    if value is None:
        return default
    try:
        return quantity.parse_duration(value)
    except InputError as error:
        raise UsageError(f"{where}.{key}: {error}") from error
