"""Counts of pods by topology domain, kept up to date one pod at a time: what PodTopologySpread and InterPodAffinity look at.

kube-scheduler counts afresh for each pod (calPreFilterState, getIncomingAffinityAntiAffinityCounts); here each distinct constraint
keeps its counts, so that a plan of 10,000 pods is judged in seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Generic, NamedTuple, Protocol, TypeVar

from packer.model import Labels, Operator, PodAffinityTerm, Selector
from packer.rules.labels import selector_matches

T = TypeVar("T")


class Signature(NamedTuple):
    """All of a pod that selectors can see: pods with equal signatures count alike. ``labels`` holds only keys that some selector names."""

    namespace: str
    labels: tuple[tuple[str, str], ...]
    terminating: bool


class Spot(Protocol):
    """A node, as far as counting goes."""

    @property
    def labels(self) -> Labels: ...


Event = tuple[object, str, str]
"""(counter, topology key, value): a change that may admit pods that were refused; key and value are empty when it is for all domains."""


class SpreadCounter:
    """Matching pods by domain of one hard spread constraint, over the nodes that the pod's own rules make eligible.

    A domain exists when an eligible node has it, with or without pods. ``low`` is the least count over the domains; it moves in steps
    of one, so a histogram of counts finds the next one at once.
    """

    __slots__ = ("counts", "eligible", "histogram", "key", "low", "nodes")

    def __init__(self, key: str, eligible: Callable[[Spot], bool]) -> None:
        self.key, self.eligible = key, eligible
        self.counts: dict[str, int] = {}
        self.nodes: dict[str, int] = {}
        self.histogram: dict[int, int] = {}
        self.low = 0

    def add_node(self, spot: Spot) -> None:
        if not self.eligible(spot):
            return
        value = spot.labels[self.key]
        self.nodes[value] = self.nodes.get(value, 0) + 1
        if value not in self.counts:
            self.counts[value] = 0
            self.histogram[0] = self.histogram.get(0, 0) + 1
            self.low = 0

    def remove_node(self, spot: Spot) -> None:
        """Takes away a node without pods; its domain goes with the last node in it."""
        if not self.eligible(spot):
            return
        value = spot.labels[self.key]
        self.nodes[value] -= 1
        if not self.nodes[value]:
            del self.nodes[value], self.counts[value]
            self.histogram[0] -= 1
            self.low = min(self.counts.values(), default=0)

    def change(self, spot: Spot, delta: int) -> tuple[Event, ...]:
        """Counts ``delta`` (+1 or -1) pods on a node. An event if the least count rose."""
        if not self.eligible(spot):
            return ()
        value = spot.labels[self.key]
        count = self.counts[value]
        self.counts[value] = count + delta
        self.histogram[count] -= 1
        self.histogram[count + delta] = self.histogram.get(count + delta, 0) + 1
        if delta < 0:
            self.low = min(self.low, count + delta)
        elif count == self.low and not self.histogram[count]:
            self.low = count + delta
            return ((self, "", ""),)
        return ()

    def minimum(self, min_domains: int) -> int:
        """The global minimum: 0 while fewer domains than minDomains exist (minMatchNum)."""
        return 0 if len(self.counts) < min_domains else self.low


class TermCounter:
    """Pods that match all of some terms, or that own a term, by (topology key, value)."""

    __slots__ = ("counts", "keys")

    def __init__(self, keys: Iterable[str]) -> None:
        self.keys = tuple(sorted(set(keys)))
        self.counts: dict[tuple[str, str], int] = {}

    def change(self, spot: Spot, delta: int) -> tuple[Event, ...]:
        """Counts ``delta`` (+1 or -1) pods on a node. An event for each domain that got its first pod."""
        events: list[Event] = []
        for key in self.keys:
            value = spot.labels.get(key)
            if value is None:
                continue
            count = self.counts.get((key, value), 0) + delta
            if count:
                self.counts[key, value] = count
                if count == delta > 0:
                    events.append((self, key, value))
            else:
                del self.counts[key, value]
        return tuple(events)

    def at(self, key: str, spot: Spot) -> int:
        value = spot.labels.get(key)
        return 0 if value is None else self.counts.get((key, value), 0)


class Rule(NamedTuple):
    """Which signatures something applies to: all selectors must match, in the namespaces (None: any)."""

    selectors: tuple[Selector | None, ...]
    namespaces: tuple[frozenset[str] | None, ...]
    live_only: bool = False

    def accepts(self, signature: Signature, labels: Labels) -> bool:
        if self.live_only and signature.terminating:
            return False
        return all(spaces is None or signature.namespace in spaces for spaces in self.namespaces) and all(
            selector_matches(selector, labels) for selector in self.selectors
        )

    def anchor(self) -> tuple[str, str] | None:
        """A label that every accepted signature has, if the selectors name one: it makes the rule quick to find."""
        for selector in self.selectors:
            for req in selector.requirements if selector else ():
                if req.operator is Operator.IN and len(req.values) == 1:
                    return req.key, req.values[0]
        return None


class RuleTable(Generic[T]):
    """Finds what applies to a signature without asking every rule."""

    def __init__(self) -> None:
        self._anchored: dict[tuple[str, str], list[tuple[Rule, T]]] = {}
        self._others: list[tuple[Rule, T]] = []
        self.version = 0
        self._found: dict[Signature, tuple[int, tuple[T, ...]]] = {}

    def add(self, rule: Rule, value: T) -> None:
        anchor = rule.anchor()
        (self._others if anchor is None else self._anchored.setdefault(anchor, [])).append((rule, value))
        self.version += 1

    def find(self, signature: Signature) -> tuple[T, ...]:
        version, found = self._found.get(signature, (-1, ()))
        if version != self.version:
            labels = dict(signature.labels)
            near = [entry for pair in signature.labels for entry in self._anchored.get(pair, ())]
            found = tuple(value for rule, value in (*near, *self._others) if rule.accepts(signature, labels))
            self._found[signature] = (self.version, found)
        return found


def resolved(term: PodAffinityTerm, owner_namespace: str) -> PodAffinityTerm:
    """The term with its namespaces spelled out, so that equal terms of different owners are equal."""
    if term.all_namespaces:
        return PodAffinityTerm(term.topology_key, term.selector, (), True)
    return PodAffinityTerm(term.topology_key, term.selector, tuple(sorted(term.namespaces or (owner_namespace,))))


def term_rule(terms: Iterable[PodAffinityTerm]) -> Rule:
    listed = tuple(terms)
    return Rule(tuple(t.selector for t in listed), tuple(None if t.all_namespaces else frozenset(t.namespaces) for t in listed))
