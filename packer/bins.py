"""Bin kinds: what can be opened and what stands already, with their variants.

A machine can be several kinds of bin: by which rules' pods it takes (a node counts against a limit as soon as it holds one pod of that
alternative) and by when its last pod ends (durations). Variants share one stock group.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from packer import cost
from packer import policy as policies
from packer import rules as label_rules
from packer.arrays import UNLIMITED, Bools, Ints
from packer.classes import PodClass
from packer.dominance import dominance_of
from packer.groups import PodRule, domains_of
from packer.hosts import HostTable
from packer.model import HOSTNAME, Limits, Node, Offering, PolicyRule, Problem

MOST_VARIANTS = 16
"""At most so many variants of one machine; beyond, rules with limits share one variant that counts against all of them."""


@dataclass(frozen=True, slots=True)
class Bin:
    """A kind of bin. ``hosts`` are indices into the host table: one offering, or nodes that cannot be told apart (in name order)."""

    hosts: tuple[int, ...]
    existing: bool
    charged: tuple[int, ...] = ()
    """Indices of policy rules whose limited alternative this variant counts against."""


@dataclass(frozen=True, slots=True)
class Fleet:
    """What bins are made from. Axes C, H, R as in :mod:`packer.dense`."""

    problem: Problem
    offerings: tuple[Offering, ...]
    nodes: tuple[Node, ...]
    hosts: HostTable
    classes: Sequence[PodClass]
    demand: Ints
    cap: Ints
    allowed: Bools
    pod_rules: Sequence[PodRule]


@dataclass(slots=True)
class Opened:
    """Bin kinds as arrays, before the rules between pods."""

    bins: tuple[Bin, ...]
    host_of: Ints
    cap: Ints
    price: Ints
    most: Ints
    adder: Ints
    stock_group: Ints
    stock: Ints
    limit_use: Ints
    limit: Ints
    cell: Ints


@dataclass(frozen=True, slots=True)
class _Permit:
    """Which alternative serves a rule's pods on each offering: index int64[O] (-1 none)."""

    rule: PolicyRule
    alternative: Ints


def build_bins(fleet: Fleet) -> Opened:
    """Drop what can never be best, merge nodes that are alike, and lay out variants."""
    offerings, classes = len(fleet.offerings), fleet.classes
    rules = _distinct_rules(classes)
    permits = [_permit(rule, fleet) for rule in rules]
    rule_of = np.array([next(i for i, rule in enumerate(rules) if rule is c.rule) for c in classes], np.int64)
    allowed = fleet.allowed.copy()
    price = np.array([o.price_microusd_per_hour for o in fleet.offerings], np.int64)
    for c, pods in enumerate(classes):
        allowed[c, :offerings] &= permits[rule_of[c]].alternative >= 0
        if pods.spec.max_price_microusd_per_hour is not None:
            allowed[c, :offerings] &= price <= pods.spec.max_price_microusd_per_hour
    cell = _cells(fleet)
    ends = _durations(fleet)
    kept = _undominated(fleet, allowed, cell, permits, rule_of, price)
    node_kinds = _node_kinds(fleet, allowed, cell)
    limited = _Limited(fleet, rules, permits)
    rows = _Rows(fleet, limited, rule_of, ends)
    for h in kept:
        rows.offering(int(h))
    for kind in node_kinds:
        rows.node(kind)
    return rows.finish(allowed, cell, permits, rule_of)


def _distinct_rules(classes: Sequence[PodClass]) -> list[PolicyRule]:
    rules: list[PolicyRule] = []
    for c in classes:
        if not any(rule is c.rule for rule in rules):
            rules.append(c.rule)
    return rules


def _permit(rule: PolicyRule, fleet: Fleet) -> _Permit:
    """The cheapest alternative in penalty that allows each offering, the first on ties (as :func:`packer.cost.alternative_for` decides)."""
    offerings = fleet.offerings
    n = len(offerings)
    best = np.full(n, -1, np.int64)
    order = sorted(range(len(rule.alternatives)), key=lambda i: (rule.alternatives[i].penalty_microusd_per_hour, i))
    burstable = np.array([o.burstable for o in offerings], np.bool_)
    fractional = np.array([o.fractional_gpu for o in offerings], np.bool_)
    price = np.array([o.price_microusd_per_hour for o in offerings], np.int64)
    for i in order:
        alternative = rule.alternatives[i]
        mask = best < 0
        for requirement in alternative.requirements:
            if requirement.key == HOSTNAME:
                mask &= label_rules.matches(requirement, {})  # offerings have no hostname yet
            else:
                mask &= fleet.hosts.requirement(requirement)[:n]
        if not alternative.allow_burstable:
            mask &= ~burstable
        if not alternative.allow_fractional_gpu:
            mask &= ~fractional
        if alternative.max_price_microusd_per_hour is not None:
            mask &= price <= alternative.max_price_microusd_per_hour
        best[mask] = i
    return _Permit(rule, best)


