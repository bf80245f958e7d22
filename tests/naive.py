"""Slow, plain twins of the rules and of the optimum, written from Kubernetes' documentation and kube-scheduler's sources.

Imports the model only, so that it can disagree with packer.rules, packer.cost and the solver. Everything is recounted from scratch
at each question; nothing is cached. ``why_not`` is the filter, ``can_be_bound`` asks for an order, ``brute_force`` finds the exact optimum.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from packer.model import (
    DEFAULT_RULE,
    HOSTNAME,
    Alternative,
    Daemon,
    HostPort,
    Limits,
    Node,
    NodeTerm,
    Offering,
    OfferingKey,
    Pod,
    PodAffinityTerm,
    PodSpec,
    Policy,
    PolicyRule,
    Problem,
    Requirement,
    Selector,
    SpreadConstraint,
    Taint,
    Toleration,
    Why,
)


@dataclass
class Spot:
    """A node in the naive world: what it offers, what ran there before, what was put there since."""

    name: str
    new: bool
    labels: Mapping[str, str]
    taints: tuple[Taint, ...]
    room: dict[str, int]
    """Before ``pods`` for new nodes; for existing nodes what was free at the start."""
    allocatable: Mapping[str, int]
    before: list[Pod] = field(default_factory=list)
    added: list[Pod] = field(default_factory=list)
    offering: Offering | None = None

    def everyone(self) -> list[Pod]:
        return self.before + self.added


@dataclass
class World:
    spots: list[Spot]
    device_share: tuple[str, int] | None = None

    def spot(self, name: str) -> Spot:
        return next(spot for spot in self.spots if spot.name == name)


def world_of(problem: Problem, launches: Mapping[str, Offering] | None = None) -> World:
    """The problem's nodes as they stand, and new nodes by name with their daemons."""
    spots = [existing_spot(node) for node in problem.nodes]
    spots += [new_spot(name, offering, problem.daemons) for name, offering in (launches or {}).items()]
    return World(spots, problem.device_share)


def existing_spot(node: Node) -> Spot:
    return Spot(node.name, False, node.labels, node.taints, dict(node.free), node.allocatable, before=list(node.pods))


def new_spot(name: str, offering: Offering, daemons: Iterable[Daemon]) -> Spot:
    labels = dict(offering.labels)
    labels[HOSTNAME] = name
    spot = Spot(name, True, labels, offering.taints, dict(offering.allocatable), offering.allocatable, offering=offering)
    for daemon in daemons:
        if node_matches(daemon.spec, spot) and not bad_taints(daemon.spec, spot.taints):
            spot.added.append(Pod(daemon.namespace, f"{daemon.name}@{name}", "", daemon.spec, daemon.labels))
    return spot


# Labels, terms, taints


def expression(req: Requirement, labels: Mapping[str, str]) -> bool:
    present = req.key in labels
    if req.operator == "Exists":
        return present
    if req.operator == "DoesNotExist":
        return not present
    if req.operator == "In":
        return present and labels[req.key] in req.values
    if req.operator == "NotIn":
        return not (present and labels[req.key] in req.values)
    if not present or len(req.values) != 1:
        return False
    try:
        left, right = go_integer(labels[req.key]), go_integer(req.values[0])
    except ValueError:
        return False
    return left > right if req.operator == "Gt" else left < right


def go_integer(text: str) -> int:
    """strconv.ParseInt(text, 10, 64): ASCII digits with at most one sign, no spaces, no underscores."""
    digits = text[1:] if text[:1] in ("+", "-") else text
    if not digits or any(c not in "0123456789" for c in digits):
        raise ValueError(text)
    value = int(text)
    if not -(2**63) <= value < 2**63:
        raise ValueError(text)
    return value


def select(selector: Selector | None, labels: Mapping[str, str]) -> bool:
    if selector is None:
        return False
    return all(expression(req, labels) for req in selector.requirements)


def term(entry: NodeTerm, spot: Spot) -> bool:
    if len(entry.expressions) + len(entry.fields) == 0:
        return False
    for req in entry.expressions:
        if not expression(req, spot.labels):
            return False
    for req in entry.fields:
        named = not spot.new and req.key == "metadata.name" and spot.name in req.values
        if req.operator == "In" and not named:
            return False
        if req.operator == "NotIn" and named:
            return False
        if req.operator not in ("In", "NotIn"):
            return False
    return True


