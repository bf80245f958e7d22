"""The configuration LP by column generation: good patterns, dual values, and a proven lower bound (formulation.md, 1-14).

Gilmore and Gomory's scheme with Wentges' smoothing (Pessoa et al. 2018). One round: solve the master LP; price every bin kind at
whole-number values between the LP's duals and those of the best bound so far; the pricing's own upper bounds give a bound (Farley 1990)
whatever the values are; add the patterns of negative reduced cost. When there are none, a finer stage begins. Work is counted, not timed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import highspy
import numpy as np

from packer import bound, kernels, pricing
from packer.arrays import Bins, Bools, Certificate, Floats, Ints, Packing, SideRows

UNIT = 20_000_000
"""Work in one unit, counted by the kernels: about 50 ms of one core of 2024."""
SMOOTHING = 0.7
"""Share of the best bound's duals in the values that are priced (Wentges 1997)."""
DEAR = 64.0
"""What an item costs that no column takes, in units of what the dearest item costs in a bin of its own."""
COLUMNS_A_ROUND = 60
MARGINS = (3e-3, 1e-3, 3e-4, 1e-4, 3e-5, 1e-5)
"""Stages: patterns worth price × (1 + margin) are looked for, and their absence is proven."""
EFFORT, MOST_EFFORT = 1_000_000, 64_000_000
"""Work on the tree of one bin kind: at first, and at most in the first stage. It is quadrupled whenever it was not enough; the limit
is, whenever a stage ends because of it."""
ENOUGH = 3
"""Patterns found in trees that end a round; the worst bin kinds come first."""
DONE = 1e-7
"""Relative gap between LP and bound at which nothing is left to gain but rounding."""


class Columns(NamedTuple):
    """Where column generation stands."""

    kinds: Ints
    """[n] bin kind of each column."""
    patterns: Ints
    """[n, C]"""
    values: Floats
    """[n] the LP's bins of each column."""
    weights: Floats
    """[C] dual values of the classes, micro-dollars an item: those of the best bound."""
    lp: float
    """Objective of the LP over these columns, micro-dollars an hour."""
    lower_bound: int
    """No plan with the allowed unplaced pods costs less."""
    certificate: Certificate | None
    """Proves the bound; None while the bound is 0."""
    load: Floats
    """[C, Z] items of each class that the LP puts into bins of each cell."""
    work: int
    """Units of work done."""
    done: bool
    """Nothing is left to do: more work changes nothing."""


Progress = Callable[[float, int, int], None]
"""Called with (LP objective, lower bound, work in units) after each round."""


def generate(
    packing: Packing, side: SideRows, start: Bins | None, allowed_unplaced: Ints, budget: int, on_progress: Progress | None = None
) -> Columns:
    """Column generation for ``budget`` units of work from the patterns of a plan. ``allowed_unplaced`` [K]: pods of each tier left out."""
    return Generator(packing, side, start, allowed_unplaced).run(budget, on_progress)


