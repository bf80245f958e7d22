"""Compiled pricing of all bin kinds at once: good patterns, and a proven bound on what any pattern of a kind is worth."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from packer.arrays import Bools, Floats, Ints
from packer.branching import tree
from packer.kernels import Tables, inner, sort_by
from packer.knapsack import Knapsack, States, pour, relaxation, surrogate, swap, top_bound

SWAPS = 3_000_000
"""Work of a local search, at most."""


class Knapsacks(NamedTuple):
    """The pricing problems of all bin kinds; N entries as in ``Tables``."""

    demand: Ints
    """[C, R]"""
    cap: Ints
    """[B, R]"""
    binding: Ints
    """[B, R] the resources that can bind in a bin come first; the others are -1."""
    first: Ints
    """[B + 1]"""
    item: Ints
    """[N]"""
    upper: Ints
    """[N] min(most, items there are)."""
    adder: Ints
    """[N]"""
    cell: Ints
    """[B]"""
    clash: Bools
    """[C, C], or [0, 0] if nothing clashes."""
    share: Ints
    """[C] what an item takes of the device resource, or [0]."""
    devices: Ints
    """[B] what a bin has of the device resource, or [0]."""
    size: int
    """of one device."""


class Sweep(NamedTuple):
    """What pricing found, and where the simplex of each bin stopped."""

    value: Ints
    """[B] of the best pattern found, 0 if none."""
    bound: Ints
    """[B] no pattern is worth more."""
    pattern: Ints
    """[B, C] the best."""
    kind: Ints
    """[P] bin kinds of more patterns, -1 for none."""
    more: Ints
    """[P, C]"""
    entry: States
    """[N]"""
    slack: States
    """[B, D]"""


def knapsacks(t: Tables, count: Ints, cell: Ints) -> Knapsacks:
    """The pricing problems of all bin kinds."""
    upper = np.minimum(t.most, count[t.item])
    demand, cap = t.demand, t.cap
    none = np.zeros(0, np.int64)
    shared = t.device[0] >= 0
    return Knapsacks(
        demand=demand,
        cap=cap,
        binding=_binding(t.first, t.item, demand, cap, upper),
        first=t.first,
        item=t.item,
        upper=upper,
        adder=t.adder,
        cell=np.ascontiguousarray(cell, np.int64),
        clash=t.clash if t.clash.any() else np.zeros((0, 0), np.bool_),
        share=np.ascontiguousarray(t.demand[:, t.device[0]]) if shared else none,
        devices=np.ascontiguousarray(t.cap[:, t.device[0]]) if shared else none,
        size=int(t.device[1]),
    )


def empty_sweep(k: Knapsacks) -> Sweep:
    """Room for what pricing finds; simplexes start from nothing."""
    bins, classes = len(k.cap), len(k.demand)
    nothing = np.zeros(bins, np.int64)
    return Sweep(
        nothing,
        nothing.copy(),
        np.zeros((bins, classes), np.int64),
        np.full(32, -1, np.int64),
        np.zeros((32, classes), np.int64),
        np.zeros(len(k.item), np.int8),
        np.zeros(k.cap.shape, np.int8),
    )


@inner
def _binding(first: Ints, item: Ints, demand: Ints, cap: Ints, upper: Ints) -> Ints:
    """Resources that the bin's candidates could exceed all together, [B, D], -1 after the last."""
    bins, dims = cap.shape
    binding = np.full((bins, dims), -1, np.int64)
    for b in range(bins):
        n = 0
        for d in range(dims):
            total = 0.0
            for i in range(first[b], first[b + 1]):
                total += float(upper[i]) * float(demand[item[i], d])
            if total > cap[b, d] * (1.0 - 1e-9):
                binding[b, n] = d
                n += 1
    return binding


@njit(cache=True, error_model="numpy")
def sweep(k: Knapsacks, values: Ints, scale: int, target: Ints, effort: int, tie: int, out: Sweep, chosen: Bools) -> int:
    """Price the ``chosen`` bin kinds; returns the work done (one to two nanoseconds each).

    ``values`` [C, Z] by cell, in 1/scale micro-dollars. ``target`` [B]: patterns worth more are of interest, and bins whose relaxation
    is worth no more get none. ``effort``: work on each tree, 0 for heuristics alone. ``tie``: values this close are not told apart.
    """
    work, extra = 0, 0
    for i in range(out.kind.shape[0]):
        out.kind[i] = -1
    for b in range(k.cap.shape[0]):
        if not chosen[b]:
            continue
        lo = k.first[b]
        problem = _problem(k, b, values, scale)
        n, dims = problem.w.shape
        lam, level, cost, every = np.empty(dims), np.empty(n), np.empty(n, np.int64), np.arange(n)
        a = np.empty((n, dims))
        for j in range(n):
            for d in range(dims):
                a[j, d] = problem.w[j, d] / max(1, problem.cap[d])
        work += 20 * n + 500
        work += relaxation(a, every, np.ones(dims), problem.v, problem.upper, out.entry[lo : lo + n], out.slack[b], lam, level)
        for d in range(dims):
            lam[d] = max(0.0, lam[d]) / max(1, problem.cap[d])
        limit = surrogate(problem.w, every, problem.cap, lam, cost)
        top = top_bound(problem.v, cost, problem.upper, limit)
        out.bound[b], out.value[b] = top, 0
        if top <= target[b]:
            continue
        x = np.zeros(n, np.int64)
        best, spent = _heuristics(problem, cost, level, top - tie, x)
        work += spent
        _write(out.pattern[b], x, k, b)
        out.value[b] = best
        if effort <= 0 or best >= top - tie:
            continue
        pool = np.zeros((17, n), np.int64)
        value, bound, found, spent = tree(problem, cost, limit, lam, max(best, target[b]), effort, tie, pool)
        work += spent
        out.bound[b] = min(top, max(bound, best))
        out.value[b] = max(best, value)
        if found > 0:
            _write(out.pattern[b], pool[0], k, b)
        for i in range(min(found, 16)):
            if extra < out.kind.shape[0]:
                _write(out.more[extra], pool[1 + i], k, b)
                out.kind[extra] = b
                extra += 1
    return work


