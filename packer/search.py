"""Integer plans on a Packing: roundings of fractional plans, and a neighbourhood search that never makes a plan worse.

The search ruins a few bins and recreates them (Schrimpf et al. 2000; for bins of many kinds Gabay and Zaourar's bin-centric greedy, with
the dual values of column generation as the items' values, perturbed), tops up bins that stay, and gives each new bin the cheapest kind
that holds its pattern. Work is counted in class-steps, so that equal input, budget and seed give equal plans on any machine; the plan of a
longer budget extends the path of a shorter one.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass
from typing import Any

import numpy as np

from packer import kernels, search_moves
from packer.arrays import Bins, Floats, Ints, Packing
from packer.search_kernels import Model, Sub
from packer.search_moves import State

UNIT = 4_000_000
"""Class-steps in a unit of work: about 50 ms of one core of 2024."""
MENU = 32
"""Kinds on the menu of a class."""
KINDS = 40
"""Kinds of one subproblem at most."""
OPENED = 256
"""Bins that one step opens at most."""
RATED_CLASSES = 256
"""Classes, those worth most, by which kinds are rated."""
LARGEST_STATE = 16_000_000
"""Bins × classes that the search holds uncompressed; of larger plans it takes the bins with least merit."""


def cost(packing: Packing, bins: Bins) -> int:
    """Micro-dollars an hour: prices and adders."""
    total = 0
    for kind, times, pattern in zip(bins.kind, bins.times, bins.pattern, strict=True):
        total += int(times) * (int(packing.price[kind]) + int(pattern @ packing.adder[:, kind]))
    return total


def leftover(packing: Packing, bins: Bins) -> Ints:
    """[C] items that no bin holds."""
    return packing.count - bins.times @ bins.pattern


def lost_pods(packing: Packing, rest: Ints) -> Ints:
    """[K] pods of ``rest`` (int64[C] items) by tier."""
    lost = np.zeros(int(packing.tier.max(initial=0)) + 1, np.int64)
    np.add.at(lost, packing.tier, rest * packing.weight)
    return lost


def rank(packing: Packing, bins: Bins) -> tuple[tuple[int, ...], int, int]:
    """Less is better: pods without a place by tier, then money, then bins."""
    return tuple(lost_pods(packing, leftover(packing, bins)).tolist()), cost(packing, bins), int(bins.times.sum())


def empty(packing: Packing) -> Bins:
    """A plan without bins."""
    none = np.zeros(0, np.int64)
    return Bins(none, none, np.zeros((0, len(packing.count)), np.int64))


def compact(bins: Bins) -> Bins:
    """Equal rows merged, empty ones dropped, in canonical order: by kind, then by pattern."""
    used = (bins.times > 0) & (bins.pattern.sum(axis=1) > 0)
    rows = np.column_stack([bins.kind[used], bins.pattern[used]])
    number: dict[bytes, int] = {}
    # numpy's unique over an axis sorts whole rows as bytes: slow where most are equal.
    which = np.array([number.setdefault(row.tobytes(), len(number)) for row in rows], np.int64)
    times = np.zeros(len(number), np.int64)
    np.add.at(times, which, bins.times[used])
    merged = np.zeros((len(number), rows.shape[1]), np.int64)
    merged[which] = rows
    order = np.lexsort(merged.T[::-1])
    return Bins(np.ascontiguousarray(merged[order, 0]), times[order], np.ascontiguousarray(merged[order, 1:]))


def expand(bins: Bins) -> Bins:
    """One row a bin."""
    kind = np.repeat(bins.kind, bins.times)
    return Bins(kind, np.ones(len(kind), np.int64), np.repeat(bins.pattern, bins.times, axis=0))


def concatenate(*plans: Bins) -> Bins:
    """The bins of all plans."""
    return Bins(
        np.concatenate([p.kind for p in plans]), np.concatenate([p.times for p in plans]), np.concatenate([p.pattern for p in plans])
    )


def feasible(packing: Packing, bins: Bins) -> str | None:
    """The first rule that the plan breaks, in words, or None. Unplaced items break none."""
    p = packing
    if (leftover(p, bins) < 0).any():
        return "more items placed than there are"
    for row, (b, pattern) in enumerate(zip(bins.kind, bins.pattern, strict=True)):
        broken = refusal(p, int(b), pattern)
        if broken or bins.times[row] <= 0:
            return f"row {row}, kind {b}: {broken or 'no bins'}"
    for g, stock in enumerate(p.stock):
        if bins.times[p.stock_group[bins.kind] == g].sum() > stock:
            return f"stock group {g}: more bins than there are"
    used = p.limit_use[:, bins.kind] @ bins.times
    return f"limit {int(np.argmax(used > p.limit))} exceeded" if (used > p.limit).any() else None


def refusal(packing: Packing, kind: int, pattern: Ints) -> str | None:
    """Why a bin of the kind cannot hold the pattern, or None."""
    p, held = packing, np.flatnonzero(pattern)
    if (pattern < 0).any():
        return "a negative number"
    if (pattern @ p.demand > p.cap[kind]).any():
        return "too much of a resource"
    if (pattern > p.most[:, kind]).any():
        return "more of a class than it may hold"
    if p.clash[np.ix_(held, held)].any():
        return "classes that clash"
    if any(p.needs[c].any() and not p.needs_met[c, kind] and not p.needs[c, held].any() for c in held):
        return "a class without what it needs"
    return None if p.device_resource < 0 or _seats(p, kind, pattern) else "shares that its devices do not hold"


def _seats(packing: Packing, kind: int, pattern: Ints) -> bool:
    """Best fit decreasing of the shares on the devices, in plain Python."""
    size, shares = packing.device_size, packing.demand[:, packing.device_resource]
    total = int(packing.cap[kind, packing.device_resource])
    free = [size] * (total // size) + ([total % size] if total % size else [])
    for c in sorted(np.flatnonzero(pattern * shares), key=lambda c: (-shares[c], c)):
        for _ in range(int(pattern[c])):
            if shares[c] > size:
                whole = [d for d, f in enumerate(free) if f == size][: int(shares[c]) // size]
                if len(whole) < int(shares[c]) // size:
                    return False
                for d in whole:
                    free[d] = 0
                continue
            fitting = [d for d, f in enumerate(free) if f >= shares[c]]
            if not fitting:
                return False
            free[min(fitting, key=lambda d: (free[d], d))] -= int(shares[c])
    return True


@dataclass(frozen=True, slots=True)
class Knobs:
    """How the search moves. Tuned on synthetic classes of pods, 1,000 to 100,000 of them, and on Alibaba's GPU trace."""

    largest: int = 7
    """Bins ruined in a step at most."""
    tournament: int = 12
    """Bins from which the one of least merit is ruined, at most."""
    noise: float = 0.15
    """Standard deviation of the values' perturbation at most, as a share."""
    pure: float = 0.3
    """Probability that values are the duals alone, not a blend with what items cost alone."""
    kinds: int = 20
    """Kinds drawn from the menus at most."""
    late: float = 0.8
    """Probability that bins are opened before others are topped up."""
    slack: float = 0.15
    """… until the best new bin is worth less than its price by a share of at most this."""
    top_ups: int = 48
    """Bins that are tried for a top-up."""
    gate: float = 1.05
    """New bins are right-sized if they cost at most so many times what they replace."""


