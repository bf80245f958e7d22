"""numba kernels of the neighbourhood search: a subproblem's bins are filled anew, each with the best value for its worth.

Axes as in ``arrays``; a subproblem has k ≤ K local classes ``i`` (those of the ruined bins) and n ≤ M local kinds ``j``. Values are floats
and only steer; every test of fit and every cost is integer. No clock, no allocation, no global random state: the generator is an array.
Arguments are never literals, since numba would compile a function once for each.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from numba import njit

from packer.arrays import Bools, Floats, Ints

STYLES = 4
"""Ways to order the classes when a bin is filled."""
ROUNDS = 4
"""Passes of a polish at most."""


F = TypeVar("F", bound=Callable[..., Any])


def kernel(function: F) -> F:
    """Compile without reference counting: the kernels allocate nothing, and counting dozens of arrays at each call would cost more than the
    calls."""
    compiled: F = njit(cache=True, error_model="numpy", _nrt=False)(function)  # type: ignore[call-overload]
    return compiled


def inlined(function: F) -> F:
    """As ``kernel``, for the one caller that it has: compiled with that, not twice."""
    compiled: F = njit(cache=True, error_model="numpy", inline="always", _nrt=False)(function)  # type: ignore[call-overload]
    return compiled


class Model(NamedTuple):
    """The packing's arrays, and what is derived from them once."""

    demand: Ints
    weight: Ints
    tier: Ints
    """[C] rank of the tier, 0 … tiers - 1."""
    cap: Ints
    price: Ints
    most: Ints
    adder: Ints
    clash: Bools
    needs: Bools
    lacks: Bools
    """[C, B] the class needs another there: neither the kind nor the class itself meets its need."""
    stock_group: Ints
    limit_use: Ints
    value: Floats
    """[C] > 0: what placing one item is worth (dual values)."""
    alone: Floats
    """[C] what an item costs in bins of its own class."""
    worth: Floats
    """[B] > 0: what a bin costs; for a free bin, the value that it can hold."""
    inverse: Floats
    """[B, R] 1 / cap, 0 where the bin has none."""
    by_price: Ints
    """[B] kinds by price, then index."""
    menu: Ints
    """[C, M] bought kinds worth trying for a class, the best first; -1 pads."""
    standing: Ints
    """Kinds that cost nothing."""
    lone: Ints
    """[C] the bought kind that holds the class alone at least cost, or -1."""
    shares: Ints
    """Classes that take some of the shared device resource, the largest first."""
    traits: Ints
    """[6] device resource or -1, device size, number of tiers, and whether any class clashes, needs, has an adder."""


DEVICE, SIZE, TIERS, CLASHES, NEEDS, ADDERS = 0, 1, 2, 3, 4, 5


class Sub(NamedTuple):
    """Workspace of one subproblem."""

    classes: Ints
    """[K] the global class of a local one."""
    local: Ints
    """[C] the local number of a class, -1 if it is not in the subproblem."""
    size: Ints
    """[K, R] demand."""
    rem: Ints
    """[K] items to place."""
    value: Floats
    """[K] perturbed values."""
    key: Floats
    """[K] scratch: sort keys."""
    kinds: Ints
    """[M]"""
    most: Ints
    """[M, K]"""
    gain: Floats
    """[M, K] value less adder."""
    order: Ints
    """[M, K] fill order."""
    pattern: Ints
    """[M, K] the pattern that a kind would get now."""
    score: Floats
    """[M] its value, or -1 when it is out of date."""
    spare: Ints
    """[4, K]: the pattern being filled; the best of a polish; a second fill order; zeros."""
    dead: Bools
    """[K] nothing that is left takes this class."""
    room: Ints
    """[R]"""
    free: Ints
    """[2, D] what is free of each device of the bin that is being filled; scratch."""
    mark: Ints
    """[B] the last subproblem that had the kind."""
    lean: Floats
    """[R + 3] weight of each resource in the measure of size; then thrift and floor (see ``recreate``), and the style of fill orders."""
    kind_out: Ints
    """[E] kinds of the bins that were opened."""
    pattern_out: Ints
    """[E, K]"""


