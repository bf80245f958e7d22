"""Compiled parts of one bin's pricing problem: its LP, whole-number bounds, fitting of devices, and local search.

The problem: max Σ v·x, W·x ≤ cap, 0 ≤ x ≤ upper, x whole, no two classes that clash, and shares of devices that can be seated. Values are
whole (1/scale micro-dollar an hour). Axes: n candidate classes of the bin, D resources that can bind there.

Why bounds are proven although their multipliers come from a float LP: for any λ ≥ 0 take whole numbers k_c ≤ Σ_d λ_d·w_cd and
K ≥ Σ_d λ_d·cap_d. Then Σ k·x ≤ K for every x with W·x ≤ cap, hence Σ v·x ≤ K + Σ max(0, v - k)·upper, all of it exact in int64. Floats
only choose λ; k is rounded down and K up by a margin far above the error of D products. Feasibility is judged in int64 alone, so that
bytes beyond 2^53 count too.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from packer.arrays import Bools, Floats, Ints
from packer.kernels import inner, sort_by

States = NDArray[np.int8]

MARGIN = 1e-13
"""Relative margin on λ·w and λ·cap: above (2·D + 2)·2^-53 for any D ≤ 400: conversions, products and sums of non-negative terms."""
SEATING_NODES = 400
"""Nodes of the exact search for a seating of shares on devices, before it is left undecided."""
LOWER, UPPER, BASIC = 0, 1, 2
NO, YES, UNKNOWN = 0, 1, 2


class Knapsack(NamedTuple):
    """One bin's problem."""

    w: Ints
    """[n, D]"""
    cap: Ints
    """[D]"""
    v: Ints
    """[n]"""
    upper: Ints
    """[n]"""
    clash: Bools
    """[n, n], or [0, 0] if nothing clashes."""
    share: Ints
    """[n] what an item takes of the device resource; [0] if devices do not matter."""
    sharers: Ints
    """classes with a share, the largest first."""
    free: Ints
    """free amounts of the devices, the largest first."""
    size: int
    """of one device."""


@njit(cache=True)
def top_bound(v: Ints, cost: Ints, upper: Ints, limit: int) -> int:
    """K + Σ max(0, v - k)·upper."""
    top = limit
    for j in range(v.shape[0]):
        if v[j] > cost[j]:
            top += (v[j] - cost[j]) * upper[j]
    return top


@njit(cache=True)
def surrogate(w: Ints, which: Ints, cap: Ints, multiplier: Floats, cost: Ints) -> int:
    """Whole numbers k (written to ``cost``, for the classes in ``which``) and K (returned) with Σ k·x ≤ K whenever W·x ≤ cap."""
    for i in range(which.shape[0]):
        j = which[i]
        total = 0.0
        for d in range(w.shape[1]):
            total += multiplier[d] * w[j, d]
        cost[j] = int(np.floor(total * (1.0 - MARGIN)))
    total = 0.0
    for d in range(cap.shape[0]):
        total += multiplier[d] * cap[d]
    return int(np.floor(total * (1.0 + MARGIN))) + 1


@njit(cache=True, error_model="numpy")
def relaxation(a: Floats, which: Ints, rhs: Floats, v: Ints, upper: Ints, entry: States, slack: States, price: Floats, x: Floats) -> int:
    """LP max Σ v·x, A·x ≤ rhs, 0 ≤ x ≤ upper over the classes in ``which``: writes duals (``price`` [D]) and x; returns the work done.

    A primal simplex with bounds and an explicit D × D inverse. It starts where ``entry`` [n] and ``slack`` [D] say (same A, rhs and
    upper, other values: still feasible) and leaves there where it stops. Whatever the duals are, max(0, dual) is a valid multiplier; how
    good they are decides only how tight the bound is.
    """
    n, dims = a.shape
    scale = 1.0
    for i in range(which.shape[0]):
        scale = max(scale, float(v[which[i]]) * float(upper[which[i]]))
    inverse = np.zeros((dims, dims))
    basis = np.empty(dims, np.int64)
    level = np.empty(dims)
    if not _resume(a, which, rhs, upper, entry, slack, basis, inverse, level):
        for i in range(which.shape[0]):
            entry[which[i]] = LOWER
        for d in range(dims):
            slack[d] = BASIC
            basis[d] = n + d
            level[d] = rhs[d]
            for e in range(dims):
                inverse[d, e] = 1.0 if d == e else 0.0
    column = np.empty(dims)
    steps, limit = 0, 40 + 8 * dims + n
    while steps < limit:
        steps += 1
        for d in range(dims):
            price[d] = 0.0
            for e in range(dims):
                if basis[e] < n:
                    price[d] += v[basis[e]] * inverse[e, d]
        # The move of greatest gain over its whole range.
        best, enter, sign = 1e-11 * scale, -1, 1.0
        for i in range(which.shape[0]):
            j = which[i]
            if entry[j] == BASIC:
                continue
            gain = float(v[j])
            for d in range(dims):
                gain -= price[d] * a[j, d]
            gain *= upper[j]
            if entry[j] == UPPER:
                gain = -gain
            if gain > best:
                best, enter, sign = gain, j, (-1.0 if entry[j] == UPPER else 1.0)
        for d in range(dims):
            if slack[d] != BASIC and -price[d] > best:
                best, enter, sign = -price[d], n + d, 1.0
        if enter < 0:
            break
        for d in range(dims):
            column[d] = 0.0
            for e in range(dims):
                if enter < n:
                    column[d] += inverse[d, e] * a[enter, e] * sign
                elif e == enter - n:
                    column[d] += inverse[d, e] * sign
        _step(upper, entry, slack, basis, inverse, level, column, enter, sign)
    for i in range(which.shape[0]):
        x[which[i]] = upper[which[i]] if entry[which[i]] == UPPER else 0
    for d in range(dims):
        if basis[d] < n:
            x[basis[d]] = level[d]
    return steps * (which.shape[0] * (dims + 2) + 8 * dims * dims + 20)


