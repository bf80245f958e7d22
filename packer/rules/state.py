"""A cluster, existing and planned nodes alike, that says for any pod and node why kube-scheduler would refuse.

``State.why_not`` runs the filters of the default profile: NodeAffinity, TaintToleration, NodeUnschedulable, NodePorts, NodeResourcesFit,
NodeVolumeLimits, VolumeRestrictions (ReadWriteOncePod), VolumeBinding and VolumeZone (as terms), PodTopologySpread, InterPodAffinity;
and, where the problem shares devices, that the shares on a node can be put onto its devices. ``place`` and ``remove`` keep every count
up to date, so that one question costs microseconds however many pods there are.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from packer.model import (
    ATTACHABLE_PREFIX,
    HOSTNAME,
    PODS,
    Daemon,
    Labels,
    Node,
    Offering,
    Pod,
    PodSpec,
    Problem,
    Reason,
    Resources,
    SpreadConstraint,
    Taint,
    Why,
)
from packer.rules.fit import devices_suffice, fits, port_reason
from packer.rules.kinds import Eligible, Kind, affinity_reasons, spread_reasons, spread_refuses
from packer.rules.labels import selector_matches, selector_text
from packer.rules.nodes import NodeState, affinity_and_taint_reasons, daemons_for, new_node_labels
from packer.rules.topology import Event, Rule, RuleTable, Signature, SpreadCounter, TermCounter, resolved, term_rule

Key = TypeVar("Key", bound=Hashable)


class State:
    """Existing nodes with their pods, plus whatever is launched and placed afterwards."""

    def __init__(
        self,
        nodes: Iterable[Node] = (),
        daemons: Sequence[Daemon] = (),
        *,
        device_share: tuple[str, int] | None = None,
        pods: Iterable[Pod] = (),
    ) -> None:
        """``pods`` are those that will be asked about; telling the State beforehand spares it from counting again."""
        self.nodes: dict[str, NodeState] = {}
        self._daemons, self._device_share = tuple(daemons), device_share
        self._relevant: set[str] = set()
        self._specs: dict[int, PodSpec] = {}
        self._shapes: dict[object, int] = {}
        self._claims: dict[str, int] = {}
        self._forget_counts()
        stand = tuple(nodes)
        for pod in (*pods, *(pod for node in stand for pod in node.pods)):
            self._learn(pod.spec)
        for daemon in self._daemons:
            self._learn(daemon.spec)
        for node in stand:
            self._add(node.name, node.name, node.labels, node.taints, node.free, node.allocatable)
        for node in stand:
            for pod in node.pods:
                self._register(pod, self.nodes[node.name])

    @classmethod
    def of(cls, problem: Problem) -> State:
        """The cluster of a problem before anything is planned."""
        return cls(problem.nodes, problem.daemons, device_share=problem.device_share, pods=problem.pods)

    def launch(self, name: str, offering: Offering) -> NodeState:
        """Adds a new node with the daemons that accept it; their pods count like any other (names ``daemon@launch``)."""
        labels = new_node_labels(offering, name)
        node = self._add(name, None, labels, offering.taints, offering.allocatable, offering.allocatable)
        node.offering = offering
        for daemon in daemons_for(labels, offering.taints, self._daemons):
            self.place(Pod(daemon.namespace, f"{daemon.name}@{name}", "", daemon.spec, daemon.labels), name)
        return node

    def withdraw(self, name: str) -> None:
        """Takes a launched node away again, with its daemons. Pods that were placed there must have been removed."""
        node = self.nodes[name]
        own = [pod for pod in node.pods.values() if pod.name.endswith(f"@{name}")]
        if node.offering is None or len(own) < len(node.pods):
            raise ValueError(f"{name} is not a launched node without pods")
        for pod in own:
            self.remove(pod, name)
        del self.nodes[name]
        for counter in self._spread_counters.values():
            counter.remove_node(node)

    def place(self, pod: Pod, node: str) -> tuple[Event, ...]:
        """Puts the pod there, unasked. Returns what changed so that pods may be admitted that were refused before."""
        where = self.nodes[node]
        _shift(where.free, pod.spec.requests, -1)
        return self._register(pod, where)

    def remove(self, pod: Pod, node: str) -> None:
        """Takes a pod off again, whether it was placed or ran there already."""
        where = self.nodes[node]
        del where.pods[pod.key]
        _shift(where.free, pod.spec.requests, 1)
        self._hold(pod, where, -1)
        self._count(self._kind(pod), where, -1)

    def why_not(self, pod: Pod, node: str) -> tuple[Reason, ...]:
        """Every filter that refuses ``pod`` on ``node`` now, with numbers. Empty: kube-scheduler would take it."""
        where, kind = self.nodes[node], self._kind(pod)
        reasons = list(self.static(pod, node))
        reasons.extend(fits(pod.spec.requests, where.free))
        if pod.spec.host_ports:
            clash = port_reason(pod.spec.host_ports, where.ports)
            reasons.extend((clash,) if clash else ())
        reasons.extend(self._device_reasons(pod, where))
        used = (claim for claim in pod.spec.exclusive_claims if self._claims.get(claim))
        reasons.extend(Reason(Why.EXCLUSIVE_CLAIM, f"claim {claim} is in use") for claim in used)
        if kind.spread:
            reasons.extend(spread_reasons(kind, where))
        if kind.affinity:
            reasons.extend(affinity_reasons(kind, where))
        reasons.extend(self._anti_affinity_reasons(kind, where))
        return tuple(reasons)

    def admits(self, pod: Pod, node: str) -> bool:
        """``not why_not(...)``, but quick to say no where labels, taints or room refuse: for asking about many nodes."""
        free = self.nodes[node].free
        for name, wanted in pod.spec.requests.items():
            if wanted > free.get(name, 0) and wanted > 0 and (name in free or not name.startswith(ATTACHABLE_PREFIX)):
                return False
        return not self.static(pod, node) and not self.why_not(pod, node)

    def static(self, pod: Pod, node: str) -> tuple[Reason, ...]:
        """The part of ``why_not`` that no other pod can change: labels, volumes, taints. Shared by nodes that look alike."""
        where, kind = self.nodes[node], self._kind(pod)
        key = where.name if kind.names_nodes else where.shape
        found = kind.static.get(key)
        if found is None:
            found = kind.static[key] = affinity_and_taint_reasons(pod, where.labels, where.taints, where.node_name)
        return found

    def order_matters(self, pod: Pod) -> bool:
        """Whether pods placed earlier can help or hinder this one other than by taking room: hard spread or required affinity."""
        kind = self._kind(pod)
        return bool(kind.spread or kind.affinity)

    def is_counted(self, pod: Pod) -> bool:
        """Whether some spread or affinity rule that was asked about so far counts this pod."""
        return bool(self._counting.find(self._kind(pod).signature))

    def blocker(self, pod: Pod, node: str) -> tuple[Event, bool]:
        """What a pod waits for that spread or affinity refuses there, and whether that concerns all nodes of a larger domain."""
        kind, where = self._kind(pod), self.nodes[node]
        refusing: list[tuple[str, Event]] = []
        for constraint, counter, own in kind.spread:
            if spread_refuses(constraint, counter, own, where):
                refusing.append((constraint.topology_key, (counter, "", "")))
        for term in kind.terms if kind.affinity else ():
            key = term.topology_key
            if kind.affinity and not kind.affinity.at(key, where):
                refusing.append((key, (kind.affinity, key, where.labels.get(key, ""))))
        key, event = min(refusing, key=lambda entry: entry[0] == HOSTNAME)
        return event, key != HOSTNAME

    def shared_domains(self, pod: Pod, node: str) -> tuple[str | None, ...]:
        """The node's domains under the pod's spread and affinity rules, hostname aside: where they agree, the rules answer alike."""
        kind, labels = self._kind(pod), self.nodes[node].labels
        keys = (*(constraint.topology_key for constraint, _, _ in kind.spread), *(term.topology_key for term in kind.terms))
        return tuple(labels.get(key) for key in keys if key != HOSTNAME)

    def spread_load(self, pod: Pod, node: str) -> tuple[int, ...]:
        """Matching pods in the node's domain of each hard spread constraint, hostname aside, for choosing the emptiest domain first."""
        labels = self.nodes[node].labels
        found = ((constraint.topology_key, counter) for constraint, counter, _ in self._kind(pod).spread)
        return tuple(counter.counts.get(labels.get(key, ""), 0) for key, counter in found if key != HOSTNAME)

    def spread_limits(self, pod: Pod, node: str) -> tuple[tuple[SpreadCounter, str], ...]:
        """The counters of the pod's own hard spread constraints, each with the node's domain."""
        labels = self.nodes[node].labels
        return tuple((counter, labels.get(constraint.topology_key, "")) for constraint, counter, _ in self._kind(pod).spread)

    def spread_counted(self, pod: Pod, node: str) -> Iterator[tuple[SpreadCounter, str]]:
        """The counters of anybody's hard spread constraints that count this pod on this node, each with the node's domain."""
        where = self.nodes[node]
        for counter in self._counting.find(self._kind(pod).signature):
            if isinstance(counter, SpreadCounter) and counter.eligible(where):
                yield counter, where.labels[counter.key]

    def same_kind(self, pod: Pod) -> object:
        """Equal for pods that no rule can tell apart."""
        return self._kind(pod)

    # Below: how the counts are kept.

    def _add(
        self, name: str, node_name: str | None, labels: Labels, taints: tuple[Taint, ...], free: Resources, allocatable: Resources
    ) -> NodeState:
        if name in self.nodes:
            raise ValueError(f"two nodes are called {name}")
        look = (tuple(sorted((k, "" if k == HOSTNAME else v) for k, v in labels.items())), taints)
        node = NodeState(name, node_name, labels, taints, free, self._shapes.setdefault(look, len(self._shapes)))
        if self._device_share:
            node.devices = allocatable.get(self._device_share[0], 0) // self._device_share[1]
        self.nodes[name] = node
        for counter in self._spread_counters.values():
            counter.add_node(node)
        return node

    def _register(self, pod: Pod, where: NodeState) -> tuple[Event, ...]:
        if pod.key in where.pods:
            raise ValueError(f"{pod.key} is on {where.name} already")
        kind = self._kind(pod)
        where.pods[pod.key] = pod
        self._hold(pod, where, 1)
        return self._count(kind, where, 1)

    def _hold(self, pod: Pod, where: NodeState, sign: int) -> None:
        for port in pod.spec.host_ports:
            _bump(where.ports, port, sign)
        for claim in pod.spec.exclusive_claims:
            _bump(self._claims, claim, sign)

    def _count(self, kind: Kind, where: NodeState, sign: int) -> tuple[Event, ...]:
        spots = self._tally.setdefault(kind.signature, {})
        _bump(spots, where, sign)
        opened = [event for counter in self._counting.find(kind.signature) for event in counter.change(where, sign)]
        for counter in kind.owned:
            counter.change(where, sign)
        return tuple(opened)

    def _learn(self, spec: PodSpec) -> None:
        """Notes which label keys selectors name; a new one changes what pods look like to selectors, so all is counted again."""
        if id(spec) in self._specs:
            return
        self._specs[id(spec)] = spec
        terms = (*spec.affinity, *spec.anti_affinity)
        selectors = (*(term.selector for term in terms), *(constraint.selector for constraint in spec.spread))
        keys = {req.key for selector in selectors if selector for req in selector.requirements}
        if not keys <= self._relevant:
            self._relevant |= keys
            if self._tally:
                self._forget_counts()
                for node in self.nodes.values():
                    for pod in node.pods.values():
                        self._count(self._kind(pod), node, 1)

    def _forget_counts(self) -> None:
        self._kinds: dict[tuple[int, Signature], Kind] = {}
        self._kind_of: dict[int, tuple[Pod, Kind]] = {}
        self._tally: dict[Signature, dict[NodeState, int]] = {}
        self._spread_counters: dict[object, SpreadCounter] = {}
        self._term_counters: dict[object, TermCounter] = {}
        self._owner_counters: dict[object, TermCounter] = {}
        self._counting: RuleTable[SpreadCounter | TermCounter] = RuleTable()
        self._owners: RuleTable[TermCounter] = RuleTable()

    def _kind(self, pod: Pod) -> Kind:
        """The pod's kind. Asked several times for every step, hence remembered by identity; holding the pod keeps its id its own."""
        known = self._kind_of.get(id(pod))
        if known is None or known[0] is not pod:
            known = self._kind_of[id(pod)] = pod, self._find_kind(pod)
        return known[1]

    def _find_kind(self, pod: Pod) -> Kind:
        if id(pod.spec) not in self._specs:
            self._learn(pod.spec)
        labels = pod.labels
        signature = Signature(
            pod.namespace, tuple(sorted((key, labels[key]) for key in self._relevant if key in labels)) if labels else (), pod.terminating
        )
        kind = self._kinds.get((id(pod.spec), signature))
        if kind is None:
            kind = self._kinds[id(pod.spec), signature] = Kind(pod, signature)
            self._connect(kind, pod)
        return kind

    def _connect(self, kind: Kind, pod: Pod) -> None:
        """Finds or makes the counters that decide about pods of this kind."""
        spec = pod.spec
        hard = [constraint for constraint in spec.spread if constraint.hard]
        keys = frozenset(constraint.topology_key for constraint in hard)
        for constraint in hard:
            kind.spread.append((constraint, self._spread_counter(constraint, pod, keys), selector_matches(constraint.selector, pod.labels)))
        if spec.affinity:
            kind.terms = tuple(resolved(term, pod.namespace) for term in spec.affinity)
            rule = term_rule(kind.terms)
            kind.affinity = self._term_counter(rule, (term.topology_key for term in kind.terms))
            kind.own_match = rule.accepts(kind.signature, pod.labels)
        for term in (resolved(term, pod.namespace) for term in spec.anti_affinity):
            rule = term_rule((term,))
            kind.anti.append((term.topology_key, term.selector, self._term_counter(rule, (term.topology_key,))))
            owner = self._owner_counters.get(term)
            if owner is None:
                owner = self._owner_counters[term] = TermCounter((term.topology_key,))
                self._owners.add(rule, owner)
            kind.owned.append(owner)

    def _spread_counter(self, constraint: SpreadConstraint, pod: Pod, keys: frozenset[str]) -> SpreadCounter:
        spec = pod.spec
        affinity = (spec.selector, spec.node_terms) if constraint.honor_node_affinity else None
        tolerations = spec.tolerations if constraint.honor_node_taints else None
        key = (pod.namespace, constraint.topology_key, constraint.selector, keys, affinity, tolerations)
        counter = self._spread_counters.get(key)
        if counter is None:
            counter = self._spread_counters[key] = SpreadCounter(constraint.topology_key, Eligible(constraint, spec, keys))
            for node in self.nodes.values():
                counter.add_node(node)
            # countPodsMatchSelector counts nothing for an empty selector, although such a selector matches the pod itself.
            counted = constraint.selector if constraint.selector and constraint.selector.requirements else None
            self._start(counter, Rule((counted,), (frozenset((pod.namespace,)),), live_only=True))
        return counter

    def _term_counter(self, rule: Rule, keys: Iterable[str]) -> TermCounter:
        listed = tuple(sorted(set(keys)))
        counter = self._term_counters.get((rule, listed))
        if counter is None:
            counter = self._term_counters[rule, listed] = TermCounter(listed)
            self._start(counter, rule)
        return counter

    def _start(self, counter: SpreadCounter | TermCounter, rule: Rule) -> None:
        """Counts what is placed already, then has the counter told of every change."""
        for signature, spots in self._tally.items():
            if rule.accepts(signature, dict(signature.labels)):
                for spot, pods in spots.items():
                    for _ in range(pods):
                        counter.change(spot, 1)
        self._counting.add(rule, counter)

    def _device_reasons(self, pod: Pod, where: NodeState) -> Iterator[Reason]:
        if self._device_share is None:
            return
        resource, size = self._device_share
        wanted = pod.spec.requests.get(resource, 0)
        if wanted and not devices_suffice((*(p.spec.requests.get(resource, 0) for p in where.pods.values()), wanted), where.devices, size):
            yield Reason(Why.DEVICE, f"{resource}: {wanted} does not fit onto the {where.devices} devices of {size} beside what is there")

    def _anti_affinity_reasons(self, kind: Kind, where: NodeState) -> Iterator[Reason]:
        for key, selector, counter in kind.anti:
            there = counter.at(key, where)
            if there:
                yield Reason(Why.POD_ANTI_AFFINITY, f"{there} pods with {selector_text(selector)} in {key}={where.labels[key]}")
        for counter in self._owners.find(kind.signature):
            key = counter.keys[0]
            there = counter.at(key, where)
            if there:
                yield Reason(Why.POD_ANTI_AFFINITY, f"{there} pods in {key}={where.labels[key]} refuse this pod beside them")


def _shift(free: dict[str, int], requests: Mapping[str, int], sign: int) -> None:
    free[PODS] = free.get(PODS, 0) + sign
    for name, amount in requests.items():
        if name == PODS:
            continue
        if name in free or not name.startswith(ATTACHABLE_PREFIX):
            free[name] = free.get(name, 0) + sign * amount


def _bump(counts: dict[Key, int], key: Key, by: int) -> None:
    counts[key] = counts.get(key, 0) + by
    if not counts[key]:
        del counts[key]
