"""Pods that cannot be told apart, gathered into classes: all the work that follows grows with classes, not pods."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from packer import policy as policies
from packer import rules
from packer.model import Labels, Node, Pod, PodAffinityTerm, PodSpec, Policy, PolicyRule, Problem, Selector, SpreadConstraint


@dataclass(frozen=True, slots=True)
class Matcher:
    """Whom a rule between pods counts: pods of some namespaces whose labels match. Identity of a rule's selector across pods."""

    selector: Selector | None
    namespaces: tuple[str, ...]
    all_namespaces: bool = False

    def matches(self, namespace: str, labels: Labels) -> bool:
        """Does a pod of that namespace with those labels count? A missing selector matches nothing (LabelSelector semantics)."""
        if self.selector is None or not (self.all_namespaces or namespace in self.namespaces):
            return False
        return rules.selector_matches(self.selector, labels)

    @property
    def selectors(self) -> tuple[Selector, ...]:
        """Selectors that are asked."""
        return () if self.selector is None else (self.selector,)


@dataclass(frozen=True, slots=True)
class AllOf:
    """A pod that every one of some terms counts: required affinity looks for pods that match all its terms at once
    (podMatchesAllAffinityTerms in kube-scheduler's interpodaffinity/filtering.go)."""

    matchers: tuple[Matcher, ...]

    def matches(self, namespace: str, labels: Labels) -> bool:
        """Do all of them count it?"""
        return all(matcher.matches(namespace, labels) for matcher in self.matchers)

    @property
    def selectors(self) -> tuple[Selector, ...]:
        """Selectors that are asked."""
        return tuple(matcher.selector for matcher in self.matchers if matcher.selector is not None)


def affinity_matcher(spec: PodSpec, namespace: str) -> AllOf:
    """Whom the required affinity of a pod of ``namespace`` looks for, whatever the topology."""
    return AllOf(tuple(sorted({term_matcher(term, namespace) for term in spec.affinity}, key=repr)))


def term_matcher(term: PodAffinityTerm, namespace: str) -> Matcher:
    """The matcher of an affinity term carried by a pod of ``namespace``."""
    return Matcher(term.selector, term.namespaces or (namespace,), term.all_namespaces)


def spread_matcher(constraint: SpreadConstraint, namespace: str) -> Matcher:
    """The matcher of a spread constraint: always the carrier's own namespace. An empty selector counts nobody (countPodsMatchSelector)."""
    counted = constraint.selector if constraint.selector and constraint.selector.requirements else None
    return Matcher(counted, (namespace,))


@dataclass(frozen=True, slots=True)
class PodClass:
    """Waiting pods that are alike in all that the solver looks at. ``pods`` are in canonical order."""

    spec: PodSpec
    namespace: str
    labels: Labels
    priority: int
    rule: PolicyRule
    gang: str
    pods: tuple[Pod, ...]


def canonical_pods(pods: Iterable[Pod]) -> list[Pod]:
    """Waiting pods by (namespace, name, uid): what input order never reaches."""
    return sorted(pods, key=lambda pod: (pod.namespace, pod.name, pod.uid))


def spec_key(spec: PodSpec) -> tuple[object, ...]:
    """The content of a spec as something hashable and ordered by ``repr``."""
    return (
        tuple(sorted(spec.requests.items())),
        tuple(sorted(spec.selector)),
        None if spec.node_terms is None else tuple(sorted(spec.node_terms)),
        tuple(sorted(tuple(sorted(terms)) for terms in spec.volume_terms)),
        tuple(sorted(spec.tolerations)),
        tuple(sorted(spec.host_ports)),
        spec.spread,
        spec.affinity,
        spec.anti_affinity,
        spec.preferred_terms,
        spec.max_price_microusd_per_hour,
        spec.expected_duration_s,
        spec.restart_cost_s,
        tuple(sorted(spec.exclusive_claims)),
    )


def carries_pod_rules(spec: PodSpec) -> bool:
    """Does the spec carry a hard rule about other pods?"""
    return bool(spec.affinity or spec.anti_affinity or any(constraint.hard for constraint in spec.spread))


def matchers_of(pods: Iterable[tuple[PodSpec, str]], nodes: Iterable[Node]) -> list[Matcher | AllOf]:
    """Every matcher that a hard rule of a waiting pod, or the required anti-affinity of a running one, uses."""
    found: dict[Matcher | AllOf, None] = {}
    for spec, namespace in pods:
        for constraint in spec.spread:
            if constraint.hard:
                found.setdefault(spread_matcher(constraint, namespace))
        if spec.affinity:
            found.setdefault(affinity_matcher(spec, namespace))
        for term in spec.anti_affinity:
            found.setdefault(term_matcher(term, namespace))
    for node in nodes:
        for pod in node.pods:
            for term in pod.spec.anti_affinity:
                found.setdefault(term_matcher(term, pod.namespace))
    return list(found)


def selector_keys(matchers: Iterable[Matcher | AllOf], policy: Policy) -> tuple[str, ...]:
    """Label keys that some selector asks for; all other labels cannot matter."""
    keys = {r.key for m in matchers for selector in m.selectors for r in selector.requirements}
    keys |= {r.key for rule in policy.rules for r in rule.selector.requirements}
    return tuple(sorted(keys))


def gather(problem: Problem) -> list[PodClass]:
    """Classes of the problem's waiting pods, in canonical order of their content (then of their first pod)."""
    pods = canonical_pods(problem.pods)
    shapes: dict[int, int] = {}
    contents: dict[tuple[object, ...], int] = {}
    specs: list[PodSpec] = []
    for pod in pods:
        if id(pod.spec) not in shapes:
            index = contents.setdefault(spec_key(pod.spec), len(specs))
            if index == len(specs):
                specs.append(pod.spec)
            shapes[id(pod.spec)] = index
    carriers = {(shapes[id(pod.spec)], pod.namespace) for pod in pods if carries_pod_rules(pod.spec)}
    matchers = matchers_of(((specs[i], namespace) for i, namespace in sorted(carriers)), problem.nodes)
    keys = selector_keys(matchers, problem.policy)
    signatures: dict[tuple[object, ...], tuple[object, ...]] = {}
    members: dict[tuple[object, ...], list[Pod]] = {}
    for pod in pods:
        shape = shapes[id(pod.spec)]
        seen = (pod.namespace, tuple(map(pod.labels.get, keys)), pod.priority)
        signature = signatures.get(seen)
        if signature is None:
            matched = tuple(i for i, matcher in enumerate(matchers) if matcher.matches(pod.namespace, pod.labels))
            signature = signatures[seen] = (matched, policies.rule_for(problem.policy, pod))
        home = pod.namespace if (shape, pod.namespace) in carriers else ""
        gang = f"{pod.namespace}/{pod.gang.name}" if pod.gang else ""
        members.setdefault((shape, home, signature[0], pod.priority, id(signature[1]), gang), []).append(pod)
    classes = [
        PodClass(
            first.spec, first.namespace, first.labels, first.priority, policies.rule_for(problem.policy, first), str(gang), tuple(group)
        )
        for (*_, gang), group in members.items()
        for first in group[:1]
    ]
    order = {id(c): (-c.priority, repr(spec_key(specs[shapes[id(c.spec)]])), c.pods[0].key, c.pods[0].uid) for c in classes}
    return sorted(classes, key=lambda c: order[id(c)])
