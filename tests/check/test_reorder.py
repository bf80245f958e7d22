"""Plans that some order can bind are found bindable, also where spread rules count other pods than their own."""

from __future__ import annotations

import random

import pytest

from packer.model import Launch, Plan, Problem, Status
from packer.order import placement_order
from packer.rules import State
from perf import generators
from perf.peers import ffd
from perf.peers.run import peer_plan
from tests.solver.worlds import offering

OFFERS = [offering(f"c{cpu}-{zone}", cpu, cpu / 20, zone) for zone in ("a", "b", "c") for cpu in (4, 16)]


def bound_one_by_one(seed: int, pods: int) -> tuple[Problem, Plan]:
    """Pods in a random order, each onto a random node that takes it: an order exists, and it is not handed over."""
    rng = random.Random(seed)
    problem = Problem(generators.diverse(pods, seed), (), tuple(OFFERS))
    state = State.of(problem)
    names = [f"n{i:03d}" for i in range(pods // 4)]
    chosen = {name: rng.choice(OFFERS) for name in names}
    for name in names:
        state.launch(name, chosen[name])
    held: dict[str, list[str]] = {name: [] for name in names}
    for pod in sorted(problem.pods, key=lambda _: rng.random()):
        takers = [name for name in names if not state.why_not(pod, name)]
        if takers:
            held[name := rng.choice(takers)].append(pod.key)
            state.place(pod, name)
    launches = tuple(Launch(name, chosen[name].key, chosen[name].price_microusd_per_hour, tuple(sorted(held[name]))) for name in names)
    return problem, Plan(Status.FEASIBLE, launches, (), (), (), (), 0, 0, 0)


@pytest.mark.parametrize("seed", range(8))
def test_a_plan_that_was_bound_one_by_one_can_be_bound(seed: int) -> None:
    """The judge must not refuse what kube-scheduler could do; every step of the order it names is allowed when it is taken."""
    problem, plan = bound_one_by_one(seed, 240)
    order = placement_order(problem, plan)
    assert order.refusals == ()
    assert len(order.steps) == sum(len(launch.pods) for launch in plan.launches)


def test_the_order_is_the_same_every_time() -> None:
    """No clock and no hash order decides."""
    problem, plan = bound_one_by_one(1, 240)
    assert placement_order(problem, plan).steps == placement_order(problem, plan).steps


@pytest.mark.parametrize("seed", range(3))
def test_first_fit_decreasing_is_judged_bindable(seed: int) -> None:
    """Plans of others come without an order."""
    problem = Problem(generators.diverse(300, seed), (), tuple(OFFERS))
    run = ffd.run(problem)
    assert placement_order(problem, run.plan).refusals == ()


def test_only_who_is_stuck_is_refused() -> None:
    """One pod of an affinity group in a zone of its own is one refusal, however many other pods have rules."""
    problem, plan = bound_one_by_one(2, 240)
    group = [pod for pod in problem.pods if pod.spec.affinity]
    value = group[0].labels["my-affinity"]
    zone_of = {key: launch.offering.zone for launch in plan.launches for key in launch.pods}
    members = [pod.key for pod in group if pod.labels["my-affinity"] == value and pod.key in zone_of]
    moved, home = members[0], zone_of[members[1]]
    away = next(launch for launch in plan.launches if launch.offering.zone != home)
    bought = [
        (launch.offering, tuple(sorted([*(key for key in launch.pods if key != moved), *([moved] if launch is away else [])])))
        for launch in plan.launches
    ]
    spread_out = peer_plan(problem, bought, {pod.key: "" for pod in problem.pods if pod.key not in zone_of})
    assert "PodAffinity" in {reason.code for refusal in placement_order(problem, spread_out).refusals for reason in refusal.reasons}
    assert len(placement_order(problem, spread_out).refusals) <= 2
