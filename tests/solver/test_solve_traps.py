"""Traps by name: small problems on which a plausible shortcut gives a plan that is wrong, or dearer than it need be."""

from __future__ import annotations

from collections import Counter

import pytest

from packer.check import check_plan
from packer.model import HOSTNAME, ZONE, Gang, Plan, PodAffinityTerm, Problem, SpreadConstraint, Status
from packer.solve import Budget, solve
from tests.solver.worlds import matching, near, node, offering, pod, pods, problem, spread


def planned(given: Problem) -> Plan:
    """A plan that the judge accepts."""
    plan = solve(given, Budget(units=0)).plan
    assert check_plan(given, plan) == ()
    return plan


def types(plan: Plan) -> dict[str, int]:
    return dict(Counter(launch.offering.instance_type for launch in plan.launches))


def unplaced(plan: Plan) -> list[str]:
    return [entry.pod.split("/")[1] for entry in plan.unplaced]


def test_hostname_spread_of_four_takes_two_nodes_with_two_each() -> None:
    """The skew is against the emptiest node that exists, so maxSkew 1 is no cap of one a node."""
    plan = planned(problem(pods("web", 4, labels={"app": "web"}, spread=spread(HOSTNAME)), (offering("c2", 2, 0.10),)))
    assert types(plan) == {"c2": 2}
    assert plan.status is Status.OPTIMAL


def test_a_zone_that_the_plan_opens_becomes_a_domain() -> None:
    """Buying part of the pods' room in a second zone would leave that zone short: one zone holds all, or both their share."""
    offers = (offering("a4", 4, 0.20, "z-a"), offering("b1", 1, 0.01, "z-b", available_count=1))
    plan = planned(problem(pods("web", 4, labels={"app": "web"}, spread=spread()), offers))
    assert types(plan) == {"a4": 1}
    assert not plan.unplaced


def test_a_skew_that_exists_already_does_not_block_the_emptier_node() -> None:
    """5/0 on two nodes breaks maxSkew 1 before anything is placed; new pods still go to the empty one."""
    held = pods("old", 5, 0.1, labels={"app": "web"})
    nodes = (node("full", 8, holds=held), node("empty", 8))
    plan = planned(problem(pods("web", 3, labels={"app": "web"}, spread=spread(HOSTNAME)), (offering("c2", 2, 0.10),), nodes))
    assert {placement.node for placement in plan.placements} == {"empty"}
    assert len(plan.placements) == 3


def test_cpu_pods_do_not_fill_the_cores_that_gpu_pods_need() -> None:
    """First fit onto free room would force a second GPU machine; solved jointly, the cpu pods get a cheap machine of their own."""
    gpu = {"nvidia.com/gpu": 1}
    nodes = (node("gpu-node", 4, resources=gpu),)
    offers = (offering("g4", 4, 1.00, resources=gpu), offering("c4", 4, 0.10))
    plan = planned(problem((pod("train", 3, resources=gpu), *pods("web", 3)), offers, nodes))
    assert types(plan) == {"c4": 1}
    assert {p.pod: p.node for p in plan.placements}["default/train"] == "gpu-node"


def test_fewer_domains_than_min_domains_hold_the_minimum_at_zero() -> None:
    """With minDomains 3 and two zones to be had, no zone may hold more than maxSkew."""
    offers = (offering("a4", 4, 0.10, "z-a"), offering("b4", 4, 0.10, "z-b"))
    plan = planned(problem(pods("web", 4, labels={"app": "web"}, spread=spread(min_domains=3)), offers))
    assert len(unplaced(plan)) == 2
    assert types(plan) == {"a4": 1, "b4": 1}


def test_one_urgent_pod_comes_before_four_others() -> None:
    """One machine is to be had; four pods of tier 0 would be more pods, but the urgent one comes first."""
    waiting = (pod("urgent", 4, priority=1000), *pods("batch", 4))
    plan = planned(problem(waiting, (offering("c4", 4, 0.10, available_count=1),)))
    assert unplaced(plan) == [f"batch-{i}" for i in range(4)]


def test_a_tier_fixes_later_ones_by_its_count_not_by_its_machines() -> None:
    """The urgent pod alone would take the small machine; together with the rest it is cheaper on the large one."""
    waiting = (pod("urgent", 1, priority=10), *pods("batch", 3))
    plan = planned(problem(waiting, (offering("c1", 1, 0.06), offering("c4", 4, 0.10))))
    assert types(plan) == {"c4": 1}


def test_gang_below_its_minimum_buys_nothing() -> None:
    """Two GPU machines cannot start a gang of three, but they start a pair."""
    gpu = {"nvidia.com/gpu": 1}
    waiting = (*pods("big", 3, resources=gpu, gang=Gang("big", 3)), *pods("pair", 2, resources=gpu, gang=Gang("pair", 2)))
    plan = planned(problem(waiting, (offering("g1", 4, 0.50, resources=gpu, available_count=2),)))
    assert unplaced(plan) == ["big-0", "big-1", "big-2"]
    assert types(plan) == {"g1": 2}


