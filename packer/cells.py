"""Domains as cells: which to open, how rules over domains bound the LP, and the packing that a split over cells leaves.

A cell is a set of bins that share every topology domain. Once it is decided how many pods of a class go to each cell, no rule over
domains is left, and every numerical part works on plain bins.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from packer.arrays import AFFINITY, ANTI, SPREAD, Bins, Bools, Floats, Groups, Ints, Packing, SideRows, empty_side
from packer.integer import Split, split

MOST_REGIMES = 5
"""Sets of domains that a first plan is tried in."""


class Part(NamedTuple):
    """A packing with no rule over domains left, whose items are as few as can be.

    ``sources`` names, for each item of the part, the (item of the whole packing, how many of it) that it stands for; ``kinds`` int64[B']
    are the bin kinds of the whole packing that the part has.
    """

    packing: Packing
    sources: tuple[tuple[tuple[int, int], ...], ...]
    kinds: Ints

    @property
    def first(self) -> Ints:
        """int64[I']: the first source of each item."""
        return np.array([source[0][0] for source in self.sources], np.int64)


def whole(packing: Packing, gang: Ints) -> Part:
    """The packing itself, when no rule over domains exists. ``gang`` int64[I] keeps items of different gangs apart."""
    kinds = np.arange(len(packing.price), dtype=np.int64)
    return _merged(packing, gang, kinds, [((i, int(n)),) for i, n in enumerate(packing.count)])


def with_kinds(packing: Packing, kinds: Ints) -> Packing:
    """The packing with some of its bin kinds only."""
    return packing._replace(
        cap=packing.cap[kinds],
        price=packing.price[kinds],
        most=packing.most[:, kinds],
        adder=packing.adder[:, kinds],
        needs_met=packing.needs_met[:, kinds],
        stock_group=packing.stock_group[kinds],
        limit_use=packing.limit_use[:, kinds],
        cell=packing.cell[kinds],
        existing=packing.existing[kinds],
    )


def merged_index(packing: Packing, also: Ints | None = None) -> Ints:
    """int64[I]: a number for each item, equal for items that cannot be told apart (``also`` [I, …] counts too), in order of appearance."""
    tables: list[NDArray[Any]] = [packing.demand, packing.weight[:, None], packing.tier[:, None], packing.most, packing.adder]
    relations = [packing.clash, packing.clash.T, packing.needs, packing.needs.T, packing.needs_met]
    tables += [np.packbits(table, axis=1) for table in relations if table.any()]
    if also is not None:
        tables.append(also.reshape(len(packing.count), int(np.prod(also.shape[1:], dtype=np.int64))))
    rows: list[NDArray[Any]] = [np.ascontiguousarray(table) for table in tables]
    known: dict[bytes, int] = {}
    keys = (b"".join(row[i].tobytes() for row in rows) for i in range(len(packing.count)))
    return np.array([known.setdefault(key, len(known)) for key in keys], np.int64)


def merge(packing: Packing, index: Ints) -> Packing:
    """One item for each number of ``index`` (from :func:`merged_index`), with all their counts."""
    if len(index) == 0 or index[-1] == len(index) - 1 == index.max():
        return packing
    _, first = np.unique(index, return_index=True)
    count = np.zeros(len(first), np.int64)
    np.add.at(count, index, packing.count)
    return packing._replace(
        demand=packing.demand[first],
        count=count,
        weight=packing.weight[first],
        tier=packing.tier[first],
        most=packing.most[first],
        adder=packing.adder[first],
        clash=packing.clash[np.ix_(first, first)],
        needs=packing.needs[np.ix_(first, first)],
        needs_met=packing.needs_met[first],
    )


def _merged(packing: Packing, gang: Ints, kinds: Ints, sources: list[tuple[tuple[int, int], ...]]) -> Part:
    index = merged_index(packing, gang)
    together: list[tuple[tuple[int, int], ...]] = [()] * (int(index.max(initial=-1)) + 1)
    for i, number in enumerate(index):
        together[number] += sources[i]
    return Part(merge(packing, index), tuple(together), kinds)


def has_domains(groups: Groups) -> bool:
    """Is there a rule over a topology wider than the single node?"""
    return bool(len(groups.kind)) and not bool(groups.host.all())


def regimes(packing: Packing, groups: Groups) -> list[Bools]:
    """Sets of bins that a plan might use: for each domain of each rule only that domain's new bins, and last all. Existing bins always.

    A plan opens domains by what it buys (formulation.md, row 6): buying in one zone alone can be cheaper than spreading over all.
    """
    everything = np.ones(len(packing.price), np.bool_)
    found = []
    if has_domains(groups):
        for q in np.nonzero(~groups.host)[0]:
            for d in np.unique(groups.domain[q][~packing.existing]):
                found.append(packing.existing | (groups.domain[q] == d))
    found.sort(key=lambda mask: -int(mask.sum()))  # stable: the domains with most machines first
    unique: list[Bools] = []
    for mask in found:
        if len(unique) < MOST_REGIMES - 1 and not any((mask == other).all() for other in (*unique, everything)):
            unique.append(mask)
    return [*unique, everything]


def part_of(packing: Packing, groups: Groups, gang: Ints, usable: Bools, target: Floats, deterministic_time: float) -> Part | None:
    """The packing split over cells near ``target`` float[I, Z], using ``usable`` bins only. None when no split was found in the time."""
    if not has_domains(groups):
        return whole(packing, gang)
    kinds = np.nonzero(usable)[0].astype(np.int64)
    open_only = with_kinds(packing, kinds)
    rules = groups._replace(domain=groups.domain[:, kinds], counts=groups.counts[:, kinds], held_bin=groups.held_bin[:, kinds])
    found = _only_split(open_only, rules) or split(open_only, rules, target, deterministic_time)
    return None if found is None else _parted(open_only, gang, kinds, found)


def _only_split(packing: Packing, groups: Groups) -> Split | None:
    """The split when every domain rule has one domain to use and is content with all its pods there; None when there is a choice."""
    zoned = np.zeros(len(packing.count), np.bool_)
    for q in np.nonzero(~groups.host)[0]:
        carriers = groups.carrier[q]
        domains = set(np.unique(groups.domain[q][~packing.existing]).tolist()) | set(np.nonzero(groups.stands[q])[0].tolist())
        if len(domains) != 1 or groups.held[q].any() or packing.existing.any():
            return None
        alone = groups.kind[q] == SPREAD and groups.min_domains[q] <= 1
        joined = groups.kind[q] == AFFINITY and bool((groups.member[q][carriers] > 0).all())
        if -1 in domains or not (alone or joined):
            return None
        zoned |= carriers | (groups.member[q] > 0)
    cells = np.unique(packing.cell)
    if len(cells) != 1:
        return None
    amount = np.zeros((len(packing.count), int(packing.cell.max()) + 1), np.int64)
    amount[:, cells[0]] = np.where(zoned & (packing.most > 0).any(1), packing.count, 0)
    return Split(amount, zoned, np.where(zoned, packing.count - amount.sum(1), 0))


def _parted(packing: Packing, gang: Ints, kinds: Ints, found: Split) -> Part:
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
    return _merged(
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
        gang[origin],
        kinds,
        [((i, n),) for i, n in zip(parent, count, strict=True)],
    )


def gathered(bins: Bins, index: Ints) -> Bins:
    """Patterns over items as patterns over merged items (``index`` from :func:`merged_index`)."""
    pattern = np.zeros((len(bins.kind), int(index.max(initial=-1)) + 1), np.int64)
    np.add.at(pattern.T, index, bins.pattern.T)
    return Bins(bins.kind, bins.times, pattern)


def fold(bins: Bins, part: Part, items: int) -> Bins:
    """Patterns over a part's items as patterns over the whole packing's ``items``: sources are used up one after the other."""
    queues = [[list(source) for source in reversed(sources)] for sources in part.sources]
    rows: dict[tuple[int, bytes], int] = {}
    for kind, times, pattern in zip(bins.kind, bins.times, bins.pattern, strict=True):
        held = [(int(i), int(pattern[i])) for i in np.nonzero(pattern)[0]]
        left = int(times)
        while left:
            alike = min([left, *(queues[i][-1][1] // n for i, n in held)])
            row = np.zeros(items, np.int64)
            for i, n in held:
                _draw(queues[i], n, max(alike, 1), row)
            key = (int(part.kinds[kind]), row.tobytes())
            rows[key] = rows.get(key, 0) + max(alike, 1)
            left -= max(alike, 1)
    return Bins(
        np.array([kind for kind, _ in rows], np.int64),
        np.array(list(rows.values()), np.int64),
        np.array([np.frombuffer(row, np.int64) for _, row in rows], np.int64).reshape(len(rows), items),
    )


def _draw(queue: list[list[int]], each: int, times: int, row: Ints) -> None:
    """Take ``each`` × ``times`` from the queue's end into ``row``; only a single bin may draw on several sources."""
    need = each * times
    while need:
        source = queue[-1]
        take = min(need, source[1])
        row[source[0]] += take // times
        source[1] -= take
        need -= take
        if not source[1] and len(queue) > 1:
            queue.pop()


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
