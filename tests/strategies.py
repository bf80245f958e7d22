"""Random small problems with every kind of constraint, for Hypothesis and for plain seeds.

``random_problem(random.Random(seed))`` is a pure function of its random source; ``problems()`` is the Hypothesis strategy over it.
``features`` restricts what occurs; see FEATURES. Values are few and small, so that constraints meet often.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Sequence
from typing import TypeVar

from hypothesis import strategies as st

from packer.model import (
    HOSTNAME,
    INSTANCE_TYPE,
    UNSCHEDULABLE_TAINT,
    ZONE,
    Alternative,
    Daemon,
    Effect,
    Gang,
    HostPort,
    Limits,
    Node,
    NodeTerm,
    Offering,
    OfferingKey,
    Operator,
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
)

FEATURES = frozenset(
    (
        *("selector", "terms", "taints", "ports", "spread", "affinity", "anti", "nodes", "stock", "limits", "tiers", "gangs"),
        *("daemons", "volumes", "claims", "durations", "spot", "policy", "fee", "gpu", "price"),
    )
)
"""All kinds of constraint that can occur. ``price``: a pod's own limit on its machine's price; ``policy``: rules with alternatives."""

DEVICE = "vendor.io/device"
FEW, ODDS = 4, 0.3
"""Of more than FEW features each occurs in a problem with these odds: with all of them at once hardly any pod could be placed."""

T = TypeVar("T")


def problems(
    *, pods: int = 6, offerings: int = 4, nodes: int = 2, features: Collection[str] = FEATURES, devices: bool = False
) -> st.SearchStrategy[Problem]:
    """Problems of at most so many pods, offerings and existing nodes."""
    return st.randoms(use_true_random=False).map(
        lambda rng: random_problem(rng, pods=pods, offerings=offerings, nodes=nodes, features=features, devices=devices)
    )


def random_problem(
    rng: random.Random,
    *,
    pods: int = 6,
    offerings: int = 4,
    nodes: int = 2,
    features: Collection[str] = FEATURES,
    devices: bool = False,
) -> Problem:
    """One problem. ``devices``: requests of vendor.io/device are shares of devices of 10."""
    active = frozenset(f for f in sorted(features) if len(features) <= FEW or rng.random() < ODDS)
    draw = _Draw(rng, active, devices)
    catalog = draw.offerings(rng.randint(1, offerings))
    specs = [draw.spec() for _ in range(rng.randint(1, 3))]
    stand = [draw.node(i, catalog) for i in range(rng.randint(0, nodes) if "nodes" in active else 0)]
    return Problem(
        pods=tuple(draw.pod(f"p{i}", rng.choice(specs)) for i in range(rng.randint(1, pods))),
        nodes=tuple(stand),
        offerings=tuple(catalog),
        daemons=tuple(draw.daemon(i) for i in range(rng.choice((0, 1, 2)))) if "daemons" in active else (),
        policy=draw.policy(),
        device_share=(DEVICE, 10) if devices else None,
    )


class _Draw:
    def __init__(self, rng: random.Random, features: frozenset[str], devices: bool) -> None:
        self.rng, self.features, self.devices = rng, features, devices

    def some(self, feature: str, make: Callable[[], T], empty: T, odds: float = 0.5) -> T:
        """What ``make`` gives, if the feature is wanted and the dice say so."""
        return make() if feature in self.features and self.rng.random() < odds else empty

    def several(self, make: Callable[[], T], most: int = 2) -> tuple[T, ...]:
        return tuple(make() for _ in range(self.rng.randint(1, most)))

    def offerings(self, number: int) -> list[Offering]:
        return [self.offering(i) for i in range(number)]

    def offering(self, index: int) -> Offering:
        rng = self.rng
        zone = rng.choice(("a", "b", "c", "a", "b", ""))
        size = rng.choice((1, 2, 4))
        labels = {INSTANCE_TYPE: f"t{index}", "pool": rng.choice(("blue", "green")), "size": str(size)}
        if zone:
            labels[ZONE] = zone
        allocatable = {"cpu": size * 1000, "memory": rng.choice((2, 4, 8)), "pods": rng.choice((2, 3, 110))}
        if "gpu" in self.features and rng.random() < 0.6:
            allocatable[DEVICE] = rng.choice((1, 2)) * (10 if self.devices else 1)
        if "volumes" in self.features and rng.random() < 0.5:
            allocatable["attachable-volumes-csi"] = 1
        return Offering(
            OfferingKey("cloud", "here", zone, f"t{index}", rng.choice(("on-demand", "spot"))),
            rng.choice((10, 20, 25, 40, 70)) * size,
            allocatable,
            labels,
            taints=self.some("taints", lambda: self.several(self.taint, 1), ()),
            available_count=self.some("stock", lambda: rng.choice((0, 1, 1, 2)), None),
            interruptions_per_hour_ppm=self.some("spot", lambda: rng.choice((50_000, 300_000)), 0),
            burstable="policy" in self.features and rng.random() < 0.1,
        )

    def taint(self) -> Taint:
        return Taint(self.rng.choice(("team", "kind")), self.rng.choice(("x", "y", "")), self.rng.choice(list(Effect)))

    def toleration(self) -> Toleration:
        operator = self.rng.choice(("Exists", "Equal", ""))
        key = self.rng.choice(("team", "kind", "") if operator == "Exists" else ("team", "kind"))
        value = "" if operator == "Exists" else self.rng.choice(("x", "y", ""))
        return Toleration(key, operator, value, self.rng.choice(("", "", "NoSchedule", "NoExecute")))

    def requirement(self, of_offering: bool = False) -> Requirement:
        """On a node's label; ``of_offering`` leaves out the hostname, which only nodes have."""
        rng = self.rng
        operator = rng.choice(list(Operator))
        if operator in (Operator.GT, Operator.LT):
            return Requirement(rng.choice(("size", "size", "pool")), operator, (rng.choice(("1", "2", "3")),))
        key, values = rng.choice(
            ((ZONE, ("a", "b", "c")), ("pool", ("blue", "green")), ("size", ("1", "2", "4")), (HOSTNAME, ("n0", "n1")))
        )
        if operator in (Operator.EXISTS, Operator.DOES_NOT_EXIST):
            return Requirement(key, operator)
        return Requirement(key, operator, tuple(sorted(rng.sample(values, rng.randint(1, len(values) - 1)))))

    def term(self) -> NodeTerm:
        rng = self.rng
        if rng.random() < 0.2:
            field = Requirement("metadata.name", rng.choice((Operator.IN, Operator.NOT_IN)), (rng.choice(("n0", "n1")),))
            return NodeTerm(rng.choice(((), self.several(self.requirement, 1))), (field,))
        return NodeTerm() if rng.random() < 0.05 else NodeTerm(self.several(self.requirement))

    def selector(self) -> Selector | None:
        rng = self.rng
        if rng.random() < 0.1:
            return rng.choice((None, Selector()))
        operator = rng.choice((Operator.IN, Operator.IN, Operator.IN, Operator.NOT_IN, Operator.EXISTS))
        values = () if operator is Operator.EXISTS else tuple(sorted(rng.sample(("a", "b"), rng.choice((1, 1, 2)))))
        return Selector((Requirement("app", operator, values),))

    def spread(self) -> SpreadConstraint:
        rng = self.rng
        return SpreadConstraint(
            rng.choice((ZONE, ZONE, HOSTNAME, "pool")),
            rng.choice((1, 1, 2)),
            self.selector(),
            hard=rng.random() < 0.9,
            min_domains=rng.choice((1, 1, 1, 2, 3)),
            honor_node_affinity=rng.random() < 0.8,
            honor_node_taints=rng.random() < 0.3,
        )

    def affinity_term(self) -> PodAffinityTerm:
        rng = self.rng
        return PodAffinityTerm(
            rng.choice((ZONE, HOSTNAME, "pool")),
            self.selector(),
            rng.choice(((), (), ("one",), ("one", "two"))),
            all_namespaces=rng.random() < 0.15,
        )

    def spec(self) -> PodSpec:
        rng = self.rng
        requests = {"cpu": rng.choice((250, 500, 1000, 2000))}
        if rng.random() < 0.5:
            requests["memory"] = rng.choice((1, 2, 3))
        if "gpu" in self.features and rng.random() < 0.5:
            requests[DEVICE] = rng.choice((2, 4, 5, 6, 10, 20)) if self.devices else 1
        if "volumes" in self.features and rng.random() < 0.4:
            requests["attachable-volumes-csi"] = 1
        if rng.random() < 0.05:
            requests = {}
        return PodSpec(
            requests,
            selector=self.some("selector", lambda: self.several(self.requirement, 1), ()),
            node_terms=self.some("terms", lambda: self.several(self.term), None),
            volume_terms=self.some("volumes", lambda: self.several(lambda: self.several(self.term)), (), 0.4),
            tolerations=self.some("taints", lambda: self.several(self.toleration), ()),
            host_ports=self.some("ports", lambda: self.several(self.port), (), 0.4),
            spread=self.some("spread", lambda: self.several(self.spread), ()),
            affinity=self.some("affinity", lambda: self.several(self.affinity_term), (), 0.4),
            anti_affinity=self.some("anti", lambda: self.several(self.affinity_term), (), 0.4),
            max_price_microusd_per_hour=self.some("price", lambda: rng.choice((40, 100)), None, 0.4),
            expected_duration_s=self.some("durations", lambda: rng.choice((3600, 7200, 200_000)), None, 0.4),
            restart_cost_s=self.some("spot", lambda: rng.choice((0, 600, 7200)), None),
            exclusive_claims=self.some("claims", lambda: (rng.choice(("one/c", "one/d")),), (), 0.3),
        )

    def port(self) -> HostPort:
        return HostPort(self.rng.choice(("0.0.0.0", "10.0.0.1", "10.0.0.2")), self.rng.choice(("TCP", "UDP")), self.rng.choice((80, 443)))

    def pod(self, name: str, spec: PodSpec) -> Pod:
        rng = self.rng
        return Pod(
            rng.choice(("one", "one", "two")),
            name,
            f"uid-{name}",
            spec,
            labels=rng.choice(({"app": "a"}, {"app": "b"}, {"app": "a", "index": name}, {})),
            priority=self.some("tiers", lambda: rng.choice((0, 10)), 0, 0.5),
            gang=self.some("gangs", lambda: Gang("g", 2), None, 0.3),
        )

    def daemon(self, index: int) -> Daemon:
        rng = self.rng
        spec = PodSpec(
            {"cpu": rng.choice((100, 250))},
            selector=self.some("selector", lambda: self.several(self.requirement, 1), ()),
            tolerations=self.some("taints", lambda: (Toleration("", "Exists"),), (), 0.6),
            host_ports=self.some("ports", lambda: self.several(self.port, 1), ()),
        )
        return Daemon("kube-system" if rng.random() < 0.7 else "one", f"d{index}", spec, rng.choice(({}, {"app": "b"})))

    def node(self, index: int, catalog: Sequence[Offering]) -> Node:
        rng = self.rng
        offering = rng.choice(catalog)
        labels = {**offering.labels}
        if rng.random() < 0.95:
            labels[HOSTNAME] = f"n{index}"
        known = rng.random() < 0.6
        running = tuple(self.running(f"r{index}-{i}") for i in range(rng.randint(0, 3)))
        used: dict[str, int] = {"pods": len(running)}
        for pod in running:
            for name, amount in pod.spec.requests.items():
                used[name] = used.get(name, 0) + amount
        cordon = (Taint(UNSCHEDULABLE_TAINT, "", Effect.NO_SCHEDULE),) if "taints" in self.features and rng.random() < 0.1 else ()
        return Node(
            f"n{index}",
            labels,
            (*offering.taints, *cordon),
            offering.allocatable,
            {name: amount - used.get(name, 0) for name, amount in offering.allocatable.items()},
            running,
            offering=offering.key if known else None,
            price_microusd_per_hour=offering.price_microusd_per_hour if known else None,
            ends_in_s=self.some("durations", lambda: rng.choice((1800, 5400)), None, 0.5),
        )

    def running(self, name: str) -> Pod:
        labels = self.rng.choice(({"app": "a"}, {"app": "b"}, {}))
        return Pod(self.rng.choice(("one", "two")), name, "", self.spec(), labels, terminating=self.rng.random() < 0.3)

    def limits(self) -> Limits:
        rng = self.rng
        kind = rng.choice(("cost", "nodes", "cpu"))
        if kind == "cost":
            return Limits(cost_microusd_per_hour=rng.choice((40, 100, 200)))
        return Limits(nodes=rng.choice((0, 1, 2, 3))) if kind == "nodes" else Limits(resources={"cpu": rng.choice((2000, 4000, 6000))})

    def alternative(self, index: int) -> Alternative:
        rng = self.rng
        return Alternative(
            f"alternative-{index}",
            rng.choice(((), (self.requirement(of_offering=True),))),
            max_price_microusd_per_hour=rng.choice((None, None, 80)),
            penalty_microusd_per_hour=rng.choice((0, 5, 30)),
            limits=self.some("limits", self.limits, Limits()),
            allow_burstable=rng.random() < 0.5,
        )

    def policy(self) -> Policy:
        rng = self.rng

        def rules() -> tuple[PolicyRule, ...]:
            scope = rng.choice((Selector(), Selector((Requirement("app", Operator.IN, ("a",)),))))
            return (PolicyRule("rule", tuple(self.alternative(i) for i in range(rng.randint(1, 2))), selector=scope),)

        return Policy(
            rules=self.some("policy", rules, (), 0.4),
            limits=self.some("limits", self.limits, Limits(), 0.25),
            node_fee_microusd_per_hour=self.some("fee", lambda: 7, 0),
            default_restart_cost_s=self.some("spot", lambda: 1800, 0),
        )