@inner
def _write(row: Ints, x: Ints, k: Knapsacks, b: int) -> None:
    for c in range(row.shape[0]):
        row[c] = 0
    for j in range(x.shape[0]):
        row[k.item[k.first[b] + j]] = x[j]


@inner
def _problem(k: Knapsacks, b: int, values: Ints, scale: int) -> Knapsack:
    """The pricing problem of bin kind b."""
    lo, n = k.first[b], k.first[b + 1] - k.first[b]
    dims = 0
    while dims < k.binding.shape[1] and k.binding[b, dims] >= 0:
        dims += 1
    w = np.empty((n, dims), np.int64)
    v = np.empty(n, np.int64)
    upper = np.empty(n, np.int64)
    cap = np.empty(dims, np.int64)
    for d in range(dims):
        cap[d] = k.cap[b, k.binding[b, d]]
    for j in range(n):
        c = k.item[lo + j]
        v[j] = values[c, k.cell[b]] - scale * k.adder[lo + j]
        upper[j] = k.upper[lo + j]
        for d in range(dims):
            w[j, d] = k.demand[c, k.binding[b, d]]
    clash = np.zeros((0, 0), np.bool_)
    if k.clash.shape[0] > 0:
        clash = np.empty((n, n), np.bool_)
        for i in range(n):
            for j in range(n):
                clash[i, j] = k.clash[k.item[lo + i], k.item[lo + j]]
    share = np.zeros(0, np.int64)
    sharers = np.zeros(0, np.int64)
    free = np.zeros(0, np.int64)
    if k.share.shape[0] > 0:
        share = np.empty(n, np.int64)
        key = np.empty(n)
        order = np.empty(n, np.int64)
        m = 0
        for j in range(n):
            share[j] = k.share[k.item[lo + j]]
            key[j] = -float(share[j])
            if share[j] > 0:
                m += 1
        sort_by(key, order)
        sharers = order[:m].copy()
        whole = k.devices[b] // k.size
        rest = k.devices[b] - whole * k.size
        free = np.full(whole + (1 if rest > 0 else 0), k.size)
        if rest > 0:
            free[whole] = rest
    return Knapsack(w, cap, v, upper, clash, share, sharers, free, k.size)


@inner
def _heuristics(k: Knapsack, cost: Ints, level: Floats, goal: int, best: Ints) -> tuple[int, int]:
    """Fill the bin three ways, swap items in the best of them; writes the pattern. Returns its value and the work done.

    Ways: the LP's solution rounded down, then by value over LP cost; the same, then large items first; by value over share of the bin.
    """
    n, dims = k.w.shape
    key = np.empty(n)
    order = np.empty(n, np.int64)
    x = np.empty(n, np.int64)
    whole = np.empty(n, np.int64)
    room = np.empty(dims, np.int64)
    top = 0
    for h in range(3):
        for d in range(dims):
            room[d] = k.cap[d]
        for j in range(n):
            share = 0.0
            for d in range(dims):
                share += k.w[j, d] / max(1, k.cap[d])
            if h == 0:
                key[j] = -k.v[j] / (cost[j] + 1e-3 * share * max(1, k.v[j]) + 1.0)
            elif h == 1:
                key[j] = -share if k.v[j] > 0.98 * cost[j] else 1.0 - k.v[j] / (cost[j] + 1.0)
            else:
                key[j] = -k.v[j] / (share + 1e-9)
            x[j] = 0
            whole[j] = int(np.floor(level[j] + 1e-9))
        sort_by(key, order)
        if h < 2:
            pour(k, order, whole, x, room)
        pour(k, order, k.upper, x, room)
        value = 0
        for j in range(n):
            value += x[j] * k.v[j]
        if value > top:
            top = value
            for j in range(n):
                best[j] = x[j]
    work = 150 * n
    if 0 < top < goal:
        for d in range(dims):
            room[d] = k.cap[d]
            for j in range(n):
                room[d] -= best[j] * k.w[j, d]
        work += swap(k, best, room, SWAPS)
        top = 0
        for j in range(n):
            top += best[j] * k.v[j]
    return top, work