def node_matches(spec: PodSpec, spot: Spot) -> bool:
    selector_ok = all(expression(req, spot.labels) for req in spec.selector)
    if spec.node_terms is None:
        return selector_ok
    return selector_ok and any(term(entry, spot) for entry in spec.node_terms)


def bad_taints(spec: PodSpec, taints: Iterable[Taint]) -> list[Taint]:
    bad = []
    for taint in taints:
        if taint.effect in ("NoSchedule", "NoExecute") and not any(tolerated(t, taint) for t in spec.tolerations):
            bad.append(taint)
    return bad


def tolerated(toleration: Toleration, taint: Taint) -> bool:
    effect_ok = toleration.effect == "" or toleration.effect == taint.effect
    key_ok = toleration.key == "" or toleration.key == taint.key
    value_ok = toleration.operator == "Exists" or (toleration.operator in ("", "Equal") and toleration.value == taint.value)
    return effect_ok and key_ok and value_ok


# The filters


def why_not(world: World, pod: Pod, spot: Spot) -> set[Why]:
    """The codes of all filters that refuse the pod on the spot, given everything that is in the world."""
    codes = set(shortages(pod, spot))
    for req in pod.spec.selector:
        if not expression(req, spot.labels):
            codes.add(Why.NODE_SELECTOR)
    if pod.spec.node_terms is not None and not any(term(entry, spot) for entry in pod.spec.node_terms):
        codes.add(Why.NODE_AFFINITY)
    for terms in pod.spec.volume_terms:
        if not any(term(entry, spot) for entry in terms):
            codes.add(Why.VOLUME_TOPOLOGY)
    # Like kube-scheduler's reasons, the first of selector, terms and volumes that refuses speaks for the three.
    for first, rest in ((Why.NODE_SELECTOR, {Why.NODE_AFFINITY, Why.VOLUME_TOPOLOGY}), (Why.NODE_AFFINITY, {Why.VOLUME_TOPOLOGY})):
        if first in codes:
            codes -= rest
    if bad_taints(pod.spec, spot.taints):
        codes.add(Why.TAINT)
    if any(clash(a, b) for other in spot.everyone() for a in pod.spec.host_ports for b in other.spec.host_ports):
        codes.add(Why.HOST_PORT)
    used = {claim for each in world.spots for other in each.everyone() for claim in other.spec.exclusive_claims}
    if used & set(pod.spec.exclusive_claims):
        codes.add(Why.EXCLUSIVE_CLAIM)
    if not devices_ok(world, pod, spot):
        codes.add(Why.DEVICE)
    if any(not spread_ok(world, pod, c, spot) for c in pod.spec.spread if c.hard):
        codes.add(Why.TOPOLOGY_SPREAD)
    if not affinity_ok(world, pod, spot):
        codes.add(Why.POD_AFFINITY)
    if not anti_affinity_ok(world, pod, spot):
        codes.add(Why.POD_ANTI_AFFINITY)
    return codes


def shortages(pod: Pod, spot: Spot) -> Iterable[Why]:
    names = {"cpu": Why.INSUFFICIENT_CPU, "memory": Why.INSUFFICIENT_MEMORY, "ephemeral-storage": Why.INSUFFICIENT_STORAGE}
    if spot.room.get("pods", 0) - len(spot.added) < 1:
        yield Why.INSUFFICIENT_PODS
    for name, wanted in pod.spec.requests.items():
        if name.startswith("attachable-volumes-") and name not in spot.room:
            continue
        left = spot.room.get(name, 0) - sum(other.spec.requests.get(name, 0) for other in spot.added)
        if wanted > 0 and wanted > left:
            yield names.get(name, Why.INSUFFICIENT_RESOURCE)


def clash(a: HostPort, b: HostPort) -> bool:
    if (a.port, a.protocol) != (b.port, b.protocol):
        return False
    return a.ip == b.ip or a.ip == "0.0.0.0" or b.ip == "0.0.0.0"


