"""Integer plans from scaled-down and from fractional ones: where the neighbourhood search starts."""

from __future__ import annotations

import numpy as np

from packer import kernels, search
from packer.arrays import Bins, Floats, Ints, Packing

ITEMS = 1000
"""About so many items are searched for a first plan; larger problems are scaled down to that."""
SHIFTS = (0.0, 0.2, 0.4, 0.6)
"""A column of x bins becomes ⌊x + shift⌋ bins."""
WHOLE = 0.95
"""A column is used while what it still covers is worth this part of its price."""


def first_plan(packing: Packing, units: float = 0.2, seed: int = 0) -> Bins:
    """A plan without any LP: free bins first, then a search on the rest, scaled down to about ``ITEMS``; the bins found are repeated.

    The fractional optima of a problem and of its s-fold differ by the factor s alone, so that patterns that are good in the small one are
    good in the large one; what does not divide is completed greedily. ``units`` of search go into each of the two sizes.
    """
    weights = kernels.lone_weights(packing)
    scale = max(1, int(packing.count.sum()) // ITEMS)
    start = _scaled(packing, weights, scale, units, seed) if scale > 1 else search.empty(packing)
    if 2 * search.leftover(packing, start).sum() > packing.count.sum():
        start = search.empty(packing)
    return search.improve(packing, start, weights, budget=units, seed=seed)[0]


def _scaled(packing: Packing, weights: Floats, scale: int, units: float, seed: int) -> Bins:
    """Free bins filled greedily, and the bins of a plan for one in ``scale`` of the other items, each ``scale`` times, as stock allows."""
    held = search.empty(packing)
    if (packing.price == 0).any():
        free = packing._replace(most=np.where(packing.price == 0, packing.most, 0))
        held = search.complete(free, held, weights)
    stock, limit = search.left(packing, held)
    count = search.leftover(packing, held) // scale
    found, _ = search.improve(
        packing._replace(count=count, stock=stock // scale, limit=limit // scale), search.empty(packing), weights, budget=units, seed=seed
    )
    return search.concatenate(held, found._replace(times=found.times * scale))


def round_columns(
    packing: Packing, kinds: Ints, patterns: Ints, values: Floats, weights: Floats, members: Ints | None = None, start: Bins | None = None
) -> Bins:
    """The best of several roundings of a fractional plan: ``values`` (float64[n]) bins of ``kinds`` (int64[n]), ``patterns`` (int64[n, M]).

    ``members`` (int64[C]) tells which column class each class of the packing belongs to, where columns merge classes that they cannot tell
    apart. Patterns that the packing refuses (needs, say, which the LP does not see) are left out; what is left over goes in greedily.
    ``start`` competes too.
    """
    members = np.arange(len(packing.count)) if members is None else members
    order = np.argsort(-values, kind="stable")
    order = order[values[order] > 1e-6]
    found = [] if start is None else [start]
    for shift in SHIFTS:
        times = np.floor(values[order] + shift + 1e-9).astype(np.int64)
        part = _take(packing, kinds[order], patterns[order], times, weights, members)
        found.append(search.complete(packing, part, weights))
    return search.compact(min(found, key=lambda bins: search.rank(packing, bins)))


def _take(packing: Packing, kinds: Ints, patterns: Ints, times: Ints, weights: Floats, members: Ints) -> Bins:
    """Columns one by one, each as often as wanted, clipped to the items, stock and limits that are left."""
    rest, stock, limit = packing.count.copy(), packing.stock.copy(), packing.limit.copy()
    rows: list[tuple[int, int, Ints]] = []
    for b, pattern, wanted in zip(kinds, patterns, times, strict=True):
        group, use = packing.stock_group[b], packing.limit_use[:, b]
        while wanted > 0:
            part = _of_members(pattern, np.where(packing.most[:, b] > 0, rest, 0), members)
            held = part > 0
            n = min(int(wanted), int((rest[held] // part[held]).min(initial=wanted)))
            if group >= 0:
                n = min(n, int(stock[group]))
            n = min(n, int((limit[use > 0] // use[use > 0]).min(initial=n)))
            if (
                n <= 0
                or not held.any()
                or part @ (weights - packing.adder[:, b]) < WHOLE * packing.price[b]
                or search.refusal(packing, int(b), part)
            ):
                break
            rows.append((int(b), n, part))
            rest -= n * part
            stock[group if group >= 0 else slice(0, 0)] -= n
            limit -= n * use
            wanted -= n
    if not rows:
        return search.empty(packing)
    return Bins(
        np.array([row[0] for row in rows], np.int64), np.array([row[1] for row in rows], np.int64), np.stack([row[2] for row in rows])
    )


def _of_members(pattern: Ints, rest: Ints, members: Ints) -> Ints:
    """A pattern of column classes as items of their members, as far as they last; the members in order."""
    part = np.minimum(rest, pattern[members])
    crowded = np.flatnonzero(np.bincount(members, part, len(pattern)) > pattern)
    for k in crowded:
        own = np.flatnonzero(members == k)
        part[own] = np.diff(np.minimum(np.cumsum(part[own]), pattern[k]), prepend=0)
    return part