@inner
def _resume(
    a: Floats, which: Ints, rhs: Floats, upper: Ints, entry: States, slack: States, basis: Ints, inverse: Floats, level: Floats
) -> bool:
    """Rebuild basis, inverse and levels from the states by Gauss-Jordan; False if they are no feasible basis."""
    n, dims = a.shape
    m = 0
    work = np.zeros((dims, dims + dims + 1))
    for d in range(dims):
        work[d, 2 * dims] = rhs[d]
        work[d, dims + d] = 1.0
    for i in range(which.shape[0]):
        j = which[i]
        if entry[j] == UPPER:
            for d in range(dims):
                work[d, 2 * dims] -= a[j, d] * upper[j]
        elif entry[j] == BASIC:
            if m == dims:
                return False
            basis[m] = j
            for d in range(dims):
                work[d, m] = a[j, d]
            m += 1
    for e in range(dims):
        if slack[e] == BASIC:
            if m == dims:
                return False
            basis[m] = n + e
            work[e, m] = 1.0
            m += 1
    if m < dims:
        return False
    for i in range(dims):
        p = i
        for d in range(i + 1, dims):
            if abs(work[d, i]) > abs(work[p, i]):
                p = d
        pivot = work[p, i]
        if abs(pivot) < 1e-9:
            return False
        for e in range(2 * dims + 1):
            held = work[p, e]
            work[p, e] = work[i, e]
            work[i, e] = held / pivot
        for d in range(dims):
            if d != i and work[d, i] != 0.0:
                f = work[d, i]
                for e in range(2 * dims + 1):
                    work[d, e] -= f * work[i, e]
    for d in range(dims):
        level[d] = work[d, 2 * dims]
        if level[d] < -1e-7 or (basis[d] < n and level[d] > upper[basis[d]] + 1e-7):
            return False
        for e in range(dims):
            inverse[d, e] = work[d, dims + e]
    return True


@inner
def _step(
    upper: Ints, entry: States, slack: States, basis: Ints, inverse: Floats, level: Floats, column: Floats, enter: int, sign: float
) -> None:
    """Ratio test and basis change (or a flip from one bound to the other)."""
    dims, n = basis.shape[0], upper.shape[0]
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
    basis[leave] = enter
    level[leave] = length if sign > 0 else upper[enter] - length
    if enter < n:
        entry[enter] = BASIC
    else:
        slack[enter - n] = BASIC
    pivot = column[leave] * sign
    for e in range(dims):
        inverse[leave, e] /= pivot
    for d in range(dims):
        if d != leave:
            f = column[d] * sign
            for e in range(dims):
                inverse[d, e] -= f * inverse[leave, e]