FILLED, BEST, OTHER, ZEROS = 0, 1, 2, 3
THRIFT, FLOOR, STYLE = 0, 1, 2


@kernel
def draw(seed: Ints) -> float:
    """A float in [0, 1): L'Ecuyer's combined generator (CACM 31, 1988), which never leaves int64."""
    seed[0] = (seed[0] * 40014) % 2147483563
    seed[1] = (seed[1] * 40692) % 2147483399
    return ((seed[0] - seed[1]) % 2147483562) / 2147483562.0


@kernel
def sort_local(order: Ints, key: Floats, k: int) -> None:
    """Sort the first k of ``order`` by key, then by number. Insertion: k is small and the order often nearly right."""
    for p in range(1, k):
        i = order[p]
        x = key[i]
        q = p - 1
        while q >= 0 and (key[order[q]] > x or (key[order[q]] == x and order[q] > i)):
            order[q + 1] = order[q]
            q -= 1
        order[q + 1] = i


@kernel
def seat(share: int, count: int, size: int, free: Ints, devices: int) -> int:
    """Seat items on devices, each on the fullest that takes it (whole devices for more than one's size); how many found a seat."""
    for done in range(count):
        if share <= size:
            at = -1
            for d in range(devices):
                if free[d] >= share and (at < 0 or free[d] < free[at]):
                    at = d
            if at < 0:
                return done
            free[at] -= share
        else:
            want = share // size
            for d in range(devices):
                if free[d] == size:
                    want -= 1
            if want > 0:
                return done
            want = share // size
            for d in range(devices):
                if want > 0 and free[d] == size:
                    free[d] = 0
                    want -= 1
    return count


@kernel
def reseat(m: Model, total: int, at: Ints, pattern: Ints, free: Ints) -> int:
    """Seat a whole pattern on the devices of a bin that has ``total`` of the resource, the largest first. ``at`` [C]: where the pattern has
    a class, or -1. The number of devices, or -1 when it does not fit (best fit decreasing: now and then too strict, never too lax)."""
    size = m.traits[SIZE]
    devices = 0
    while total > 0:
        free[devices] = min(total, size)
        total -= size
        devices += 1
    for p in range(m.shares.shape[0]):
        c = m.shares[p]
        i = at[c]
        if i >= 0 and pattern[i] > 0 and seat(m.demand[c, m.traits[DEVICE]], pattern[i], size, free, devices) < pattern[i]:
            return -1
    return devices


@kernel
def share(m: Model, s: Sub, total: int, i: int, n: int, devices: int) -> int:
    """Seat up to n items of a device-taking class beside the pattern being filled; how many. Seats all anew where that makes more fit."""
    pattern, free, kept = s.spare[FILLED], s.free[0], s.free[1]
    got = seat(s.size[i, m.traits[DEVICE]], n, m.traits[SIZE], free, devices)
    had = pattern[i]
    for d in range(devices):
        kept[d] = free[d]
    while got < n:
        pattern[i] = had + got + 1
        if reseat(m, total, s.local, pattern, free) < 0:
            break
        got += 1
        for d in range(devices):
            kept[d] = free[d]
    pattern[i] = had
    for d in range(devices):
        free[d] = kept[d]
    return got


@kernel
def welcome(m: Model, s: Sub, k: int, j: int, i: int) -> bool:
    """Whether a class clashes with nothing in the pattern being filled and finds there what it needs."""
    c = s.classes[i]
    met = not m.lacks[c, s.kinds[j]]
    for h in range(k):
        if s.spare[FILLED, h] > 0:
            if m.clash[c, s.classes[h]]:
                return False
            met = met or m.needs[c, s.classes[h]]
    return met


