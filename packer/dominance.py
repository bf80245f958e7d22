"""Offerings that no plan needs, because another is at least as good for every class. numba only."""

# ruff: noqa: SIM110 - numba compiles loops, not generator expressions

from __future__ import annotations

import numpy as np
from numba import njit

from packer.arrays import Bools, Ints


def dominance_of(cap: Ints, price: Ints, usable: Bools, worse: Ints, group: Ints, scarce: Bools) -> Bools:
    """bool[O]: which offerings to keep.

    ``cap`` [O, D] more is better, ``price`` [O] less is better, ``usable`` [S, O] each class signature, ``worse`` [K, O] less is better.
    Only within a ``group`` [O], and never by a ``scarce`` one (its stock may run out). Of equals the first in (price, size, index) stays.
    """
    scaled = cap / np.maximum(cap.max(0, initial=1), 1)
    order = np.lexsort((np.arange(len(price)), -scaled.sum(1), price)).astype(np.int64)
    return np.asarray(_keep(cap, price, np.ascontiguousarray(usable.T), np.ascontiguousarray(worse.T), group, scarce, order))


@njit(cache=True)
def _keep(cap, price, usable, worse, group, scarce, order):  # type: ignore[no-untyped-def]
    keep = np.zeros(len(price), np.bool_)
    rulers = np.empty(len(price), np.int64)
    found = 0
    for i in range(len(order)):
        t = order[i]
        if not usable[t].any():
            continue
        beaten = False
        for j in range(found):
            u = rulers[j]
            if group[u] == group[t] and _covers(cap[u], cap[t]) and _covers(worse[t], worse[u]) and _allows(usable[u], usable[t]):
                beaten = True
                break
        if not beaten:
            keep[t] = True
            if not scarce[t]:
                rulers[found] = t
                found += 1
    return keep


@njit(cache=True)
def _covers(a, b):  # type: ignore[no-untyped-def]
    for d in range(len(a)):
        if a[d] < b[d]:
            return False
    return True


@njit(cache=True)
def _allows(a, b):  # type: ignore[no-untyped-def]
    for s in range(len(a)):
        if b[s] and not a[s]:
            return False
    return True
