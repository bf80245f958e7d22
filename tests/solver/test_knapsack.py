"""One bin's pricing problem: its LP, bounds, seats, local search and tree, against enumeration."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.optimize import linprog

from packer import branching, kernels, knapsack
from packer.arrays import Floats, Ints, Packing
from packer.knapsack import Knapsack
from tests import naive_kernels as naive

SEEDS = range(80)


def random_problem(seed: int, *, clash: bool = False, devices: bool = False) -> Knapsack:
    """Up to five classes of up to four items."""
    draw = np.random.default_rng(seed)
    n, dims = int(draw.integers(1, 6)), int(draw.integers(1, 4))
    none = np.zeros(0, np.int64)
    crossed = np.triu(draw.random((n, n)) < 0.3, 1)
    share = draw.choice([0, 2, 3, 4, 5, 6, 7, 10, 20], n) if devices else none
    return Knapsack(
        w=draw.integers(0, 9, (n, dims)),
        cap=draw.integers(3, 20, dims),
        v=draw.integers(-100, 10_000, n),
        upper=draw.integers(0, 5, n),
        clash=crossed | crossed.T if clash else np.zeros((0, 0), np.bool_),
        share=share,
        sharers=np.array(sorted(np.flatnonzero(share), key=lambda j: (-share[j], j)), np.int64),
        free=np.array([10] * int(draw.integers(1, 3)) + [5] * int(draw.integers(0, 2)), np.int64) if devices else none,
        size=10,
    )


def seated(k: Knapsack, x: Ints) -> bool:
    """By the naive twin, which knows packings only."""
    if not len(k.share):
        return True
    packing = naive.random_packing(0)
    n = len(k.v)
    bare = Packing(*packing)._replace(demand=k.share[:, None], cap=np.array([[int(k.free.sum())]]), device_resource=0, device_size=k.size)
    return naive.seats(bare._replace(count=np.zeros(n, np.int64)), 0, x)


def every_pattern(k: Knapsack) -> list[Ints]:
    """All feasible x."""
    found = []
    for numbers in itertools.product(*(range(int(u) + 1) for u in k.upper)):
        x = np.array(numbers, np.int64)
        held = np.flatnonzero(x)
        if (x @ k.w <= k.cap).all() and not (len(k.clash) and k.clash[np.ix_(held, held)].any()) and seated(k, x):
            found.append(x)
    return found


def root(k: Knapsack, entry: np.ndarray | None = None, slack: np.ndarray | None = None) -> tuple[Floats, Floats, Ints, int, int]:
    """λ, LP solution, surrogate row, its K, and the bound."""
    n, dims = k.w.shape
    lam, x, cost = np.zeros(dims), np.zeros(n), np.zeros(n, np.int64)
    entry = np.zeros(n, np.int8) if entry is None else entry
    slack = np.zeros(dims, np.int8) if slack is None else slack
    room = np.maximum(1, k.cap)
    knapsack.relaxation(k.w / room, np.arange(n), np.ones(dims), k.v, k.upper, entry, slack, lam, x)
    lam = np.maximum(0.0, lam) / room
    limit = knapsack.surrogate(k.w, np.arange(n), k.cap, lam, cost)
    return lam, x, cost, limit, knapsack.top_bound(k.v, cost, k.upper, limit)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_relaxation_is_the_lp_cold_and_warm(seed: int) -> None:
    """The bound of most bins is nothing else; a poor multiplier would leave work for the tree that is not there."""
    k = random_problem(seed)
    draw = np.random.default_rng(seed)
    entry, slack = np.zeros(len(k.v), np.int8), np.zeros(len(k.cap), np.int8)
    for _ in range(3):
        *_, top = root(k, entry, slack)
        best = -linprog(-k.v, A_ub=k.w.T, b_ub=k.cap, bounds=[(0, u) for u in k.upper]).fun
        assert best - 1e-6 <= top <= best + 2 + k.upper.sum()
        k = k._replace(v=draw.integers(-100, 10_000, len(k.v)))


@pytest.mark.parametrize("seed", SEEDS)
def test_the_surrogate_row_holds_for_every_pattern(seed: int) -> None:
    """The proof of every bound rests on it, at the edge of what floats can tell too."""
    k = random_problem(seed)
    k = k._replace(w=k.w * (2**53 + 1) // 20, cap=k.cap * (2**53 + 1) // 20)
    _lam, _, cost, limit, top = root(k)
    for x in every_pattern(k):
        assert int(sum(int(c) * int(n) for c, n in zip(cost, x, strict=True))) <= limit
        assert int(k.v @ x) <= top


@pytest.mark.parametrize(("clash", "devices"), [(False, False), (True, False), (False, True), (True, True)])
@pytest.mark.parametrize("seed", SEEDS)
def test_the_tree_finds_and_proves_the_best_pattern(seed: int, clash: bool, devices: bool) -> None:
    """An exact search with a valid bound at whatever point it is cut."""
    k = random_problem(seed, clash=clash, devices=devices)
    lam, _, cost, limit, _top = root(k)
    best = max(int(k.v @ x) for x in every_pattern(k))
    for effort in (1, 200, 10_000_000):
        pool = np.zeros((4, len(k.v)), np.int64)
        value, bound, found, _ = branching.tree(k, cost, limit, lam, 0, effort, 1, pool)
        assert value <= best <= max(bound, 1) + 1
        assert not found or any((pool[0] == x).all() for x in every_pattern(k))
        assert not found or k.v @ pool[0] == value
    assert best <= value + 1
    assert bound <= best + 1
    # With a target just below the best, reduced costs fix much of it.
    value, bound, *_ = branching.tree(k, cost, limit, lam, max(0, best - 10), 10_000_000, 1, np.zeros((4, len(k.v)), np.int64))
    assert value in ((best,) if best > 11 else (0, best))
    assert best <= bound <= max(best, 11)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_target_above_the_optimum_is_proven_out_of_reach(seed: int) -> None:
    """Column generation asks: is there anything worth more than the price? The usual answer is no."""
    k = random_problem(seed)
    lam, _, cost, limit, _top = root(k)
    best = max(int(k.v @ x) for x in every_pattern(k))
    value, bound, found, _ = branching.tree(k, cost, limit, lam, best + 5, 10_000_000, 1, np.zeros((4, len(k.v)), np.int64))
    assert (value, found) == (0, 0)
    assert bound <= best + 6


@pytest.mark.parametrize("seed", range(120))
def test_seats_on_devices(seed: int) -> None:
    """Best fit decreasing misses some seatings; what it misses, search must find, and what it calls impossible must be."""
    draw = np.random.default_rng(seed)
    k = random_problem(seed, devices=True)
    x = draw.integers(0, 4, len(k.v))
    verdict = knapsack.seating(k, x)
    assert verdict != knapsack.UNKNOWN
    assert (verdict == knapsack.YES) == seated(k, x)


@pytest.mark.parametrize(("clash", "devices"), [(False, False), (True, True)])
@pytest.mark.parametrize("seed", SEEDS)
def test_filling_and_swapping_stay_feasible_and_never_lose(seed: int, clash: bool, devices: bool) -> None:
    """Their patterns become columns, hence plans."""
    k = random_problem(seed, clash=clash, devices=devices)
    x, room = np.zeros(len(k.v), np.int64), k.cap.copy()
    knapsack.pour(k, np.arange(len(k.v)), k.upper, x, room)
    before = int(k.v @ x)
    knapsack.swap(k, x, room, 1_000_000)
    assert int(k.v @ x) >= before
    assert (room == k.cap - x @ k.w).all()
    assert any((x == y).all() for y in every_pattern(k))


def test_sorting_is_stable() -> None:
    """Ties by index, or plans would depend on the sorting routine."""
    draw = np.random.default_rng(0)
    for n in (0, 1, 2, 7, 100):
        key = draw.integers(0, 5, n).astype(float)
        order = np.zeros(n, np.int64)
        kernels.sort_by(key, order)
        assert order.tolist() == np.argsort(key, kind="stable").tolist()
