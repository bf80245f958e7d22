"""The neighbourhood search on random packings with every feature: it may only ever make plans better, and must keep every rule."""

from __future__ import annotations

import numpy as np
import pytest
from ortools.sat.python import cp_model

from packer import kernels, search
from packer.arrays import UNLIMITED, Bins, Packing


def random_packing(seed: int, classes: int = 7, kinds: int = 9, *, features: bool = True, devices: bool = False) -> Packing:
    """Items of three resources, bins of many sizes, the last two of which stand already; with ``features`` every other rule too."""
    draw = np.random.default_rng(seed)
    demand = np.column_stack([draw.integers(1, 9, classes), draw.integers(1, 12, classes), np.ones(classes, np.int64)])
    size = draw.integers(1, 6, kinds)
    cap = np.column_stack([size * 8, size * draw.integers(6, 16, kinds), np.full(kinds, 12)])
    price = size * 1000 + draw.integers(0, 300, kinds)
    price[-2:] = 0
    if devices:
        demand[:, 2] = draw.choice([0, 300, 400, 600, 1000, 2000], classes)
        cap[:, 2] = size * 1000
    on = int(features)
    clash = np.triu(draw.random((classes, classes)) < 0.1 * on, 1)
    needs = draw.random((classes, classes)) < 0.06 * on
    most = np.where(draw.random((classes, kinds)) < 0.15 * on, draw.integers(0, 3, (classes, kinds)), UNLIMITED)
    most[:, 0] = UNLIMITED
    group = np.where(draw.random(kinds) < 0.3 * on, draw.integers(0, 2, kinds), -1)
    group[-2:] = [2, 3]
    return Packing(
        demand=demand.astype(np.int64),
        count=draw.integers(1, 12, classes),
        weight=draw.integers(1, 1 + 2 * on + 1, classes),
        tier=draw.integers(0, 1 + on, classes),
        cap=cap.astype(np.int64),
        price=price.astype(np.int64),
        most=most.astype(np.int64),
        adder=(draw.integers(0, 60, (classes, kinds)) * (draw.random((classes, kinds)) < 0.2 * on)).astype(np.int64),
        clash=clash | clash.T,
        needs=needs,
        needs_met=draw.random((classes, kinds)) < 0.3,
        stock_group=group.astype(np.int64),
        stock=np.array([2, 1, 1, 2], np.int64),
        limit_use=(np.where(price > 0, price, 0)[None, :] * on).astype(np.int64),
        limit=np.array([draw.integers(15_000, 60_000)], np.int64),
        cell=np.zeros(kinds, np.int64),
        existing=price == 0,
        device_resource=2 if devices else -1,
        device_size=1000 if devices else 0,
    )


def start_of(packing: Packing) -> tuple[Bins, np.ndarray]:
    weights = kernels.lone_weights(packing)
    return kernels.greedy(packing, weights, packing.count, 1000)[0], weights


def rank(packing: Packing, bins: Bins) -> tuple[tuple[int, ...], int]:
    return tuple(search.lost_pods(packing, search.leftover(packing, bins)).tolist()), search.cost(packing, bins)


def same(one: Bins, other: Bins) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize("devices", [False, True])
@pytest.mark.parametrize("seed", range(12))
def test_keeps_every_rule_and_is_never_worse_than_its_start(seed: int, devices: bool) -> None:
    """Clashes, needs, stock, limits, tiers, free bins, adders and devices: a plan that breaks one is worthless."""
    packing = random_packing(seed, devices=devices)
    start, weights = start_of(packing)
    found, _ = search.improve(packing, start, weights, budget=1, seed=seed)
    assert search.feasible(packing, found) is None
    assert rank(packing, found) <= rank(packing, start)


def test_a_larger_budget_is_never_dearer() -> None:
    """The path of a small budget is the beginning of a large one's; only the best plan met is handed out."""
    packing = random_packing(3, classes=12, kinds=12)
    start, weights = start_of(packing)
    ranks = [rank(packing, search.improve(packing, start, weights, budget=units)[0]) for units in (1, 2, 4)]
    assert ranks == sorted(ranks, reverse=True)


def test_continuing_a_search_is_the_same_as_a_larger_budget() -> None:
    """Rounds of work must not depend on how they are cut."""
    packing = random_packing(5, classes=12, kinds=12)
    start, weights = start_of(packing)
    cut = search.Search(packing, start, weights, seed=1)
    cut.run(1)
    cut.run(1)
    whole, _ = search.improve(packing, start, weights, budget=2, seed=1)
    assert rank(packing, cut.best) == rank(packing, whole)


def test_the_same_seed_gives_the_same_plan() -> None:
    """Plans have digests."""
    packing = random_packing(8, devices=True)
    start, weights = start_of(packing)
    assert same(search.improve(packing, start, weights, budget=1, seed=4)[0], search.improve(packing, start, weights, budget=1, seed=4)[0])


def test_stops_at_the_bound() -> None:
    """Work after the optimum is proven would be wasted."""
    packing = random_packing(2, features=False)
    start, weights = start_of(packing)
    found, work = search.improve(packing, start, weights, lower_bound=search.cost(packing, start), budget=4)
    assert work == 0
    assert search.cost(packing, found) == search.cost(packing, start)


def optimum(packing: Packing, slots: int) -> int:
    """CP-SAT over slots × kinds, for packings without features."""
    model = cp_model.CpModel()
    classes, kinds = packing.most.shape
    open_ = [[model.new_bool_var("") for _ in range(kinds)] for _ in range(slots)]
    held = [[model.new_int_var(0, int(packing.count[c]), "") for c in range(classes)] for _ in range(slots)]
    for s in range(slots):
        model.add(sum(open_[s]) <= 1)
        for r in range(packing.cap.shape[1]):
            model.add(
                sum(int(packing.demand[c, r]) * held[s][c] for c in range(classes))
                <= sum(int(packing.cap[b, r]) * open_[s][b] for b in range(kinds))
            )
    for b in np.flatnonzero(packing.existing):
        model.add(sum(open_[s][b] for s in range(slots)) <= int(packing.stock[packing.stock_group[b]]))
    for c in range(classes):
        model.add(sum(held[s][c] for s in range(slots)) == int(packing.count[c]))
    model.minimize(sum(int(packing.price[b]) * open_[s][b] for s in range(slots) for b in range(kinds)))
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.max_deterministic_time = 20.0
    assert solver.solve(model) in (cp_model.OPTIMAL, cp_model.FEASIBLE)
    return round(solver.best_objective_bound)


def test_finds_the_optimum_of_small_packings() -> None:
    """A neighbourhood search proves nothing, but on a dozen items it should miss the optimum rarely and by little."""
    gaps = []
    for seed in range(6):
        packing = random_packing(100 + seed, classes=4, kinds=5, features=False)
        packing = packing._replace(count=np.minimum(packing.count, 4))
        start, weights = start_of(packing)
        found, _ = search.improve(packing, start, weights, budget=2)
        least = optimum(packing, int(start.times.sum()) + 3)
        gaps.append(search.cost(packing, found) / max(1, least) - 1)
        assert search.cost(packing, found) >= least
    assert sorted(gaps)[4] <= 1e-9
    assert max(gaps) <= 0.05


def test_compact_and_expand_keep_the_plan() -> None:
    """Rows may come in any order and split in any way; the canonical form is one."""
    packing = random_packing(1)
    start, _ = start_of(packing)
    bins = search.compact(start)
    shuffled = Bins(*(field[::-1] for field in search.expand(bins)))
    assert same(search.compact(shuffled), bins)
    assert rank(packing, bins) == rank(packing, start)
