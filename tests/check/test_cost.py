"""The price list: each term of the objective by hand, in whole micro-dollars."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from packer import cost
from packer.model import (
    CPU,
    HOSTNAME,
    MEMORY,
    PODS,
    ZONE,
    Alternative,
    Node,
    Offering,
    OfferingKey,
    Operator,
    Pod,
    PodSpec,
    Policy,
    PolicyRule,
    Problem,
    Requirement,
)
from tests.plans import plan_of

ROOM = {CPU: 4000, MEMORY: 8, PODS: 10}
SPOT = Offering(OfferingKey("cloud", "here", "a", "m", "spot"), 1_000_000, ROOM, {ZONE: "a"}, interruptions_per_hour_ppm=100_000)


def pod(name: str = "p", **spec: Any) -> Pod:
    return Pod("default", name, "", PodSpec(**{"requests": {CPU: 1000}, **spec}))


@pytest.mark.parametrize(
    "price, duration, expected",
    [(24, 3600, 1), (24, 24 * 3600, 24), (24, 48 * 3600, 24), (25, 3600, 2), (2**53 + 1, 24 * 3600, 2**53 + 1), (0, 3600, 0)],
)
def test_a_node_costs_its_share_of_the_horizon_rounded_up(price: int, duration: int, expected: int) -> None:
    """price × min(end, horizon) / horizon in integers: 2^53 + 1 survives."""
    assert cost.prorated(price, duration, 24 * 3600) == expected


def test_launch_lasts_as_long_as_its_longest_pod() -> None:
    """The latest end counts, and a pod that does not say lasts for the horizon."""
    problem = Problem(
        (pod("p", expected_duration_s=3600), pod("q", expected_duration_s=7200), pod("r")),
        (),
        (replace(SPOT, price_microusd_per_hour=240),),
    )
    machine = problem.offerings[0]
    assert plan_of(problem, [(machine, ["default/p"])]).objective_microusd_per_hour == 10
    assert plan_of(problem, [(machine, ["default/p", "default/q"])]).objective_microusd_per_hour == 20
    assert plan_of(problem, [(machine, ["default/p", "default/r"])]).objective_microusd_per_hour == 240


def test_existing_node_costs_only_what_it_stays_longer() -> None:
    """A pod that ends before the node would have ended anyway is free; an unknown price or end costs nothing."""
    node = Node("n", {HOSTNAME: "n"}, (), ROOM, ROOM, price_microusd_per_hour=240, ends_in_s=3600)
    hour, three = pod("p", expected_duration_s=3600), pod("p", expected_duration_s=3 * 3600)
    for standing, lodger, expected in (
        (node, hour, 0),
        (node, three, 20),
        (node, pod(), 230),
        (replace(node, ends_in_s=None), pod(), 0),
        (replace(node, price_microusd_per_hour=None), three, 0),
    ):
        problem = Problem((lodger,), (standing,), ())
        assert plan_of(problem, (), {"default/p": "n"}).objective_microusd_per_hour == expected


def test_spot_risk_is_the_dominant_share_of_what_interruptions_waste() -> None:
    """$1 an hour × ½ (memory, not the ¼ of cpu) × 0.1 interruptions an hour × ½ hour of work lost = 2.5 cents an hour."""
    spec = PodSpec({CPU: 1000, MEMORY: 4}, restart_cost_s=1800)
    assert cost.spot_risk(spec, SPOT, Policy()) == 25_000
    assert cost.spot_risk(replace(spec, restart_cost_s=None), SPOT, Policy()) == 0
    assert cost.spot_risk(replace(spec, restart_cost_s=None), SPOT, Policy(default_restart_cost_s=1800)) == 25_000
    assert cost.spot_risk(replace(spec, restart_cost_s=0), SPOT, Policy(default_restart_cost_s=1800)) == 0
    assert cost.spot_risk(replace(spec, restart_cost_s=1), SPOT, Policy()) == 14  # 13.9, rounded up


def test_share_is_at_most_the_whole_machine() -> None:
    """A daemon-free allocatable smaller than a request is no reason to lose more than the machine."""
    assert cost.dominant_share({CPU: 5000}, ROOM) == (1, 1)
    assert cost.dominant_share({}, ROOM) == (0, 1)
    assert cost.dominant_share({"vendor/absent": 1, CPU: 2000}, ROOM) == (2000, 4000)


def test_cheapest_permitted_alternative_serves_and_the_first_on_ties() -> None:
    """A rule's alternatives are a union; a pod pays the least penalty among those that permit the machine."""
    elsewhere = (Requirement(ZONE, Operator.IN, ("b",)),)
    rule = PolicyRule(
        "r",
        (
            Alternative("free but elsewhere", elsewhere),
            Alternative("dear", penalty_microusd_per_hour=9),
            Alternative("fair", penalty_microusd_per_hour=5),
            Alternative("as fair", penalty_microusd_per_hour=5),
        ),
    )
    assert cost.alternative_for(rule, SPOT) == 2
    assert cost.adder(PodSpec({}), rule, SPOT, Policy()) == 5
    assert cost.alternative_for(PolicyRule("none", (Alternative("b", elsewhere),)), SPOT) is None


def test_fee_and_adders_add_up() -> None:
    """One fee a bought node, one adder a pod, on nodes of a known offering too."""
    penalty = PolicyRule("r", (Alternative("any", penalty_microusd_per_hour=3),))
    standing = Node("n", {HOSTNAME: "n"}, (), ROOM, ROOM, offering=SPOT.key)
    problem = Problem((pod("p"), pod("q"), pod("r")), (standing,), (SPOT,), policy=Policy((penalty,), node_fee_microusd_per_hour=7))
    plan = plan_of(problem, [(SPOT, ["default/p", "default/q"])], {"default/r": "n"})
    assert plan.cost_microusd_per_hour == 1_000_000
    assert plan.objective_microusd_per_hour == 1_000_000 + 7 + 3 * 3
    unknown = replace(problem, nodes=(replace(standing, offering=None),))
    assert plan_of(unknown, [(SPOT, ["default/p", "default/q"])], {"default/r": "n"}).objective_microusd_per_hour == 1_000_000 + 7 + 2 * 3
