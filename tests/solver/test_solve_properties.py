"""What mathematics says of plans when the input changes in a known way, on problems too large to enumerate."""

from __future__ import annotations

from dataclasses import replace

import pytest

from packer.check import check_plan
from packer.model import Node, Offering, Plan, Pod, Problem
from packer.solve import Budget, solve
from tests.solver.worlds import offering, pod, pods, problem, spread

OFFERS = (
    offering("c2", 2, 0.085, memory=4),
    offering("c4", 4, 0.171, memory=8),
    offering("m4", 4, 0.192, memory=16),
    offering("r4", 4, 0.252, memory=32),
    offering("c16", 16, 0.680, memory=32),
    offering("b4", 4, 0.180, "z-b", memory=16),
)
SIZES = ((0.25, 1), (0.5, 1), (0.7, 3), (1.1, 2), (1.3, 5), (2.2, 4), (3.1, 9))


def mixed(each: int = 13, offers: tuple[Offering, ...] = OFFERS, nodes: tuple[Node, ...] = ()) -> Problem:
    """Seven sizes of pods, ``each`` times."""
    waiting = tuple(p for i, (cpu, memory) in enumerate(SIZES) for p in pods(f"s{i}", each, cpu, memory=memory))
    return problem(waiting, offers, nodes)


def planned(given: Problem, units: int = 4) -> Plan:
    plan = solve(given, Budget(units)).plan
    assert check_plan(given, plan) == ()
    return plan


def test_more_work_never_costs_more_and_never_proves_less() -> None:
    """Budgets of 1, 2, 4 … units run the same rounds and then more."""
    plans = [planned(mixed(), units) for units in (1, 2, 4, 8, 16)]
    costs = [plan.objective_microusd_per_hour for plan in plans]
    bounds = [plan.lower_bound_microusd_per_hour for plan in plans]
    assert costs == sorted(costs, reverse=True)
    assert bounds == sorted(bounds)
    assert costs[-1] <= 1.05 * bounds[-1]


def test_prices_times_k() -> None:
    """The same machines, k times the money."""
    dear = tuple(replace(o, price_microusd_per_hour=3 * o.price_microusd_per_hour) for o in OFFERS)
    once, thrice = planned(mixed()), planned(mixed(offers=dear))
    assert thrice.objective_microusd_per_hour == 3 * once.objective_microusd_per_hour
    assert thrice.lower_bound_microusd_per_hour <= 3 * once.objective_microusd_per_hour


def test_resources_times_k() -> None:
    """Pods and machines k times as large: the same plan."""

    def scaled(resources: dict[str, int]) -> dict[str, int]:
        return {name: amount * (1 if name == "pods" else 5) for name, amount in resources.items()}

    given = mixed()
    large = replace(
        given,
        pods=tuple(replace(p, spec=replace(p.spec, requests=scaled(dict(p.spec.requests)))) for p in given.pods),
        offerings=tuple(replace(o, allocatable=scaled(dict(o.allocatable))) for o in given.offerings),
    )
    one, other = planned(given), planned(large)
    assert (one.objective_microusd_per_hour, one.lower_bound_microusd_per_hour) == (
        other.objective_microusd_per_hour,
        other.lower_bound_microusd_per_hour,
    )


def test_a_label_that_no_rule_asks_for_changes_nothing() -> None:
    """Half of a class gets a label of its own: not a byte of the plan differs."""
    given = mixed()
    marked = tuple(replace(p, labels={"release": str(i % 2)}) for i, p in enumerate(given.pods))
    assert planned(replace(given, pods=marked)).launches == planned(given).launches


def test_twice_the_pods_cost_at_most_twice() -> None:
    """Two copies of a plan are a plan, so no bound for twice the pods is above twice the cost of one."""
    assert planned(mixed(26)).lower_bound_microusd_per_hour <= 2 * planned(mixed(13)).objective_microusd_per_hour


def test_an_empty_node_never_makes_the_bound_dearer_than_the_old_plan() -> None:
    """Room that is there already can be left alone."""
    before = planned(mixed())
    free = Node("spare", {"kubernetes.io/hostname": "spare"}, (), dict(OFFERS[2].allocatable), dict(OFFERS[2].allocatable))
    after = planned(mixed(nodes=(free,)))
    assert after.lower_bound_microusd_per_hour <= before.objective_microusd_per_hour
    assert after.objective_microusd_per_hour < before.objective_microusd_per_hour


def test_another_offering_never_raises_what_is_proven_beyond_the_old_plan() -> None:
    """With more to choose from the least cost can only fall."""
    before = planned(mixed(offers=OFFERS[:-2]))
    assert planned(mixed()).lower_bound_microusd_per_hour <= before.objective_microusd_per_hour


@pytest.mark.parametrize("count", [70, 200])
def test_zone_spread_is_kept_at_sizes_beyond_the_exact_model(count: int) -> None:
    """Standing nodes in three zones make three domains; the split keeps them even, and the bound knows it."""
    zones = ("z-a", "z-b", "z-c")
    nodes = tuple(
        Node(
            f"n-{z}",
            {"kubernetes.io/hostname": f"n-{z}", "topology.kubernetes.io/zone": z},
            (),
            {"cpu": 100, "pods": 9},
            {"cpu": 100, "pods": 9},
        )
        for z in zones
    )
    offers = tuple(offering(f"{z}4", 4, 0.10 + 0.05 * i, z) for i, z in enumerate(zones))
    waiting = pods("web", count, 0.9, labels={"app": "web"}, spread=spread())
    plan = planned(problem(waiting, offers, nodes))
    assert not plan.unplaced
    assert plan.objective_microusd_per_hour <= 1.06 * plan.lower_bound_microusd_per_hour
    cheapest_only = -(-count // 4) * 100_000
    assert plan.lower_bound_microusd_per_hour > cheapest_only


def test_existing_room_is_used_before_money_is_spent() -> None:
    """A free node takes what it can, jointly with what must be bought."""
    free = Node(
        "free",
        {"kubernetes.io/hostname": "free"},
        (),
        {"cpu": 8000, "memory": 64 << 30, "pods": 50},
        {"cpu": 8000, "memory": 64 << 30, "pods": 50},
    )
    waiting: tuple[Pod, ...] = (*pods("web", 90, 0.5), pod("big", 3))
    plan = planned(problem(waiting, OFFERS, (free,)))
    cpu = {p.key: p.spec.requests["cpu"] for p in waiting}
    assert sum(cpu[placement.pod] for placement in plan.placements) == 8000
