"""Compiled kernels for whole bins: dominance between bin kinds, filling one bin, and a greedy plan.

Axes as in ``arrays``: C classes, B bin kinds, R resources, G stock groups, L limits; N entries of the sparse
(bin, class) table, bin by bin.
Everything here is a total order: ties fall to the lower index, sorts are stable, and no fast-math is used, so that compiled and
plain Python agree to the bit.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from packer.arrays import UNLIMITED, Bins, Bools, Floats, Ints, Packing

FLOOR = 1e-3
"""Least worth of an item in a greedy, as a share of its lone weight, once nothing is worth its price by the given weights."""


inner = njit(cache=True, error_model="numpy")
"""For kernels that only kernels call. They never divide by zero, so the checks for it are left out."""


class Tables(NamedTuple):
    """A ``Packing`` laid out for kernels: contiguous, and sparse in (bin, class), since most classes are barred from most bins."""

    demand: Ints
    """[C, R]"""
    cap: Ints
    """[B, R]"""
    price: Ints
    """[B]"""
    first: Ints
    """[B + 1] entries of bin b are first[b] … first[b+1]-1, by rising class."""
    item: Ints
    """[N] the class."""
    most: Ints
    """[N] ≥ 1: the most items in an empty bin, by ``most`` and by every resource and the devices alone."""
    adder: Ints
    """[N]"""
    met: Bools
    """[N] the class has no need, or it is met there already."""
    group: Ints
    """[B]"""
    stock: Ints
    """[G]"""
    use: Ints
    """[B, L]"""
    limit: Ints
    """[L]"""
    existing: Bools
    """[B]"""
    clash: Bools
    """[C, C]"""
    clashing: Bools
    """[C] the class clashes with some other."""
    needs: Bools
    """[C, C]"""
    device: Ints
    """[2] resource that is shared in devices, or -1; size of one device."""


def tables(packing: Packing) -> Tables:
    """Lay out ``packing`` once, for any number of kernel calls."""
    whole = {name: _plain(getattr(packing, name), np.int64) for name in ("demand", "cap", "price", "stock", "limit")}
    needs = _plain(packing.needs, np.bool_)
    content = np.asarray(~np.any(needs, axis=1), np.bool_)
    clash = _plain(packing.clash, np.bool_)
    most = _plain(packing.most.T, np.int64)
    device = np.array([packing.device_resource, max(1, packing.device_size)], np.int64)
    first, item, limits = _sparse(whole["demand"], whole["cap"], most, device)
    bins = np.repeat(np.arange(len(first) - 1), np.diff(first))
    return Tables(
        demand=whole["demand"],
        cap=whole["cap"],
        price=whole["price"],
        first=first,
        item=item,
        most=limits,
        adder=_plain(packing.adder[item, bins], np.int64),
        met=_plain(packing.needs_met[item, bins] | content[item], np.bool_),
        group=_plain(packing.stock_group, np.int64),
        stock=whole["stock"],
        use=_plain(packing.limit_use.T, np.int64),
        limit=whole["limit"],
        existing=_plain(packing.existing, np.bool_),
        clash=clash,
        clashing=_plain(clash.any(axis=1), np.bool_),
        needs=needs,
        device=device,
    )


def _plain(array: object, dtype: object) -> np.ndarray:
    """One memory layout and writability for all inputs: each kernel then compiles for a single signature."""
    plain = np.ascontiguousarray(array, dtype=dtype)  # type: ignore[call-overload]
    return plain if plain.flags.writeable else plain.copy()


@inner
def sort_by(key: Floats, order: Ints) -> None:
    """Write to ``order`` the indices of ``key`` by rising key, equal keys by rising index: a bottom-up merge sort."""
    n = key.shape[0]
    other = np.empty(n, np.int64)
    for i in range(n):
        order[i] = i
    width = 1
    while width < n:
        for low in range(0, n, 2 * width):
            middle, high = min(low + width, n), min(low + 2 * width, n)
            i, j = low, middle
            for k in range(low, high):
                if i < middle and (j >= high or key[order[i]] <= key[order[j]]):
                    other[k] = order[i]
                    i += 1
                else:
                    other[k] = order[j]
                    j += 1
        for k in range(n):
            order[k] = other[k]
        width *= 2


@inner
def _sparse(demand: Ints, cap: Ints, most: Ints, device: Ints) -> tuple[Ints, Ints, Ints]:
    """The (bin, class) pairs that can hold at least one item, and how many. ``most`` is [B, C]."""
    bins, classes = most.shape
    first = np.zeros(bins + 1, np.int64)
    item = np.empty(bins * classes, np.int64)
    limits = np.empty(bins * classes, np.int64)
    n = 0
    for b in range(bins):
        for c in range(classes):
            m = min(most[b, c], UNLIMITED)
            for r in range(cap.shape[1]):
                if m <= 0:
                    break
                if demand[c, r] > 0:
                    m = min(m, _in_devices(demand[c, r], cap[b, r], device[1]) if r == device[0] else cap[b, r] // demand[c, r])
            if m > 0:
                item[n] = c
                limits[n] = m
                n += 1
        first[b + 1] = n
    return first, item[:n].copy(), limits[:n].copy()


@inner
def _in_devices(amount: int, room: int, size: int) -> int:
    """How many equal items fit on devices: shares side by side on each, larger items on whole ones."""
    whole = room // size
    if amount > size:
        return whole // (amount // size)
    return whole * (size // amount) + (room - whole * size) // amount


def dominance(packing: Packing) -> Bools:
    """Which bin kinds to keep, bool[B]: a kind goes when another of the same cell is at least as good in all respects.

    That other holds at least as much, allows at least as many of each class, meets the same needs, costs no more (price and every adder),
    uses no more of any limit, and has no stock to run out of (or the same stock). Existing bins always stay and never push others out.
    A kind that can hold nothing goes too.
    """
    t = tables(packing)
    most = _plain(packing.most.T, np.int64)
    adder = _plain(packing.adder.T, np.int64)
    met = _plain(packing.needs_met.T, np.bool_)
    roomy = -t.cap.sum(axis=1, dtype=np.float64)
    order = np.lexsort((np.arange(len(t.price)), roomy, t.price)).astype(np.int64)
    return _dominance(t, most, adder, met, _plain(packing.cell, np.int64), order)


@inner
def _dominance(t: Tables, most: Ints, adder: Ints, met: Bools, cell: Ints, order: Ints) -> Bools:
    bins = t.cap.shape[0]
    keep = np.zeros(bins, np.bool_)
    kept = np.empty(bins, np.int64)
    n = 0
    for k in range(bins):
        b = order[k]
        if t.existing[b]:
            keep[b] = True
            continue
        if t.first[b] == t.first[b + 1]:
            continue
        beaten = False
        for j in range(n):
            a = kept[j]
            if cell[a] == cell[b] and _dominates(t, most, adder, met, a, b):
                beaten = True
                break
        if not beaten:
            keep[b] = True
            kept[n] = b
            n += 1
    return keep


@inner
def _dominates(t: Tables, most: Ints, adder: Ints, met: Bools, a: int, b: int) -> bool:
    """Can every pattern of b be moved to a at no loss? Prices are already in order."""
    for r in range(t.cap.shape[1]):
        if t.cap[a, r] < t.cap[b, r]:
            return False
    if t.group[a] >= 0 and t.group[a] != t.group[b]:
        return False
    for x in range(t.use.shape[1]):
        if t.use[a, x] > t.use[b, x]:
            return False
    for i in range(t.first[b], t.first[b + 1]):
        c = t.item[i]
        # Only up to what fits: a bin that allows more than it can hold is no better for it.
        if most[a, c] < t.most[i] or adder[a, c] > t.adder[i] or (met[b, c] and not met[a, c]):
            return False
    return True


def lone_weights(packing: Packing) -> Floats:
    """What an item costs if its class had bins of its own, float64[C]: least price / number in the bin + adder.

    A class that only existing bins can hold gets the greatest weight of all, since it has nowhere else to go; one that fits nowhere gets 0.
    """
    return lone_weights_of(tables(packing))


def lone_weights_of(t: Tables) -> Floats:
    """``lone_weights`` on prepared tables."""
    lone = _lone(t)
    bought = lone[np.isfinite(lone) & (lone >= 0)]
    highest = float(bought.max()) if len(bought) else 1.0
    lone[lone < 0] = max(highest, 1.0)
    lone[~np.isfinite(lone)] = 0.0
    return lone


@inner
def _lone(t: Tables) -> Floats:
    """inf: fits nowhere; -1: only in existing bins."""
    lone = np.full(t.demand.shape[0], np.inf)
    for b in range(t.cap.shape[0]):
        for i in range(t.first[b], t.first[b + 1]):
            c = t.item[i]
            if t.existing[b]:
                if lone[c] == np.inf:
                    lone[c] = -1.0
            else:
                w = t.price[b] / t.most[i] + t.adder[i]
                if lone[c] < 0 or w < lone[c]:
                    lone[c] = w
    return lone


def greedy(packing: Packing, weights: Floats, remaining: Ints, max_rows: int) -> tuple[Bins, Ints]:
    """Open the bin of best value for its price, again and again. Returns the bins and int64[C] the items left over.

    ``weights``: worth of an item in micro-dollars an hour. ``max_rows``: most different (kind, pattern) rows of the answer.
    Existing bins cost nothing and come first, where what they hold is worth more than its adders. Once nothing is worth its adders,
    the rest is placed wherever it goes for its lone weight. Items are left over only if no bin, stock or limit remains for them.
    """
    return greedy_of(tables(packing), weights, remaining, max_rows)


def greedy_of(t: Tables, weights: Floats, remaining: Ints, max_rows: int, floor: Floats | None = None) -> tuple[Bins, Ints]:
    """``greedy`` on prepared tables; ``floor`` are the lone weights, if known."""
    lone = lone_weights_of(t) if floor is None else floor
    left = np.array(remaining, np.int64)
    kind = np.zeros(max_rows, np.int64)
    times = np.zeros(max_rows, np.int64)
    pattern = np.zeros((max_rows, len(left)), np.int64)
    rows = _greedy(t, np.array(weights, np.float64), FLOOR * lone, left, kind, times, pattern)
    return Bins(kind[:rows], times[:rows], pattern[:rows]), left


@inner
def _greedy(t: Tables, weights: Floats, floor: Floats, left: Ints, kind: Ints, times: Ints, pattern: Ints) -> int:
    """Lazy greedy: a bin's last ratio of value to price stands until the bin leads with it; only leaders are filled anew."""
    bins, entries = t.cap.shape[0], t.item.shape[0]
    worth = np.empty(entries)
    _worths(t, weights, worth)
    stock = t.stock.copy()
    limit = t.limit.copy()
    order = np.empty((2, entries), np.int64)
    ordered = np.zeros(bins, np.bool_)
    found = np.zeros(entries, np.int64)
    trial = np.zeros(entries, np.int64)
    ratio = np.full(bins, np.inf)
    fresh = np.zeros(bins, np.bool_)
    room = np.empty(t.cap.shape[1], np.int64)
    devices = np.empty(_most_devices(t), np.int64)
    rows = 0
    floored = False
    while rows < kind.shape[0]:
        b = _leader(ratio)
        if b < 0:
            if floored or _none(left):
                break
            floored = True
            for i in range(entries):
                worth[i] = max(worth[i], floor[t.item[i]])
            for a in range(bins):
                ratio[a], fresh[a], ordered[a] = np.inf, False, False
            continue
        lo, hi = t.first[b], t.first[b + 1]
        if _available(t, b, stock, limit) <= 0:
            ratio[b] = 0.0
            continue
        if not fresh[b]:
            if not ordered[b]:
                _orders(t, b, worth, order)
                ordered[b] = True
            value = 0.0
            for h in range(2):
                v = fill(t, b, worth, order[h], left, trial, room, devices)
                if v > value:
                    value = v
                    for i in range(lo, hi):
                        found[i] = trial[i]
            # Existing bins cost nothing and go before all others, the most valuable first.
            ratio[b] = value * 1e12 if t.existing[b] else value / max(t.price[b], 1e-3)
            fresh[b] = True
            continue
        n = _available(t, b, stock, limit)
        for i in range(lo, hi):
            if found[i] > 0:
                n = min(n, left[t.item[i]] // found[i])
        kind[rows] = b
        times[rows] = n
        for i in range(lo, hi):
            if found[i] > 0:
                pattern[rows, t.item[i]] = found[i]
                left[t.item[i]] -= n * found[i]
        rows += 1
        _spend(t, b, n, stock, limit)
        for a in range(bins):
            if fresh[a] and ratio[a] > 0:
                for i in range(t.first[a], t.first[a + 1]):
                    if found[i] > left[t.item[i]]:
                        fresh[a] = False
                        break
    return rows


@inner
def _leader(ratio: Floats) -> int:
    best, leader = 0.0, -1
    for b in range(ratio.shape[0]):
        if ratio[b] > best:
            best, leader = ratio[b], b
    return leader


@inner
def _worths(t: Tables, weights: Floats, worth: Floats) -> None:
    for i in range(t.item.shape[0]):
        worth[i] = max(0.0, weights[t.item[i]] - t.adder[i])


@inner
def _available(t: Tables, b: int, stock: Ints, limit: Ints) -> int:
    """How many more bins of kind b stock and limits allow."""
    n = int(UNLIMITED)
    if t.group[b] >= 0:
        n = min(n, stock[t.group[b]])
    for x in range(limit.shape[0]):
        if t.use[b, x] > 0:
            n = min(n, limit[x] // t.use[b, x])
    return n


@inner
def _spend(t: Tables, b: int, n: int, stock: Ints, limit: Ints) -> None:
    if t.group[b] >= 0:
        stock[t.group[b]] -= n
    for x in range(limit.shape[0]):
        limit[x] -= n * t.use[b, x]


@inner
def _most_devices(t: Tables) -> int:
    most = 1
    if t.device[0] >= 0:
        for b in range(t.cap.shape[0]):
            most = max(most, t.cap[b, t.device[0]] // t.device[1] + 1)
    return most


@inner
def _orders(t: Tables, b: int, worth: Floats, order: Ints) -> None:
    """Two orders in which to fill bin b: by worth per share of the whole bin, and largest items first (Panigrahy et al. 2011)."""
    lo, hi = t.first[b], t.first[b + 1]
    sums, peaks, by_sum, by_peak = np.empty(hi - lo), np.empty(hi - lo), np.empty(hi - lo, np.int64), np.empty(hi - lo, np.int64)
    for i in range(lo, hi):
        total, largest = 0.0, 0.0
        for r in range(t.cap.shape[1]):
            if t.cap[b, r] > 0:
                share = t.demand[t.item[i], r] / t.cap[b, r]
                total += share
                largest = max(largest, share)
        sums[i - lo] = -worth[i] / (total + 1e-12)
        peaks[i - lo] = -largest
    sort_by(sums, by_sum)
    sort_by(peaks, by_peak)
    for i in range(lo, hi):
        order[0, i], order[1, i] = lo + by_sum[i - lo], lo + by_peak[i - lo]


@inner
def fill(t: Tables, b: int, worth: Floats, order: Ints, left: Ints, found: Ints, room: Ints, devices: Ints) -> float:
    """Fill one bin of kind b with items left, in the order given. Writes ``found`` over the bin's entries; returns the value.

    ``order`` holds the bin's entries (indices into the sparse table) at its own places. ``room`` [R] and ``devices`` are scratch.
    Classes with a need wait until a class that they need is in; a pair that needs each other goes in together.
    """
    count = empty_bin(t, b, found, room, devices)
    return top_up(t, b, worth, order, left, found, room, devices, count)


@inner
def empty_bin(t: Tables, b: int, found: Ints, room: Ints, devices: Ints) -> int:
    """Set the scratch of a bin that holds nothing; returns the number of its devices."""
    for i in range(t.first[b], t.first[b + 1]):
        found[i] = 0
    for r in range(room.shape[0]):
        room[r] = t.cap[b, r]
    return _open_devices(t, b, devices)


@inner
def top_up(t: Tables, b: int, worth: Floats, order: Ints, left: Ints, found: Ints, room: Ints, devices: Ints, count: int) -> float:
    """Add to what ``found`` holds already; returns the value added. The rest as ``fill``."""
    lo, hi = t.first[b], t.first[b + 1]
    value, waiting = 0.0, True
    while waiting:
        waiting = False
        grown = False
        for k in range(lo, hi):
            i = order[k]
            c = t.item[i]
            room_for = min(left[c], t.most[i]) - found[i]
            if room_for <= 0 or worth[i] <= 0.0 or (t.clashing[c] and _clashes(t, lo, hi, found, c)):
                continue
            if not t.met[i] and not _needed(t, lo, hi, found, c):
                waiting = True
                continue
            n = put(t, c, room_for, room, devices, count)
            found[i] += n
            value += n * worth[i]
            grown = grown or n > 0
        if waiting and not grown:
            gain = _pair(t, lo, hi, worth, order, left, found, room, devices, count)
            if gain <= 0.0:
                break
            value += gain
    return value


@inner
def _clashes(t: Tables, lo: int, hi: int, found: Ints, c: int) -> bool:
    for i in range(lo, hi):
        if found[i] > 0 and t.clash[c, t.item[i]]:
            return True
    return False


@inner
def _needed(t: Tables, lo: int, hi: int, found: Ints, c: int) -> bool:
    """Is something that c needs in the bin? A class that needs its own kind is its own company."""
    if t.needs[c, c]:
        return True
    for i in range(lo, hi):
        if found[i] > 0 and t.needs[c, t.item[i]]:
            return True
    return False


@inner
def _fits(t: Tables, c: int, n: int, room: Ints) -> int:
    """As many of n items as the room takes. n is at most what an empty bin takes, so that products stay in range."""
    for r in range(room.shape[0]):
        d = t.demand[c, r]
        if d > room[r]:
            return 0
        if d * n > room[r]:
            n = room[r] // d
    return n


@inner
def _none(left: Ints) -> bool:
    for c in range(left.shape[0]):
        if left[c] != 0:
            return False
    return True


@inner
def put(t: Tables, c: int, n: int, room: Ints, devices: Ints, count: int) -> int:
    """Put up to n items of class c; returns how many went in."""
    n = _fits(t, c, n, room)
    if n <= 0:
        return 0
    if t.device[0] >= 0 and t.demand[c, t.device[0]] > 0:
        n = _share(t.demand[c, t.device[0]], t.device[1], n, devices, count)
    for r in range(room.shape[0]):
        room[r] -= n * t.demand[c, r]
    return n


@inner
def _open_devices(t: Tables, b: int, devices: Ints) -> int:
    """Free amounts of the bin's devices: whole ones, and a remainder that shares may use."""
    if t.device[0] < 0:
        return 0
    total, size = t.cap[b, t.device[0]], t.device[1]
    count = total // size
    for d in range(count):
        devices[d] = size
    if total > count * size:
        devices[count] = total - count * size
        count += 1
    return count


@inner
def _share(amount: int, size: int, n: int, devices: Ints, count: int) -> int:
    """Put up to n items on devices: a share on the fullest device that still takes it, a larger item on whole free devices."""
    done = 0
    if amount <= size:
        while done < n:
            best = -1
            for d in range(count):
                if devices[d] >= amount and (best < 0 or devices[d] < devices[best]):
                    best = d
            if best < 0:
                break
            k = min(n - done, devices[best] // amount)
            devices[best] -= k * amount
            done += k
        return done
    each = amount // size
    free = 0
    for d in range(count):
        if devices[d] == size:
            free += 1
    done = min(n, free // each)
    taken = done * each
    for d in range(count):
        if taken > 0 and devices[d] == size:
            devices[d] = 0
            taken -= 1
    return done


@inner
def _pair(t: Tables, lo: int, hi: int, worth: Floats, order: Ints, left: Ints, found: Ints, room: Ints, devices: Ints, count: int) -> float:
    """Put in the first waiting class together with one item of a class that it needs; returns the value, 0 if no such pair fits."""
    for k in range(lo, hi):
        i = order[k]
        c = t.item[i]
        if found[i] > 0 or left[c] <= 0 or t.met[i] or worth[i] <= 0.0 or _clashes(t, lo, hi, found, c):
            continue
        for m in range(lo, hi):
            j = order[m]
            d = t.item[j]
            if j == i or found[j] > 0 or left[d] <= 0 or not t.needs[c, d] or t.clash[c, d] or _clashes(t, lo, hi, found, d):
                continue
            if not (t.met[j] or t.needs[d, c] or _needed(t, lo, hi, found, d)) or not _both(t, c, d, room):
                continue
            found[j] = put(t, d, min(left[d], 1), room, devices, count)
            found[i] = put(t, c, min(left[c], t.most[i]), room, devices, count)
            if found[i] > 0 and found[j] > 0:
                return found[i] * worth[i] + found[j] * worth[j]
            # Only devices can refuse here. What they took is lost room in a bin that ends now.
            found[i] = 0
            found[j] = 0
            return 0.0
    return 0.0


@inner
def _both(t: Tables, c: int, d: int, room: Ints) -> bool:
    for r in range(room.shape[0]):
        if t.demand[c, r] + t.demand[d, r] > room[r]:
            return False
    return True
