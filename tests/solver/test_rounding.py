"""Where the search starts: plans scaled up from small ones, and roundings of fractional plans."""

from __future__ import annotations

import numpy as np
import pytest

from packer import kernels, rounding, search
from packer.arrays import Bins, Packing, empty_side
from packer.columns import generate


def plain_packing(seed: int, items: int) -> Packing:
    """Ten classes on eight kinds, no rules but stock on one kind."""
    draw = np.random.default_rng(seed)
    classes, kinds = 10, 8
    demand = np.column_stack([draw.integers(100, 4000, classes), draw.integers(200, 16000, classes), np.ones(classes, np.int64)])
    size = np.array([2, 4, 8, 16, 2, 4, 8, 16])
    cap = np.column_stack([size * 960, size * np.where(np.arange(kinds) < 4, 1900, 7800), np.full(kinds, 60)])
    price = size * np.where(np.arange(kinds) < 4, 42_500, 63_000)
    group = np.full(kinds, -1, np.int64)
    group[3] = 0
    count = draw.multinomial(items, draw.dirichlet(np.ones(classes)))
    none = np.zeros((classes, kinds), np.int64)
    return Packing(
        demand=demand,
        count=count,
        weight=np.ones(classes, np.int64),
        tier=np.zeros(classes, np.int64),
        cap=cap,
        price=price,
        most=none + 1_000_000,
        adder=none,
        clash=np.zeros((classes, classes), np.bool_),
        needs=np.zeros((classes, classes), np.bool_),
        needs_met=none > 0,
        stock_group=group,
        stock=np.array([5], np.int64),
        limit_use=np.zeros((0, kinds), np.int64),
        limit=np.zeros(0, np.int64),
        cell=np.zeros(kinds, np.int64),
        existing=np.zeros(kinds, np.bool_),
        device_resource=-1,
        device_size=0,
    )


@pytest.mark.parametrize("items", [50, 3000, 40_000])
def test_the_first_plan_is_complete_valid_and_cheaper_than_greedy(items: int) -> None:
    """Scaling down and up again must lose no item and exceed no stock."""
    packing = plain_packing(items, items)
    plan = rounding.first_plan(packing)
    assert search.feasible(packing, plan) is None
    assert not search.leftover(packing, plan).any()
    greedy, _ = kernels.greedy(packing, kernels.lone_weights(packing), packing.count, 10_000)
    assert search.cost(packing, plan) <= search.cost(packing, greedy)


def test_rounding_comes_close_to_the_fractional_plan() -> None:
    """A fractional plan has no more columns than rows, so that few bins are lost in rounding it."""
    packing = plain_packing(1, 5000)
    found = generate(packing, empty_side(10, 1), rounding.first_plan(packing), np.zeros(1, np.int64), 8)
    plan = rounding.round_columns(packing, found.kinds, found.patterns, found.values, found.weights)
    assert search.feasible(packing, plan) is None
    assert not search.leftover(packing, plan).any()
    assert search.cost(packing, plan) <= 1.04 * found.lower_bound


def test_merged_classes_are_told_apart_again() -> None:
    """The LP may merge classes that only differ in where they may not be: a column's items are shared out among them."""
    packing = plain_packing(2, 400)
    twice = packing._replace(
        **{name: np.repeat(getattr(packing, name), 2, axis=0) for name in ("demand", "weight", "tier", "most", "adder", "needs_met")},
        count=np.repeat(packing.count, 2),
        clash=np.zeros((20, 20), np.bool_),
        needs=np.zeros((20, 20), np.bool_),
    )
    merged = packing._replace(count=2 * packing.count)
    found = generate(merged, empty_side(10, 1), None, np.zeros(1, np.int64), 4)
    members = np.repeat(np.arange(10), 2)
    plan = rounding.round_columns(twice, found.kinds, found.patterns, found.values, found.weights[members], members)
    assert search.feasible(twice, plan) is None
    assert not search.leftover(twice, plan).any()
    assert search.cost(twice, plan) <= 1.15 * found.lower_bound


def test_patterns_that_the_packing_refuses_are_left_out() -> None:
    """The LP does not see needs: a pattern that breaks one must not come through."""
    packing = plain_packing(3, 200)
    needs = packing.needs.copy()
    needs[0, 1] = True
    packing = packing._replace(needs=needs, count=np.maximum(packing.count, 1))
    pattern = np.zeros((1, 10), np.int64)
    pattern[0, 0] = 1
    plan = rounding.round_columns(packing, np.array([7]), pattern, np.array([3.0]), kernels.lone_weights(packing))
    assert search.feasible(packing, plan) is None


def test_a_start_that_is_cheaper_than_every_rounding_is_kept() -> None:
    """Rounding competes with what was there."""
    packing = plain_packing(4, 300)
    start = rounding.first_plan(packing)
    none = np.zeros((0, 10), np.int64)
    kept = rounding.round_columns(packing, np.zeros(0, np.int64), none, np.zeros(0), kernels.lone_weights(packing), start=start)
    assert isinstance(kept, Bins)
    assert search.cost(packing, kept) <= search.cost(packing, start)