def _cells(fleet: Fleet) -> Ints:
    """int64[H]: hosts that share every topology domain (but the hostname) and count alike for every spread rule."""
    columns = []
    for key in sorted({rule.key for rule in fleet.pod_rules if not rule.per_host}):
        columns.append(domains_of(fleet.hosts, key, len(fleet.offerings)))
    columns += [rule.counts.astype(np.int64) for rule in fleet.pod_rules]
    if not columns:
        return np.zeros(fleet.hosts.size, np.int64)
    stacked = np.stack(columns, axis=1)
    _, cell = np.unique(stacked, axis=0, return_inverse=True)
    return np.asarray(cell, np.int64).reshape(-1)


def _durations(fleet: Fleet) -> list[int]:
    """Ends of nodes that pods can have, in seconds, ascending; only the horizon when no pod says how long it runs."""
    horizon = fleet.problem.policy.horizon_s
    known = sorted({min(c.spec.expected_duration_s or horizon, horizon) for c in fleet.classes})
    return known or [horizon]


def _undominated(fleet: Fleet, allowed: Bools, cell: Ints, permits: Sequence[_Permit], rule_of: Ints, price: Ints) -> Ints:
    """Indices of offerings that some plan could want. An offering goes only where another is at least as good for every class there is."""
    n = len(fleet.offerings)
    if n == 0:
        return np.zeros(0, np.int64)
    penalty = np.zeros((len(permits), n), np.int64)
    limited = np.zeros((len(permits), n), np.int64)
    for r, permit in enumerate(permits):
        for i, alternative in enumerate(permit.rule.alternatives):
            at = permit.alternative == i
            penalty[r, at] = alternative.penalty_microusd_per_hour
            limited[r, at] = 1 + i if _has_limits(alternative.limits) else 0
    usable = (
        allowed[:, :n] & (fleet.demand[:, None, :] <= fleet.cap[None, :n, :]).all(2)
        if len(fleet.classes) * n < 4_000_000
        else allowed[:, :n]
    )
    distinct = _distinct_rows(usable)
    rate = np.array([o.interruptions_per_hour_ppm for o in fleet.offerings], np.int64)
    asked = sorted({name for c in fleet.classes for name in c.spec.requests})
    raw = np.array([[o.allocatable.get(name, 0) for name in asked] for o in fleet.offerings], np.int64).reshape(n, len(asked))
    worse = np.vstack([penalty, rate[None, :]])
    scarce = np.array([o.available_count is not None for o in fleet.offerings], np.bool_)
    # Cells, limits and charges must agree exactly; one number stands for each combination.
    same = np.column_stack([cell[:n], limited.T, _global_use(fleet.offerings, fleet.problem.policy.limits, price)])
    _, group = np.unique(same, axis=0, return_inverse=True)
    keep = dominance_of(np.hstack([fleet.cap[:n], raw]), price, distinct, worse, np.asarray(group, np.int64).reshape(-1), scarce)
    return np.nonzero(keep)[0].astype(np.int64)


def _distinct_rows(table: Bools) -> Bools:
    """The distinct rows, in order of first appearance."""
    packed = np.packbits(table, axis=1)
    first: dict[bytes, int] = {}
    for i, row in enumerate(packed):
        first.setdefault(row.tobytes(), i)
    return table[list(first.values())]


def _has_limits(limits: Limits) -> bool:
    return limits.cost_microusd_per_hour is not None or limits.nodes is not None or bool(limits.resources)


def _global_use(offerings: Sequence[Offering], limits: Limits, price: Ints) -> Ints:
    """What an offering takes of limited resources: two machines can stand in for each other only if this is the same."""
    columns = [np.array([o.allocatable.get(r, 0) for o in offerings], np.int64) for r in sorted(limits.resources)]
    return np.column_stack(columns) if columns else np.zeros((len(offerings), 0), np.int64)


def _node_kinds(fleet: Fleet, allowed: Bools, cell: Ints) -> list[tuple[int, ...]]:
    """Existing nodes that someone could use, gathered where the solver cannot tell them apart; each kind in name order."""
    offerings = len(fleet.offerings)
    kinds: dict[object, list[int]] = {}
    policy = fleet.problem.policy

    def running_rules(node: Node) -> frozenset[int]:
        return frozenset(id(policies.rule_for(policy, pod)) for pod in node.pods) if policy.rules else frozenset()

    for n, node in enumerate(fleet.nodes):
        h = offerings + n
        if not (allowed[:, h] & (fleet.demand <= fleet.cap[h]).all(1)).any():
            continue
        held = tuple((r, rule.held.get(h, 0)) for r, rule in enumerate(fleet.pod_rules) if rule.per_host)
        identity = (
            running_rules(node),
            allowed[:, h].tobytes(),
            fleet.cap[h].tobytes(),
            int(cell[h]),
            held,
            node.offering,
            node.price_microusd_per_hour,
            node.ends_in_s,
        )
        kinds.setdefault(identity, []).append(h)
    return [tuple(hosts) for hosts in kinds.values()]


