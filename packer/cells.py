"""Domains as cells: which to open, how rules over domains bound the LP, and the packing that a split over cells leaves.

A cell is a set of bins that share every topology domain. Once it is decided how many pods of a class go to each cell, no rule over
domains is left, and every numerical part works on plain bins.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from packer.arrays import ANTI, SPREAD, Bins, Bools, Floats, Groups, Ints, Packing, SideRows, empty_side
from packer.integer import Split, split

MOST_REGIMES = 12


class Part(NamedTuple):
    """A packing after the split: ``parent`` int64[I'] is the item of the whole packing that each of its items comes from."""

    packing: Packing
    parent: Ints


def whole(packing: Packing) -> Part:
    """The packing itself, when no rule over domains exists."""
    return Part(packing, np.arange(len(packing.count), dtype=np.int64))


def has_domains(groups: Groups) -> bool:
    """Is there a rule over a topology wider than the single node?"""
    return bool(len(groups.kind)) and not bool(groups.host.all())


def regimes(packing: Packing, groups: Groups) -> list[Bools]:
    """Sets of bins that a plan might use: all; and, for each domain of each rule, only that domain's new bins. Existing bins always.

    A plan opens domains by what it buys (formulation.md, row 6): buying in one zone alone can be cheaper than spreading over all.
    """
    everything = np.ones(len(packing.price), np.bool_)
    found = [everything]
    if has_domains(groups):
        for q in np.nonzero(~groups.host)[0]:
            for d in np.unique(groups.domain[q][~packing.existing]):
                found.append(packing.existing | (groups.domain[q] == d))
    unique: list[Bools] = []
    for mask in found:
        if not any((mask == other).all() for other in unique):
            unique.append(mask)
    return unique[:MOST_REGIMES]


def part_of(packing: Packing, groups: Groups, usable: Bools, target: Floats, deterministic_time: float) -> Part | None:
    """The packing split over cells near ``target`` float[I, Z], using ``usable`` bins only. None when no split was found in the time."""
    closed = packing._replace(most=np.where(usable[None, :], packing.most, 0))
    if not has_domains(groups):
        return whole(closed)
    found = split(closed, groups, target, usable, deterministic_time)
    return None if found is None else _parted(closed, found)


def _parted(packing: Packing, found: Split) -> Part:
    parent, count, cell = [], [], []
    for i in range(len(packing.count)):
        if not found.zoned[i]:
            parent.append(i)
            count.append(int(packing.count[i]))
            cell.append(-1)
            continue
        for z in np.nonzero(found.amount[i])[0]:
            parent.append(i)
            count.append(int(found.amount[i, z]))
            cell.append(int(z))
    origin, where = np.array(parent, np.int64), np.array(cell, np.int64)
    inside = (where[:, None] == -1) | (where[:, None] == packing.cell[None, :])
    return Part(
        packing._replace(
            demand=packing.demand[origin],
            count=np.array(count, np.int64),
            weight=packing.weight[origin],
            tier=packing.tier[origin],
            most=np.where(inside, packing.most[origin], 0),
            adder=packing.adder[origin],
            clash=packing.clash[np.ix_(origin, origin)],
            needs=packing.needs[np.ix_(origin, origin)],
            needs_met=packing.needs_met[origin],
        ),
        origin,
    )


def fold(bins: Bins, parent: Ints, items: int) -> Bins:
    """Patterns over a part's items as patterns over the whole packing's."""
    pattern = np.zeros((len(bins.kind), items), np.int64)
    for i, origin in enumerate(parent):
        pattern[:, origin] += bins.pattern[:, i]
    return Bins(bins.kind, bins.times, pattern)


def even_target(packing: Packing, usable: Bools) -> Floats:
    """float[I, Z]: each item spread evenly over the cells where it can go, before anything better is known."""
    cells = int(packing.cell.max(initial=-1)) + 1
    target = np.zeros((len(packing.count), cells))
    for z in range(cells):
        target[:, z] = ((packing.most > 0) & usable[None, :] & (packing.cell == z)[None, :]).any(1)
    return np.asarray(target * (packing.count / np.maximum(target.sum(1), 1))[:, None])


def side_rows(packing: Packing, groups: Groups) -> SideRows:
    """Rows 4-8 of formulation.md for the LP: spread over domains that stand, and one pod a domain. What depends on order, or on
    domains that the plan itself opens, is left out: the LP stays a relaxation of every valid plan."""
    cells = int(packing.cell.max(initial=-1)) + 1
    rows = _SideBuilder(packing, groups, cells)
    for q in range(len(groups.kind)):
        plain = bool(((groups.member[q] > 0) == groups.carrier[q]).all())
        if groups.host[q] or not plain:
            continue
        if groups.kind[q] == SPREAD:
            rows.spread(q)
        elif groups.kind[q] == ANTI:
            rows.alone(q)
    return rows.finish()


class _SideBuilder:
    def __init__(self, packing: Packing, groups: Groups, cells: int) -> None:
        self._p, self._g, self._cells = packing, groups, cells
        self._coef: list[Ints] = []
        self._aux: list[dict[int, int]] = []
        self._rhs: list[int] = []
        self._high: list[int] = []

    def _inside(self, q: int, d: int) -> Bools:
        """bool[Z]: cells that make up a domain."""
        inside = np.zeros(self._cells, np.bool_)
        for b in np.nonzero((self._g.domain[q] == d) & self._g.counts[q])[0]:
            inside[self._p.cell[b]] = True
        return inside

    def _row(self, q: int, inside: Bools, sign: int, aux: dict[int, int], rhs: int) -> None:
        coef = np.zeros((len(self._p.count), self._cells), np.int64)
        coef[:, inside] = sign * self._g.member[q][:, None]
        self._coef.append(coef)
        self._aux.append(aux)
        self._rhs.append(rhs)

    def spread(self, q: int) -> None:
        g, p = self._g, self._p
        standing = np.nonzero(g.stands[q])[0]
        openable = {int(d) for d in g.domain[q][~p.existing & g.counts[q]] if d >= 0}
        few = len(openable | {int(d) for d in standing}) < g.min_domains[q]
        if not len(standing) and not few:
            return
        total = int(g.held[q].sum() + (g.member[q] * p.count).sum())
        highest = 0 if few else total // max(len(standing), 1)
        mu = len(self._high)
        self._high.append(highest)
        for d in sorted(openable | {int(d) for d in standing}):
            inside, slack = self._inside(q, d), int(g.skew[q]) - int(g.held[q, d])
            # Pods come in only up to max(0, slack + mu), and a domain that gets none is not bounded: above the skew already, the row
            # is the chord of that function over 0 ≤ mu ≤ highest, which no valid plan exceeds.
            if slack >= 0:
                self._row(q, inside, 1, {mu: -1}, slack)
            elif slack + highest <= 0:
                self._row(q, inside, 1, {}, 0)
            else:
                self._row(q, inside, highest, {mu: -(slack + highest)}, 0)
        for d in map(int, standing):
            self._row(q, self._inside(q, d), -1, {mu: 1}, int(g.held[q, d]))

    def alone(self, q: int) -> None:
        """Anti-affinity to its own kind: at most one pod a domain."""
        for d in sorted({int(d) for d in self._g.domain[q] if d >= 0}):
            self._row(q, self._inside(q, d), 1, {}, max(0, 1 - int(self._g.held[q, d])))

    def finish(self) -> SideRows:
        if not self._coef:
            return empty_side(len(self._p.count), self._cells)
        aux = np.zeros((len(self._rhs), len(self._high)), np.int64)
        for m, row in enumerate(self._aux):
            for a, value in row.items():
                aux[m, a] = value
        high = np.array(self._high, np.int64)
        return SideRows(np.stack(self._coef), aux, np.array(self._rhs, np.int64), np.zeros(len(high), np.int64), high)