class Generator:
    """Column generation that can be continued: a larger budget goes further on the same path, so the bound never falls."""

    def __init__(self, packing: Packing, side: SideRows, start: Bins | None, allowed_unplaced: Ints) -> None:
        self.packing, self.side = packing, side
        tiers = max(int(packing.tier.max(initial=0)) + 1, len(allowed_unplaced))
        self.allowed = np.zeros(tiers, np.int64)
        self.allowed[: len(allowed_unplaced)] = allowed_unplaced
        self.tables = kernels.tables(packing)
        self.knapsacks = pricing.knapsacks(self.tables, packing.count, packing.cell)
        self.found = pricing.empty_sweep(self.knapsacks)
        self.bin_of = np.repeat(np.arange(len(packing.price)), np.diff(self.tables.first))
        self.master = Master(packing, side, self.allowed, self._alone())
        self.master.add(*self._lone_patterns())
        if start is not None:
            self.master.add(start.kind, start.pattern)
        self.bound = 0
        self.certificate: Certificate | None = None
        self.centre: Duals | None = None
        self.stage, self.smoothing, self.work = 0, SMOOTHING, 0
        self.deep, self.closed, self.exhausted = False, False, False
        self.most_effort = MOST_EFFORT
        self.effort = np.full(len(packing.price), EFFORT, np.int64)
        self.done = not len(packing.price) or not int(packing.count.sum())
        self.lp, self.duals = self.master.solve()

    def run(self, units: int, on_progress: Progress | None = None) -> Columns:
        """Go on for some units of work."""
        end = self.work + units * UNIT
        while self.work < end and not self.done:
            self._round()
            if on_progress is not None:
                on_progress(self.lp, self.bound, self.work // UNIT)
        return self._columns()

    def learn(self, bins: Bins) -> None:
        """Take a plan's patterns as columns: what a search found is news to the LP, and its values improve at once."""
        if len(bins.kind) and not self.done and self.master.add(bins.kind, bins.pattern):
            self.lp, self.duals = self.master.solve()
            self.work += self.master.work

    def _round(self) -> None:
        """Price once, add what is found, solve the master LP again."""
        if self.master.add(*self._price()):
            self.lp, self.duals = self.master.solve()
            self.work += self.master.work
            self.smoothing, self.deep = SMOOTHING, False
        elif self.smoothing > 0:
            self.smoothing = 0.0
        elif not self.deep:
            self.smoothing, self.deep = SMOOTHING, True
        elif self.closed:
            self.stage += int(not self.exhausted or self.stage < len(MARGINS) - 1)
            self.most_effort *= 4 if self.exhausted else 1
            self.smoothing, self.deep = SMOOTHING, False
        else:
            self.smoothing = SMOOTHING
        self.done = self.stage >= len(MARGINS) or self.lp - self.bound <= DONE * self.lp

    def _price(self) -> tuple[Ints, Ints]:
        """Kinds and patterns of negative reduced cost; on the way, a bound."""
        p, side = self.packing, self.side
        duals = self._smoothed()
        trial = self._trial(duals)
        values = np.ascontiguousarray(trial.class_value[:, None] - np.tensordot(trial.side_value, side.coef, 1))
        paid = (p.price + _rent(p, duals)) * float(trial.scale)
        self._sweep(trial, values, paid * (1.0 + MARGINS[self.stage]), 0, np.ones(len(p.price), np.bool_))
        if self.deep:
            self._trees(trial, values, paid)
        self._prove(bound.with_stock_values(p, trial._replace(pattern_bound=self.found.bound.copy())), duals)
        return self._attractive()

    def _sweep(self, trial: Certificate, values: Ints, target: Floats, effort: int, chosen: Bools) -> None:
        whole = np.ceil(target).astype(np.int64)
        self.work += pricing.sweep(self.knapsacks, values, trial.scale, whole, effort, _tie(trial), self.found, chosen)

    def _trees(self, trial: Certificate, values: Ints, paid: Floats) -> None:
        """Search the trees of the bin kinds whose bounds are worst, to find what heuristics missed or to prove that there is nothing."""
        margin, got, self.closed, self.exhausted = MARGINS[self.stage], 0, True, False
        least = np.maximum(paid, 1e-3 * max(1.0, float(paid.max(initial=0.0))))
        ratio = (self.found.bound - paid) / least
        for b in np.argsort(-ratio, kind="stable"):
            if ratio[b] <= margin:
                break
            if got >= ENOUGH:
                self.closed = False
                break
            only = np.zeros(len(paid), np.bool_)
            only[b] = True
            target = paid + least * margin
            self._sweep(trial, values, target, int(self.effort[b]), only)
            got += int(self.found.value[b] > target[b])
            if self.found.bound[b] > max(target[b], self.found.value[b]) + 2 * _tie(trial):
                # What is left open here decides the ratio of the bound: no use in proving more elsewhere.
                margin = max(margin, float(self.found.bound[b] - paid[b]) / least[b])
                if self.found.value[b] > target[b]:
                    self.closed = False
                elif self.effort[b] < self.most_effort:
                    self.effort[b] *= 4
                    self.closed = False
                else:
                    self.exhausted = True

    def _smoothed(self) -> Duals:
        if self.centre is None or self.smoothing == 0.0:
            return self.duals
        return Duals(*(self.smoothing * a + (1 - self.smoothing) * b for a, b in zip(self.centre, self.duals, strict=True)))

    def _trial(self, duals: Duals) -> Certificate:
        """Duals in whole numbers, signs right and rows of the tiers kept; still without pattern bounds and stock values."""
        p, scale = self.packing, self._scale(duals)
        item = bound.rounded(duals.item, scale)
        limit = bound.rounded(np.minimum(duals.limit, bound.LARGEST / 8 / scale / np.maximum(1, p.limit_use.max(axis=1, initial=0))), scale)
        tier = bound.tier_values(p, item, self.allowed)
        item = bound.clamped(p, item, tier, self.allowed)
        none = np.zeros(0, np.int64)
        return Certificate(scale, item, none, limit, bound.rounded(duals.side, scale), tier, np.zeros(len(p.price), np.int64))

    def _scale(self, duals: Duals) -> int:
        """The finest unit, a power of two, in which no sum over a pattern can pass ``bound.LARGEST``."""
        t, p = self.tables, self.packing
        size = np.abs(duals.item)[:, None] + np.tensordot(duals.side, np.abs(self.side.coef), 1)
        filled = np.diff(t.first) > 0
        worth = self.knapsacks.upper * size[t.item, self.knapsacks.cell[self.bin_of]]
        most = np.add.reduceat(worth, t.first[:-1][filled]).max() if filled.any() else 1.0
        largest = max(1.0, float(most), float(p.price.max(initial=0)), float(p.adder.max(initial=0)))
        return 1 << int(np.clip(np.floor(np.log2(float(bound.LARGEST)) - 1 - np.log2(largest)), 0, 30))

    def _prove(self, certificate: Certificate, duals: Duals) -> None:
        """Keep the certificate if its bound is the best yet; its duals, made feasible, become the centre of smoothing."""
        found = bound.lower_bound(self.packing, self.side, certificate, self.allowed)
        if found > self.bound:
            self.bound, self.certificate = found, certificate
            r = float(bound.ratio(self.packing, certificate) or 1)
            self.centre = Duals(*(a / r for a in duals))

    def _attractive(self) -> tuple[Ints, Ints]:
        """The found patterns of most negative reduced cost for their price, under the LP's own duals."""
        p, duals = self.packing, self.duals
        best = np.flatnonzero(self.found.value > 0)
        more = np.flatnonzero(self.found.kind >= 0)
        got = np.concatenate([best, self.found.kind[more]])
        pattern = np.concatenate([self.found.pattern[best], self.found.more[more]])
        value = duals.item[:, None] - np.tensordot(duals.side, self.side.coef, 1)
        paid = p.price + _rent(p, duals)
        reduced = paid[got] - np.einsum("bc,cb->b", pattern, value[:, p.cell[got]] - p.adder[:, got])
        relative = reduced / (paid[got] + 1.0)
        order = np.argsort(relative, kind="stable")
        order = order[relative[order] < -1e-7][: max(COLUMNS_A_ROUND, int(p.existing.sum()) // 4)]
        return got[order], pattern[order]

    def _lone_patterns(self) -> tuple[Ints, Ints]:
        """For each class the pattern that its lone weight stands for, so that no dual value can pass it."""
        t = self.tables
        each = np.where(t.existing[self.bin_of], np.inf, t.price[self.bin_of] / t.most + t.adder)
        order = np.lexsort((self.bin_of, each, t.item))
        chosen = order[np.flatnonzero(np.diff(t.item[order], prepend=-1))]
        pattern = np.zeros((len(chosen), len(self.packing.count)), np.int64)
        pattern[np.arange(len(chosen)), t.item[chosen]] = self.knapsacks.upper[chosen]
        used = pattern.any(axis=1)
        return self.bin_of[chosen][used], pattern[used]

    def _alone(self) -> float:
        """The most that an item of any class can cost where it is cheapest, in bins of its own class or by an adder."""
        t = self.tables
        each = t.price[self.bin_of] / np.maximum(1, self.knapsacks.upper) + t.adder
        least = np.full(len(self.packing.count), np.inf)
        np.minimum.at(least, t.item, np.where(t.existing[self.bin_of], np.inf, each))
        return float(max(least[np.isfinite(least)].max(initial=1.0), t.adder.max(initial=0)))

    def _columns(self) -> Columns:
        kinds, patterns, values = self.master.solution()
        load = np.zeros((len(self.packing.count), int(self.packing.cell.max(initial=0)) + 1))
        np.add.at(load.T, self.packing.cell[kinds], patterns * values[:, None])
        weights = self.duals.item if self.centre is None else self.centre.item
        return Columns(kinds, patterns, values, weights, self.lp, self.bound, self.certificate, load, self.work // UNIT, self.done)


class Duals(NamedTuple):
    """Dual values in micro-dollars an hour, as floats."""

    item: Floats
    """[C]"""
    stock: Floats
    """[G]"""
    limit: Floats
    """[L]"""
    side: Floats
    """[M]"""


def _tie(trial: Certificate) -> int:
    """Values of patterns this close are not told apart: about a ten-thousandth of a micro-dollar."""
    return max(1, trial.scale >> 13)


def _rent(packing: Packing, duals: Duals) -> Floats:
    """[B] what stock and limits add to the price of a bin, by the duals."""
    rent = duals.limit @ packing.limit_use
    if len(duals.stock):
        rent = rent + np.where(packing.stock_group >= 0, duals.stock[packing.stock_group], 0.0)
    return np.asarray(rent, np.float64)


class Master:
    """The restricted master LP in HiGHS: rows of classes, tiers, stock, limits and cells; columns are patterns. Money in dollars."""

    def __init__(self, packing: Packing, side: SideRows, allowed: Ints, dear: float) -> None:
        self.packing, self.side = packing, side
        self.highs = highspy.Highs()
        # Primal simplex: columns arrive, so the last basis stays feasible.
        options: dict[str, bool | int | str] = {
            "output_flag": False,
            "threads": 1,
            "presolve": "off",
            "solver": "simplex",
            "simplex_strategy": 4,
        }
        for option, value in options.items():
            self.highs.setOptionValue(option, value)
        self.use_scale = np.maximum(1.0, np.abs(packing.limit_use).max(axis=1, initial=1).astype(np.float64))
        self.tiers = np.flatnonzero(allowed > 0)
        classes = len(packing.count)
        high = np.concatenate([allowed[self.tiers], packing.stock, packing.limit / self.use_scale, side.rhs]).astype(np.float64)
        self._add_rows(packing.count.astype(np.float64), np.full(classes, highspy.kHighsInf))
        self._add_rows(np.full(len(high), -highspy.kHighsInf), high)
        self.after_tiers = classes + len(self.tiers)
        self._add_fixed(dear)
        self.fixed = self.highs.getNumCol()
        self.kinds: list[Ints] = []
        self.patterns: list[Ints] = []
        self.seen: set[bytes] = set()
        self.work = 0
        self.values = np.zeros(0)

    def _add_rows(self, low: Floats, high: Floats) -> None:
        none = np.zeros(0, np.int32)
        self.highs.addRows(len(low), low, high, 0, np.zeros(len(low), np.int32), none, np.zeros(0))

    def _add_fixed(self, dear: float) -> None:
        """A dear way out for every class, so that the LP is feasible; items left unplaced; auxiliary values of the side rows."""
        p, classes = self.packing, len(self.packing.count)
        self._add_columns(np.full(classes, DEAR * dear), np.arange(classes), np.arange(classes), np.ones(classes), classes)
        for place, k in enumerate(self.tiers):
            members = np.flatnonzero(p.tier == k)
            n = len(members)
            entries = np.concatenate([np.ones(n), p.weight[members].astype(np.float64)])
            rows = np.concatenate([members, np.full(n, classes + place)])
            self._add_columns(np.zeros(n), np.tile(np.arange(n), 2), rows, entries, n)
        of, row = np.nonzero(self.side.aux.T)
        start = self.after_tiers + len(p.stock) + len(p.limit)
        bounds = self.side.aux_low.astype(np.float64), self.side.aux_high.astype(np.float64)
        self._add_columns(
            np.zeros(self.side.aux.shape[1]), of, start + row, self.side.aux.T[of, row].astype(np.float64), len(bounds[0]), bounds
        )

    def _add_columns(
        self, cost: Floats, column: Ints, row: Ints, value: Floats, n: int, bounds: tuple[Floats, Floats] | None = None
    ) -> None:
        order = np.lexsort((row, column))
        low, high = bounds or (np.zeros(n), np.full(n, highspy.kHighsInf))
        start = np.searchsorted(column[order], np.arange(n)).astype(np.int32)
        self.highs.addCols(n, cost / 1e6, low, high, len(order), start, row[order].astype(np.int32), value[order])

    def add(self, kinds: Ints, patterns: Ints) -> int:
        """Add columns that are not there yet; how many were new."""
        keys = [int(b).to_bytes(4, "little") + a.tobytes() for b, a in zip(kinds, patterns, strict=True)]
        new = []
        for i, key in enumerate(keys):
            if key not in self.seen:
                self.seen.add(key)
                new.append(i)
        if not new:
            return 0
        kinds, patterns = np.asarray(kinds[new], np.int64), np.asarray(patterns[new], np.int64)
        p, n = self.packing, len(new)
        parts = [patterns.astype(np.float64), np.zeros((n, len(self.tiers)))]
        group = p.stock_group[kinds]
        parts.append((group[:, None] == np.arange(len(p.stock))).astype(np.float64))
        parts.append((p.limit_use[:, kinds] / self.use_scale[:, None]).T)
        parts.append(np.einsum("nc,mcn->nm", patterns, self.side.coef[:, :, p.cell[kinds]]).astype(np.float64))
        matrix = np.concatenate(parts, axis=1)
        column, row = np.nonzero(matrix)
        cost = p.price[kinds] + np.einsum("nc,cn->n", patterns, p.adder[:, kinds])
        self._add_columns(cost.astype(np.float64), column, row, matrix[column, row], n)
        self.kinds.append(kinds)
        self.patterns.append(patterns)
        return n

    def solve(self) -> tuple[float, Duals]:
        """Objective and duals in micro-dollars."""
        self.highs.run()
        info = self.highs.getInfo()
        dual = np.array(self.highs.getSolution().row_dual) * 1e6
        rows, columns = self.highs.getNumRow(), self.highs.getNumCol()
        self.work = 300_000 + 100 * columns + max(0, info.simplex_iteration_count) * (20_000 + 30 * rows)
        g, x, m = len(self.packing.stock), len(self.packing.limit), len(self.side.rhs)
        classes = len(self.packing.count)
        stock, limit, side = np.split(np.maximum(0.0, -dual[self.after_tiers :]), [g, g + x])
        assert len(side) == m
        return info.objective_function_value * 1e6, Duals(np.maximum(0.0, dual[:classes]), stock, limit / self.use_scale, side)

    def solution(self) -> tuple[Ints, Ints, Floats]:
        """Kinds, patterns and values of the columns."""
        values = np.array(self.highs.getSolution().col_value)[self.fixed :]
        classes = len(self.packing.count)
        if not self.kinds:
            return np.zeros(0, np.int64), np.zeros((0, classes), np.int64), np.zeros(0)
        return np.concatenate(self.kinds), np.concatenate(self.patterns), np.maximum(0.0, values)
