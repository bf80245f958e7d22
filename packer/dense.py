"""Problem -> arrays. The only place where Kubernetes' rules become numbers; what comes back is decoded in :mod:`packer.decode`.

Axes: ``C`` pod classes, ``I`` items (a class, or classes glued to one node), ``H`` hosts (offerings, then nodes), ``B`` bin kinds,
``R`` resources.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from packer import groups, rules
from packer.arrays import AFFINITY, ANTI, SPREAD, UNLIMITED, Bools, Groups, Ints, Packing
from packer.bins import Bin, Fleet, Opened, build_bins
from packer.classes import PodClass, gather
from packer.hosts import ABSENT, HostTable
from packer.model import (
    ATTACHABLE_PREFIX,
    FARGATE,
    PODS,
    Daemon,
    HostPort,
    Node,
    Offering,
    Operator,
    Problem,
    Requirement,
    Resources,
)

MOST_CLIQUES = 8
"""Resources that anti-affinity may add; each costs time in every kernel."""


@dataclass(frozen=True, slots=True)
class Item:
    """What the solver places as one: ``parts`` are (class, pods of it). A plain class has one part with one pod."""

    parts: tuple[tuple[int, int], ...]
    count: int


@dataclass(frozen=True, slots=True)
class Dense:
    """A problem in arrays, and what is needed to read a solution back."""

    classes: tuple[PodClass, ...]
    items: tuple[Item, ...]
    bins: tuple[Bin, ...]
    packing: Packing
    relaxed: Packing
    """``packing`` without what our plans keep but not every valid plan obeys: for the bound."""
    claims_shared: bool
    """Some ReadWriteOncePod claim is wanted by several kinds of pods; which of them gets it was decided beforehand."""
    groups: Groups
    gang: Ints
    """int64[I]: gang of each item, or -1."""
    gang_minimum: Ints
    """int64[gangs]: pods still missing for the gang to start."""
    gang_names: tuple[str, ...]
    tiers: tuple[int, ...]
    """Priorities, most urgent first."""
    offerings: tuple[Offering, ...]
    nodes: tuple[Node, ...]
    left_out: tuple[int, ...]
    """Pods of each class that no item holds: claims taken by another pod, glued sets too large for any node."""


def canonical_offerings(offerings: Sequence[Offering]) -> tuple[Offering, ...]:
    """Offerings by key and price; keys are unique in a catalog."""

    def content(offering: Offering) -> tuple[str, str, str, str, str, int]:
        key = offering.key
        return key.provider, key.region, key.zone, key.instance_type, key.capacity_type, offering.price_microusd_per_hour

    return tuple(sorted(offerings, key=content))


def build(problem: Problem, *, glued: bool = True) -> Dense:
    """Gather classes, judge every class on every host, open bins, apply the rules between pods. Deterministic in the problem's content.

    ``glued``: pods that must share one node become one item. The exact model does without, since it knows that rule itself.
    """
    offerings = canonical_offerings(problem.offerings)
    nodes = tuple(sorted(problem.nodes, key=lambda node: node.name))
    classes = gather(problem)
    hosts = HostTable(
        [rules.new_node_labels(o) for o in offerings] + [n.labels for n in nodes],
        [o.taints for o in offerings] + [n.taints for n in nodes],
        [None] * len(offerings) + [n.name for n in nodes],
    )
    running = groups.Running(nodes, len(offerings))
    resources = _resource_names(classes)
    demand = np.array([[c.spec.requests.get(r, 1 if r == PODS else 0) for r in resources] for c in classes], np.int64).reshape(
        len(classes), len(resources)
    )
    daemons = _DaemonTable(problem.daemons, hosts, len(offerings), resources)
    pod_rules, blocked = groups.gather(classes, hosts, running, list(zip(daemons.ordered, daemons.runs, strict=True)), len(offerings))
    cap = np.maximum(_capacity(offerings, nodes, resources) - daemons.overhead, 0)
    fleet = Fleet(
        problem, offerings, nodes, hosts, classes, demand, cap, _allowed(classes, hosts, blocked, daemons, nodes, len(offerings)), pod_rules
    )
    opened = build_bins(fleet)
    clash, alone = _port_clashes(classes)
    per_pod = opened.most
    count, left_out = _claims(classes, nodes, _alone(opened))
    per_pod[alone] = np.minimum(per_pod[alone], 1)
    relaxed = per_pod.copy()
    needs = np.zeros((len(classes), len(classes)), np.bool_)
    needs_met = np.zeros((len(classes), len(opened.bins)), np.bool_)
    glue: list[set[int]] = []
    cliques = _cliques(pod_rules, count)
    for rule in cliques:
        per_pod[rule.carriers] = np.minimum(per_pod[rule.carriers], 1)
        relaxed[rule.carriers] = np.minimum(relaxed[rule.carriers], 1)
    demand, opened.cap = _with_cliques(demand, opened.cap, cliques)
    for rule in pod_rules:
        if rule.per_host and not any(rule is clique for clique in cliques):
            _apply_host_rule(
                rule, count, opened.host_of, len(offerings), per_pod, relaxed, clash, needs, needs_met, glue if glued else None
            )
    items, left = _items(classes, count, glue, demand, opened.cap, per_pod)
    left_out = left_out + left
    tiers = sorted({c.priority for c in classes}, reverse=True)
    rank = {priority: tier for tier, priority in enumerate(tiers)}
    share_of_devices = problem.device_share[0] if problem.device_share and problem.device_share[0] in resources else None
    packing = Packing(
        demand=_summed(items, demand),
        count=np.array([item.count for item in items], np.int64),
        weight=np.array([sum(n for _, n in item.parts) for item in items], np.int64),
        tier=np.array([min(rank[classes[c].priority] for c, _ in item.parts) for item in items], np.int64),
        cap=opened.cap,
        price=opened.price,
        most=_item_most(items, per_pod),
        adder=_summed(items, opened.adder),
        clash=_lift(items, clash),
        needs=_lift(items, needs),
        needs_met=needs_met[[item.parts[0][0] for item in items]].reshape(len(items), len(opened.bins)),
        stock_group=opened.stock_group,
        stock=opened.stock,
        limit_use=opened.limit_use,
        limit=opened.limit,
        cell=opened.cell,
        existing=np.array([b.existing for b in opened.bins], np.bool_),
        device_resource=-1 if share_of_devices is None else resources.index(share_of_devices),
        device_size=problem.device_share[1] if problem.device_share else 1,
    )
    gang_names = tuple(sorted({c.gang for c in classes if c.gang}))
    gang_index = {name: g for g, name in enumerate(gang_names)}
    minimum = {c.gang: (c.pods[0].gang.minimum if c.pods[0].gang else 0) for c in classes if c.gang}
    return Dense(
        classes=tuple(classes),
        items=tuple(items),
        bins=opened.bins,
        packing=packing,
        relaxed=_relaxed(packing, items, classes, _item_most(items, relaxed), demand, opened),
        claims_shared=_shared(classes),
        groups=_group_arrays(pod_rules, items, opened.bins, opened.host_of, hosts, len(offerings)),
        gang=np.array([gang_index.get(classes[item.parts[0][0]].gang, -1) for item in items], np.int64),
        gang_minimum=np.array([minimum[name] for name in gang_names], np.int64),
        gang_names=gang_names,
        tiers=tuple(tiers),
        offerings=offerings,
        nodes=nodes,
        left_out=tuple(int(n) for n in left_out),
    )


def _resource_names(classes: Sequence[PodClass]) -> list[str]:
    return sorted({name for c in classes for name in c.spec.requests} | {PODS})


def _capacity(offerings: Sequence[Offering], nodes: Sequence[Node], resources: Sequence[str]) -> Ints:
    def row(held: Resources) -> list[int]:
        return [int(UNLIMITED) if name.startswith(ATTACHABLE_PREFIX) and name not in held else held.get(name, 0) for name in resources]

    return np.array([row(o.allocatable) for o in offerings] + [row(n.free) for n in nodes], np.int64).reshape(
        len(offerings) + len(nodes), len(resources)
    )


class _DaemonTable:
    """What DaemonSets take of each fresh node, and the host ports they hold there. Nodes that exist already carry theirs."""

    def __init__(self, daemons: Sequence[Daemon], hosts: HostTable, offerings: int, resources: Sequence[str]) -> None:
        self.ordered = ordered = sorted(daemons, key=lambda d: (d.namespace, d.name))
        fargate = hosts.requirement(Requirement(FARGATE[0], Operator.IN, (FARGATE[1],)))
        fresh = (np.arange(hosts.size) < offerings) & ~fargate
        self.runs = np.array([hosts.allows(d.spec) & fresh for d in ordered], np.bool_).reshape(len(ordered), hosts.size)
        takes = np.array([[d.spec.requests.get(r, 1 if r == PODS else 0) for r in resources] for d in ordered], np.int64)
        self.overhead = self.runs.T.astype(np.int64) @ takes.reshape(len(ordered), len(resources))
        self._ports = [d.spec.host_ports for d in ordered]

    def port_clash(self, wanted: tuple[HostPort, ...]) -> Bools:
        """bool[H]: some daemon there holds a port that clashes."""
        clash = np.zeros(self.runs.shape[1], np.bool_)
        for runs, held in zip(self.runs, self._ports, strict=True):
            if any(rules.ports_clash(a, b) for a in wanted for b in held):
                clash |= runs
        return clash


def _allowed(
    classes: Sequence[PodClass], hosts: HostTable, blocked: Bools, daemons: _DaemonTable, nodes: Sequence[Node], offerings: int
) -> Bools:
    """bool[C, H]: everything but resources and the rules between waiting pods."""
    allowed = np.zeros((len(classes), hosts.size), np.bool_)
    static: dict[int, Bools] = {}
    held_ports = [[port for pod in node.pods for port in pod.spec.host_ports] for node in nodes]
    for c, pods in enumerate(classes):
        spec = pods.spec
        if id(spec) not in static:
            mask = hosts.allows(spec)
            if spec.host_ports:
                mask = mask & ~daemons.port_clash(spec.host_ports)
                for n, held in enumerate(held_ports):
                    if held and any(rules.ports_clash(a, b) for a in spec.host_ports for b in held):
                        mask[offerings + n] = False
            static[id(spec)] = mask
        allowed[c] = static[id(spec)] & ~blocked[c]
    return allowed


def _port_clashes(classes: Sequence[PodClass]) -> tuple[Bools, Ints]:
    """clash bool[C, C] by host ports, and the classes that clash with themselves."""
    clash = np.zeros((len(classes), len(classes)), np.bool_)
    users = [c for c, pods in enumerate(classes) if pods.spec.host_ports]
    for i, a in enumerate(users):
        for b in users[i + 1 :]:
            if any(rules.ports_clash(x, y) for x in classes[a].spec.host_ports for y in classes[b].spec.host_ports):
                clash[a, b] = clash[b, a] = True
    return clash, np.array(users, np.int64)


def _alone(opened: Opened) -> Ints:
    """int64[C]: what one pod of each class costs by itself at least, or the largest integer where it fits nowhere."""
    cost = np.where(opened.most > 0, opened.price[None, :] + opened.adder, np.iinfo(np.int64).max)
    return np.asarray(cost.min(1, initial=np.iinfo(np.int64).max))


def _shared(classes: Sequence[PodClass]) -> bool:
    claims = [claim for pods in classes for claim in set(pods.spec.exclusive_claims)]
    return len(set(claims)) < len(claims)


def _relaxed(packing: Packing, items: Sequence[Item], classes: Sequence[PodClass], most: Ints, demand: Ints, opened: Opened) -> Packing:
    """Looser caps, no needs; and where several pods could have used a claim, the one that got it stands for the least of them all."""
    out = packing._replace(
        most=most,
        needs=np.zeros_like(packing.needs),
        demand=packing.demand.copy(),
        adder=packing.adder.copy(),
        clash=packing.clash.copy(),
    )
    for i, item in enumerate(items):
        claims = set(classes[item.parts[0][0]].spec.exclusive_claims)
        if not claims:
            continue
        users = [c for c, pods in enumerate(classes) if claims & set(pods.spec.exclusive_claims)]
        if len(users) > 1:
            out.demand[i] = demand[users].min(0)
            out.most[i] = opened.most[users].max(0)
            out.adder[i] = np.where(opened.most[users] > 0, opened.adder[users], np.iinfo(np.int64).max).min(0)
            out.adder[i][out.most[i] == 0] = 0
            out.clash[i] = out.clash[:, i] = False
    return out


def _claims(classes: Sequence[PodClass], nodes: Sequence[Node], alone: Ints) -> tuple[Ints, Ints]:
    """How many pods of each class can use their ReadWriteOncePod claims: one in the whole cluster; and those left out."""
    taken = {claim for node in nodes for pod in node.pods for claim in pod.spec.exclusive_claims}
    count = np.array([len(c.pods) for c in classes], np.int64)
    # By priority, then the cheapest; pods that fit nowhere go last, and before them gangs, which may not start at all.
    nowhere = alone == np.iinfo(np.int64).max
    for c in sorted(range(len(classes)), key=lambda c: (nowhere[c], bool(classes[c].gang), -classes[c].priority, alone[c], c)):
        claims = set(classes[c].spec.exclusive_claims)
        if claims:
            count[c] = 0 if claims & taken else min(1, count[c])
            taken |= claims
    return count, np.array([len(c.pods) for c in classes], np.int64) - count


def _cliques(pod_rules: Sequence[groups.PodRule], count: Ints) -> list[groups.PodRule]:
    """Anti-affinity among several classes that all carry it: at most one pod of them all in a bin. The largest few are told to the solver
    as a resource of which each bin has one, which bounds see as well; clashes between classes they would not."""

    def mutual(rule: groups.PodRule) -> bool:
        return rule.per_host and rule.kind == ANTI and len(rule.carriers) > 1 and sorted(rule.carriers) == sorted(rule.members)

    found = [rule for rule in pod_rules if mutual(rule)]
    return sorted(found, key=lambda rule: -int(count[rule.carriers].sum()))[:MOST_CLIQUES]


def _with_cliques(demand: Ints, cap: Ints, cliques: Sequence[groups.PodRule]) -> tuple[Ints, Ints]:
    """One more resource for each clique."""
    for rule in cliques:
        takes = np.zeros((len(demand), 1), np.int64)
        takes[rule.carriers] = 1
        demand, cap = np.hstack([demand, takes]), np.hstack([cap, np.ones((len(cap), 1), np.int64)])
    return demand, cap


def _apply_host_rule(
    rule: groups.PodRule,
    count: Ints,
    host_of: Ints,
    offerings: int,
    most: Ints,
    relaxed: Ints,
    clash: Bools,
    needs: Bools,
    needs_met: Bools,
    glue: list[set[int]] | None,
) -> None:
    """Turn a rule over single nodes into caps, clashes, needs or glue. ``most`` is what our plans keep, ``relaxed`` what all keep."""
    carriers, members = set(rule.carriers), set(rule.members)
    held = np.zeros(most.shape[1], np.int64)
    for host, n in (*rule.held.items(), *rule.daemons.items()):
        held[host_of == host] = n
    matched = bool(rule.held or rule.daemons)
    if rule.kind == ANTI:
        for a in carriers:
            for b in members:
                if a == b:
                    most[a] = np.minimum(most[a], 1)
                    relaxed[a] = np.minimum(relaxed[a], 1)
                else:
                    clash[a, b] = clash[b, a] = True
    elif rule.kind == AFFINITY:
        others = members - carriers
        if matched and not others:
            return  # `blocked` has confined the carriers to the nodes that hold a match.
        if glue is not None and not matched and not others and carriers & members:
            glue.append(set(carriers))
            return
        for a in carriers:
            if not (members - {a}) and a not in members:
                # Nobody that waits could be the match, so only nodes that hold one will do.
                most[a] = np.where(held > 0, most[a], 0)
                relaxed[a] = np.where(held > 0, relaxed[a], 0)
                continue
            needs[a, sorted(members - {a})] = True
            needs_met[a] |= held > 0
            if a in members and not matched:
                needs_met[a] = True
    elif rule.kind == SPREAD:
        eligible = int(sum(1 for host in range(offerings, len(rule.counts)) if rule.counts[host]))
        incoming = int(count[sorted(members)].sum())
        # formulation.md, 10: the skew is against the emptiest node that exists, so the cap can rise with it.
        loose = rule.skew + (sum(rule.held.values()) + incoming) // eligible if eligible else None
        for a in carriers & members:
            most[a] = np.minimum(most[a], np.maximum(rule.skew - held, 0))
            if loose is not None:
                relaxed[a] = np.minimum(relaxed[a], np.maximum(loose - held, 0))


def _items(classes: Sequence[PodClass], count: Ints, glue: list[set[int]], demand: Ints, cap: Ints, most: Ints) -> tuple[list[Item], Ints]:
    """Items in class order: glued classes become one item of all their pods, cut down where no bin holds them all."""
    root = list(range(len(classes)))

    def find(c: int) -> int:
        while root[c] != c:
            c = root[c]
        return c

    for together in glue:
        first, *rest = sorted(together)
        for other in rest:
            a, b = sorted((find(first), find(other)))
            root[b] = a
    glued = {find(c) for together in glue for c in together}
    items, left = [], np.zeros(len(classes), np.int64)
    for c in range(len(classes)):
        if find(c) != c:
            continue
        if c not in glued:
            if count[c]:
                items.append(Item(((c, 1),), int(count[c])))
            continue
        members = [d for d in range(len(classes)) if find(d) == c and count[d]]
        fitted = _largest_glued(members, classes, count, demand, cap, most)
        for d in members:
            left[d] += count[d] - fitted.get(d, 0)
        if fitted:
            items.append(Item(tuple(sorted(fitted.items())), 1))
    return items, left


def _largest_glued(members: list[int], classes: Sequence[PodClass], count: Ints, demand: Ints, cap: Ints, most: Ints) -> dict[int, int]:
    """As many of the glued pods as one bin can take: all of them if some bin can, else by priority, then small pods first."""
    whole = count[members] @ demand[members]
    fits = (cap >= whole).all(1) & (most[members] >= count[members][:, None]).all(0)
    if fits.any():
        return {c: int(count[c]) for c in members}
    scale = np.maximum(cap.max(0, initial=1), 1).astype(np.float64)
    order = sorted(members, key=lambda c: (-classes[c].priority, float((demand[c] / scale).max()), c))
    best: dict[int, int] = {}
    for b in range(len(cap)):
        room, held = cap[b].copy(), {}
        for c in order:
            positive = demand[c] > 0
            n = int(min(count[c], most[c, b], (room[positive] // demand[c][positive]).min(initial=int(UNLIMITED))))
            if n > 0:
                held[c] = n
                room = room - n * demand[c]
        if sum(held.values()) > sum(best.values()):
            best = held
    return best


def _summed(items: Sequence[Item], of_class: Ints) -> Ints:
    """[I, …]: what one item takes, from what one pod of each class takes."""
    out = of_class[[item.parts[0][0] for item in items]].reshape(len(items), of_class.shape[1])
    for i, item in enumerate(items):
        if item.parts[0][1] != 1 or len(item.parts) > 1:
            out[i] = sum(n * of_class[c] for c, n in item.parts)
    return out


def _item_most(items: Sequence[Item], per_pod: Ints) -> Ints:
    """int64[I, B]: most items of a kind in a bin, from the most pods of each part."""
    out = per_pod[[item.parts[0][0] for item in items]].reshape(len(items), per_pod.shape[1])
    for i, item in enumerate(items):
        if item.parts[0][1] != 1 or len(item.parts) > 1:
            out[i] = np.min([per_pod[c] // n for c, n in item.parts], axis=0)
    return out


def _lift(items: Sequence[Item], relation: Bools) -> Bools:
    """A relation between classes as one between items."""
    if not relation.any():
        return np.zeros((len(items), len(items)), np.bool_)
    first = [item.parts[0][0] for item in items]
    lifted = relation[np.ix_(first, first)]
    for i, item in enumerate(items):
        if len(item.parts) > 1:
            for j, other in enumerate(items):
                lifted[i, j] = any(relation[c, d] for c, _ in item.parts for d, _ in other.parts)
                lifted[j, i] = any(relation[d, c] for c, _ in item.parts for d, _ in other.parts)
    np.fill_diagonal(lifted, False)
    return lifted


def _group_arrays(
    pod_rules: Sequence[groups.PodRule], items: Sequence[Item], bins: Sequence[Bin], host_of: Ints, hosts: HostTable, offerings: int
) -> Groups:
    """The rules as arrays over items and bins, for the split over domains and the exact model."""
    kinds, q = len(bins), len(pod_rules)
    parts = [(i, c, n) for i, item in enumerate(items) for c, n in item.parts]
    domain = np.zeros((q, kinds), np.int64)
    widest = 1
    tables = []
    for r, rule in enumerate(pod_rules):
        by_host = domains_by_host(rule, hosts, offerings)
        tables.append(by_host)
        if not rule.per_host:
            domain[r] = by_host[host_of]
            widest = max(widest, int(by_host.max(initial=0)) + 1)
    held = np.zeros((q, widest), np.int64)
    stands = np.zeros((q, widest), np.bool_)
    held_bin = np.zeros((q, kinds), np.int64)
    counts = np.zeros((q, kinds), np.bool_)
    carrier = np.zeros((q, len(items)), np.bool_)
    member = np.zeros((q, len(items)), np.int64)
    packed = {host for kind in bins for host in kind.hosts}
    aside = [[rule.held.get(h, 0) for h in range(offerings, hosts.size) if rule.counts[h] and h not in packed] for rule in pod_rules]
    for r, rule in enumerate(pod_rules):
        counts[r] = rule.counts[host_of]
        carriers, members = set(rule.carriers), set(rule.members)
        for i, c, n in parts:
            carrier[r, i] |= c in carriers
            member[r, i] += n if c in members else 0
        for host, n in rule.daemons.items():
            held_bin[r][host_of == host] = n
            if not rule.per_host and rule.kind == AFFINITY and tables[r][host] != ABSENT:
                held[r, tables[r][host]] += n
        for host, n in rule.held.items():
            held_bin[r][host_of == host] = n
            if not rule.per_host and tables[r][host] != ABSENT:
                held[r, tables[r][host]] += n
        if not rule.per_host:
            for host in range(offerings, hosts.size):
                if rule.counts[host] and tables[r][host] != ABSENT:
                    stands[r, tables[r][host]] = True
    return Groups(
        kind=np.array([rule.kind for rule in pod_rules], np.int64),
        host=np.array([rule.per_host for rule in pod_rules], np.bool_),
        carrier=carrier,
        member=member,
        domain=domain,
        counts=counts,
        held=held,
        held_bin=held_bin,
        stands=stands,
        skew=np.array([rule.skew for rule in pod_rules], np.int64),
        min_domains=np.array([rule.min_domains for rule in pod_rules], np.int64),
        aside_hosts=np.array([len(held) for held in aside], np.int64),
        aside_least=np.array([min(held, default=0) for held in aside], np.int64),
    )


def domains_by_host(rule: groups.PodRule, hosts: HostTable, offerings: int) -> Ints:
    """int64[H]: the rule's domain of each host."""
    return groups.domains_of(hosts, rule.key, offerings)
