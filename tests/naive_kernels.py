"""Slow, plain twins of the solver's kernels, written from their contracts, and small random packings to try both on."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import cache

import numpy as np
from ortools.sat.python import cp_model

from packer.arrays import Ints, Packing, SideRows, empty_side

HOUR = 1_000_000
"""A dollar an hour, in micro-dollars."""


def random_packing(seed: int, *, devices: bool = False, plain: bool = False) -> Packing:
    """Up to four classes of up to four items and five bin kinds, small enough to enumerate; ``plain``: without any side constraint."""
    draw = np.random.default_rng(seed)
    classes, resources, kinds = int(draw.integers(1, 5)), int(draw.integers(1, 4)), int(draw.integers(1, 6))
    on = 0.0 if plain else 1.0
    demand = draw.integers(0, 9, (classes, resources))
    demand[:, 0] = np.maximum(1, demand[:, 0])
    cap = draw.integers(4, 20, (kinds, resources))
    if devices:
        demand[:, -1] = draw.choice([2, 3, 4, 5, 6, 7, 10, 20], classes)
        cap[:, -1] = draw.choice([10, 20, 30], kinds)
    most = np.where(draw.random((classes, kinds)) < 0.2 * on, draw.integers(0, 2, (classes, kinds)), 50)
    adder = np.where(draw.random((classes, kinds)) < 0.3 * on, draw.integers(0, 50_000, (classes, kinds)), 0)
    clash = np.triu(draw.random((classes, classes)) < 0.2 * on, 1)
    existing = np.arange(kinds) < int(draw.integers(0, 2) * (kinds > 1) * on)
    price = np.where(existing, 0, draw.integers(1, 1000, kinds) * 1000)
    scarce = existing | (draw.random(kinds) < 0.3 * on)
    group = np.where(scarce, np.cumsum(scarce) - 1, -1)
    limits = int(draw.integers(0, 2) * on)
    return Packing(
        demand=_ints(demand),
        count=draw.integers(1, 5, classes),
        weight=draw.integers(1, 3, classes) if on else np.ones(classes, np.int64),
        tier=draw.integers(0, 2, classes) if on else np.zeros(classes, np.int64),
        cap=_ints(cap),
        price=_ints(price),
        most=_ints(most),
        adder=_ints(adder),
        clash=clash | clash.T,
        needs=np.zeros((classes, classes), np.bool_),
        needs_met=np.zeros((classes, kinds), np.bool_),
        stock_group=_ints(group),
        stock=draw.integers(1, 4, int(scarce.sum())),
        limit_use=_ints(np.where(existing, 0, draw.integers(0, 5, (limits, kinds)))),
        limit=draw.integers(5, 30, limits),
        cell=draw.integers(0, 2, kinds),
        existing=existing,
        device_resource=resources - 1 if devices else -1,
        device_size=10 if devices else 1,
    )


def random_side(packing: Packing, seed: int) -> SideRows:
    """One random row over classes and two cells, with one auxiliary value; every other time none."""
    draw = np.random.default_rng(1000 + seed)
    classes = len(packing.count)
    if draw.random() < 0.5:
        return empty_side(classes, 2)
    zero, three = np.zeros(1, np.int64), np.full(1, 3, np.int64)
    return SideRows(draw.integers(-1, 2, (1, classes, 2)), draw.integers(-1, 2, (1, 1)), draw.integers(0, 4, 1), zero, three)


def patterns(packing: Packing, kind: int) -> Iterator[Ints]:
    """Every pattern that fits a bin of the kind, the empty one too."""
    most = np.minimum(packing.count, packing.most[:, kind])
    for numbers in itertools.product(*(range(int(m) + 1) for m in most)):
        pattern = np.array(numbers, np.int64)
        held = np.flatnonzero(pattern)
        if (pattern @ packing.demand > packing.cap[kind]).any() or packing.clash[np.ix_(held, held)].any():
            continue
        if packing.device_resource < 0 or seats(packing, kind, pattern):
            yield pattern


def seats(packing: Packing, kind: int, pattern: Ints) -> bool:
    """Whether the pattern's shares can be seated on the bin's devices, by trying everything."""
    size = packing.device_size
    count, rest = divmod(int(packing.cap[kind, packing.device_resource]), size)
    takes = [int(packing.demand[c, packing.device_resource]) for c in range(len(pattern)) for _ in range(int(pattern[c]))]
    whole = sum(t // size for t in takes if t > size)
    shares = sorted((t for t in takes if 0 < t <= size), reverse=True)

    @cache
    def place(i: int, free: tuple[int, ...]) -> bool:
        if i == len(shares):
            return True
        rooms = {f for f in free if f >= shares[i]}
        return any(place(i + 1, tuple(sorted([*(_without(free, f)), f - shares[i]]))) for f in rooms)

    return whole <= count and place(0, tuple(sorted([size] * (count - whole) + [rest] * (rest > 0))))


def _without(values: tuple[int, ...], one: int) -> list[int]:
    left = list(values)
    left.remove(one)
    return left


def fewest_unplaced(packing: Packing, side: SideRows) -> tuple[Ints, int]:
    """The least pods unplaced by tier, the most urgent first, and the least cost at these counts."""
    allowed = np.array(
        [int((packing.count * packing.weight)[packing.tier == k].sum()) for k in range(int(packing.tier.max()) + 1)], np.int64
    )
    for k in range(len(allowed)):
        allowed[k] = _solve(packing, side, allowed, k)
    return allowed, _solve(packing, side, allowed, None)


def optimum(packing: Packing, side: SideRows, allowed: Ints) -> int:
    """The least cost of a plan that leaves at most ``allowed`` pods of each tier unplaced, over all patterns, by CP-SAT."""
    return _solve(packing, side, allowed, None)


def _solve(p: Packing, side: SideRows, allowed: Ints, tier: int | None) -> int:
    """Least cost, or (``tier``) least unplaced pods of a tier."""
    columns = [(b, a) for b in range(len(p.price)) for a in patterns(p, b) if a.any()]
    model = cp_model.CpModel()
    bins = [model.new_int_var(0, int(p.count.sum()), "") for _ in columns]
    left = [model.new_int_var(0, int(n), "") for n in p.count]
    aux = [model.new_int_var(int(low), int(high), "") for low, high in zip(side.aux_low, side.aux_high, strict=True)]
    for c in range(len(p.count)):
        model.add(sum(int(a[c]) * x for x, (_, a) in zip(bins, columns, strict=True)) + left[c] == int(p.count[c]))
    unplaced = [sum(int(p.weight[c]) * left[c] for c in np.flatnonzero(p.tier == k)) for k in range(len(allowed))]
    for k, most in enumerate(allowed):
        model.add(unplaced[k] <= int(most))
    for g, stock in enumerate(p.stock):
        model.add(sum(x for x, (b, _) in zip(bins, columns, strict=True) if p.stock_group[b] == g) <= int(stock))
    for row, limit in enumerate(p.limit):
        model.add(sum(int(p.limit_use[row, b]) * x for x, (b, _) in zip(bins, columns, strict=True)) <= int(limit))
    for m in range(len(side.rhs)):
        placed = sum(int(side.coef[m, :, p.cell[b]] @ a) * x for x, (b, a) in zip(bins, columns, strict=True))
        model.add(placed + sum(int(f) * v for f, v in zip(side.aux[m], aux, strict=True)) <= int(side.rhs[m]))
    cost = sum(int(p.price[b] + a @ p.adder[:, b]) * x for x, (b, a) in zip(bins, columns, strict=True))
    model.minimize(cost if tier is None else unplaced[tier])
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    assert solver.solve(model) == cp_model.OPTIMAL
    return round(solver.objective_value)


def dominates(p: Packing, a: int, b: int) -> bool:
    """Is bin kind a at least as good as b in all respects, by the contract of ``kernels.dominance``?"""
    usable = [c for c in range(len(p.count)) if p.most[c, b] > 0 and (p.demand[c] <= p.cap[b]).all()]
    fits = [
        min([int(p.most[c, b]), *(int(p.cap[b, r] // p.demand[c, r]) for r in range(p.cap.shape[1]) if p.demand[c, r])]) for c in usable
    ]
    return bool(
        not p.existing[a]
        and not p.existing[b]
        and p.cell[a] == p.cell[b]
        and (p.cap[a] >= p.cap[b]).all()
        and p.price[a] <= p.price[b]
        and (p.limit_use[:, a] <= p.limit_use[:, b]).all()
        and p.stock_group[a] in (-1, p.stock_group[b])
        and all(p.most[c, a] >= n and p.adder[c, a] <= p.adder[c, b] for c, n in zip(usable, fits, strict=True))
        and all(p.needs_met[c, a] or not p.needs_met[c, b] or not p.needs[c].any() for c in usable)
    )


def _ints(array: object) -> Ints:
    return np.ascontiguousarray(array, np.int64)