@inner
def seating(k: Knapsack, x: Ints) -> int:
    """Can the shares of pattern x be seated? YES by best fit decreasing, NO by count or exhaustion, else UNKNOWN.

    A share of up to one device sits on one; more takes whole devices, which are interchangeable, so they are taken first.
    """
    count = k.free.shape[0]
    whole = count - k.free.shape[0]
    for i in range(k.sharers.shape[0]):
        j = k.sharers[i]
        if k.share[j] > k.size:
            whole += x[j] * (k.share[j] // k.size)
    if whole > 0 and (whole > count or k.free[whole - 1] < k.size):
        return NO
    free = k.free[whole:].copy()
    for i in range(k.sharers.shape[0]):
        j = k.sharers[i]
        if k.share[j] > k.size:
            continue
        for _ in range(x[j]):
            best = -1
            for d in range(free.shape[0]):
                if free[d] >= k.share[j] and (best < 0 or free[d] < free[best]):
                    best = d
            if best < 0:
                return _seat_exactly(k, x, whole)
            free[best] -= k.share[j]
    return YES


@inner
def _seat_exactly(k: Knapsack, x: Ints, whole: int) -> int:
    """Depth-first search, the largest shares first; of devices with equal room one is tried."""
    items, total = 0, 0
    for i in range(k.sharers.shape[0]):
        j = k.sharers[i]
        if k.share[j] <= k.size:
            items += x[j]
            total += x[j] * k.share[j]
    free = k.free[whole:].copy()
    for d in range(free.shape[0]):
        total -= free[d]
    if total > 0:
        return NO
    share = np.empty(items, np.int64)
    n = 0
    for i in range(k.sharers.shape[0]):
        j = k.sharers[i]
        if k.share[j] <= k.size:
            for _ in range(x[j]):
                share[n] = k.share[j]
                n += 1
    seat = np.full(items, -1, np.int64)
    p, nodes = 0, 0
    while p >= 0:
        if p == items:
            return YES
        nodes += 1
        if nodes > SEATING_NODES:
            return UNKNOWN
        d = seat[p]
        if d >= 0:
            free[d] += share[p]
        d += 1
        while d < free.shape[0]:
            fresh = free[d] >= share[p]
            for e in range(d):
                fresh = fresh and free[e] != free[d]
            if fresh:
                break
            d += 1
        if d < free.shape[0]:
            seat[p] = d
            free[d] -= share[p]
            p += 1
            if p < items:
                seat[p] = -1
        else:
            seat[p] = -1
            p -= 1
    return NO


@inner
def agrees(k: Knapsack, x: Ints, j: int) -> bool:
    """May class j have one more item in pattern x, as far as clashes and devices go?"""
    if k.clash.shape[0] > 0 and x[j] == 0:
        for i in range(x.shape[0]):
            if x[i] > 0 and k.clash[i, j]:
                return False
    if k.share.shape[0] > 0 and k.share[j] > 0:
        x[j] += 1
        seats = seating(k, x)
        x[j] -= 1
        return seats == YES
    return True


@inner
def pour(k: Knapsack, order: Ints, most: Ints, x: Ints, room: Ints) -> None:
    """Fill pattern x up to ``most`` of each class, class by class in the given order, as far as it fits. ``room`` is kept up to date."""
    for i in range(order.shape[0]):
        j = order[i]
        n = most[j] - x[j] if k.v[j] > 0 else 0
        for d in range(room.shape[0]):
            if n > 0 and k.w[j, d] > 0:
                n = min(n, room[d] // k.w[j, d])
        if n <= 0 or not agrees(k, x, j):
            continue
        x[j] += n
        if k.share.shape[0] > 0 and k.share[j] > 0:
            while seating(k, x) != YES:
                x[j] -= 1
                n -= 1
        for d in range(room.shape[0]):
            room[d] -= n * k.w[j, d]


@inner
def swap(k: Knapsack, x: Ints, room: Ints, effort: int) -> int:
    """Local search: in each item's stead the best one or two of others, as long as that gains. Returns the work done."""
    w, v, upper = k.w, k.v, k.upper
    n, dims = w.shape
    key = np.empty(n)
    order = np.empty(n, np.int64)
    for j in range(n):
        key[j] = -float(v[j])
    sort_by(key, order)
    free = np.empty(dims, np.int64)
    work, gained = 10 * n, True
    while gained and work < effort:
        gained = False
        for i in range(-1, n):
            if i >= 0 and x[i] == 0:
                continue
            lost, gain, one, two = 0, 0, -1, -1
            for d in range(dims):
                free[d] = room[d]
            if i >= 0:
                lost = v[i]
                x[i] -= 1
                for d in range(dims):
                    free[d] += w[i, d]
            for a in range(n):
                j = order[a]
                if v[j] <= 0 or 2 * v[j] <= lost + gain:
                    break
                fits = j != i and x[j] < upper[j]
                for d in range(dims):
                    fits = fits and w[j, d] <= free[d]
                work += dims
                if not fits or not agrees(k, x, j):
                    continue
                if v[j] - lost > gain:
                    gain, one, two = v[j] - lost, j, -1
                x[j] += 1
                for c in range(a, n):
                    j2 = order[c]
                    if v[j2] <= 0 or v[j] + v[j2] - lost <= gain:
                        break
                    fits = j2 != i and x[j2] < upper[j2]
                    for d in range(dims):
                        fits = fits and w[j2, d] + w[j, d] <= free[d]
                    work += dims
                    if fits and agrees(k, x, j2):
                        gain, one, two = v[j] + v[j2] - lost, j, j2
                        break
                x[j] -= 1
            if gain <= 0:
                if i >= 0:
                    x[i] += 1
                continue
            gained = True
            x[one] += 1
            if two >= 0:
                x[two] += 1
            for d in range(dims):
                room[d] = free[d] - w[one, d] - (w[two, d] if two >= 0 else 0)
    return work
