"""Compiled branch and bound for one bin's pricing problem.

Reduced costs fix what they can; the classes left are decided one by one, the largest first, each from the most that fits downwards. A node
is cut by the least of: the root's surrogate row; once the tree has grown, two dynamic programmes over the resources that count most (the
others dualised by λ); the surrogate row of the nearest ancestor whose LP was solved; and an LP of its own.

Dominance: where class i needs no more of anything than class j and is worth no less, some best pattern holds j only with all of i in it
(else swap one j for an i: the pattern stays feasible and is worth no less; the swaps end, since each raises the value or lowers the
sum of demands or of indices). So j can be left out wherever it does not fit beside all of i.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from packer.arrays import Floats, Ints
from packer.kernels import inner, sort_by
from packer.knapsack import MARGIN, NO, YES, Knapsack, relaxation, seating, surrogate, top_bound

COARSE, FINE = 1 << 16, 1 << 20
"""Cells of a dynamic programme over one resource, all classes together."""
COARSE_AFTER, FINE_AFTER = 30_000, 1_500_000
"""Work on a tree after which the one and the other are worth what they cost."""
PATIENCE = 2_000_000
"""With a pattern found, the search goes on for as much work again as it took, and so much more."""


LEVELS = 48
"""LPs on one path, at most."""
FEW = 6
"""With no more classes left than that, a node does without an LP of its own; so do nodes where nothing was put in."""


class Tree(NamedTuple):
    """The open classes in the order in which they are decided (m of them), and the state before each decision."""

    item: Ints
    """[m] the class."""
    w: Ints
    """[m, D]"""
    v: Ints
    """[m]"""
    span: Ints
    """[m] at most so many beyond what is fixed."""
    gain: Ints
    """[m] v - k."""
    suffix: Ints
    """[m + 1] Σ max(0, gain)·span from here on."""
    a: Floats
    """[m, D] w by the bin's room, for LPs."""
    beside: Ints
    """[m, D] what must fit beside one item: itself and all of what dominates it."""
    low: Ints
    """[n] fixed from below, all classes."""
    x: Ints
    """[m] decisions."""
    room: Ints
    """[m + 1, D]"""
    worth: Ints
    """[m + 1] value of what is in."""
    row: Ints
    """[m + 1] K + Σ gain·x."""


class Grids(NamedTuple):
    """Two dynamic programmes, each over one resource in cells, the other resources dualised."""

    dim: Ints
    """[2]"""
    unit: Ints
    """[2] greatest common divisor of the classes' demands."""
    shift: Ints
    """[2] a cell is 2^shift units."""
    limit: Ints
    """[2] K of the other resources."""
    gain: Ints
    """[2, m] value less the cost of the other resources."""
    best: Ints
    """[2, m + 1, cells] most that classes from p on can add in so many cells."""


class Levels(NamedTuple):
    """The LPs solved on the path from the root, by depth among them; level 0 stands for the root's reduced costs alone."""

    slope: Floats
    """[levels, D] multipliers."""
    row: Ints
    """[levels, m + 1] Σ max(0, gain)·span from each class on, under these multipliers."""
    span: Ints
    """[levels, m] at most so many of each class, below this node, in a pattern worth more than the threshold."""


