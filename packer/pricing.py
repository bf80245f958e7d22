"""Compiled pricing: the most valuable pattern of a bin kind under integer class values, and a proven upper bound on any pattern's value.

For one bin kind this is a bounded knapsack in D resources: max Σ v·x, W·x ≤ cap, 0 ≤ x ≤ upper, x whole, no two classes that clash, devices
respected. Values are integers (1/scale micro-dollar an hour). Axes: n candidate classes of the bin, D resources that can bind there.

Why the bounds are proven although their multipliers come from a float LP: for any λ ≥ 0 take whole numbers k_c ≤ Σ_d λ_d·w_cd and
K ≥ Σ_d λ_d·cap_d. Then Σ k·x ≤ K for every x with W·x ≤ cap, hence Σ v·x ≤ K + Σ max(0, v - k)·upper, all of it exact in int64. Floats
only choose λ; k is rounded down and K up by a margin far above the error of D products. The same surrogate row serves inside the tree:
K + Σ (v - k)·x over the classes decided + a suffix sum over the others. Feasibility is judged in int64 alone, bytes beyond 2^53 too.
"""

# ruff: noqa: SIM110 - numba compiles loops, not generator expressions
from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from packer.arrays import Bools, Floats, Ints
from packer.kernels import Tables, empty_bin, put, top_up

States = NDArray[np.int8]

MARGIN = 1e-13
"""Relative margin on λ·w and λ·cap: above (2·D + 2)·2^-53 for any D ≤ 400: conversions, products and sums of non-negative terms."""
COARSE, FINE = 1 << 16, 1 << 20
"""Cells of a dynamic programme over one resource, all classes together."""
COARSE_AFTER, FINE_AFTER = 30_000, 1_500_000
"""Work on a tree after which the one and the other are worth what they cost."""
LOWER, UPPER, BASIC = 0, 1, 2


class Knapsacks(NamedTuple):
    """What pricing needs beside ``Tables``, for the same N entries."""

    demand: Ints
    """[C, D] the packing's resources and surrogate ones (devices)."""
    cap: Ints
    """[B, D]"""
    binding: Ints
    """[B, D] the resources that can bind in a bin, first; the others are -1."""
    upper: Ints
    """[N] min(most, items there are)."""
    cell: Ints
    """[B]"""


class Sweep(NamedTuple):
    """What pricing found, for each bin kind."""

    value: Ints
    """[B] of the pattern found, 0 if none."""
    bound: Ints
    """[B] no pattern is worth more."""
    pattern: Ints
    """[B, C]"""
    entry: States
    """[N] where the simplex of the bin stopped, to go on from there."""
    slack: States
    """[B, D]"""


def knapsacks(t: Tables, count: Ints, cell: Ints) -> Knapsacks:
    """The pricing problems of all bin kinds."""
    upper = np.minimum(t.most, count[t.item])
    demand, cap = t.demand, t.cap
    return Knapsacks(demand, cap, binding_resources(t, demand, cap, upper), upper, np.ascontiguousarray(cell, np.int64))


def empty_sweep(t: Tables, k: Knapsacks) -> Sweep:
    """Room for what pricing finds; simplexes start from nothing."""
    bins, classes = len(t.price), len(t.demand)
    nothing = np.zeros(bins, np.int64)
    return Sweep(
        nothing, nothing.copy(), np.zeros((bins, classes), np.int64), np.zeros(len(t.item), np.int8), np.zeros(k.cap.shape, np.int8)
    )


@njit(cache=True)
def binding_resources(t: Tables, demand: Ints, cap: Ints, upper: Ints) -> Ints:
    """Resources that the bin's candidates could exceed all together, [B, D], -1 after the last."""
    bins, dims = cap.shape
    binding = np.full((bins, dims), -1, np.int64)
    for b in range(bins):
        n = 0
        for d in range(dims):
            total = 0.0
            for i in range(t.first[b], t.first[b + 1]):
                total += float(upper[i]) * float(demand[t.item[i], d])
            if total > cap[b, d] * (1.0 - 1e-9):
                binding[b, n] = d
                n += 1
    return binding