def test_gang_may_start_with_its_minimum() -> None:
    """minMember below the size: what fits beyond the minimum is placed too, the rest waits."""
    plan = planned(problem(pods("ring", 4, 2, gang=Gang("ring", 2)), (offering("c6", 6, 0.30, available_count=1),)))
    assert len(unplaced(plan)) == 1


def test_self_affinity_starts_anywhere_and_then_stays_together() -> None:
    """No running pod matches yet, so the first may start; the others join it on one machine."""
    plan = planned(problem(pods("ring", 3, labels={"app": "web"}, affinity=near()), (offering("c2", 2, 0.06), offering("c4", 4, 0.10))))
    assert types(plan) == {"c4": 1}


def test_affinity_to_nobody_is_not_worth_a_machine() -> None:
    """A pod that wants company which neither runs nor waits stays pending, and nothing is bought for it."""
    plan = planned(problem((pod("lonely", affinity=near(app="cache")),), (offering("c2", 2, 0.06),)))
    assert unplaced(plan) == ["lonely"]
    assert plan.status is Status.INFEASIBLE


def test_zone_affinity_to_another_group_follows_it() -> None:
    """The followers' own zone would be cheaper, but their leader can only be where its selector says."""
    leader = pod("leader", labels={"app": "db"}, selector=matching(**{ZONE: "z-b"}).requirements)
    followers = pods("app", 2, affinity=near(ZONE, app="db"))
    offers = (offering("a4", 4, 0.05, "z-a"), offering("b4", 4, 0.20, "z-b"))
    plan = planned(problem((leader, *followers), offers))
    assert types(plan) == {"b4": 1}


def test_anti_affinity_of_a_running_pod_holds_for_newcomers() -> None:
    """Symmetry: the pod that runs, not the one that waits, carries the rule."""
    shy = pod("shy", 0.5, anti_affinity=near(app="web"))
    plan = planned(problem((pod("web-0", labels={"app": "web"}),), (offering("c2", 2, 0.06),), (node("n", 8, holds=(shy,)),)))
    assert types(plan) == {"c2": 1}


def test_spread_selector_that_misses_its_own_pods() -> None:
    """Such a rule counts others only, and its outcome depends on the order of binding; the plan must still be one that can be bound."""
    rule = (SpreadConstraint(ZONE, 1, matching(app="other")),)
    waiting = (*pods("web", 3, labels={"app": "web"}, spread=rule), *pods("other", 2, labels={"app": "other"}))
    offers = (offering("a4", 4, 0.10, "z-a"), offering("b4", 4, 0.10, "z-b"))
    assert not planned(problem(waiting, offers)).unplaced


@pytest.mark.parametrize("key", [HOSTNAME, ZONE])
def test_two_groups_that_wait_for_each_other_never_start(key: str) -> None:
    """Each wants a pod of the other to be there first; nothing is bought, and the judge has nothing to refuse."""
    waiting = (
        *pods("a", 3, labels={"app": "a"}, affinity=near(key, app="b")),
        *pods("b", 3, labels={"app": "b"}, affinity=near(key, app="a")),
    )
    plan = planned(problem(waiting, (offering("c4", 4, 0.10),)))
    assert plan.status is Status.INFEASIBLE


def test_a_skew_beyond_any_integer_of_the_machine() -> None:
    """It never binds; nothing overflows."""
    plan = planned(problem(pods("web", 3, labels={"app": "web"}, spread=spread(HOSTNAME, 10**30)), (offering("c4", 4, 0.10),)))
    assert types(plan) == {"c4": 1}


@pytest.mark.parametrize("count", [2, 3])
def test_zone_anti_affinity_allows_one_a_zone(count: int) -> None:
    """Two zones hold two such pods, whatever room they have."""
    apart = (PodAffinityTerm(ZONE, matching(app="web"), ("default",)),)
    offers = (offering("a4", 4, 0.10, "z-a"), offering("b4", 4, 0.30, "z-b"))
    plan = planned(problem(pods("web", count, labels={"app": "web"}, anti_affinity=apart), offers))
    assert types(plan) == {"a4": 1, "b4": 1}
    assert len(plan.unplaced) == count - 2


def test_memory_beyond_double_precision_is_exact() -> None:
    """2^53 + 1 bytes do not fit into 2^53, which floats cannot tell apart."""
    large = pod("large", 1, resources={"memory": 2**53 + 1})
    offers = (offering("even", 4, 0.10, resources={"memory": 2**53}), offering("odd", 4, 0.20, resources={"memory": 2**53 + 1}))
    assert types(planned(problem((large,), offers))) == {"odd": 1}
