"""The judge against brute force: what a plain twin proves to be the best plan passes without a word, at the price the twin computes."""

from __future__ import annotations

import random

from hypothesis import given, settings

from packer.check import Code, check_plan
from packer.model import Limits, Pod, Problem
from tests import naive
from tests.plans import plan_of
from tests.strategies import problems, random_problem


def judge(problem: Problem) -> None:
    try:
        best = naive.brute_force(problem, steps=3_000)
    except naive.TooLargeError:
        return
    offerings = {offering.key: offering for offering in problem.offerings}
    plan = plan_of(problem, [(offerings[key], pods) for key, pods in best.launches], dict(best.placements))
    assert plan.objective_microusd_per_hour == best.objective
    assert [v for v in check_plan(problem, plan) if v.code != Code.STATUS or not problem.pods] == []


@settings(max_examples=60, deadline=None)
@given(problems(pods=4, offerings=3, nodes=2))
def test_best_plan_passes(problem: Problem) -> None:
    """Two independent readings of every rule meet here: refusing the optimum, or pricing it otherwise, would be a fault of one of them."""
    judge(problem)


def test_best_plan_passes_on_plain_seeds() -> None:
    """Fuller cases than Hypothesis likes to draw, with shares of devices among them."""
    for seed in range(60):
        judge(random_problem(random.Random(seed), pods=5, offerings=3, nodes=2, devices=seed % 5 == 0))


def random_plan(problem: Problem, rng: random.Random) -> tuple[list[tuple[Pod, naive.Spot]], naive.World]:
    """Pods here and there, mostly where nothing static forbids it."""
    launches = {f"new-{i}": rng.choice(problem.offerings) for i in range(rng.randint(0, 3))}
    world = naive.world_of(problem, launches)
    wanted: list[tuple[Pod, naive.Spot]] = []
    for pod in problem.pods:
        good = [spot for spot in world.spots if not naive.why_not(world, pod, spot)]
        choice = good if good and rng.random() < 0.9 else world.spots
        if choice and rng.random() < 0.8:
            spot = rng.choice(choice)
            spot.added.append(pod)
            wanted.append((pod, spot))
    for pod, spot in wanted:
        spot.added.remove(pod)
    used = {spot.name for _, spot in wanted}
    world.spots = [spot for spot in world.spots if not spot.new or spot.name in used]
    return wanted, world


def sound(problem: Problem, wanted: list[tuple[Pod, naive.Spot]], world: naive.World) -> bool:
    """The twin's verdict on everything but leftovers and sums."""
    for pod, spot in wanted:
        if spot.offering is not None:
            ceiling = pod.spec.max_price_microusd_per_hour
            if ceiling is not None and spot.offering.price_microusd_per_hour > ceiling:
                return False
            if naive.alternative_of(problem.policy, pod, spot.offering) is None:
                return False
    for offering in problem.offerings:
        bought = sum(spot.offering is offering for spot in world.spots)
        if offering.available_count is not None and bought > offering.available_count:
            return False
    gangs = [(pod.namespace, pod.gang.name, pod.gang.minimum) for pod, _ in wanted if pod.gang]
    if any(sum(g[:2] == gang[:2] for g in gangs) < gang[2] for gang in gangs):
        return False
    return naive.limits_ok(problem, world, wanted) and naive.can_be_bound(world, wanted)


def leftover(problem: Problem, wanted: list[tuple[Pod, naive.Spot]], world: naive.World) -> bool:
    """Whether some pod outside gangs would still be bound to a node that its policy permits without touching an alternative's limit."""
    known = {offering.key: offering for offering in problem.offerings}
    keys = {node.name: node.offering for node in problem.nodes}
    placed = {pod.key for pod, _ in wanted}
    for pod, spot in wanted:
        spot.added.append(pod)
    found = False
    for pod in problem.pods:
        for spot in world.spots if pod.key not in placed and pod.gang is None else ():
            key = keys.get(spot.name)
            offering = spot.offering if spot.new else known.get(key) if key else None
            served = naive.alternative_of(problem.policy, pod, offering) if offering else None
            ceiling = pod.spec.max_price_microusd_per_hour
            dear = offering is not None and ceiling is not None and offering.price_microusd_per_hour > ceiling
            barred = spot.new and (served is None or dear)
            limited = served is not None and served.limits != Limits()
            found = found or not (barred or limited or naive.why_not(world, pod, spot))
    for pod, spot in wanted:
        spot.added.remove(pod)
    return found


def test_judge_and_twin_give_the_same_verdict_on_random_plans() -> None:
    """Valid and invalid plans alike: whatever the twin accepts the judge accepts, and nothing more."""
    verdicts = []
    for seed in range(400):
        rng = random.Random(seed)
        problem = random_problem(rng, pods=5, offerings=3, nodes=2, devices=seed % 5 == 0)
        wanted, world = random_plan(problem, rng)
        new = [spot for spot in world.spots if spot.new]
        bought = [(spot.offering, [pod.key for pod, where in wanted if where is spot]) for spot in new if spot.offering]
        plan = plan_of(problem, bought, {pod.key: spot.name for pod, spot in wanted if not spot.new}, names=[spot.name for spot in new])
        broken = {violation.code for violation in check_plan(problem, plan)} - {Code.LEFTOVER}
        expected = sound(problem, wanted, world)
        assert (not broken) == expected, (seed, broken)
        if expected:
            over = any(v.code == Code.LEFTOVER for v in check_plan(problem, plan))
            assert over == leftover(problem, wanted, world), seed
        verdicts.append(expected)
    assert 100 < sum(verdicts) < 300