@njit(cache=True)
def sweep(
    t: Tables, k: Knapsacks, values: Ints, moved: Ints, target: Ints, count: Ints, effort: int, tie: int, out: Sweep, chosen: Bools
) -> int:
    """Price the ``chosen`` bin kinds; returns the work done (about a nanosecond each).

    ``values`` [C, Z] by cell, ``moved`` [N] scale·adder. ``target`` [B]: patterns worth more are of interest, and bins whose relaxation is
    worth no more get none. ``effort``: work on each tree, 0 for heuristics alone. ``tie``: values this close are not told apart.
    """
    work = 0
    bins = t.cap.shape[0]
    worth = np.zeros(t.item.shape[0])
    order = np.empty(t.item.shape[0], np.int64)
    found = np.zeros(t.item.shape[0], np.int64)
    room = np.empty(t.cap.shape[1], np.int64)
    devices = np.empty(_device_slots(t), np.int64)
    for b in range(bins):
        if not chosen[b]:
            continue
        out.value[b] = 0
        lo, hi = t.first[b], t.first[b + 1]
        n, dims = hi - lo, _binding_count(k.binding, b)
        w = np.empty((n, dims), np.int64)
        cap = np.empty(dims, np.int64)
        v = np.empty(n, np.int64)
        for d in range(dims):
            cap[d] = k.cap[b, k.binding[b, d]]
        for j in range(n):
            c = t.item[lo + j]
            v[j] = values[c, k.cell[b]] - moved[lo + j]
            for d in range(dims):
                w[j, d] = k.demand[c, k.binding[b, d]]
        upper = k.upper[lo:hi]
        multiplier = np.empty(dims)
        level = np.empty(n)
        work += relaxation(w, cap, v, upper, out.entry[lo:hi], out.slack[b], multiplier, level)
        cost = np.empty(n, np.int64)
        limit = surrogate(w, cap, multiplier, cost)
        top = _top(v, cost, upper, limit)
        out.bound[b] = top
        work += 20 * n + 500
        if top <= target[b]:
            continue
        best = 0
        for h in range(3):
            slots = empty_bin(t, b, found, room, devices)
            _order(t, b, v, w, cap, cost, h, worth, order)
            if h < 2:
                _put_whole(t, lo, level, v, found, room, devices, slots)
            top_up(t, b, worth, order, count, found, room, devices, slots)
            total = 0
            for j in range(n):
                total += found[lo + j] * v[j]
            if total > best:
                best = total
                out.pattern[b, :] = 0
                for j in range(n):
                    out.pattern[b, t.item[lo + j]] = found[lo + j]
        work += 2 * n * 60
        if best < top - tie and t.device[0] < 0:
            x = np.zeros(n, np.int64)
            for j in range(n):
                x[j] = out.pattern[b, t.item[lo + j]]
            gain, spent = improve(w, cap, v, upper, x)
            work += spent
            if gain > 0:
                best += gain
                for j in range(n):
                    out.pattern[b, t.item[lo + j]] = x[j]
        out.value[b] = best
        if effort <= 0 or best >= top - tie:
            continue
        x = np.zeros(n, np.int64)
        value, bound, spent = tree(t, b, w, cap, v, upper, cost, limit, multiplier, max(best, target[b]), effort, tie, x)
        work += spent
        out.bound[b] = min(top, max(bound, best))
        if value > best:
            out.value[b] = value
            out.pattern[b, :] = 0
            for j in range(n):
                out.pattern[b, t.item[lo + j]] = x[j]
    return work