class _Limited:
    """Limits: the cluster's, and those of alternatives, as rows over bins; what runs already is taken off."""

    def __init__(self, fleet: Fleet, rules: Sequence[PolicyRule], permits: Sequence[_Permit]) -> None:
        self.rows: list[tuple[int, int, str, int]] = []  # (rule or -1, alternative, what, what is left)
        self._fleet, self._permits = fleet, permits
        by_key = {o.key: i for i, o in enumerate(fleet.offerings)}
        self.offering_of_node = [by_key.get(node.offering, -1) if node.offering else -1 for node in fleet.nodes]
        self._add(-1, -1, fleet.problem.policy.limits, cost.used_by_cluster(fleet.problem))
        for r, rule in enumerate(rules):
            for i, alternative in enumerate(rule.alternatives):
                if _has_limits(alternative.limits):
                    self._add(r, i, alternative.limits, cost.used_by_alternative(fleet.problem, rule, i))

    def _add(self, rule: int, alternative: int, limits: Limits, used: cost.Usage) -> None:
        if limits.cost_microusd_per_hour is not None:
            self.rows.append((rule, alternative, "cost", limits.cost_microusd_per_hour - used.cost_microusd_per_hour))
        if limits.nodes is not None:
            self.rows.append((rule, alternative, "nodes", limits.nodes - used.nodes))
        for name in sorted(limits.resources):
            self.rows.append((rule, alternative, name, limits.resources[name] - used.resources.get(name, 0)))

    def rules_on(self, offering: int) -> list[int]:
        """Rules whose alternative on this offering has limits."""
        found = {rule for rule, alternative, _, _ in self.rows if rule >= 0 and self._permits[rule].alternative[offering] == alternative}
        return sorted(found)

    def counted(self, node: Node, index: int) -> frozenset[int]:
        """Rules under whose alternative a node counts already, by a pod that runs there: it can take more of their pods for nothing."""
        serving = (policies.rule_for(self._fleet.problem.policy, pod) for pod in node.pods)
        return frozenset(r for rule in serving for r in self.rules_on(index) if self._permits[r].rule is rule)

    def use(self, machine: Offering | Node, index: int, charged: tuple[int, ...]) -> list[int]:
        """What one bin takes of each row: a new one of the cluster's limits too; one that stands only of those it newly counts against."""
        out = []
        for rule, alternative, what, _ in self.rows:
            bought = isinstance(machine, Offering)
            applies = bought if rule < 0 else rule in charged and self._permits[rule].alternative[index] == alternative
            amount = {"cost": machine.price_microusd_per_hour or 0, "nodes": 1}.get(what, machine.allocatable.get(what, 0))
            out.append(amount if applies else 0)
        return out