def devices_ok(world: World, pod: Pod, spot: Spot) -> bool:
    """Tries every way to give each request its devices."""
    if world.device_share is None or not pod.spec.requests.get(world.device_share[0], 0):
        return True
    resource, size = world.device_share
    wants = [p.spec.requests.get(resource, 0) for p in [*spot.everyone(), pod]]
    if any(want > size and want % size for want in wants):
        return False
    pieces: list[int] = []
    for want in wants:
        pieces += [want] if want <= size else [size] * (want // size)
    return assign(sorted(pieces, reverse=True), [size] * (spot.allocatable.get(resource, 0) // size))


def assign(pieces: list[int], room: list[int]) -> bool:
    if not pieces:
        return True
    for i in range(len(room)):
        if room[i] >= pieces[0] and assign(pieces[1:], [*room[:i], room[i] - pieces[0], *room[i + 1 :]]):
            return True
    return not pieces[0] and assign(pieces[1:], room)


def spread_ok(world: World, pod: Pod, constraint: SpreadConstraint, spot: Spot) -> bool:
    if constraint.topology_key not in spot.labels:
        return False
    domains: dict[str, int] = {}
    for other in world.spots:
        if not all(c.topology_key in other.labels for c in pod.spec.spread if c.hard):
            continue
        if constraint.honor_node_affinity and not node_matches(pod.spec, other):
            continue
        if constraint.honor_node_taints and bad_taints(pod.spec, other.taints):
            continue
        value = other.labels[constraint.topology_key]
        domains.setdefault(value, 0)
        for member in other.everyone():
            nonempty = constraint.selector is not None and len(constraint.selector.requirements) > 0
            if nonempty and not member.terminating and member.namespace == pod.namespace and select(constraint.selector, member.labels):
                domains[value] += 1
    least = min(domains.values()) if domains and len(domains) >= constraint.min_domains else 0
    mine = 1 if select(constraint.selector, pod.labels) else 0
    return domains.get(spot.labels[constraint.topology_key], 0) + mine - least <= constraint.max_skew


def term_selects(entry: PodAffinityTerm, owner: Pod, other: Pod) -> bool:
    spaces = entry.namespaces if entry.namespaces else (owner.namespace,)
    return (entry.all_namespaces or other.namespace in spaces) and select(entry.selector, other.labels)


def affinity_ok(world: World, pod: Pod, spot: Spot) -> bool:
    terms = pod.spec.affinity
    if not terms:
        return True
    if any(entry.topology_key not in spot.labels for entry in terms):
        return False
    anywhere = False
    met = dict.fromkeys(range(len(terms)), False)
    for other in world.spots:
        for member in other.everyone():
            if not all(term_selects(entry, pod, member) for entry in terms):
                continue
            for i, entry in enumerate(terms):
                if entry.topology_key in other.labels:
                    anywhere = True
                    met[i] = met[i] or other.labels[entry.topology_key] == spot.labels[entry.topology_key]
    # Terms with one topology key share their counts, so a match for either is a match for both; all terms match the same pods anyway.
    if all(met.values()):
        return True
    return not anywhere and all(term_selects(entry, pod, pod) for entry in terms)


def anti_affinity_ok(world: World, pod: Pod, spot: Spot) -> bool:
    for other in world.spots:
        for member in other.everyone():
            for owner, against, entries in ((pod, member, pod.spec.anti_affinity), (member, pod, member.spec.anti_affinity)):
                for entry in entries:
                    here, there = spot.labels.get(entry.topology_key), other.labels.get(entry.topology_key)
                    if here is not None and here == there and term_selects(entry, owner, against):
                        return False
    return True


def can_be_bound(world: World, wanted: list[tuple[Pod, Spot]]) -> bool:
    """Whether some order binds all pods where they are wanted. Tries all orders, remembering sets that lead nowhere."""
    dead: set[frozenset[int]] = set()

    def go(left: frozenset[int]) -> bool:
        if not left:
            return True
        if left in dead:
            return False
        for i in sorted(left):
            pod, spot = wanted[i]
            if not why_not(world, pod, spot):
                spot.added.append(pod)
                done = go(left - {i})
                spot.added.remove(pod)
                if done:
                    return True
        dead.add(left)
        return False

    return go(frozenset(range(len(wanted))))


# Policies and money


def rule_of(policy: Policy, pod: Pod) -> PolicyRule:
    for rule in policy.rules:
        if not select(rule.selector, pod.labels):
            continue
        if rule.namespaces and pod.namespace not in rule.namespaces:
            continue
        if rule.priority_at_least is not None and pod.priority < rule.priority_at_least:
            continue
        if rule.priority_at_most is not None and pod.priority > rule.priority_at_most:
            continue
        return rule
    return DEFAULT_RULE


def permits(alternative: Alternative, offering: Offering) -> bool:
    if offering.burstable and not alternative.allow_burstable:
        return False
    if offering.fractional_gpu and not alternative.allow_fractional_gpu:
        return False
    ceiling = alternative.max_price_microusd_per_hour
    if ceiling is not None and offering.price_microusd_per_hour > ceiling:
        return False
    return all(expression(req, offering.labels) for req in alternative.requirements)


def alternative_of(policy: Policy, pod: Pod, offering: Offering) -> Alternative | None:
    permitted = [a for a in rule_of(policy, pod).alternatives if permits(a, offering)]
    return min(permitted, key=lambda a: a.penalty_microusd_per_hour) if permitted else None


def pod_adder(policy: Policy, pod: Pod, offering: Offering) -> int:
    served = alternative_of(policy, pod, offering)
    penalty = served.penalty_microusd_per_hour if served else 0
    restart = pod.spec.restart_cost_s if pod.spec.restart_cost_s is not None else policy.default_restart_cost_s
    shares = [Fraction(amount, offering.allocatable[r]) for r, amount in pod.spec.requests.items() if offering.allocatable.get(r, 0) > 0]
    share = min(max(shares, default=Fraction(0)), Fraction(1))
    risk = offering.price_microusd_per_hour * share * Fraction(offering.interruptions_per_hour_ppm, 10**6) * Fraction(restart, 3600)
    return penalty + math.ceil(risk)


def pod_end(policy: Policy, pod: Pod) -> int:
    duration = pod.spec.expected_duration_s
    return policy.horizon_s if not duration else min(duration, policy.horizon_s)


def money(problem: Problem, world: World, wanted: list[tuple[Pod, Spot]]) -> int:
    """The objective of an assignment; every new spot is paid for, whether used or not."""
    policy, total = problem.policy, 0
    known = {offering.key: offering for offering in problem.offerings}
    nodes = {node.name: node for node in problem.nodes}
    for spot in world.spots:
        pods = [pod for pod, where in wanted if where is spot]
        last = max((pod_end(policy, pod) for pod in pods), default=0)
        if spot.new:
            assert spot.offering is not None
            total += math.ceil(Fraction(spot.offering.price_microusd_per_hour * last, policy.horizon_s)) + policy.node_fee_microusd_per_hour
            offering: Offering | None = spot.offering
        else:
            node = nodes[spot.name]
            offering = known.get(node.offering) if node.offering else None
            if node.price_microusd_per_hour is not None and node.ends_in_s is not None and pods:
                longer = max(0, last - min(node.ends_in_s, policy.horizon_s))
                total += math.ceil(Fraction(node.price_microusd_per_hour * longer, policy.horizon_s))
        if offering is not None:
            total += sum(pod_adder(policy, pod, offering) for pod in pods)
    return total


def limits_ok(problem: Problem, world: World, wanted: list[tuple[Pod, Spot]]) -> bool:
    """The cluster's limits and each alternative's, over what runs and what is added; what is over already may stay so."""
    known = {offering.key: offering for offering in problem.offerings}
    nodes = {node.name: node for node in problem.nodes}
    scopes: list[tuple[Limits, PolicyRule | None, Alternative | None]] = [(problem.policy.limits, None, None)]
    for each in (*problem.policy.rules, DEFAULT_RULE):
        scopes += [(alternative.limits, each, alternative) for alternative in each.alternatives]
    for limits, rule, alternative in scopes:
        used: dict[str, int] = {}
        grown: set[str] = set()
        for spot in world.spots:
            node = nodes.get(spot.name)
            offering = spot.offering if spot.new else known.get(node.offering) if node and node.offering else None
            pods = [pod for pod, where in wanted if where is spot]
            if rule is None:
                counts, fresh = (spot.new or (node is not None and node.offering is not None)), spot.new
            else:
                serves = offering is not None and first_cheapest(rule, offering) is alternative
                old = serves and not spot.new and any(rule_of(problem.policy, pod) is rule for pod in spot.before)
                now = serves and any(rule_of(problem.policy, pod) is rule for pod in pods)
                counts, fresh = old or now, now and not old
            if not counts:
                continue
            price = offering.price_microusd_per_hour if spot.new and offering else (node.price_microusd_per_hour or 0) if node else 0
            for name, amount in (("cost", price), ("nodes", 1), *spot.allocatable.items()):
                used[name] = used.get(name, 0) + amount
                if fresh and amount > 0:
                    grown.add(name)
        bounds = {"cost": limits.cost_microusd_per_hour, "nodes": limits.nodes, **limits.resources}
        if any(bound is not None and used.get(name, 0) > bound and name in grown for name, bound in bounds.items()):
            return False
    return True


def first_cheapest(rule: PolicyRule, offering: Offering) -> Alternative | None:
    permitted = [a for a in rule.alternatives if permits(a, offering)]
    return min(permitted, key=lambda a: a.penalty_microusd_per_hour) if permitted else None


# The optimum


@dataclass(frozen=True)
class Optimum:
    """The best that any plan can do: pods placed in each tier (highest priority first), and the least objective with those counts."""

    placed: tuple[int, ...]
    objective: int
    launches: tuple[tuple[OfferingKey, tuple[str, ...]], ...]
    placements: tuple[tuple[str, str], ...]


def tiers_of(problem: Problem) -> list[int]:
    return sorted({pod.priority for pod in problem.pods}, reverse=True)


def looks(problem: Problem) -> dict[str, str]:
    """For each pod, all that a rule about pods or a policy could see of it besides its spec."""
    every = [*problem.pods, *(pod for node in problem.nodes for pod in node.pods)]
    specs = [pod.spec for pod in every] + [daemon.spec for daemon in problem.daemons]
    selectors = [entry.selector for spec in specs for entry in (*spec.affinity, *spec.anti_affinity)]
    selectors += [constraint.selector for spec in specs for constraint in spec.spread]
    selectors += [rule.selector for rule in problem.policy.rules]
    keys = sorted({req.key for selector in selectors if selector for req in selector.requirements})
    return {p.key: repr((p.namespace, p.priority, p.gang, [(key, p.labels.get(key)) for key in keys])) for p in problem.pods}


class TooLargeError(Exception):
    """More branches than a test should wait for."""


def brute_force(problem: Problem, max_new: int | None = None, steps: int = 15_000) -> Optimum:
    """Tries every assignment of pods to existing nodes, to new nodes of every offering, or to none (at most ``max_new`` new nodes).

    Raises TooLargeError after ``steps`` branches (some 0.1 ms each): pods with affinities that cannot be met all have to be tried.
    """
    return _Brute(problem, len(problem.pods) if max_new is None else max_new, steps).run()


class _Brute:
    """Depth first over pods. Branches end when a filter that no order can heal refuses, or when the best so far cannot be beaten.

    Pods that nothing tells apart are placed in the order of their spots, and the new nodes that they open in the order of the offerings:
    every other assignment is one of these with names exchanged.
    """

    def __init__(self, problem: Problem, max_new: int, steps: int) -> None:
        self.problem, self.max_new = problem, max_new
        self.tiers = tiers_of(problem)
        self.offerings = sorted(problem.offerings, key=lambda o: (o.price_microusd_per_hour, o.key))
        self.world = world_of(problem)
        self.look = looks(problem)
        ordered = sorted(problem.pods, key=lambda pod: (-pod.priority, repr(pod.spec), self.look[pod.key], pod.key))
        alive = [pod for pod in ordered if self.possible(pod)]
        members = {(pod.namespace, pod.gang.name): 0 for pod in alive if pod.gang}
        for pod in alive:
            if pod.gang:
                members[pod.namespace, pod.gang.name] += 1
        self.pods = [pod for pod in alive if not pod.gang or members[pod.namespace, pod.gang.name] >= pod.gang.minimum]
        self.wanted: list[tuple[Pod, Spot]] = []
        self.skipped: list[Pod] = [pod for pod in ordered if pod not in self.pods]
        self.left = steps
        self.where: list[int] = []
        self.best: tuple[tuple[int, ...], int] | None = None
        self.found: Optimum | None = None

    def run(self) -> Optimum:
        self.step(0)
        assert self.found is not None
        return self.found

    def possible(self, pod: Pod) -> bool:
        """Whether the pod could go anywhere at all if it were alone."""
        healed = {Why.TOPOLOGY_SPREAD, Why.POD_AFFINITY}
        if any(not why_not(self.world, pod, spot) - healed for spot in self.world.spots):
            return True
        return any(self.may_buy(pod, o) and not self.alone(pod, o) - healed for o in self.offerings)

    def alone(self, pod: Pod, offering: Offering) -> set[Why]:
        spot = new_spot("alone", offering, self.problem.daemons)
        return why_not(World([spot], self.problem.device_share), pod, spot)

    def may_buy(self, pod: Pod, offering: Offering) -> bool:
        ceiling = pod.spec.max_price_microusd_per_hour
        if ceiling is not None and offering.price_microusd_per_hour > ceiling:
            return False
        return alternative_of(self.problem.policy, pod, offering) is not None

    def least_to_come(self, index: int) -> int:
        """At least what the cpu of the pods that are left must cost beyond the room of the nodes there are."""
        left = self.pods[index:]
        rates = [Fraction(o.price_microusd_per_hour, o.allocatable["cpu"]) for o in self.offerings if o.allocatable.get("cpu", 0) > 0]
        if not rates or any(pod.spec.expected_duration_s for pod in self.pods):
            return 0
        free = sum(max(0, s.room.get("cpu", 0) - sum(p.spec.requests.get("cpu", 0) for p in s.added)) for s in self.world.spots)
        return math.ceil(min(rates) * max(0, sum(pod.spec.requests.get("cpu", 0) for pod in left) - free))

    def step(self, index: int) -> None:
        self.left -= 1
        if self.left < 0:
            raise TooLargeError
        optimistic = tuple(-sum(1 for p in self.problem.pods if p.priority == tier and p not in self.skipped) for tier in self.tiers)
        spent = money(self.problem, self.world, self.wanted)
        if self.best is not None and (optimistic, spent + self.least_to_come(index)) >= self.best:
            return
        if index == len(self.pods):
            self.leaf(optimistic, spent)
            return
        pod = self.pods[index]
        twin = index > 0 and self.same(self.pods[index - 1], pod)
        first = self.where[-1] if twin else 0
        for number, spot in list(enumerate(self.world.spots)):
            if number >= first:
                self.attempt(index, pod, spot, number)
        if sum(spot.new for spot in self.world.spots) < self.max_new and first <= len(self.world.spots):
            self.open_new(index, pod, twin)
        self.skipped.append(pod)
        self.where.append(len(self.pods) * 10)
        self.step(index + 1)
        self.where.pop()
        self.skipped.pop()

    def open_new(self, index: int, pod: Pod, twin: bool) -> None:
        last = self.world.spots[-1] if self.world.spots else None
        after = self.offerings.index(last.offering) if twin and last and last.offering and self.opened_by_twin(last, pod) else 0
        for offering in self.offerings[after:]:
            used = sum(spot.offering is offering for spot in self.world.spots)
            if offering.available_count is None or used < offering.available_count:
                spot = new_spot(f"new-{index}", offering, self.problem.daemons)
                self.world.spots.append(spot)
                self.attempt(index, pod, spot, len(self.world.spots) - 1)
                self.world.spots.pop()

    def opened_by_twin(self, spot: Spot, pod: Pod) -> bool:
        opener = next(p for p, where in self.wanted if where is spot)
        return self.same(opener, pod)

    def same(self, a: Pod, b: Pod) -> bool:
        return a.spec is b.spec and self.look[a.key] == self.look[b.key]

    def attempt(self, index: int, pod: Pod, spot: Spot, number: int) -> None:
        if spot.offering is not None and not self.may_buy(pod, spot.offering):
            return
        if why_not(self.world, pod, spot) - {Why.TOPOLOGY_SPREAD, Why.POD_AFFINITY}:
            return
        spot.added.append(pod)
        self.wanted.append((pod, spot))
        self.where.append(number)
        if limits_ok(self.problem, self.world, self.wanted):
            self.step(index + 1)
        self.where.pop()
        self.wanted.pop()
        spot.added.remove(pod)

    def leaf(self, counts: tuple[int, ...], spent: int) -> None:
        if not self.gangs_ok() or not self.orderable():
            return
        self.best = (counts, spent)
        held = [(spot, tuple(pod.key for pod, where in self.wanted if where is spot)) for spot in self.world.spots]
        launches = tuple((spot.offering.key, pods) for spot, pods in held if spot.offering)
        placements = tuple((pod, spot.name) for spot, pods in held if not spot.offering for pod in pods)
        self.found = Optimum(tuple(-count for count in counts), spent, launches, placements)

    def gangs_ok(self) -> bool:
        placed: dict[tuple[str, str], int] = {}
        for pod, _ in self.wanted:
            if pod.gang:
                key = (pod.namespace, pod.gang.name)
                placed[key] = placed.get(key, 0) + 1
        return all(not pod.gang or placed[pod.namespace, pod.gang.name] >= pod.gang.minimum for pod, _ in self.wanted)

    def orderable(self) -> bool:
        if not any(pod.spec.affinity or any(c.hard for c in pod.spec.spread) for pod, _ in self.wanted):
            return True
        for pod, spot in self.wanted:
            spot.added.remove(pod)
        done = can_be_bound(self.world, self.wanted)
        for pod, spot in self.wanted:
            spot.added.append(pod)
        return done