@njit(cache=True)
def _device_slots(t: Tables) -> int:
    slots = 1
    if t.device[0] >= 0:
        for b in range(t.cap.shape[0]):
            slots = max(slots, int(t.cap[b, t.device[0]] // t.device[1]) + 1)
    return slots


@njit(cache=True)
def _binding_count(binding: Ints, b: int) -> int:
    n = 0
    while n < binding.shape[1] and binding[b, n] >= 0:
        n += 1
    return n


@njit(cache=True)
def _order(t: Tables, b: int, v: Ints, w: Ints, cap: Ints, cost: Ints, h: int, worth: Floats, order: Ints) -> None:
    """Order of filling: by value over LP cost (h = 0), by size among what is worth its LP cost (1), by value over share of the bin (2)."""
    lo, n = t.first[b], v.shape[0]
    key = np.empty(n)
    for j in range(n):
        worth[lo + j] = v[j]
        share = 0.0
        for d in range(cap.shape[0]):
            share += w[j, d] / cap[d]
        if h == 0:
            key[j] = -v[j] / (cost[j] + 1e-3 * share * max(1, v[j]) + 1.0)
        elif h == 1:
            key[j] = -share if v[j] > 0.98 * cost[j] else 1.0 - v[j] / (cost[j] + 1.0)
        else:
            key[j] = -v[j] / (share + 1e-9)
    order[lo : lo + n] = lo + np.argsort(key, kind="mergesort")


@njit(cache=True)
def _put_whole(t: Tables, lo: int, level: Floats, v: Ints, found: Ints, room: Ints, devices: Ints, slots: int) -> None:
    """The LP's solution, rounded down."""
    for j in range(level.shape[0]):
        n = int(np.floor(level[j] + 1e-9))
        c = t.item[lo + j]
        if n <= 0 or v[j] <= 0 or not t.met[lo + j]:
            continue
        clash = False
        if t.clashing[c]:
            for i in range(j):
                clash = clash or (found[lo + i] > 0 and t.clash[c, t.item[lo + i]])
        if not clash:
            found[lo + j] = put(t, c, n, room, devices, slots)


@njit(cache=True)
def _top(v: Ints, cost: Ints, upper: Ints, limit: int) -> int:
    """K + Σ max(0, v - k)·upper."""
    top = limit
    for j in range(v.shape[0]):
        if v[j] > cost[j]:
            top += (v[j] - cost[j]) * upper[j]
    return top


@njit(cache=True)
def surrogate(w: Ints, cap: Ints, multiplier: Floats, cost: Ints) -> int:
    """Whole numbers k (written to ``cost``) and K (returned) such that Σ k·x ≤ K whenever W·x ≤ cap. See the module's head."""
    for j in range(w.shape[0]):
        total = 0.0
        for d in range(w.shape[1]):
            total += multiplier[d] * w[j, d]
        cost[j] = int(np.floor(total * (1.0 - MARGIN)))
    total = 0.0
    for d in range(cap.shape[0]):
        total += multiplier[d] * cap[d]
    return int(np.floor(total * (1.0 + MARGIN))) + 1


@njit(cache=True)
def relaxation(w: Ints, cap: Ints, v: Ints, upper: Ints, entry: States, slack: States, multiplier: Floats, x: Floats) -> int:
    """Multipliers λ and solution x of the knapsack's LP by a bounded primal simplex with an explicit D × D inverse. Returns the work done.

    Starts where ``entry`` and ``slack`` say (same W, cap and upper, other values: still feasible) and leaves there where it stops.
    Whatever it returns is a valid λ; how good it is decides only how tight the bound is.
    """
    n, dims = w.shape
    if dims == 0:
        for j in range(n):
            x[j] = upper[j] if v[j] > 0 else 0
        return 0
    a = np.empty((n, dims))
    scale = 1.0
    for j in range(n):
        scale = max(scale, float(v[j]) * float(upper[j]))
        for d in range(dims):
            a[j, d] = w[j, d] / max(1, cap[d])
    inverse = np.zeros((dims, dims))
    basis = np.empty(dims, np.int64)
    level = np.empty(dims)
    if not _resume(a, upper, entry, slack, basis, inverse, level):
        for j in range(n):
            entry[j] = LOWER
        for d in range(dims):
            slack[d] = BASIC
            basis[d] = n + d
            level[d] = min(1, cap[d])
            for e in range(dims):
                inverse[d, e] = 1.0 if d == e else 0.0
    price = np.empty(dims)
    column = np.empty(dims)
    steps = 0
    limit = 40 + 8 * dims + n
    while steps < limit:
        steps += 1
        for d in range(dims):
            total = 0.0
            for e in range(dims):
                if basis[e] < n:
                    total += v[basis[e]] * inverse[e, d]
            price[d] = total
        enter, sign = _entering(a, v, upper, entry, slack, price, 1e-11 * scale)
        if enter < 0:
            break
        for d in range(dims):
            total = 0.0
            for e in range(dims):
                total += inverse[d, e] * (a[enter, e] if enter < n else (1.0 if e == enter - n else 0.0))
            column[d] = total * sign
        _step(upper, entry, slack, basis, inverse, level, column, enter, sign, n)
    for j in range(n):
        x[j] = upper[j] if entry[j] == UPPER else 0
    for d in range(dims):
        if basis[d] < n:
            x[basis[d]] = level[d]
        multiplier[d] = max(0.0, price[d]) / max(1, cap[d])
    return steps * (n * (dims + 2) + 8 * dims * dims + 20)


@njit(cache=True)
def _resume(a: Floats, upper: Ints, entry: States, slack: States, basis: Ints, inverse: Floats, level: Floats) -> bool:
    """Rebuild basis, inverse and levels from the states; False if they are no feasible basis."""
    n, dims = a.shape
    m = 0
    rhs = np.ones(dims)
    for j in range(n):
        if entry[j] == BASIC:
            if m == dims:
                return False
            basis[m] = j
            m += 1
        elif entry[j] == UPPER:
            for d in range(dims):
                rhs[d] -= a[j, d] * upper[j]
    for d in range(dims):
        if slack[d] == BASIC:
            if m == dims:
                return False
            basis[m] = n + d
            m += 1
    if m < dims or not _invert(a, basis, inverse):
        return False
    for d in range(dims):
        total = 0.0
        for e in range(dims):
            total += inverse[d, e] * rhs[e]
        level[d] = total
        if total < -1e-7 or (basis[d] < n and total > upper[basis[d]] + 1e-7):
            return False
    return True


@njit(cache=True)
def _invert(a: Floats, basis: Ints, inverse: Floats) -> bool:
    """Gauss-Jordan on the basis' columns: inverse[i, :] belongs to basis[i]. False if singular."""
    n, dims = a.shape
    work = np.zeros((dims, 2 * dims))
    for i in range(dims):
        for d in range(dims):
            work[d, i] = a[basis[i], d] if basis[i] < n else (1.0 if d == basis[i] - n else 0.0)
        work[i, dims + i] = 1.0
    for i in range(dims):
        p = i
        for d in range(i + 1, dims):
            if abs(work[d, i]) > abs(work[p, i]):
                p = d
        pivot = work[p, i]
        if abs(pivot) < 1e-9:
            return False
        for e in range(2 * dims):
            held = work[p, e]
            work[p, e] = work[i, e]
            work[i, e] = held / pivot
        for d in range(dims):
            if d != i and work[d, i] != 0.0:
                f = work[d, i]
                for e in range(2 * dims):
                    work[d, e] -= f * work[i, e]
    for d in range(dims):
        for e in range(dims):
            inverse[d, e] = work[d, dims + e]
    return True


@njit(cache=True)
def _entering(a: Floats, v: Ints, upper: Ints, entry: States, slack: States, price: Floats, tolerance: float) -> tuple[int, float]:
    """The move of greatest gain over its whole range, and its direction; -1 at the optimum."""
    n, dims = a.shape
    best, enter, sign = tolerance, -1, 1.0
    for j in range(n):
        if entry[j] == BASIC:
            continue
        gain = float(v[j])
        for d in range(dims):
            gain -= price[d] * a[j, d]
        gain *= upper[j]
        if entry[j] == LOWER and gain > best:
            best, enter, sign = gain, j, 1.0
        elif entry[j] == UPPER and -gain > best:
            best, enter, sign = -gain, j, -1.0
    for d in range(dims):
        if slack[d] != BASIC and -price[d] > best:
            best, enter, sign = -price[d], n + d, 1.0
    return enter, sign


@njit(cache=True)
def _step(
    upper: Ints, entry: States, slack: States, basis: Ints, inverse: Floats, level: Floats, column: Floats, enter: int, sign: float, n: int
) -> None:
    """Ratio test and basis change (or a flip from one bound to the other)."""
    dims = basis.shape[0]
    length = float(upper[enter]) if enter < n else np.inf
    leave, up = -1, False
    for d in range(dims):
        if column[d] > 1e-11:
            reach = max(0.0, level[d]) / column[d]
            if reach < length:
                length, leave, up = reach, d, False
        elif column[d] < -1e-11 and basis[d] < n:
            reach = max(0.0, upper[basis[d]] - level[d]) / -column[d]
            if reach < length:
                length, leave, up = reach, d, True
    for d in range(dims):
        level[d] -= length * column[d]
    if leave < 0:
        entry[enter] = UPPER if sign > 0 else LOWER
        return
    out = basis[leave]
    if out < n:
        entry[out] = UPPER if up else LOWER
    else:
        slack[out - n] = LOWER
    pivot = column[leave] * sign
    basis[leave] = enter
    level[leave] = length if sign > 0 else upper[enter] - length
    if enter < n:
        entry[enter] = BASIC
    else:
        slack[enter - n] = BASIC
    for e in range(dims):
        inverse[leave, e] /= pivot
    for d in range(dims):
        f = column[d] * sign
        if d != leave and f != 0.0:
            for e in range(dims):
                inverse[d, e] -= f * inverse[leave, e]


@njit(cache=True)
def improve(w: Ints, cap: Ints, v: Ints, upper: Ints, x: Ints) -> tuple[int, int]:
    """Local search: add one, swap one for one, one for two, two for one, while that gains. Returns the gain and the work done."""
    n, dims = w.shape
    room = cap.copy()
    for j in range(n):
        for d in range(dims):
            room[d] -= x[j] * w[j, d]
    total, work = 0, 5 * n
    free = np.empty(dims, np.int64)
    free2 = np.empty(dims, np.int64)
    order = np.argsort(-v, kind="mergesort")
    while work < 3000000:
        best, out1, in1, in2 = 0, -1, -1, -1
        for i in range(-1, n):
            if i >= 0 and x[i] == 0:
                continue
            lost = 0
            for d in range(dims):
                free[d] = room[d]
            if i >= 0:
                lost = v[i]
                for d in range(dims):
                    free[d] += w[i, d]
            for oj in range(n):
                j = order[oj]
                if j == i or x[j] >= upper[j]:
                    continue
                if v[j] <= 0 or 2 * v[j] <= lost + best:
                    break
                fits = True
                for d in range(dims):
                    fits = fits and w[j, d] <= free[d]
                work += dims
                if not fits:
                    continue
                if v[j] - lost > best:
                    best, out1, in1, in2 = v[j] - lost, i, j, -1
                for d in range(dims):
                    free2[d] = free[d] - w[j, d]
                for other in range(oj, n):
                    k = order[other]
                    if v[j] + v[k] - lost <= best:
                        break
                    if k == i or x[k] >= upper[k] or (k == j and x[k] + 1 >= upper[k]):
                        continue
                    fits = True
                    for d in range(dims):
                        fits = fits and w[k, d] <= free2[d]
                    work += dims
                    if fits:
                        best, out1, in1, in2 = v[j] + v[k] - lost, i, j, k
                        break
        if best <= 0:
            break
        total += best
        if out1 >= 0:
            x[out1] -= 1
            for d in range(dims):
                room[d] += w[out1, d]
        x[in1] += 1
        for d in range(dims):
            room[d] -= w[in1, d]
        if in2 >= 0:
            x[in2] += 1
            for d in range(dims):
                room[d] -= w[in2, d]
    return total, work


class Tree(NamedTuple):
    """One bin's open classes in the order in which they are decided (m of them), after fixing by reduced cost."""

    item: Ints
    """[m] position among the bin's candidates."""
    w: Ints
    """[m, D]"""
    v: Ints
    """[m]"""
    span: Ints
    """[m] at most so many beyond ``low``."""
    gain: Ints
    """[m] v - k."""
    suffix: Ints
    """[m + 1] Σ max(0, gain)·span from here on."""
    low: Ints
    """[n] fixed from below, for all candidates."""


class Path(NamedTuple):
    """The decisions from the root to a node: entry p is the state before class p is decided."""

    x: Ints
    """[m]"""
    room: Ints
    """[m + 1, D]"""
    worth: Ints
    """[m + 1] value of what is in."""
    row: Ints
    """[m + 1] K + Σ gain·x."""
    side: Ints
    """[m + 1, 2] the same for the rows of the two grids."""
    bound: Ints
    """[m + 1]"""


class Grids(NamedTuple):
    """Two dynamic programmes, each over one resource in cells, the other resources dualised."""

    dim: Ints
    """[2]"""
    unit: Ints
    """[2] greatest common divisor of the classes' demands."""
    shift: Ints
    """[2] a cell is 2^shift units."""
    gain: Ints
    """[2, m] value less the cost of the other resources."""
    best: Ints
    """[2, m + 1, cells] most that classes from p on can add in so many cells."""


@njit(cache=True)
def tree(
    t: Tables,
    b: int,
    w: Ints,
    cap: Ints,
    v: Ints,
    upper: Ints,
    cost: Ints,
    limit: int,
    lam: Floats,
    target: int,
    effort: int,
    tie: int,
    x: Ints,
) -> tuple[int, int, int]:
    """Branch and bound for a pattern worth more than ``target``. Returns (value found or 0, proven bound, work); writes the pattern to x.

    Reduced costs fix what they can and the largest items are decided first. The bound of a node is the least of the surrogate row and, once
    the tree has grown, of two dynamic programmes over the resources that count most and of an LP of what is left (upper levels only).
    Searched through, the bound is at most max(target, value found + tie); else it is that of the nodes left open.
    """
    top = _top(v, cost, upper, limit)
    r, shut = _reduced(w, v, upper, cost, top, target)
    m, dims = r.w.shape
    path = Path(
        np.zeros(m, np.int64),
        np.zeros((m + 1, dims), np.int64),
        np.zeros(m + 1, np.int64),
        np.zeros(m + 1, np.int64),
        np.zeros((m + 1, 2), np.int64),
        np.full(m + 1, top),
    )
    if not _start(r, w, cap, v, cost, limit, path):
        return 0, target, 10 * v.shape[0]
    grids = Grids(
        np.zeros(2, np.int64), np.ones(2, np.int64), np.zeros(2, np.int64), np.zeros((2, m), np.int64), np.zeros((2, 1, 1), np.int64)
    )
    best, work, next_phase, p = 0, 20 * v.shape[0], COARSE_AFTER, 0
    threshold, rising, deep = target + tie, False, False
    while p >= 0:
        if rising:
            if path.x[p] == 0:
                p -= 1
                continue
            path.x[p] -= 1
            _child(r, grids, path, p)
            p, rising = p + 1, False
        if p == m:
            if path.worth[m] > threshold:
                best = int(path.worth[m])
                threshold = best + tie
                x[:] = r.low
                for q in range(m):
                    x[r.item[q]] += path.x[q]
            else:
                shut = max(shut, int(path.worth[m]))
            if m > 0:
                path.x[m - 1] = 0
            p, rising = p - 1, True
            continue
        bound = path.row[p] + r.suffix[p]
        if bound <= threshold:
            shut = max(shut, bound)
            # With a gain of its own, fewer of the class before is only worse.
            if p > 0 and r.gain[p - 1] >= 0:
                path.x[p - 1] = 0
            p, rising = p - 1, True
            continue
        if deep:
            bound = min(bound, _grid_bound(grids, path, p))
            work += 10
            if bound > threshold and (p <= 40 or path.x[p - 1] > 0):
                below, spent = _rest_bound(r, path, p)
                bound = min(bound, below)
                work += spent
            if bound <= threshold:
                shut = max(shut, bound)
                p, rising = p - 1, True
                continue
        path.bound[p] = min(bound, path.bound[max(0, p - 1)])
        work += 15
        if work > effort:
            shut = max(shut, _open_bound(r, path, p))
            break
        if m > 0 and work > next_phase:
            grids = _grids(r, cap, lam, path, FINE if deep else COARSE)
            next_phase = FINE_AFTER if not deep else effort
            deep = True
            work += 2 * grids.best.size
        path.x[p] = _most(t, b, r, path, p)
        _child(r, grids, path, p)
        p += 1
    return best, max(best, shut), work


@njit(cache=True)
def _reduced(w: Ints, v: Ints, upper: Ints, cost: Ints, top: int, target: int) -> tuple[Tree, int]:
    """Fix by reduced cost: a pattern worth more than the target cannot lose more than top - target. Also the target, if that cut any."""
    n, dims = w.shape
    low = np.zeros(n, np.int64)
    span = np.zeros(n, np.int64)
    key = np.empty(n)
    m, shut = 0, 0
    for j in range(n):
        g = v[j] - cost[j]
        most = upper[j] if v[j] > 0 else 0
        if g > 0:
            low[j] = max(0, most - (top - target - 1) // g)
        elif g < 0 and v[j] > 0:
            most = min(most, (top - target - 1) // -g)
        if v[j] > 0 and (low[j] > 0 or most < upper[j]):
            shut = target
        span[j] = most - low[j]
        key[j] = -float(cost[j]) if span[j] > 0 else np.inf
        if span[j] > 0:
            m += 1
    item = np.argsort(key, kind="mergesort")[:m].astype(np.int64)
    r = Tree(
        item,
        np.empty((m, dims), np.int64),
        np.empty(m, np.int64),
        np.empty(m, np.int64),
        np.empty(m, np.int64),
        np.zeros(m + 1, np.int64),
        low,
    )
    for p in range(m - 1, -1, -1):
        j = item[p]
        r.w[p, :] = w[j]
        r.v[p] = v[j]
        r.span[p] = span[j]
        r.gain[p] = v[j] - cost[j]
        r.suffix[p] = r.suffix[p + 1] + max(0, r.gain[p]) * span[j]
    return r, shut


@njit(cache=True)
def _start(r: Tree, w: Ints, cap: Ints, v: Ints, cost: Ints, limit: int, path: Path) -> bool:
    """The root's state, with ``low`` of each class in; False if they do not even fit."""
    path.row[0] = limit
    path.room[0, :] = cap
    for j in range(v.shape[0]):
        if r.low[j] > 0:
            path.worth[0] += r.low[j] * v[j]
            path.row[0] += r.low[j] * (v[j] - cost[j])
            for d in range(cap.shape[0]):
                path.room[0, d] -= r.low[j] * w[j, d]
    for d in range(cap.shape[0]):
        if path.room[0, d] < 0:
            return False
    return True


@njit(cache=True)
def _child(r: Tree, grids: Grids, path: Path, p: int) -> None:
    """State after class p is decided."""
    x = path.x[p]
    for d in range(r.w.shape[1]):
        path.room[p + 1, d] = path.room[p, d] - x * r.w[p, d]
    path.worth[p + 1] = path.worth[p] + x * r.v[p]
    path.row[p + 1] = path.row[p] + x * r.gain[p]
    for h in range(2):
        path.side[p + 1, h] = path.side[p, h] + x * grids.gain[h, p]


@njit(cache=True)
def _most(t: Tables, b: int, r: Tree, path: Path, p: int) -> int:
    """How many more of class p fit after the decisions so far."""
    n = r.span[p]
    for d in range(r.w.shape[1]):
        if r.w[p, d] > 0:
            n = min(n, path.room[p, d] // r.w[p, d])
    c = t.item[t.first[b] + r.item[p]]
    if n > 0 and t.clashing[c]:
        for j in range(r.low.shape[0]):
            if r.low[j] > 0 and t.clash[c, t.item[t.first[b] + j]]:
                return 0
        for q in range(p):
            if path.x[q] > 0 and t.clash[c, t.item[t.first[b] + r.item[q]]]:
                return 0
    if n > 0 and t.device[0] >= 0 and t.demand[c, t.device[0]] > 0:
        path.x[p] = n
        while path.x[p] > 0 and not _devices_fit(t, b, r, path, p + 1):
            path.x[p] -= 1
        n = path.x[p]
    return n


@njit(cache=True)
def _grids(r: Tree, cap: Ints, lam: Floats, path: Path, size: int) -> Grids:
    """Build the dynamic programmes for the (at most) two resources of greatest λ·cap, and bring the path's sums up to date."""
    m, dims = r.w.shape
    order = np.argsort(-(lam * cap), kind="mergesort")
    unit = np.ones(2, np.int64)
    shift = np.zeros(2, np.int64)
    cells = 1
    for h in range(2):
        d = order[min(h, dims - 1)]
        unit[h] = _divisor(r.w, d)
        while (path.room[0, d] // unit[h] >> shift[h]) + 2 > size // (m + 1) + 64:
            shift[h] += 1
        cells = max(cells, (path.room[0, d] // unit[h] >> shift[h]) + 2)
    grids = Grids(np.zeros(2, np.int64), unit, shift, np.zeros((2, m), np.int64), np.zeros((2, m + 1, cells), np.int64))
    others = np.empty(dims)
    for h in range(2):
        d = order[min(h, dims - 1)]
        grids.dim[h] = d
        others[:] = lam
        others[d] = 0.0
        cost = np.empty(m, np.int64)
        path.side[0, h] = surrogate(r.w, path.room[0], others, cost) + path.worth[0]
        for p in range(m - 1, -1, -1):
            grids.gain[h, p] = r.v[p] - cost[p]
            _grid_row(grids.best[h, p + 1], grids.best[h, p], grids.gain[h, p], r.w[p, d] // unit[h] >> shift[h], r.span[p])
        for p in range(m):
            path.side[p + 1, h] = path.side[p, h] + path.x[p] * grids.gain[h, p]
    return grids


@njit(cache=True)
def _divisor(w: Ints, d: int) -> int:
    """Greatest common divisor of the demands for resource d: the room beyond a multiple of it is of no use."""
    g = 0
    for p in range(w.shape[0]):
        a = w[p, d]
        while a > 0:
            g, a = a, g % a
    return max(1, g)


@njit(cache=True)
def _grid_row(after: Ints, row: Ints, gain: int, size: int, span: int) -> None:
    """Bounded knapsack recurrence for one class: up to ``span`` items of ``size`` cells, each worth ``gain``."""
    cells = row.shape[0]
    row[:] = after
    if gain <= 0:
        return
    if size == 0:
        for s in range(cells):
            row[s] += gain * span
        return
    if span >= (cells - 1) // size:
        for s in range(size, cells):
            row[s] = max(row[s], row[s - size] + gain)
        return
    part = 1
    while span > 0:
        part = min(part, span)
        for s in range(cells - 1, part * size - 1, -1):
            row[s] = max(row[s], row[s - part * size] + part * gain)
        span -= part
        part *= 2


@njit(cache=True)
def _grid_bound(grids: Grids, path: Path, p: int) -> int:
    """The lesser of the two dynamic programmes' bounds: weights were rounded down to cells, the room is rounded up."""
    bound = path.bound[0]
    for h in range(2):
        room = path.room[p, grids.dim[h]] // grids.unit[h]
        s = grids.shift[h]
        bound = min(bound, path.side[p, h] + grids.best[h, p, (room + (1 << s) - 1) >> s])
    return bound


@njit(cache=True)
def _rest_bound(r: Tree, path: Path, p: int) -> tuple[int, int]:
    """LP bound on the classes from p on in the room that is left; and the work."""
    m, dims = r.w.shape
    upper = np.empty(m - p, np.int64)
    for q in range(p, m):
        n = r.span[q]
        for d in range(dims):
            if r.w[q, d] > 0:
                n = min(n, path.room[p, d] // r.w[q, d])
        upper[q - p] = n
    lam = np.empty(dims)
    work = relaxation(r.w[p:], path.room[p], r.v[p:], upper, np.zeros(m - p, np.int8), np.zeros(dims, np.int8), lam, np.empty(m - p))
    cost = np.empty(m - p, np.int64)
    limit = surrogate(r.w[p:], path.room[p], lam, cost)
    return path.worth[p] + _top(r.v[p:], cost, upper, limit), work + 8 * (m - p)


@njit(cache=True)
def _open_bound(r: Tree, path: Path, p: int) -> int:
    """No pattern in a part of the tree not searched yet is worth more."""
    bound = path.bound[p]
    for q in range(p):
        if path.x[q] > 0:
            most = path.x[q] - 1 if r.gain[q] > 0 else 0
            bound = max(bound, min(path.bound[q], path.row[q] + most * r.gain[q] + r.suffix[q + 1]))
    return bound


@njit(cache=True)
def _devices_fit(t: Tables, b: int, r: Tree, path: Path, p: int) -> bool:
    """Can shares and whole devices of the first p classes (and all fixed ones) be put on the bin's devices?"""
    if t.device[0] < 0:
        return True
    return True
