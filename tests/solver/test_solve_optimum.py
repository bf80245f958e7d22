"""The whole recipe against brute force: problems of up to seven pods and six offerings with every kind of constraint."""

from __future__ import annotations

import random

import pytest

from packer.check import check_plan
from packer.dense import build
from packer.model import Problem, Status
from packer.solve import Budget, solve
from tests import naive, strategies

STEPS = 3_000


def worlds(seed: int) -> Problem:
    return strategies.random_problem(random.Random(seed), pods=7, offerings=6)


@pytest.mark.parametrize("first", range(0, 200, 25))
def test_plans_are_optimal_and_bounds_hold(first: int) -> None:
    """Counts by tier, then money, as brute force finds them; the bound is at least 0.95 of the optimum and never above it."""
    judged = 0
    for seed in range(first, first + 25):
        problem = worlds(seed)
        try:
            best = naive.brute_force(problem, steps=STEPS)
        except naive.TooLargeError:
            continue
        plan = solve(problem, Budget(units=4)).plan
        assert check_plan(problem, plan) == (), seed
        left = {entry.pod for entry in plan.unplaced}
        placed = tuple(sum(p.priority == tier and p.key not in left for p in problem.pods) for tier in naive.tiers_of(problem))
        if build(problem).claims_shared:
            # Which of several pods gets a ReadWriteOncePod claim is decided beforehand (docs/input.md): valid, but no promise.
            assert placed <= best.placed, seed
            continue
        judged += 1
        assert (placed, plan.objective_microusd_per_hour) == (best.placed, best.objective), seed
        assert 0.95 * best.objective <= plan.lower_bound_microusd_per_hour <= best.objective, seed
    assert judged > 15


def test_most_small_plans_are_proven_optimal() -> None:
    """Status optimal is said only with proof; small problems mostly get one."""
    statuses = [solve(worlds(seed), Budget(units=4)).plan.status for seed in range(60)]
    assert statuses.count(Status.OPTIMAL) > 30