class Search:
    """A neighbourhood search that can be continued: ``run`` for some units, then read ``best``.

    ``weights`` are dual values (float64[C], micro-dollars an item); a class without one gets a small part of what it costs alone.
    """

    def __init__(
        self, packing: Packing, start: Bins, weights: Floats, *, lower_bound: int = 0, seed: int = 0, knobs: Knobs = Knobs()
    ) -> None:
        self.packing, self.lower_bound, self.work = packing, lower_bound, 0
        rest = leftover(packing, start)
        if rest.any():
            start = complete(packing, start, weights)
        self.model = _model(packing, weights)
        self.fixed, part = _split(self.model, compact(start))
        self.state = _state(self.model, packing, self.fixed, part, knobs)
        self.sub = _workspace(self.model)
        self.seed = np.array([1 + (seed * 2654435761 + 12345) % 2147483562, 1 + (seed * 40503 + 67890) % 2147483398], np.int64)

    def run(self, units: float) -> int:
        """Search for some units of work; the class-steps done. Stops early when the bound is met."""
        target = self.lower_bound - cost(self.packing, self.fixed)
        done = int(search_moves.run(self.model, self.state, self.sub, self.seed, int(units * UNIT), target))
        self.work += done
        return done

    @property
    def best(self) -> Bins:
        """The best plan so far, compact."""
        used = self.state.live[: self.state.total[0]]
        found = Bins(self.state.kind[used], np.ones(len(used), np.int64), self.state.pattern[used])
        return compact(concatenate(self.fixed, found))


