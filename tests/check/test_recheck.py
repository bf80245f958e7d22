"""The second proof of the bound: accepts what the solver proves, refuses what was tampered with, and never proves more than the optimum."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from numpy.random import Generator

from packer import columns
from packer.arrays import Certificate, Ints, Packing, SideRows, empty_side
from packer.recheck import check_bound


@dataclass
class Draw:
    """A small random packing with every feature that certificates speak of."""

    rng: Generator
    classes: int = 3
    bins: int = 4
    cells: int = 2
    counts: int = 3
    rich: bool = True
    side_rows: int = field(default=0)

    def packing(self) -> Packing:
        rng, C, B = self.rng, self.classes, self.bins
        demand = rng.integers(1, 6, (C, 2))
        cap = rng.integers(5, 14, (B, 2))
        count = rng.integers(1, self.counts + 1, C)
        fits = np.min(cap[None, :, :] // demand[:, None, :], axis=2)
        clash = np.triu(rng.random((C, C)) < (0.2 if self.rich else 0.0), 1)
        existing = rng.random(B) < (0.3 if self.rich else 0.0)
        group = np.where(existing, np.arange(B), np.where(rng.random(B) < (0.3 if self.rich else 0.0), np.arange(B), -1))
        return Packing(
            demand=demand,
            count=count,
            weight=np.ones(C, np.int64),
            tier=rng.integers(0, 2, C) if self.rich else np.zeros(C, np.int64),
            cap=cap,
            price=np.where(existing, 0, rng.integers(5, 30, B)),
            most=np.minimum(np.where(rng.random((C, B)) < 0.9, fits, 0), count[:, None]),
            adder=rng.integers(0, 3, (C, B)) * (rng.random((C, B)) < 0.3) if self.rich else np.zeros((C, B), np.int64),
            clash=clash | clash.T,
            needs=np.zeros((C, C), np.bool_),
            needs_met=np.zeros((C, B), np.bool_),
            stock_group=group,
            stock=np.ones(B, np.int64),
            limit_use=rng.integers(0, 2, (1, B)) * ~existing if self.rich else np.zeros((0, B), np.int64),
            limit=np.array([2]) if self.rich else np.zeros(0, np.int64),
            cell=rng.integers(0, self.cells, B),
            existing=existing,
            device_resource=-1,
            device_size=1,
        )

    def side(self, packing: Packing) -> SideRows:
        """Rows of the kind that spread makes: items in one cell less a free level in [0, 3] are at most a constant."""
        if not self.side_rows:
            return empty_side(self.classes, int(packing.cell.max()) + 1)
        rng = self.rng
        coef = rng.integers(-1, 2, (self.side_rows, self.classes, int(packing.cell.max()) + 1))
        return SideRows(coef, -rng.integers(0, 2, (self.side_rows, 1)), rng.integers(0, 4, self.side_rows), np.array([0]), np.array([3]))

    def certificate(self, packing: Packing, side: SideRows, allowed: list[int]) -> Certificate:
        """Any class values at all, other values at random with the right signs, and exact pattern bounds."""
        rng, scale = self.rng, 10
        tier = rng.integers(0, 200, 2)
        value = rng.integers(-20, 150, self.classes)
        for c in range(self.classes):
            if allowed[packing.tier[c]]:
                value[c] = min(value[c], tier[packing.tier[c]])
        draft = Certificate(
            scale,
            value,
            rng.integers(0, 60, len(packing.stock)),
            rng.integers(0, 30, len(packing.limit)),
            rng.integers(0, 20, len(side.rhs)),
            tier,
            np.zeros(self.bins, np.int64),
        )
        bounds = np.array([best_pattern(packing, side, draft, b) for b in range(self.bins)])
        rent = np.where(packing.stock_group >= 0, draft.stock_value[packing.stock_group], 0) + draft.limit_value @ packing.limit_use
        short = packing.existing & (bounds > rent)
        draft.stock_value[packing.stock_group[short]] += (bounds - rent)[short]
        return draft._replace(pattern_bound=bounds)


def patterns(packing: Packing, b: int) -> list[Ints]:
    """Every pattern that fits a bin kind."""
    found = []
    for index in np.ndindex(*(int(most) + 1 for most in packing.most[:, b])):
        pattern = np.array(index)
        used = np.flatnonzero(pattern)
        if (pattern @ packing.demand <= packing.cap[b]).all() and not packing.clash[np.ix_(used, used)].any():
            found.append(pattern)
    return found


def best_pattern(packing: Packing, side: SideRows, c: Certificate, b: int) -> int:
    value = c.class_value - c.scale * packing.adder[:, b] - np.tensordot(c.side_value, side.coef[:, :, packing.cell[b]], 1)
    return max(int(pattern @ value) for pattern in patterns(packing, b))


def optimum(packing: Packing, side: SideRows, allowed: list[int]) -> int | None:
    """The least cost of any plan that keeps every row, by trying all; None if there is none."""
    best: list[int | None] = [None]
    every = [[p for p in patterns(packing, b) if p.any()] for b in range(len(packing.price))]

    def go(b: int, first: int, left: Ints, times: Ints, loads: Ints, cost: int) -> None:
        if best[0] is not None and cost >= best[0]:
            return
        if b == len(every):
            if complete(left, times, loads):
                best[0] = cost
            return
        go(b + 1, 0, left, times, loads, cost)
        for i in range(first, len(every[b])):
            pattern = every[b][i]
            if (pattern <= left).all():
                more, load = times.copy(), loads.copy()
                more[b] += 1
                load[:, packing.cell[b]] += pattern
                go(b, i, left - pattern, more, load, cost + int(packing.price[b]) + int(pattern @ packing.adder[:, b]))

    def complete(left: Ints, times: Ints, loads: Ints) -> bool:
        out = [int((left * packing.weight)[packing.tier == k].sum()) for k in range(2)]
        stock = np.bincount(packing.stock_group[packing.stock_group >= 0], times[packing.stock_group >= 0], len(packing.stock))
        rows = np.tensordot(side.coef, loads, 2)
        levels = range(int(side.aux_low[0]), int(side.aux_high[0]) + 1) if len(side.aux_low) else [0]
        level_ok = any((rows + (side.aux[:, 0] * v if side.aux.shape[1] else 0) <= side.rhs).all() for v in levels)
        return (
            all(o <= a for o, a in zip(out, allowed, strict=True))
            and bool((stock <= packing.stock).all())
            and bool((packing.limit_use @ times <= packing.limit).all())
            and level_ok
        )

    go(0, 0, packing.count.copy(), np.zeros(len(every), np.int64), np.zeros((len(packing.count), int(packing.cell.max()) + 1), np.int64), 0)
    return best[0]


@pytest.mark.parametrize("seed", range(30))
def test_no_certificate_proves_more_than_the_optimum(seed: int) -> None:
    """The formula itself: whatever the dual values are, an accepted bound must stay at or below the true least cost."""
    draw = Draw(np.random.default_rng(seed), counts=2, side_rows=seed % 3)
    packing = draw.packing()
    side, allowed = draw.side(packing), [int(n) for n in draw.rng.integers(0, 2, 2)]
    best = optimum(packing, side, allowed)
    result = check_bound(packing, side, draw.certificate(packing, side, allowed), allowed, 0)
    assert result.proven, result.faults
    assert best is None or result.bound <= best


@pytest.mark.parametrize("seed", range(6))
def test_what_column_generation_proves_is_proven_again(seed: int) -> None:
    """Two implementations, one in compiled kernels and one in CP-SAT and whole numbers, must come to the same bound."""
    packing = Draw(np.random.default_rng(seed), classes=6, bins=8, counts=20, rich=seed % 2 == 1).packing()
    allowed = np.array([0, int(packing.count.sum())])
    side = empty_side(6, 2)
    found = columns.generate(packing, side, None, allowed, 4)
    if found.certificate is not None:
        result = check_bound(packing, side, found.certificate, allowed.tolist(), found.lower_bound)
        assert result.proven, result
        assert result.bound >= found.lower_bound


def plain() -> tuple[Packing, SideRows, Certificate]:
    """Two classes of two items each into one kind of bin that takes any two, price 10: the optimum is 20 and the duals prove it."""
    draw = Draw(np.random.default_rng(0), classes=2, bins=1, cells=1, rich=False)
    packing = draw.packing()._replace(
        demand=np.array([[1, 1], [1, 1]]), count=np.array([2, 2]), cap=np.array([[2, 2]]), price=np.array([10]), most=np.array([[2], [2]])
    )
    zero = np.zeros(0, np.int64)
    return packing, empty_side(2, 1), Certificate(100, np.array([500, 500]), np.array([0]), zero, zero, np.array([0]), np.array([1000]))


def test_bound_of_a_plain_case_is_exact() -> None:
    """A case that can be done in the head."""
    result = check_bound(*plain(), [0], 20)
    assert (result.bound, result.proven) == (20, True)


@pytest.mark.parametrize(
    "change",
    [
        {"class_value": np.array([501, 500])},  # worth more than its bin pays for
        {"class_value": np.array([500])},
        {"tier_value": np.array([-1])},
        {"stock_value": np.array([-1])},
        {"scale": 0},
        {"class_value": np.array([600, 600]), "pattern_bound": np.array([1100])},  # the best pattern is worth 1,200
    ],
    ids=["value", "shape", "tier", "stock", "scale", "pattern"],
)
def test_tampered_certificate_is_refused(change: dict[str, Any]) -> None:
    """Each value that is wrong in one place must cost the proof."""
    packing, side, certificate = plain()
    assert not check_bound(packing, side, certificate._replace(**change), [0], 20).proven


def test_claim_above_what_is_proven_is_refused() -> None:
    """A right certificate is no proof of a larger number."""
    assert not check_bound(*plain(), [0], 21).proven


def test_pods_that_may_stay_out_cannot_be_worth_more_than_their_tier() -> None:
    """With one pod allowed to stay out the bound must not count on its being placed."""
    packing, side, certificate = plain()
    assert not check_bound(packing, side, certificate, [1], 20).proven
    assert check_bound(packing, side, certificate._replace(tier_value=np.array([500])), [1], 15).proven


def test_shares_of_devices_bound_more_than_their_sum() -> None:
    """Shares of 6 on devices of 10 sit alone: two devices hold two, although their sum would let three in."""
    packing, side, certificate = plain()
    shared = packing._replace(
        demand=np.array([[6], [6]]),
        cap=np.array([[20]]),
        device_resource=0,
        device_size=10,
        count=np.array([3, 3]),
        most=np.array([[3], [3]]),
    )
    assert check_bound(shared, side, certificate, [0], 30).proven
    assert not check_bound(shared._replace(device_resource=-1), side, certificate, [0], 30).proven
