"""The judge against brute force: what a plain twin proves to be the best plan passes without a word, at the price the twin computes."""

from __future__ import annotations

import random

from hypothesis import given, settings

from packer.check import Code, check_plan
from packer.model import Problem
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