def improve(packing: Packing, start: Bins, weights: Floats, lower_bound: int = 0, budget: float = 8, seed: int = 0) -> tuple[Bins, int]:
    """The plan after ``budget`` units of work from ``start``, and the units spent. Never worse than the start."""
    search = Search(packing, start, weights, lower_bound=lower_bound, seed=seed)
    search.run(budget)
    return search.best, -(-search.work // UNIT)


def complete(packing: Packing, bins: Bins, weights: Floats) -> Bins:
    """Bins for what ``bins`` leaves over, greedily."""
    rest = leftover(packing, bins)
    stock, limit = left(packing, bins)
    more, _ = kernels.greedy(packing._replace(stock=stock, limit=limit), weights, rest, int(rest.sum()) + 1)
    return concatenate(bins, more)


def left(packing: Packing, bins: Bins) -> tuple[Ints, Ints]:
    """Stock and limits that a plan leaves."""
    stock, limit = packing.stock.copy(), packing.limit.copy()
    groups = packing.stock_group[bins.kind]
    np.subtract.at(stock, groups[groups >= 0], bins.times[groups >= 0])
    return stock, limit - packing.limit_use[:, bins.kind] @ bins.times


def _model(packing: Packing, weights: Floats) -> Model:
    """The kernels' view of a packing: arrays made contiguous, values made positive, kinds rated."""
    arrays: dict[str, Any] = {
        name: np.require(f, requirements=["C", "W"]) for name, f in packing._asdict().items() if isinstance(f, np.ndarray)
    }
    p = packing._replace(**arrays)
    each, lone, most = _alone(p)
    value = np.maximum(np.maximum(np.asarray(weights, np.float64), 1e-3 * each), 1e-6)
    inverse = np.where(p.cap > 0, 1.0 / np.maximum(p.cap, 1), 0.0)
    held = _held_value(p, value, most, inverse)
    worth = np.where(p.price > 0, p.price, np.maximum(held, 1.0)).astype(np.float64)
    takes = p.demand[:, p.device_resource] if p.device_resource >= 0 else np.zeros(len(p.count), np.int64)
    tiers, tier = np.unique(p.tier, return_inverse=True)
    lacks = p.needs.any(axis=1, keepdims=True) & ~p.needs_met & ~np.diagonal(p.needs).reshape(-1, 1)
    traits = [p.device_resource, max(1, p.device_size), len(tiers), p.clash.any(), p.needs.any(), p.adder.any()]
    return Model(
        demand=p.demand,
        weight=p.weight,
        tier=tier.reshape(-1).astype(np.int64),
        cap=p.cap,
        price=p.price,
        most=most,
        adder=p.adder,
        clash=p.clash,
        needs=p.needs,
        lacks=lacks,
        stock_group=p.stock_group,
        limit_use=p.limit_use,
        value=value,
        alone=np.maximum(each, value * (each == 0)),
        worth=worth,
        inverse=inverse,
        by_price=np.argsort(p.price, kind="stable"),
        menu=_menu(p, most, held / worth),
        standing=np.flatnonzero(p.price == 0),
        lone=lone,
        shares=np.array(sorted(np.flatnonzero(takes), key=lambda c: (-takes[c], c)), np.int64),
        traits=np.array(traits, np.int64),
    )


def _alone(p: Packing) -> tuple[Floats, Ints, Ints]:
    """What an item costs in bins of its own class (0: only free bins hold it), the kind that does it (or -1), and [C, B] how many fit."""
    most = np.minimum(p.most, p.count[:, None])
    each, kind = np.zeros(len(p.count)), np.full(len(p.count), -1, np.int64)
    for c, demand in enumerate(p.demand):
        for r in np.flatnonzero(demand):
            most[c] = np.minimum(most[c], p.cap[:, r] // demand[r])
        usable = (most[c] > 0) & (p.price > 0)
        if usable.any():
            price = np.where(usable, p.price / np.maximum(most[c], 1) + p.adder[c], np.inf)
            kind[c] = np.argmin(price)
            each[c] = price[kind[c]]
    return each, kind, np.maximum(most, 0)


def _held_value(p: Packing, value: Floats, most: Ints, inverse: Floats) -> Floats:
    """[B] what a bin holds when it is filled by value for size, all kinds at once."""
    top = np.sort(np.argsort(-value * p.count, kind="stable")[:RATED_CLASSES])
    held = np.zeros(len(p.price))
    for at in range(0, len(p.price), 1024):
        some = np.arange(at, min(at + 1024, len(p.price)))
        gain = value[top] - p.adder[np.ix_(top, some)].T
        order = np.argsort(-gain / (inverse[some] @ p.demand[top].T + 1e-12), axis=1, kind="stable")
        room, rows = p.cap[some].copy(), np.arange(len(some))
        for place in range(len(top)):
            c = top[order[:, place]]
            demand = p.demand[c]
            n = np.where(demand > 0, room // np.maximum(demand, 1), most[c, some][:, None]).min(axis=1, initial=np.iinfo(np.int64).max)
            n = np.where(gain[rows, order[:, place]] > 0, np.minimum(n, most[c, some]), 0)
            room -= n[:, None] * demand
            held[some] += n * gain[rows, order[:, place]]
    return held


def _menu(p: Packing, most: Ints, rating: Floats) -> Ints:
    """[C, MENU] for each class the best rated kinds that take it, and as many again spread over the rest; -1 pads."""
    ranked = np.argsort(-rating, kind="stable")
    ranked = ranked[p.price[ranked] > 0]
    menu = np.full((len(p.count), MENU), -1, np.int64)
    half = MENU // 2
    for c in range(len(p.count)):
        fitting = ranked[most[c, ranked] > 0]
        if len(fitting) > MENU:
            fitting = np.concatenate([fitting[:half], fitting[half + np.arange(half) * (len(fitting) - half) // half]])
        menu[c, : len(fitting)] = fitting
    return menu


def _workspace(m: Model) -> Sub:
    classes, resources = len(m.value), m.cap.shape[1]
    devices = int(-(-m.cap[:, m.traits[0]].max(initial=0) // m.traits[1])) if m.traits[0] >= 0 else 0

    def ints(*shape: int) -> Ints:
        return np.zeros(shape, np.int64)

    return Sub(
        classes=ints(classes),
        local=np.full(classes, -1, np.int64),
        size=ints(classes, resources),
        rem=ints(classes),
        value=np.zeros(classes),
        key=np.zeros(classes),
        kinds=ints(KINDS),
        most=ints(KINDS, classes),
        gain=np.zeros((KINDS, classes)),
        order=ints(KINDS, classes),
        pattern=ints(KINDS, classes),
        score=np.zeros(KINDS),
        spare=ints(4, classes),
        dead=np.zeros(classes, np.bool_),
        room=ints(resources),
        free=ints(2, devices + 1),
        mark=ints(len(m.price)),
        lean=np.zeros(resources + 3),
        kind_out=ints(OPENED),
        pattern_out=ints(OPENED, classes),
    )


def _split(m: Model, bins: Bins) -> tuple[Bins, Bins]:
    """What stays compressed, and what the search may touch: all of it, or as many bins of least merit as it can hold."""
    room = LARGEST_STATE // max(1, len(m.value))
    merit = (bins.pattern @ m.value) / m.worth[bins.kind]
    order = np.argsort(merit, kind="stable")
    before = np.cumsum(bins.times[order]) - bins.times[order]
    taken = np.zeros(len(order), np.int64)
    taken[order] = np.clip(room - before, 0, bins.times[order])
    kept = bins.times - taken
    fixed, part = kept > 0, taken > 0
    return Bins(bins.kind[fixed], kept[fixed], bins.pattern[fixed]), Bins(bins.kind[part], taken[part], bins.pattern[part])


def _state(m: Model, packing: Packing, fixed: Bins, part: Bins, knobs: Knobs) -> State:
    """The search's state: the bins that it may touch; ``fixed`` ones keep their stock, limits and items."""
    bins, whole = expand(part), concatenate(fixed, part)
    classes, slots = len(m.value), len(bins.kind) + len(bins.kind) // 4 + OPENED
    pool = leftover(packing, whole)
    stock, limit = left(packing, whole)
    kind = np.concatenate([bins.kind, np.full(slots - len(bins.kind), -1, np.int64)])
    pattern = np.zeros((slots, classes), np.int64)
    pattern[: len(bins.kind)] = bins.pattern
    lost = np.zeros(int(m.traits[2]), np.int64)
    np.add.at(lost, m.tier, pool * m.weight)

    def ints(*shape: int) -> Ints:
        return np.zeros(shape, np.int64)

    return State(
        kind=kind,
        pattern=pattern,
        room=ints(slots, m.cap.shape[1]),
        cost=ints(slots),
        merit=np.zeros(slots),
        live=np.arange(slots),
        where=np.arange(slots),
        pool=pool,
        stock=stock,
        limit=limit,
        total=np.array([len(bins.kind), cost(packing, part), 0, 0], np.int64),
        lost=lost,
        chosen=ints(slots),
        ruined=ints(slots),
        log=ints(3, 4096),
        need=ints(m.cap.shape[1]),
        dense=np.stack([ints(classes), np.arange(classes)]),
        knobs=np.array(astuple(knobs), np.float64),
    )