@kernel
def fill(m: Model, s: Sub, k: int, j: int, order: Ints, base: Ints, last: int) -> float:
    """Fill one bin of local kind j in the given order on top of ``base``, class ``last`` at the end (k: none). The pattern goes to
    ``spare[FILLED]``; its value is returned, or -1 when the base itself does not fit."""
    b = s.kinds[j]
    found, room, resources = s.spare[FILLED], s.room, s.room.shape[0]
    device = m.traits[DEVICE]
    picky = m.traits[CLASHES] + m.traits[NEEDS] > 0
    for r in range(resources):
        room[r] = m.cap[b, r]
    value = 0.0
    for i in range(k):
        found[i] = base[i]
        if base[i] > 0:
            value += base[i] * s.gain[j, i]
            for r in range(resources):
                room[r] -= base[i] * s.size[i, r]
    devices = 0
    if device >= 0:
        devices = reseat(m, m.cap[b, device], s.local, found, s.free[0])
        if devices < 0:
            return -1.0
    for q in range((k + 1) * (1 + m.traits[NEEDS])):
        p = q % (k + 1)
        i = order[p] if p < k else last
        if i == k or (i == last and p < k):
            continue
        n = min(s.rem[i], s.most[j, i]) - found[i]
        if n <= 0 or s.gain[j, i] <= 0.0:
            continue
        for r in range(resources):
            if s.size[i, r] > room[r]:
                n = 0
                break
        if n > 1:
            for r in range(resources):
                if s.size[i, r] > 0:
                    n = min(n, room[r] // s.size[i, r])
        if n > 0 and picky and not welcome(m, s, k, j, i):
            continue
        if n > 0 and device >= 0 and s.size[i, device] > 0:
            n = share(m, s, m.cap[b, device], i, n, devices)
        if n > 0:
            found[i] += n
            value += n * s.gain[j, i]
            for r in range(resources):
                room[r] -= n * s.size[i, r]
    if picky:
        for i in range(k):
            if base[i] > 0 and not welcome(m, s, k, j, i):
                return -1.0
    return value


@kernel
def prepare(m: Model, s: Sub, k: int, j: int, b: int) -> None:
    """Enter kind b as local kind j: what it takes of each class, and its fill order by the style in ``lean``: 0 value for the size, 1 the
    largest first, 2 the most valuable first, 3 between the last and the first."""
    s.kinds[j] = b
    s.score[j] = -1.0
    resources = s.room.shape[0]
    style = s.lean[resources + STYLE]
    for i in range(k):
        c = s.classes[i]
        s.most[j, i] = m.most[c, b]
        gain = s.value[i] - m.adder[c, b]
        s.gain[j, i] = gain
        s.order[j, i] = s.order[j - 1, i] if j > 0 else i
        total = 0.0
        largest = 0.0
        for r in range(resources):
            part = s.size[i, r] * m.inverse[b, r] * s.lean[r]
            total += part
            largest = max(largest, part)
        if style == 0.0:
            s.key[i] = -gain / (total + 1e-12)
        elif style == 1.0:
            s.key[i] = -largest
        elif style == 2.0:
            s.key[i] = -gain
        else:
            s.key[i] = -gain / (total + 1e-12) ** 0.5
    sort_local(s.order[j], s.key, k)


@kernel
def available(m: Model, b: int, stock: Ints, limit: Ints) -> bool:
    """Whether one more bin of the kind may be opened."""
    if m.stock_group[b] >= 0 and stock[m.stock_group[b]] <= 0:
        return False
    for q in range(limit.shape[0]):
        if m.limit_use[q, b] > 0 and m.limit_use[q, b] > limit[q]:
            return False
    return True


@kernel
def book(m: Model, b: int, stock: Ints, limit: Ints) -> None:
    """Take one bin from the stock and the limits."""
    if m.stock_group[b] >= 0:
        stock[m.stock_group[b]] -= 1
    for q in range(limit.shape[0]):
        limit[q] -= m.limit_use[q, b]


@kernel
def unbook(m: Model, b: int, stock: Ints, limit: Ints) -> None:
    """Give one bin back to the stock and the limits."""
    if m.stock_group[b] >= 0:
        stock[m.stock_group[b]] += 1
    for q in range(limit.shape[0]):
        limit[q] += m.limit_use[q, b]


@kernel
def rescue(m: Model, s: Sub, k: int, i: int, stock: Ints, limit: Ints) -> int:
    """Nothing at hand takes class i: the bought kind that holds it at least cost, or the first that can still be had; -1: none."""
    c = s.classes[i]
    if m.lone[c] >= 0 and available(m, m.lone[c], stock, limit):
        return m.lone[c]
    for p in range(m.by_price.shape[0]):
        b = m.by_price[p]
        if m.most[c, b] <= 0 or not available(m, b, stock, limit):
            continue
        fits = True
        for r in range(s.room.shape[0]):
            fits = fits and s.size[i, r] <= m.cap[b, r]
        if fits:
            return b
    return -1


@kernel
def polish(m: Model, s: Sub, k: int, j: int) -> int:
    """Better the pattern of local kind j: two more fill orders, then one item out and the room filled again. Fills done."""
    best, other, found = s.spare[BEST], s.spare[OTHER], s.spare[FILLED]
    value = s.score[j]
    fills = 2
    for i in range(k):
        best[i] = s.pattern[j, i]
    for way in range(2):
        for i in range(k):
            other[i] = s.order[j, i]
            largest = 1e-12
            for r in range(s.room.shape[0]):
                largest = max(largest, s.size[i, r] * m.inverse[s.kinds[j], r])
            s.key[i] = -largest if way == 0 else -s.gain[j, i] / largest
        sort_local(other, s.key, k)
        v = fill(m, s, k, j, other, s.spare[ZEROS], k)
        if v > value * (1.0 + 1e-12):
            value = v
            for i in range(k):
                best[i] = found[i]
    for _ in range(ROUNDS):
        before = value
        for i in range(k):
            if best[i] == 0:
                continue
            best[i] -= 1
            v = fill(m, s, k, j, s.order[j], best, i)
            fills += 1
            best[i] += 1
            if v > value * (1.0 + 1e-12):
                value = v
                for h in range(k):
                    best[h] = found[h]
        if value == before:
            break
    s.score[j] = value
    for i in range(k):
        s.pattern[j, i] = best[i]
    return fills


@kernel
def recreate(m: Model, s: Sub, k: int, kinds: int, stock: Ints, limit: Ints, opened: int) -> tuple[int, int]:
    """Open bins after the ``opened`` ones, each the best value for its worth, until nothing is left, nothing fits, or the best is below
    the floor; (bins opened, fills done), or (-1, fills) when they are more than the workspace holds. The thrift multiplies the worth of
    free bins.
    """
    fills = 0
    resources = s.room.shape[0]
    found = s.spare[FILLED]
    for i in range(k):
        s.dead[i] = False
    for j in range(kinds):
        s.score[j] = -1.0
    while True:
        first = -1
        for i in range(k):
            if s.rem[i] > 0 and not s.dead[i]:
                first = i
                break
        if first < 0:
            return opened, fills
        at = -1
        top = 0.0
        for j in range(kinds):
            b = s.kinds[j]
            if not available(m, b, stock, limit):
                continue
            if s.score[j] < 0.0:
                s.score[j] = fill(m, s, k, j, s.order[j], s.spare[ZEROS], k)
                fills += 1
                for i in range(k):
                    s.pattern[j, i] = found[i]
            ratio = s.score[j] / m.worth[b]
            if m.price[b] == 0:
                ratio /= s.lean[resources + THRIFT]
            if ratio > top * (1.0 + 1e-12):
                top = ratio
                at = j
        if top < s.lean[resources + FLOOR]:
            return opened, fills
        if at < 0:
            b = rescue(m, s, k, first, stock, limit)
            s.dead[first] = b < 0
            if b < 0:
                continue
            at = kinds
            prepare(m, s, k, at, b)
            for i in range(k):
                s.gain[at, i] = max(s.gain[at, i], 1e-6)
            s.score[at] = fill(m, s, k, at, s.order[at], s.spare[ZEROS], k)
            for i in range(k):
                s.pattern[at, i] = found[i]
            s.dead[first] = found[first] == 0
            if s.score[at] <= 0.0:
                continue
        fills += polish(m, s, k, at)
        if opened >= s.kind_out.shape[0]:
            return -1, fills
        s.kind_out[opened] = s.kinds[at]
        for i in range(k):
            s.pattern_out[opened, i] = s.pattern[at, i]
            s.rem[i] -= s.pattern[at, i]
        opened += 1
        book(m, s.kinds[at], stock, limit)
        for j in range(kinds):
            for i in range(k):
                if s.pattern[j, i] > s.rem[i]:
                    s.score[j] = -1.0
                    break