class _Rows:
    """Collects bin kinds one by one."""

    def __init__(self, fleet: Fleet, limited: _Limited, rule_of: Ints, ends: Sequence[int]) -> None:
        self._fleet, self._limited, self._rule_of, self._ends = fleet, limited, rule_of, ends
        self._bins: list[Bin] = []
        self._price: list[int] = []
        self._end: list[int] = []
        self._uncharged: list[tuple[int, ...]] = []
        self._group: list[int] = []
        self._stock: list[int] = []
        self._use: list[list[int]] = []

    def _charges(self, offering: int, counted: frozenset[int] = frozenset()) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
        """(rules charged, rules whose pods stay out) of each variant; rules in ``counted`` are paid for already."""
        rules = [rule for rule in self._limited.rules_on(offering) if rule not in counted] if offering >= 0 else []
        if 2 ** len(rules) > MOST_VARIANTS:
            return [((), tuple(rules)), (tuple(rules), ())]
        variants = []
        for chosen in product((False, True), repeat=len(rules)):
            charged = tuple(r for r, on in zip(rules, chosen, strict=True) if on)
            variants.append((charged, tuple(r for r in rules if r not in charged)))
        return variants

    def offering(self, h: int) -> None:
        """Variants of one offering: by rules charged and by the end of its last pod."""
        offering, policy = self._fleet.offerings[h], self._fleet.problem.policy
        group = -1
        if offering.available_count is not None:
            group = len(self._stock)
            self._stock.append(offering.available_count)
        for charged, out in self._charges(h):
            for end in self._ends:
                price = cost.prorated(offering.price_microusd_per_hour, end, policy.horizon_s) + policy.node_fee_microusd_per_hour
                self._row(Bin((h,), False, charged), price, end, out, group, self._limited.use(offering, h, charged))

    def node(self, kind: tuple[int, ...]) -> None:
        """Variants of nodes that stand: free as they are, or kept longer for the extension's price."""
        first = self._fleet.nodes[kind[0] - len(self._fleet.offerings)]
        index = self._limited.offering_of_node[kind[0] - len(self._fleet.offerings)]
        horizon = self._fleet.problem.policy.horizon_s
        group = len(self._stock)
        self._stock.append(len(kind))
        free_until = horizon if first.ends_in_s is None or first.price_microusd_per_hour is None else min(first.ends_in_s, horizon)
        later = [end for end in self._ends if end > free_until]
        counted = self._limited.counted(first, index) if index >= 0 else frozenset()
        for charged, out in self._charges(index, counted):
            use = self._limited.use(first, index, charged) if index >= 0 else [0] * len(self._limited.rows)
            for end in [free_until, *later]:
                extra = cost.prorated(first.price_microusd_per_hour or 0, end - free_until, horizon)
                self._row(Bin(kind, True, charged), extra, end, out, group, use)

    def _row(self, kind: Bin, price: int, end: int, out: tuple[int, ...], group: int, use: list[int]) -> None:
        self._bins.append(kind)
        self._price.append(price)
        self._end.append(end)
        self._uncharged.append(out)
        self._group.append(group)
        self._use.append(use)

    def finish(self, allowed: Bools, cell: Ints, permits: Sequence[_Permit], rule_of: Ints) -> Opened:
        """The arrays, in the order in which the kinds came."""
        fleet, kinds = self._fleet, len(self._bins)
        host_of = np.array([b.hosts[0] for b in self._bins], np.int64)
        cap = fleet.cap[host_of].reshape(kinds, fleet.demand.shape[1])
        most = np.where(allowed[:, host_of], UNLIMITED, 0).astype(np.int64).reshape(len(fleet.classes), kinds)
        for r in range(fleet.demand.shape[1]):
            takes = fleet.demand[:, r] > 0
            most[takes] = np.minimum(most[takes], cap[None, :, r] // fleet.demand[takes, r][:, None])
        end_of = np.array(self._end, np.int64)
        horizon = fleet.problem.policy.horizon_s
        if len(self._ends) > 1 or any(b.existing for b in self._bins):
            lasts = np.array([min(c.spec.expected_duration_s or horizon, horizon) for c in fleet.classes], np.int64)
            most[lasts[:, None] > end_of[None, :]] = 0
        for b, out in enumerate(self._uncharged):
            for rule in out:
                most[rule_of == rule, b] = 0
        return Opened(
            bins=tuple(self._bins),
            host_of=host_of,
            cap=cap,
            price=np.array(self._price, np.int64),
            most=most,
            adder=self._adders(most, permits, rule_of),
            stock_group=np.array(self._group, np.int64),
            stock=np.array(self._stock, np.int64),
            limit_use=np.array(self._use, np.int64).reshape(kinds, len(self._limited.rows)).T.copy(),
            limit=np.array([max(left, 0) for *_, left in self._limited.rows], np.int64),
            cell=_dense_cells(cell[host_of]),
        )

    def _adders(self, most: Ints, permits: Sequence[_Permit], rule_of: Ints) -> Ints:
        """int64[C, B]: penalty and spot risk of one pod, as :mod:`packer.cost` computes them; zero for most."""
        fleet, policy = self._fleet, self._fleet.problem.policy
        adder = np.zeros(most.shape, np.int64)
        risky = any(o.interruptions_per_hour_ppm for o in fleet.offerings) and (
            policy.default_restart_cost_s > 0 or any(c.spec.restart_cost_s for c in fleet.classes)
        )
        penalised = any(a.penalty_microusd_per_hour for p in permits for a in p.rule.alternatives)
        if not risky and not penalised:
            return adder
        for b, kind in enumerate(self._bins):
            h = kind.hosts[0]
            index = self._limited.offering_of_node[h - len(fleet.offerings)] if kind.existing else h
            if index < 0:
                continue
            for c in map(int, np.nonzero(most[:, b])[0]):
                adder[c, b] = cost.adder(fleet.classes[c].spec, fleet.classes[c].rule, fleet.offerings[index], policy)
        return adder


def _dense_cells(cell: Ints) -> Ints:
    """Cells numbered 0 … Z-1 in order of their value."""
    _, dense = np.unique(cell, return_inverse=True)
    return np.asarray(dense, np.int64).reshape(-1)
