"""Hard rules between pods (spread, affinity, anti-affinity), gathered over classes and hosts.

Sources: kube-scheduler's PodTopologySpread (filtering.go) and InterPodAffinity (filtering.go) plugins. Axes: ``C`` classes, ``H`` hosts
(offerings first, then nodes). What running pods forbid outright becomes ``blocked``; what waiting pods ask of each other becomes rules.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from packer.arrays import AFFINITY, ANTI, SPREAD, Bools, Ints
from packer.classes import AllOf, Matcher, PodClass, affinity_matcher, spread_matcher, term_matcher
from packer.hosts import ABSENT, HostTable
from packer.model import HOSTNAME, Daemon, Node, Pod

MOST_SKEW = 2**31 - 1
"""Kubernetes keeps maxSkew and minDomains as int32; more never binds."""
ABSENT_VALUE = "\0"
"""Stands for a label that a pod lacks: no label value equals it."""


@dataclass(slots=True)
class PodRule:
    """One rule between pods: who carries it, whom it counts, over which topology."""

    kind: int
    key: str
    matcher: Matcher | AllOf
    carriers: list[int]
    members: list[int]
    counts: Bools
    """[H] hosts whose pods count (spread: by the carriers' node policies; affinity: hosts that have the key)."""
    skew: int = 0
    min_domains: int = 1
    held: dict[int, int] = field(default_factory=dict)
    """Running matches by host index."""
    daemons: dict[int, int] = field(default_factory=dict)
    """Matching daemon pods that a fresh node of an offering comes with, by host index."""

    @property
    def per_host(self) -> bool:
        """Is every single node a domain of its own?"""
        return self.key == HOSTNAME


class Running:
    """Pods that run, asked again and again which of them match: by host, cached by matcher."""

    def __init__(self, nodes: Sequence[Node], first_host: int) -> None:
        self._pods: list[tuple[int, Pod]] = [(first_host + i, pod) for i, node in enumerate(nodes) for pod in node.pods]
        self._counts: dict[tuple[Matcher | AllOf, bool], dict[int, int]] = {}

    def matches(self, matcher: Matcher | AllOf, *, terminating: bool) -> dict[int, int]:
        """Matching pods by host; ``terminating`` says whether those on their way out count (affinity: yes, spread: no)."""
        known = self._counts.get((matcher, terminating))
        if known is None:
            known = {}
            for host, pod in self._pods:
                if (terminating or not pod.terminating) and matcher.matches(pod.namespace, pod.labels):
                    known[host] = known.get(host, 0) + 1
            self._counts[(matcher, terminating)] = known
        return known

    def anti_terms(self) -> dict[tuple[Matcher, str], list[int]]:
        """Required anti-affinity of running pods: (whom, topology key) -> hosts of its carriers."""
        found: dict[tuple[Matcher, str], list[int]] = {}
        for host, pod in self._pods:
            for term in pod.spec.anti_affinity:
                found.setdefault((term_matcher(term, pod.namespace), term.topology_key), []).append(host)
        return found


def domains_of(hosts: HostTable, key: str, offerings: int) -> Ints:
    """int64[H]: the domain of each host for a topology key, ABSENT where it lacks the key. Each new node has a hostname of its own."""
    codes, _ = hosts.column(key)
    if key != HOSTNAME:
        return codes
    own = np.arange(hosts.size, dtype=np.int64)
    return np.where((own < offerings) | (codes != ABSENT), own, ABSENT)


def gather(
    classes: Sequence[PodClass], hosts: HostTable, running: Running, daemons: Sequence[tuple[Daemon, Bools]], offerings: int
) -> tuple[list[PodRule], Bools]:
    """The rules between waiting pods, in canonical order, and blocked bool[C, H]: hosts that running pods rule out.

    ``daemons`` are pairs of a daemon and bool[H], the offerings on whose fresh nodes it runs.
    """
    rules: dict[object, PodRule] = {}
    for c, pods in enumerate(classes):
        spec = pods.spec
        hard = [constraint for constraint in spec.spread if constraint.hard]
        keyed = np.ones(hosts.size, np.bool_)
        for constraint in hard:
            keyed &= domains_of(hosts, constraint.topology_key, offerings) != ABSENT
        for constraint in hard:
            counts = keyed.copy()
            if constraint.honor_node_affinity:
                counts &= hosts.affine(spec)
            if constraint.honor_node_taints:
                counts &= hosts.tolerated(spec.tolerations)
            matcher = spread_matcher(constraint, pods.namespace)
            identity = (SPREAD, constraint.topology_key, matcher, constraint.max_skew, constraint.min_domains, counts.tobytes())
            rule = rules.setdefault(
                identity,
                PodRule(
                    SPREAD,
                    constraint.topology_key,
                    matcher,
                    [],
                    [],
                    counts,
                    min(constraint.max_skew, MOST_SKEW),
                    min(constraint.min_domains, MOST_SKEW),
                ),
            )
            rule.carriers.append(c)
        sought = affinity_matcher(spec, pods.namespace)
        asked: list[tuple[int, str, Matcher | AllOf]] = [(AFFINITY, term.topology_key, sought) for term in spec.affinity]
        asked += [(ANTI, term.topology_key, term_matcher(term, pods.namespace)) for term in spec.anti_affinity]
        for kind, key, whom in asked:
            counts = domains_of(hosts, key, offerings) != ABSENT
            rule = rules.setdefault((kind, key, whom), PodRule(kind, key, whom, [], [], counts))
            if c not in rule.carriers:
                rule.carriers.append(c)
    for rule in rules.values():
        rule.members = _members(rule.matcher, classes)
        held = running.matches(rule.matcher, terminating=rule.kind != SPREAD)
        rule.held = {host: n for host, n in held.items() if rule.counts[host]}
        for daemon, runs in daemons:
            if rule.matcher.matches(daemon.namespace, daemon.labels):
                for host in map(int, np.nonzero(runs & rule.counts)[0]):
                    rule.daemons[host] = rule.daemons.get(host, 0) + 1
    found = list(rules.values())
    return found, _blocked(classes, found, hosts, running, offerings)


def _members(matcher: Matcher | AllOf, classes: Sequence[PodClass]) -> list[int]:
    """Classes whose pods count; classes that look alike to the selectors are asked about once."""
    keys = sorted({requirement.key for selector in matcher.selectors for requirement in selector.requirements})
    known: dict[tuple[str, ...], bool] = {}
    members = []
    for c, pods in enumerate(classes):
        look = (pods.namespace, *(pods.labels.get(key, ABSENT_VALUE) for key in keys))
        if look not in known:
            known[look] = matcher.matches(pods.namespace, pods.labels)
        if known[look]:
            members.append(c)
    return members


def _blocked(classes: Sequence[PodClass], rules: Sequence[PodRule], hosts: HostTable, running: Running, offerings: int) -> Bools:
    blocked = np.zeros((len(classes), hosts.size), np.bool_)
    for (matcher, key), carriers in running.anti_terms().items():
        domain = domains_of(hosts, key, offerings)
        near = np.isin(domain, [d for d in {int(domain[h]) for h in carriers} if d != ABSENT])
        for c, pods in enumerate(classes):
            if matcher.matches(pods.namespace, pods.labels):
                blocked[c] |= near
    for rule in rules:
        domain = domains_of(hosts, rule.key, offerings)
        held = {int(domain[h]) for h in rule.held}
        if rule.kind == ANTI:
            held |= {int(domain[h]) for h in rule.daemons} if rule.per_host else set()
            near = np.isin(domain, sorted(held))
            for c in rule.carriers:
                blocked[c] |= near
            continue
        for c in rule.carriers:
            blocked[c] |= domain == ABSENT
        if rule.kind == AFFINITY:
            held |= {int(domain[h]) for h in rule.daemons}
        if rule.kind == AFFINITY and held and not (set(rule.members) - set(rule.carriers)):
            # Someone matches already, so each carrier must join a domain that has a match, and only carriers could make new ones.
            for c in rule.carriers:
                blocked[c] |= ~np.isin(domain, sorted(held))
    return blocked
