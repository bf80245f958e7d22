"""Obstacles, which explain, agree with the rules, which decide: nothing is called possible that they refuse, nor the other way round."""

from __future__ import annotations

import random

import pytest

from packer import policy as policies
from packer.model import (
    ZONE,
    Alternative,
    Daemon,
    Effect,
    HostPort,
    NodeTerm,
    Offering,
    Operator,
    Pod,
    PodSpec,
    Policy,
    PolicyRule,
    Problem,
    Requirement,
    Selector,
    Taint,
    Toleration,
    Unplaced,
)
from packer.obstacles import grouped
from packer.rules import new_view, static_reasons
from packer.situation import Situation
from packer.why import reasons_for, unplaced_with_reasons
from tests.views.samples import GI, make_offering


def requirement(rng: random.Random) -> Requirement:
    key = rng.choice([ZONE, "arch", "size"])
    operator = rng.choice(list(Operator))
    values = {Operator.EXISTS: (), Operator.DOES_NOT_EXIST: (), Operator.GT: ("3",), Operator.LT: ("3",)}
    return Requirement(key, operator, values.get(operator, tuple(sorted(rng.sample(["z-a", "z-b", "arm64", "4"], rng.randint(1, 2))))))


def taint(rng: random.Random) -> Taint:
    return Taint(rng.choice(["gpu", "team"]), rng.choice(["", "a"]), rng.choice(list(Effect)))


def spec(rng: random.Random) -> PodSpec:
    requests = {"cpu": rng.randint(1, 40) * 100, "memory": rng.randint(1, 16) * GI}
    if rng.random() < 0.3:
        requests["nvidia.com/gpu"] = rng.randint(1, 2)
    terms = tuple(NodeTerm(tuple(requirement(rng) for _ in range(rng.randint(0, 2)))) for _ in range(rng.randint(0, 2)))
    return PodSpec(
        requests,
        selector=tuple(requirement(rng) for _ in range(rng.choice([0, 0, 1]))),
        node_terms=terms if rng.random() < 0.3 else None,
        volume_terms=((NodeTerm((requirement(rng),)),),) if rng.random() < 0.2 else (),
        tolerations=tuple(
            Toleration(rng.choice(["", "gpu"]), "Exists", "", rng.choice(["", "NoSchedule"])) for _ in range(rng.randint(0, 1))
        ),
        host_ports=(HostPort("0.0.0.0", "TCP", rng.choice([80, 9100])),) if rng.random() < 0.3 else (),
        max_price_microusd_per_hour=rng.choice([None, None, 200_000]),
    )


def offering(rng: random.Random, number: int) -> Offering:
    labels = {"arch": rng.choice(["arm64", "amd64"])} | ({"size": str(rng.randint(1, 5))} if rng.random() < 0.5 else {})
    return make_offering(
        f"m{number}",
        rng.randint(1, 40) * 10_000,
        rng.choice([1000, 2000, 4000]),
        rng.choice([4, 8, 16]),
        zone=rng.choice(["z-a", "z-b"]),
        gpus=rng.choice([0, 0, 1, 2]),
        labels=labels,
        taints=tuple(taint(rng) for _ in range(rng.randint(0, 1))),
        burstable=rng.random() < 0.2,
        available_count=rng.choice([None, None, 0, 3]),
    )


def world(seed: int) -> Problem:
    rng = random.Random(seed)
    pods = tuple(Pod("default", f"p{i}", f"u{i}", spec(rng)) for i in range(12))
    daemons = (
        Daemon("system", "exporter", PodSpec({"cpu": 100}, selector=(requirement(rng),), host_ports=(HostPort("127.0.0.1", "TCP", 9100),))),
        Daemon("system", "agent", PodSpec({"cpu": 200, "memory": GI}, tolerations=(Toleration("", "Exists"),))),
    )
    spot = Alternative("dear", (Requirement("arch", Operator.IN, ("amd64",)),), max_price_microusd_per_hour=300_000)
    policy = (
        Policy((PolicyRule("some", (spot,), Selector((Requirement("none", Operator.EXISTS),))),))
        if seed % 2
        else Policy((PolicyRule("all", (spot,)),))
    )
    return Problem(pods, (), tuple(offering(rng, i) for i in range(40)), daemons, policy)


def is_possible(problem: Problem, pod: Pod, machine: Offering) -> bool:
    """The same question asked of the rules, one offering at a time."""
    most = pod.spec.max_price_microusd_per_hour
    return (
        not static_reasons(pod, new_view(machine, problem.daemons))
        and bool(policies.allowed(policies.rule_for(problem.policy, pod), machine))
        and (most is None or machine.price_microusd_per_hour <= most)
        and machine.available_count != 0
    )


@pytest.mark.parametrize("seed", range(40))
def test_what_is_called_possible_is_what_the_rules_allow(seed: int) -> None:
    """Groups of offerings that a spec cannot tell apart must hide no difference that matters."""
    problem = world(seed)
    situation = Situation(problem)
    for pod in problem.pods:
        wanted = {machine.key for machine in problem.offerings if is_possible(problem, pod, machine)}
        assert {one.key for choice in situation.choices(pod) if not choice.obstacles for one in choice.offerings} == wanted
        places, possible = situation.overview(pod)
        assert {one.key for one in possible} == wanted
        assert sum(number for _, number in places) + len(possible) == len(problem.offerings)


@pytest.mark.parametrize("seed", range(40))
def test_counts_say_the_same_in_short_and_at_length(seed: int) -> None:
    """The quick overview that plans use and the choices that explanations use give the same groups, numbers and messages."""
    problem = world(seed)
    situation = Situation(problem)
    for pod in problem.pods:
        long = grouped([(choice.obstacles, len(choice.offerings)) for choice in situation.choices(pod) if choice.obstacles])
        assert grouped(situation.overview(pod)[0]) == long


@pytest.mark.parametrize("seed", range(10))
def test_reasons_do_not_depend_on_the_order_of_the_input(seed: int) -> None:
    """Reason codes are part of a plan's digest."""
    problem = world(seed)
    shuffled = Problem(problem.pods[::-1], (), problem.offerings[::-1], problem.daemons[::-1], problem.policy)
    for pod in problem.pods:
        assert reasons_for(problem, pod) == reasons_for(shuffled, pod)
    keys = [pod.key for pod in problem.pods]
    expected = tuple(Unplaced(key, reasons_for(problem, pod)) for key, pod in sorted(zip(keys, problem.pods, strict=True)))
    assert unplaced_with_reasons(shuffled, (), (), keys) == expected