@njit(cache=True, error_model="numpy")
def tree(k: Knapsack, cost: Ints, limit: int, lam: Floats, target: int, effort: int, tie: int, pool: Ints) -> tuple[int, int, int, int]:
    """Look for patterns worth more than ``target``. Returns (best value or 0, proven bound, patterns found, work done).

    ``cost``, ``limit``, ``lam``: the root's surrogate row and multipliers. ``pool`` [P, n]: row 0 is the best pattern, the others are
    the last ones found that make at least half of the best one's gain over the target. Values within ``tie`` are not told apart.
    Searched through, the bound is at most max(target, best) + tie; else it is that of the nodes left open.
    """
    top = top_bound(k.v, cost, k.upper, limit)
    r, shut = _open(k, cost, limit, top, target)
    m, dims = r.w.shape
    bound_at = np.full(m + 1, top)
    grids = _no_grids(m)
    sums = np.zeros((m + 1, 2), np.int64)
    lps = Levels(np.zeros((LEVELS, dims)), np.zeros((LEVELS, m + 1), np.int64), np.zeros((LEVELS, m), np.int64))
    above = np.zeros(m + 1, np.int64)
    best, found, work = 0, 0, 20 * k.v.shape[0]
    # Zero, but no literal: for a literal argument numba would compile all that is called once more.
    p = m - r.v.shape[0]
    next_phase, deep, patience = COARSE_AFTER, False, 0
    threshold = target + tie
    if not _holds(k, r):
        # Nothing worth more than the target: it would have to hold all that reduced costs fix.
        return 0, target, 0, work
    while True:
        # The state of node p follows from the decision before it.
        if p > 0:
            q = p - 1
            for d in range(dims):
                r.room[p, d] = r.room[q, d] - r.x[q] * r.w[q, d]
            r.worth[p] = r.worth[q] + r.x[q] * r.v[q]
            r.row[p] = r.row[q] + r.x[q] * r.gain[q]
            above[p] = above[q]
        work += 15
        bound = min(r.row[p] + r.suffix[p], bound_at[max(0, p - 1)])
        cut = bound <= threshold
        if cut and p > 0 and r.gain[p - 1] >= 0:
            # With a gain of its own, fewer of the class before is only worse.
            r.x[p - 1] = 0
        if not cut and p == m:
            seats = _seats(k, r, m)
            bound = r.worth[m] if seats != NO else 0
            if seats == YES and r.worth[m] > threshold:
                _pattern(r, m, pool[1 + found % (pool.shape[0] - 1)])
                found += 1
                if r.worth[m] > best:
                    best = int(r.worth[m])
                    threshold = best + min(tie, -(best - target) // 8)
                    _pattern(r, m, pool[0])
                    patience = 2 * work + PATIENCE
            if seats == YES and m > 0:
                r.x[m - 1] = 0
            cut = True
        if not cut and deep:
            bound = min(bound, _grid_bound(grids, sums, r, p))
            if bound > threshold and above[p] > 0:
                bound = min(bound, _row_bound(lps, above[p], r, p))
            work += 50 + 3 * dims
            if bound > threshold and (p == 0 or (r.x[p - 1] > 0 and m - p > FEW)) and above[p] < LEVELS - 1:
                below, spent = _rest_bound(k.cap, r, lps, above[p], p, threshold)
                bound = min(bound, below)
                above[p] += 1
                # Reduced costs bar what could only lead to the threshold at most.
                shut = max(shut, threshold)
                work += spent
            cut = bound <= threshold
        if not cut:
            bound_at[p] = bound
            if work > effort or (found > 0 and work > patience):
                shut = max(shut, _open_bound(r, bound_at, p))
                break
            if work > next_phase:
                _drop_dominated(k, r)
                grids, spent = _grids(r, lam, FINE if deep else COARSE)
                _sums(grids, r, sums, p)
                for q in range(m):
                    lps.span[0, q] = r.span[q]
                next_phase = effort if deep else FINE_AFTER
                deep = True
                work += spent + m * m * dims
            if deep:
                p = _skip(r, lps.span[above[p]], sums, bound_at, above, p)
            if p < m:
                r.x[p] = _most(k, r, p, lps.span[above[p], p] if deep else r.span[p])
                for h in range(2):
                    sums[p + 1, h] = sums[p, h] + r.x[p] * grids.gain[h, p]
                p += 1
            continue
        shut = max(shut, int(bound))
        p -= 1
        while p >= 0 and r.x[p] == 0:
            p -= 1
        if p < 0:
            break
        r.x[p] -= 1
        for h in range(2):
            sums[p + 1, h] = sums[p, h] + r.x[p] * grids.gain[h, p]
        p += 1
    return best, max(best, shut), found, work


@inner
def _open(k: Knapsack, cost: Ints, limit: int, top: int, target: int) -> tuple[Tree, int]:
    """Fix by reduced cost: a pattern worth more than the target cannot lose more than top - target. Also the target, if that cut any."""
    n, dims = k.w.shape
    low = np.zeros(n, np.int64)
    span = np.zeros(n, np.int64)
    key = np.empty(n)
    order = np.empty(n, np.int64)
    m, shut, worth, row = 0, 0, 0, limit
    for j in range(n):
        g = k.v[j] - cost[j]
        most = k.upper[j] if k.v[j] > 0 else 0
        if g > 0:
            low[j] = max(0, most - (top - target - 1) // g)
        elif g < 0 and k.v[j] > 0:
            most = min(most, (top - target - 1) // -g)
        if k.v[j] > 0 and (low[j] > 0 or most < k.upper[j]):
            shut = target
        span[j] = most - low[j]
        worth += low[j] * k.v[j]
        row += low[j] * g
        key[j] = -float(cost[j]) if span[j] > 0 else np.inf
        if span[j] > 0:
            m += 1
    sort_by(key, order)
    r = Tree(
        order[:m].copy(),
        np.empty((m, dims), np.int64),
        np.empty(m, np.int64),
        np.empty(m, np.int64),
        np.empty(m, np.int64),
        np.zeros(m + 1, np.int64),
        np.empty((m, dims)),
        np.zeros((m, dims), np.int64),
        low,
        np.zeros(m, np.int64),
        np.zeros((m + 1, dims), np.int64),
        np.zeros(m + 1, np.int64),
        np.zeros(m + 1, np.int64),
    )
    for p in range(m):
        j = order[p]
        r.v[p], r.span[p], r.gain[p] = k.v[j], span[j], k.v[j] - cost[j]
        for d in range(dims):
            r.w[p, d] = k.w[j, d]
            r.a[p, d] = k.w[j, d] / max(1, k.cap[d])
    _sum_up(r)
    r.worth[0], r.row[0] = worth, row
    for d in range(dims):
        r.room[0, d] = k.cap[d]
        for j in range(n):
            r.room[0, d] -= low[j] * k.w[j, d]
    return r, shut


@inner
def _holds(k: Knapsack, r: Tree) -> bool:
    """Can what is fixed be in one bin, devices apart?"""
    for d in range(k.cap.shape[0]):
        if r.room[0, d] < 0:
            return False
    for i in range(k.clash.shape[0]):
        for j in range(i):
            if r.low[i] > 0 and r.low[j] > 0 and k.clash[i, j]:
                return False
    return True


@inner
def _sum_up(r: Tree) -> None:
    for p in range(r.v.shape[0] - 1, -1, -1):
        r.suffix[p] = r.suffix[p + 1] + max(0, r.gain[p]) * r.span[p]


@inner
def _pattern(r: Tree, p: int, x: Ints) -> None:
    """The pattern after p decisions."""
    for j in range(x.shape[0]):
        x[j] = r.low[j]
    for q in range(p):
        x[r.item[q]] += r.x[q]


@inner
def _seats(k: Knapsack, r: Tree, p: int) -> int:
    if k.share.shape[0] == 0:
        return YES
    x = np.empty(k.v.shape[0], np.int64)
    _pattern(r, p, x)
    return seating(k, x)


@inner
def _most(k: Knapsack, r: Tree, p: int, span: int) -> int:
    """How many of class p, up to ``span``, can go in after the decisions before it."""
    n = span
    for d in range(r.w.shape[1]):
        if r.room[p, d] < r.beside[p, d]:
            return 0
        if r.w[p, d] > 0:
            n = min(n, r.room[p, d] // r.w[p, d])
    j = r.item[p]
    if n > 0 and k.clash.shape[0] > 0:
        for i in range(r.low.shape[0]):
            if r.low[i] > 0 and k.clash[i, j]:
                return 0
        for q in range(p):
            if r.x[q] > 0 and k.clash[r.item[q], j]:
                return 0
    if n > 0 and k.share.shape[0] > 0 and k.share[j] > 0:
        r.x[p] = n
        while n > 0 and _seats(k, r, p + 1) == NO:
            n -= 1
            r.x[p] = n
    return n


@inner
def _drop_dominated(k: Knapsack, r: Tree) -> None:
    """Fill ``beside``, and bar the classes that do not fit beside all of what dominates them."""
    m, dims = r.w.shape
    span = np.zeros(k.v.shape[0], np.int64)
    for p in range(m):
        span[r.item[p]] = r.span[p]
    for p in range(m):
        j = r.item[p]
        for d in range(dims):
            r.beside[p, d] = r.w[p, d]
        fits = True
        for i in range(k.v.shape[0]):
            if not fits or not _dominates(k, i, j):
                continue
            more = k.upper[i] - r.low[i]
            fits = more <= span[i]
            for d in range(dims):
                r.beside[p, d] += more * k.w[i, d]
                fits = fits and r.beside[p, d] <= r.room[0, d]
        if not fits and r.x[p] == 0:
            r.span[p] = 0
    _sum_up(r)


@inner
def _dominates(k: Knapsack, i: int, j: int) -> bool:
    if i == j or k.v[i] < k.v[j]:
        return False
    equal = k.v[i] == k.v[j]
    for d in range(k.w.shape[1]):
        if k.w[i, d] > k.w[j, d]:
            return False
        equal = equal and k.w[i, d] == k.w[j, d]
    if k.share.shape[0] > 0:
        if k.share[i] > k.share[j]:
            return False
        equal = equal and k.share[i] == k.share[j]
    for c in range(k.clash.shape[0]):
        if k.clash[i, c]:
            return False
    return not equal or i < j


@inner
def _no_grids(m: int) -> Grids:
    return Grids(
        np.zeros(2, np.int64),
        np.ones(2, np.int64),
        np.zeros(2, np.int64),
        np.zeros(2, np.int64),
        np.zeros((2, m), np.int64),
        np.zeros((2, 1, 1), np.int64),
    )


@inner
def _grids(r: Tree, lam: Floats, size: int) -> tuple[Grids, int]:
    """Dynamic programmes of at most ``size`` cells each, for the two resources of greatest λ·room; and the work."""
    m, dims = r.w.shape
    key = np.empty(dims)
    order = np.empty(dims, np.int64)
    for d in range(dims):
        key[d] = -lam[d] * r.room[0, d]
    sort_by(key, order)
    g = _no_grids(m)
    cells = 1
    for h in range(2):
        d = order[min(h, dims - 1)]
        g.dim[h], g.unit[h] = d, _divisor(r.w, d)
        while ((r.room[0, d] // g.unit[h]) >> g.shift[h]) + 2 > size // (m + 1) + 64:
            g.shift[h] += 1
        cells = max(cells, ((r.room[0, d] // g.unit[h]) >> g.shift[h]) + 2)
    g = Grids(g.dim, g.unit, g.shift, g.limit, g.gain, np.zeros((2, m + 1, cells), np.int64))
    others = np.empty(dims)
    cost = np.empty(m, np.int64)
    work = 0
    for h in range(2):
        for d in range(dims):
            others[d] = lam[d] if d != g.dim[h] else 0.0
        g.limit[h] = surrogate(r.w, np.arange(m), r.room[0], others, cost)
        for p in range(m - 1, -1, -1):
            g.gain[h, p] = r.v[p] - cost[p]
            work += _grid_row(g.best[h, p + 1], g.best[h, p], g.gain[h, p], (r.w[p, g.dim[h]] // g.unit[h]) >> g.shift[h], r.span[p])
    return g, work


@inner
def _divisor(w: Ints, d: int) -> int:
    """Greatest common divisor of the demands for resource d: room beyond a multiple of it is of no use."""
    g = 0
    for p in range(w.shape[0]):
        a = w[p, d]
        while a > 0:
            g, a = a, g % a
    return max(1, g)


@inner
def _grid_row(after: Ints, row: Ints, gain: int, size: int, span: int) -> int:
    """Bounded knapsack recurrence for one class: up to ``span`` items of ``size`` cells, each worth ``gain``. Returns the work."""
    cells = row.shape[0]
    for s in range(cells):
        row[s] = after[s]
    if gain <= 0:
        return cells
    work = 2 * cells
    if size == 0:
        for s in range(cells):
            row[s] += gain * span
    elif span >= (cells - 1) // size:
        for s in range(size, cells):
            row[s] = max(row[s], row[s - size] + gain)
    else:
        part = 1
        while span > 0:
            part = min(part, span)
            for s in range(cells - 1, part * size - 1, -1):
                row[s] = max(row[s], row[s - part * size] + part * gain)
            span -= part
            part *= 2
            work += cells
    return work


@inner
def _sums(g: Grids, r: Tree, sums: Ints, p: int) -> None:
    """Bring the path's sums for the grids' rows up to date, down to node p."""
    for h in range(2):
        sums[0, h] = g.limit[h] + r.worth[0]
        for q in range(p):
            sums[q + 1, h] = sums[q, h] + r.x[q] * g.gain[h, q]


@inner
def _grid_bound(g: Grids, sums: Ints, r: Tree, p: int) -> int:
    """The lesser of the two dynamic programmes' bounds: demands were rounded down to cells, the room is rounded up."""
    low = np.iinfo(np.int64).max
    for h in range(2):
        room = r.room[p, g.dim[h]] // g.unit[h]
        low = min(low, sums[p, h] + g.best[h, p, (room + (1 << g.shift[h]) - 1) >> g.shift[h]])
    return low


@inner
def _skip(r: Tree, span: Ints, sums: Ints, bound_at: Ints, above: Ints, p: int) -> int:
    """Decide 0 for all classes from p on that can have nothing else; the next one."""
    while p < span.shape[0] and span[p] == 0:
        r.x[p] = 0
        for d in range(r.w.shape[1]):
            r.room[p + 1, d] = r.room[p, d]
        r.worth[p + 1], r.row[p + 1] = r.worth[p], r.row[p]
        sums[p + 1, 0], sums[p + 1, 1] = sums[p, 0], sums[p, 1]
        bound_at[p + 1], above[p + 1] = bound_at[p], above[p]
        p += 1
    return p


@inner
def _row_bound(lps: Levels, level: int, r: Tree, p: int) -> int:
    """Bound by the surrogate row of the LP at a level of the path."""
    total = 0.0
    for d in range(lps.slope.shape[1]):
        total += lps.slope[level, d] * r.room[p, d]
    return r.worth[p] + int(np.floor(total * (1.0 + MARGIN))) + 1 + lps.row[level, p]


@inner
def _rest_bound(cap: Ints, r: Tree, lps: Levels, level: int, p: int, threshold: int) -> tuple[int, int]:
    """LP bound on the classes from p on in the room that is left, and the work. Fills the next level: multipliers, row, spans."""
    m, dims = r.w.shape
    which, upper = np.empty(m - p, np.int64), np.empty(m, np.int64)
    n = 0
    for q in range(p, m):
        most = lps.span[level, q]
        for d in range(dims):
            if r.w[q, d] > r.room[p, d]:
                most = 0
            elif most * r.w[q, d] > r.room[p, d]:
                most = r.room[p, d] // r.w[q, d]
        lps.span[level + 1, q] = most
        upper[q] = most
        if most > 0:
            which[n] = q
            n += 1
    which = which[:n]
    slope, rhs = lps.slope[level + 1], np.empty(dims)
    for d in range(dims):
        rhs[d] = r.room[p, d] / max(1, cap[d])
    cost = np.empty(m, np.int64)
    work = relaxation(r.a, which, rhs, r.v, upper, np.zeros(m, np.int8), np.zeros(dims, np.int8), slope, np.empty(m))
    for d in range(dims):
        slope[d] = max(0.0, slope[d]) / max(1, cap[d])
    bound = r.worth[p] + surrogate(r.w, which, r.room[p], slope, cost)
    for i in range(n):
        q = which[i]
        bound += max(0, r.v[q] - cost[q]) * upper[q]
    row = lps.row[level + 1]
    row[m] = 0
    for q in range(m - 1, p - 1, -1):
        row[q] = row[q + 1]
        if upper[q] > 0:
            gain = r.v[q] - cost[q]
            if gain < 0:
                lps.span[level + 1, q] = min(upper[q], max(0, bound - threshold - 1) // -gain)
            row[q] += max(0, gain) * upper[q]
    return bound, work + (4 + 2 * dims) * (m - p) + 300


@inner
def _open_bound(r: Tree, bound_at: Ints, p: int) -> int:
    """No pattern in a part of the tree not searched yet is worth more."""
    bound = bound_at[p]
    for q in range(p):
        if r.x[q] > 0:
            most = r.x[q] - 1 if r.gain[q] > 0 else 0
            bound = max(bound, min(bound_at[q], r.row[q] + most * r.gain[q] + r.suffix[q + 1]))
    return bound
