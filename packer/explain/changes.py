"""The change that would take an obstacle away: its words, its size, and the changed input, so that it can be verified.

Sizes are in millionths and only rank: giving up a tenth of a request is less than tolerating a taint, that is less than dropping a
selector, and that is less than inventing a machine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

from packer import cost
from packer.explain.values import Lever
from packer.model import (
    INSTANCE_TYPE,
    MEMORY,
    STORAGE,
    ZONE,
    Alternative,
    Offering,
    Operator,
    Pod,
    PodSpec,
    Policy,
    PolicyRule,
    Problem,
    Requirement,
    SpreadConstraint,
    Toleration,
    Why,
)
from packer.obstacles import Obstacle, port_text, wanted
from packer.rules import matches, requirement_text
from packer.situation import POD_PRICE
from packer.words import an_hour, exact_amount, exact_pair, place_name

WHOLE = 1_000_000
_MEBI = 1 << 20
_SHORT = (Why.INSUFFICIENT_CPU, Why.INSUFFICIENT_MEMORY, Why.INSUFFICIENT_STORAGE, Why.INSUFFICIENT_RESOURCE)


class Input(NamedTuple):
    """What a change may touch: the problem (its policy), the pod, and the place if that is an offering."""

    problem: Problem
    pod: Pod
    offering: Offering | None


@dataclass(frozen=True, slots=True)
class Change:
    lever: Lever
    text: str
    size: int
    apply: Callable[[Input], Input]
    stem: str = ""
    """Changes with one stem read as one: "offer a machine like x with" cpu 8 and memory 32Gi."""


def texts(made: Iterable[Change]) -> tuple[str, ...]:
    """The words of several changes, those of one stem together."""
    rests: dict[str, list[str]] = {}
    for change in made:
        rests.setdefault(change.stem or change.text, []).append(change.text)
    return tuple(f"{stem} {' and '.join(parts)}" if parts != [stem] else stem for stem, parts in rests.items())


def changes(obstacle: Obstacle, given: Input, rule: PolicyRule) -> list[Change]:
    """Every change known to take this obstacle away, smallest first."""
    found = [*_pod_changes(obstacle, given), *_policy_changes(obstacle, given, rule), *_catalog_changes(obstacle, given)]
    return sorted(found, key=lambda change: (change.size, change.lever, change.text))


def limit_change(given: Input, rule: PolicyRule, used: cost.Usage, alternative: int | None) -> Change:
    """Raise whatever limits one more node of the offering would break, to exactly what it needs."""
    offering, policy = given.offering, given.problem.policy
    assert offering is not None
    limits = policy.limits if alternative is None else rule.alternatives[alternative].limits
    whose = "of the policy" if alternative is None else f"of alternative {rule.alternatives[alternative].name!r} in rule {rule.name!r}"
    raised, texts, size = limits, [], 0
    total = used.cost_microusd_per_hour + offering.price_microusd_per_hour
    if limits.cost_microusd_per_hour is not None and total > limits.cost_microusd_per_hour:
        texts.append(f"cost limit {whose} from {an_hour(limits.cost_microusd_per_hour)} to {an_hour(total)}")
        size += _part(total - limits.cost_microusd_per_hour, total)
        raised = replace(raised, cost_microusd_per_hour=total)
    if limits.nodes is not None and used.nodes + 1 > limits.nodes:
        texts.append(f"node limit {whose} from {limits.nodes} to {used.nodes + 1}")
        size += _part(used.nodes + 1 - limits.nodes, used.nodes + 1)
        raised = replace(raised, nodes=used.nodes + 1)
    resources = dict(limits.resources)
    for name, most in sorted(limits.resources.items()):
        needed = used.resources.get(name, 0) + offering.allocatable.get(name, 0)
        if needed > most and offering.allocatable.get(name, 0):
            texts.append(f"{name} limit {whose} from {exact_amount(name, most)} to {exact_amount(name, needed)}")
            size += _part(needed - most, needed)
            resources[name] = needed
    raised = replace(raised, resources=resources)
    if alternative is None:
        edit = _with_policy(lambda policy: replace(policy, limits=raised))
    else:
        edit = _with_alternative(rule, alternative, lambda one: replace(one, limits=raised))
    return Change(Lever.POLICY, "raise the " + " and the ".join(texts), size, edit)


def _pod_changes(obstacle: Obstacle, given: Input) -> Iterator[Change]:
    spec = given.pod.spec
    code = obstacle.code
    if code in _SHORT:
        yield _smaller(obstacle)
    elif code is Why.NODE_SELECTOR:
        yield from _selector_changes(obstacle, spec)
    elif code is Why.NODE_AFFINITY:
        yield _pod_change("drop the required node affinity", WHOLE, lambda s: replace(s, node_terms=None))
    elif code is Why.VOLUME_TOPOLOGY:
        yield _pod_change(f"use a volume that can be reached there ({obstacle.text})", 2 * WHOLE, lambda s: replace(s, volume_terms=()))
    elif code is Why.TAINT and not obstacle.subject.startswith(("node.kubernetes.io/", "not ready")):
        toleration = _toleration_for(obstacle.subject)
        yield _pod_change(f"tolerate {obstacle.subject}", WHOLE // 2, lambda s: replace(s, tolerations=(*s.tolerations, toleration)))
    elif code is Why.HOST_PORT:
        rest = tuple(port for port in spec.host_ports if port_text(port) != obstacle.subject)
        text = f"drop host port {obstacle.subject}, or take another one"
        yield _pod_change(text, WHOLE, lambda s: replace(s, host_ports=rest))
    elif obstacle.subject == POD_PRICE and given.offering is not None and spec.max_price_microusd_per_hour is not None:
        price, most = given.offering.price_microusd_per_hour, spec.max_price_microusd_per_hour
        text = f"raise the pod's highest price from {an_hour(most)} to {an_hour(price)}"
        yield _pod_change(text, _part(price - most, price), lambda s: replace(s, max_price_microusd_per_hour=price))
    elif code is Why.TOPOLOGY_SPREAD:
        yield from _spread_changes(obstacle, spec)
    elif code is Why.POD_AFFINITY:
        yield _pod_change("drop the required pod affinity", WHOLE, lambda s: replace(s, affinity=()))
    elif code is Why.POD_ANTI_AFFINITY and spec.anti_affinity:
        yield _pod_change("drop the required pod anti-affinity", WHOLE, lambda s: replace(s, anti_affinity=()))
    elif code is Why.DEVICE and given.problem.device_share is not None:
        resource, size = given.problem.device_share
        rounded = -(-spec.requests.get(resource, 0) // size) * size
        text = f"{resource} {spec.requests.get(resource, 0)} → {rounded}, whole devices"
        yield _pod_change(text, WHOLE // 2, lambda s: replace(s, requests={**s.requests, resource: rounded}))


def _smaller(obstacle: Obstacle) -> Change:
    name, have, want = obstacle.subject, obstacle.have, obstacle.want
    if have <= 0:
        rest = f"ask for no {name} (now {exact_amount(name, want)})"
        return _pod_change(rest, 2 * WHOLE, lambda s: replace(s, requests={k: v for k, v in s.requests.items() if k != name}))
    if have >= _MEBI and (name in (MEMORY, STORAGE) or name.startswith("hugepages-")):
        have -= have % _MEBI  # a figure that a person would write
    before, after = exact_pair(name, want, have)
    text = f"{name} {before} → {after}"
    return _pod_change(text, _part(want - have, want), lambda s: replace(s, requests={**s.requests, name: have}))


def _selector_changes(obstacle: Obstacle, spec: PodSpec) -> Iterator[Change]:
    req = next((one for one in spec.selector if requirement_text(one) == obstacle.subject), None)
    if req is None:
        return
    if req.operator is Operator.IN and obstacle.found != "no such label":
        wider = replace(req, values=tuple(sorted({*req.values, obstacle.found})))
        text = f"let {req.key} also be {obstacle.found} (now {', '.join(req.values)})"
        yield _pod_change(text, WHOLE - 1, lambda s: replace(s, selector=tuple(wider if one == req else one for one in s.selector)))
    yield _pod_change(f"drop the selector {wanted(req)}", WHOLE, lambda s: replace(s, selector=tuple(o for o in s.selector if o != req)))


def _toleration_for(taint: str) -> Toleration:
    """A toleration of exactly the taint that ``taint_text`` wrote."""
    name, _, effect = taint.rpartition(":")
    key, _, value = name.partition("=")
    return Toleration(key, "Equal", value, effect)


def _spread_changes(obstacle: Obstacle, spec: PodSpec) -> Iterator[Change]:
    """A wider skew by one, two or three; or a spread that is only preferred."""
    for i, constraint in enumerate(spec.spread):
        if not constraint.hard or constraint.topology_key not in obstacle.subject:
            continue
        for more in (1, 2, 3):
            wider = replace(constraint, max_skew=constraint.max_skew + more)
            text = f"maxSkew over {constraint.topology_key} from {constraint.max_skew} to {wider.max_skew}"
            yield _pod_change(text, _part(more, wider.max_skew) // 2, _with_spread(spec, i, wider))
        text = f"whenUnsatisfiable: ScheduleAnyway for the spread over {constraint.topology_key}"
        yield _pod_change(text, WHOLE, _with_spread(spec, i, replace(constraint, hard=False)))


def _with_spread(spec: PodSpec, index: int, constraint: SpreadConstraint) -> Callable[[PodSpec], PodSpec]:
    spread = tuple(constraint if i == index else one for i, one in enumerate(spec.spread))
    return lambda s: replace(s, spread=spread)


def _policy_changes(obstacle: Obstacle, given: Input, rule: PolicyRule) -> Iterator[Change]:
    """Let the alternative that comes nearest allow this offering."""
    if given.offering is None or not rule.alternatives:
        return
    if obstacle.code not in (Why.POLICY, Why.MAX_PRICE) or obstacle.subject == POD_PRICE:
        return
    offering = given.offering
    needed = [list(_refusals(alternative, offering)) for alternative in rule.alternatives]
    index = min(range(len(needed)), key=lambda i: (len(needed[i]), i))
    if needed[index]:
        text = f"rule {rule.name!r}: {' and '.join(needed[index])}"
        yield Change(
            Lever.POLICY, text, len(needed[index]) * WHOLE * 3 // 4, _with_alternative(rule, index, lambda one: _allowing(one, offering))
        )


def _refusals(alternative: Alternative, offering: Offering) -> Iterator[str]:
    """What the alternative would have to give up for this offering."""
    for req in alternative.requirements:
        if not matches(req, offering.labels):
            yield f"drop {wanted(req)}" if not _widens(req, offering) else f"let {req.key} also be {offering.labels[req.key]}"
    if offering.burstable and not alternative.allow_burstable:
        yield "allow burstable types"
    if offering.fractional_gpu and not alternative.allow_fractional_gpu:
        yield "allow fractional GPUs"
    most = alternative.max_price_microusd_per_hour
    if most is not None and offering.price_microusd_per_hour > most:
        yield f"raise its highest price from {an_hour(most)} to {an_hour(offering.price_microusd_per_hour)}"


def _widens(req: Requirement, offering: Offering) -> bool:
    return req.operator is Operator.IN and req.key in offering.labels


def _allowing(alternative: Alternative, offering: Offering) -> Alternative:
    """The alternative, changed as ``_refusals`` says."""
    kept = []
    for req in alternative.requirements:
        if matches(req, offering.labels):
            kept.append(req)
        elif _widens(req, offering):
            kept.append(replace(req, values=tuple(sorted({*req.values, offering.labels[req.key]}))))
    most = alternative.max_price_microusd_per_hour
    return replace(
        alternative,
        requirements=tuple(kept),
        allow_burstable=alternative.allow_burstable or offering.burstable,
        allow_fractional_gpu=alternative.allow_fractional_gpu or offering.fractional_gpu,
        max_price_microusd_per_hour=None if most is None else max(most, offering.price_microusd_per_hour),
    )


def _catalog_changes(obstacle: Obstacle, given: Input) -> Iterator[Change]:
    """A machine like this one with more of what is short or with the label that is missed, or one more in stock."""
    offering = given.offering
    if offering is None:
        return
    if obstacle.code in _SHORT:
        name = obstacle.subject
        have = offering.allocatable.get(name, 0)
        whole = have + obstacle.want - obstacle.have
        before, after = exact_pair(name, have, whole)
        text, stem = f"{name} {after} instead of {before}", f"offer a machine like {offering.key.instance_type} with"
        size = WHOLE + _part(whole - have, whole) if have else 4 * WHOLE
        yield _catalog_change(text, size, lambda o: replace(o, allocatable={**o.allocatable, name: whole}), stem)
    elif obstacle.code is Why.STOCK:
        stock = offering.available_count or 0
        text = f"stock of {place_name(offering.key)} from {stock} to {stock + 1}"
        yield _catalog_change(text, WHOLE, lambda o: replace(o, available_count=stock + 1))
    elif obstacle.code in (Why.NODE_SELECTOR, Why.NODE_AFFINITY, Why.VOLUME_TOPOLOGY):
        labels = _labels_wanted(obstacle, given.pod.spec)
        if labels:
            text = _offer_words(offering.key.instance_type, labels)
            yield _catalog_change(text, 2 * WHOLE, lambda o: replace(o, labels={**o.labels, **labels}))


def _offer_words(instance_type: str, labels: dict[str, str]) -> str:
    """ "offer c4 in zone z-x", "offer m5.3xlarge, at least as large as m5.2xlarge"."""
    rest = {key: value for key, value in labels.items() if key != INSTANCE_TYPE}
    what = instance_type
    if INSTANCE_TYPE in labels:
        what = f"{labels[INSTANCE_TYPE]}, at least as large as {instance_type}"
    return f"offer {what}" + "".join(f" in zone {value}" if key == ZONE else f" with {key}={value}" for key, value in sorted(rest.items()))


def _labels_wanted(obstacle: Obstacle, spec: PodSpec) -> dict[str, str]:
    """Labels that would meet the refused requirement; empty where it is not made of plain values."""
    if obstacle.code is Why.NODE_SELECTOR:
        requirements = tuple(one for one in spec.selector if requirement_text(one) == obstacle.subject)
    elif obstacle.code is Why.NODE_AFFINITY:
        requirements = spec.node_terms[0].expressions if spec.node_terms else ()
    else:
        volume = int(obstacle.subject.rpartition(" ")[2])
        requirements = spec.volume_terms[volume][0].expressions if spec.volume_terms[volume] else ()
    plain = all(req.operator is Operator.IN and req.values for req in requirements)
    return {req.key: req.values[0] for req in requirements} if plain else {}


def _pod_change(text: str, size: int, edit: Callable[[PodSpec], PodSpec]) -> Change:
    return Change(Lever.POD, text, size, lambda given: given._replace(pod=replace(given.pod, spec=edit(given.pod.spec))))


def _catalog_change(text: str, size: int, edit: Callable[[Offering], Offering], stem: str = "") -> Change:
    def apply(given: Input) -> Input:
        return given if given.offering is None else given._replace(offering=edit(given.offering))

    return Change(Lever.CATALOG, text, size, apply, stem)


def _with_policy(edit: Callable[[Policy], Policy]) -> Callable[[Input], Input]:
    return lambda given: given._replace(problem=replace(given.problem, policy=edit(given.problem.policy)))


def _with_alternative(rule: PolicyRule, index: int, edit: Callable[[Alternative], Alternative]) -> Callable[[Input], Input]:
    """The policy with one alternative of ``rule`` edited. A rule that is not the policy's own (the default) is written down at its end."""
    edited = replace(rule, alternatives=tuple(edit(one) if i == index else one for i, one in enumerate(rule.alternatives)))

    def change(policy: Policy) -> Policy:
        if any(one is rule for one in policy.rules):
            return replace(policy, rules=tuple(edited if one is rule else one for one in policy.rules))
        return replace(policy, rules=(*policy.rules, edited))

    return _with_policy(change)


def _part(part: int, whole: int) -> int:
    """A share in millionths, at least one."""
    return max(1, part * WHOLE // max(whole, 1))
