"""OR-Tools where it is best: the exact plan of a small problem, and the split of pods over topology domains. Arrays only.

Both models carry the semantics of kube-scheduler's PodTopologySpread and InterPodAffinity filters as indicators:
domains come from bins that stand or are opened; a domain that receives no carrier of a rule is not bounded by it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from ortools.sat.python import cp_model

from packer.arrays import AFFINITY, SPREAD, Bins, Bools, Floats, Groups, Ints, Packing

Linear = Any
"""A CP-SAT expression, or an int where nothing is variable."""


Present = Callable[[Linear], cp_model.IntVar]
"""Makes a Boolean that is true when an expression is positive."""


class Exact(NamedTuple):
    """What the exact model found. Counts are proven greatest with ``counts_proven``; ``bound`` holds for the counts that it found."""

    bins: Bins
    objective: int
    bound: int
    counts_proven: bool


class Task(NamedTuple):
    """The exact model's input: a packing, the rules between its items, gangs, and how far to go."""

    packing: Packing
    groups: Groups
    gang: Ints
    """[I] gang of each item or -1."""
    gang_minimum: Ints
    """[gangs]"""
    strict: bool
    """Spread counts every matching pod of the plan; else only those that carry the rule, as if the others were bound later. The first
    is safe for plans; the second never excludes a valid one."""
    lost: tuple[int, ...] | None
    """Unplaced pods by tier, where a plan is known that cannot be beaten in this; None: counts are part of the question."""
    deterministic_time: float
    hint: Bins | None


MOST_COLUMNS = 6_000
"""The exact model is for problems with at most so many ways to fill a bin."""


def new_solver(deterministic_time: float) -> cp_model.CpSolver:
    """One worker, a fixed seed and deterministic time: the same model gives the same answer on any machine."""
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = 1
    solver.parameters.max_deterministic_time = deterministic_time
    return solver


def exact(task: Task) -> Exact | None:
    """The best plan, lexicographically: pods placed by tier, objective, fewer bins. None with too many patterns, or nothing found."""
    columns = _columns(task)
    return None if columns is None else _ExactModel(task, columns).solve()


class _Column(NamedTuple):
    """A way to fill one bin: a pattern in the cheapest kind that takes it, in each cell; every kind that is scarce counts for itself."""

    kind: int
    pattern: tuple[int, ...]


def _columns(task: Task) -> list[_Column] | None:
    """Every pattern of every bin, empty ones of existing bins included; None beyond MOST_COLUMNS."""
    p, g = task.packing, task.groups
    found: list[_Column] = []
    cells = p.cell if len(g.kind) else np.zeros_like(p.cell)
    new = ~p.existing & (p.most > 0).any(0)
    scarce = (p.stock_group >= 0) | (p.limit_use > 0).any(0)
    for cell in np.unique(cells[new]):
        kinds = np.nonzero(new & (cells == cell))[0]
        for pattern, fitting in _patterns(p, kinds):
            if len(found) > MOST_COLUMNS:
                return None
            here = kinds[fitting]
            price = p.price[here] + pattern @ p.adder[:, here]
            plenty = np.nonzero(~scarce[here])[0]
            chosen = [here[plenty[np.argmin(price[plenty])]]] if len(plenty) else []
            found += [_Column(int(b), tuple(int(n) for n in pattern)) for b in (*chosen, *here[scarce[here]])]
    empty = (0,) * len(p.count)
    for b in np.nonzero(p.existing)[0]:
        found.append(_Column(int(b), empty))
        for pattern, _ in _patterns(p, np.array([b])):
            if len(found) > MOST_COLUMNS:
                return None
            found.append(_Column(int(b), tuple(int(n) for n in pattern)))
    return found


def _patterns(p: Packing, kinds: Ints) -> Iterator[tuple[Ints, Bools]]:
    """Every pattern but the empty one that some of ``kinds`` takes, and which of them do."""
    items = len(p.count)
    pattern = np.zeros(items, np.int64)

    def extend(first: int, used: Ints, fitting: Bools) -> Iterator[tuple[Ints, Bools]]:
        for i in range(first, items):
            if (p.clash[i] & (pattern > 0)).any():
                continue
            room, amount = fitting, used
            while pattern[i] < p.count[i]:
                amount = amount + p.demand[i]
                room = room & (p.cap[kinds] >= amount).all(1) & (p.most[i, kinds] > pattern[i])
                if not room.any():
                    break
                pattern[i] += 1
                yield pattern.copy(), room
                yield from extend(i + 1, amount, room)
            pattern[i] = 0

    yield from extend(0, np.zeros(p.demand.shape[1], np.int64), np.ones(len(kinds), np.bool_))


class _ExactModel:
    """How many bins are filled in which way. Bins that are alike are never told apart, so there is no symmetry to break."""

    def __init__(self, task: Task, columns: Sequence[_Column]) -> None:
        self.task, self.p, self.columns = task, task.packing, columns
        self.model = cp_model.CpModel()
        self.use = [self.model.new_int_var(0, self._most(column), "") for column in columns]
        self.placed = [self._held(range(len(columns)), i) for i in range(len(self.p.count))]
        for i, placed in enumerate(self.placed):
            self.model.add(placed <= int(self.p.count[i]))
        self._scarcity()
        self._gangs()
        for q in range(len(task.groups.kind)):
            if task.groups.host[q]:
                self._host_rule(q)
            else:
                _add_rule(self.model, task.groups, q, self._domain_places(q), self._present, strict=task.strict)

    def _most(self, column: _Column) -> int:
        p, group = self.p, int(self.p.stock_group[column.kind])
        most = min([int(n) // a for n, a in zip(p.count, column.pattern, strict=True) if a], default=1 << 30)
        return min(most, int(p.stock[group])) if group >= 0 else most

    def _held(self, where: Iterable[int], i: int) -> Linear:
        return _total(self.columns[k].pattern[i] * self.use[k] for k in where if self.columns[k].pattern[i])

    def _present(self, amount: Linear) -> cp_model.IntVar:
        """A new Boolean that is true when the amount is positive."""
        present = self.model.new_bool_var("")
        self.model.add(amount >= 1).only_enforce_if(present)
        self.model.add(amount <= 0).only_enforce_if(present.negated())
        return present

    def _scarcity(self) -> None:
        p = self.p
        for group, stock in enumerate(p.stock):
            used = [x for column, x in zip(self.columns, self.use, strict=True) if p.stock_group[column.kind] == group]
            standing = bool(p.existing[p.stock_group == group].any())
            if used:
                self.model.add(sum(used) == int(stock) if standing else sum(used) <= int(stock))
        for row, limit in zip(p.limit_use, p.limit, strict=True):
            uses = [(int(row[column.kind]), x) for column, x in zip(self.columns, self.use, strict=True) if any(column.pattern)]
            self.model.add(_total(u * x for u, x in uses if u) <= int(limit))

    def _gangs(self) -> None:
        for gang, minimum in enumerate(self.task.gang_minimum):
            members = np.nonzero(self.task.gang == gang)[0]
            placed = _total(int(self.p.weight[i]) * self.placed[i] for i in members)
            size = int((self.p.weight[members] * self.p.count[members]).sum())
            starts = self.model.new_bool_var("")
            self.model.add(placed <= size * starts)
            self.model.add(placed >= int(minimum)).only_enforce_if(starts)

    def _host_rule(self, q: int) -> None:
        """A rule whose domains are single bins: what it asks of a bin is known for each way to fill one."""
        g = self.task.groups
        if g.kind[q] == SPREAD:
            self._host_spread(q)
        elif g.kind[q] == AFFINITY:
            starts = []
            running = bool(g.held_bin[q].any() or g.held[q].any())
            for column, x in zip(self.columns, self.use, strict=True):
                carried = [i for i, n in enumerate(column.pattern) if n and g.carrier[q, i]]
                if not carried or g.held_bin[q, column.kind]:
                    continue
                if any(n and g.member[q, i] and not g.carrier[q, i] for i, n in enumerate(column.pattern)):
                    continue
                if not running and any(g.member[q, i] for i in carried):
                    starts.append(x)
                else:
                    self.model.add(x == 0)
            self.model.add(_total(starts) <= 1)

    def _host_spread(self, q: int) -> None:
        g, model = self.task.groups, self.model
        least = model.new_int_var(0, int(g.held_bin[q].max(initial=0) + (g.member[q] * self.p.count).sum()), "")
        if g.aside_hosts[q]:
            model.add(least <= int(g.aside_least[q]))
        hosts: Linear = int(g.aside_hosts[q])
        levels: dict[tuple[int, int | None], list[cp_model.IntVar]] = {}
        for column, x in zip(self.columns, self.use, strict=True):
            total = int(g.held_bin[q, column.kind]) + sum(n * int(g.member[q, i]) for i, n in enumerate(column.pattern))
            carries = any(n and g.carrier[q, i] for i, n in enumerate(column.pattern))
            own = sum(n * int(g.member[q, i]) for i, n in enumerate(column.pattern) if self.task.strict or g.carrier[q, i])
            if g.counts[q, column.kind]:
                hosts += x
                levels.setdefault((total, int(g.held_bin[q, column.kind]) + own if carries else None), []).append(x)
            elif carries:
                model.add(x == 0)
        for (total, bounded), uses in levels.items():
            some = self._present(sum(uses))
            model.add(least <= total).only_enforce_if(some)
            if bounded is not None:
                model.add(least >= bounded - int(g.skew[q])).only_enforce_if(some)
        if g.min_domains[q] > 1:
            enough = model.new_bool_var("")
            model.add(hosts >= int(g.min_domains[q])).only_enforce_if(enough)
            model.add(least == 0).only_enforce_if(enough.negated())

    def _domain_places(self, q: int) -> list[_Place]:
        g, places = self.task.groups, []
        relevant = [int(i) for i in np.nonzero(g.carrier[q] | (g.member[q] > 0))[0]]
        counted = [k for k, column in enumerate(self.columns) if g.counts[q, column.kind] or g.kind[q] != SPREAD]
        for d in range(g.held.shape[1]):
            inside = [k for k in counted if g.domain[q, self.columns[k].kind] == d]
            if not inside and not g.stands[q, d] and not g.held[q, d]:
                continue
            amounts = {i: self._held(inside, i) for i in relevant}
            stands: Linear | bool = bool(g.stands[q, d]) or any(self.p.existing[self.columns[k].kind] for k in inside)
            if not stands and inside:
                stands = self._present(sum(self.use[k] for k in inside))
            places.append(_Place({i: a for i, a in amounts.items() if not isinstance(a, int)}, int(g.held[q, d]), True, stands, True))
        return places

    def solve(self) -> Exact | None:
        """Counts by tier, then the objective, then the number of new bins, each held for the next."""
        if self.task.hint is not None:
            self._hint(_rows_of(self.task.hint))
        counts_proven = True
        for tier in sorted({int(t) for t in self.p.tier}):
            fixed = self._fix_count(tier)
            if fixed is None:
                return None
            counts_proven &= fixed
        p = self.p
        charges = [int(p.price[c.kind]) + int(np.array(c.pattern) @ p.adder[:, c.kind]) for c in self.columns]
        cost = _total(charge * x for charge, x in zip(charges, self.use, strict=True) if charge)
        self.model.minimize(cost)
        solver = new_solver(self.task.deterministic_time)
        status = solver.solve(self.model)
        if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
            return None
        objective = round(solver.objective_value)
        best = self._read(solver)
        if status != cp_model.OPTIMAL:
            return Exact(bins_of(best, len(p.count)), objective, max(0, int(np.ceil(solver.best_objective_bound - 1e-6))), counts_proven)
        self.model.add(cost <= objective)
        self.model.minimize(sum(x for c, x in zip(self.columns, self.use, strict=True) if not p.existing[c.kind]))
        self._hint(best)
        again = new_solver(self.task.deterministic_time)
        if again.solve(self.model) in (cp_model.OPTIMAL, cp_model.FEASIBLE):
            best = self._read(again)
        return Exact(bins_of(best, len(p.count)), objective, objective, counts_proven)

    def _fix_count(self, tier: int) -> bool | None:
        """Hold the greatest count of a tier; True if it is proven greatest, None if nothing was found."""
        p = self.p
        members = np.nonzero(p.tier == tier)[0]
        placed = _total(int(p.weight[i]) * self.placed[i] for i in members)
        most = int((p.weight * p.count)[members].sum())
        if self.task.lost is not None and self.task.lost[tier] == 0:
            self.model.add(placed == most)
            return True
        self.model.maximize(placed)
        solver = new_solver(self.task.deterministic_time)
        status = solver.solve(self.model)
        if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
            return None
        got = solver.value(placed)
        self.model.add(placed == got)
        self._hint(self._read(solver))
        return bool(status == cp_model.OPTIMAL or got == most)

    def _hint(self, rows: dict[tuple[int, tuple[int, ...]], int]) -> None:
        self.model.clear_hints()
        for column, x in zip(self.columns, self.use, strict=True):
            if any(column.pattern):
                self.model.add_hint(x, rows.get((column.kind, column.pattern), 0))

    def _read(self, solver: cp_model.CpSolver) -> dict[tuple[int, tuple[int, ...]], int]:
        values = ((column, solver.value(x)) for column, x in zip(self.columns, self.use, strict=True) if any(column.pattern))
        return {(column.kind, column.pattern): n for column, n in values if n}


def _rows_of(bins: Bins) -> dict[tuple[int, tuple[int, ...]], int]:
    rows: dict[tuple[int, tuple[int, ...]], int] = {}
    for kind, times, pattern in zip(bins.kind, bins.times, bins.pattern, strict=True):
        key = (int(kind), tuple(int(n) for n in pattern))
        rows[key] = rows.get(key, 0) + int(times)
    return rows


def bins_of(rows: dict[tuple[int, tuple[int, ...]], int], items: int) -> Bins:
    """Bins from {(kind, pattern): times}, in canonical order."""
    order = sorted(rows)
    return Bins(
        np.array([kind for kind, _ in order], np.int64),
        np.array([rows[key] for key in order], np.int64),
        np.array([pattern for _, pattern in order], np.int64).reshape(len(order), items),
    )


class _Place(NamedTuple):
    """A domain of one rule: what may come into it, what it holds, and whether it exists."""

    amounts: dict[int, Linear]
    """Items that come in, by item."""
    held: int
    counts: bool
    """Its pods count for spread, so it is a domain."""
    stands: Linear | bool
    """1 when the domain exists."""
    usable: bool
    """Carriers may be put here at all."""


def _add_rule(model: cp_model.CpModel, g: Groups, q: int, places: Sequence[_Place], present: Present, *, strict: bool = True) -> None:
    """One rule over its domains, whatever they are."""
    carriers = [int(i) for i in np.nonzero(g.carrier[q])[0]]
    matching = {int(i): int(g.member[q, i]) for i in np.nonzero(g.member[q])[0]}
    inside = [sum(matching[i] * a for i, a in place.amounts.items() if i in matching) + place.held for place in places]
    carried = [{i: place.amounts[i] for i in carriers if i in place.amounts} for place in places]
    if g.kind[q] == SPREAD:
        own = {i: n for i, n in matching.items() if strict or g.carrier[q, i]}
        bounded = [_total(n * place.amounts[i] for i, n in own.items() if i in place.amounts) + place.held for place in places]
        _add_spread(model, g, q, places, inside, bounded, carried, present)
    elif g.kind[q] == AFFINITY:
        _add_affinity(model, g, q, places, carried, matching, present)
    elif not g.host[q]:
        for place, total, coming in zip(places, inside, carried, strict=True):
            for i, amount in coming.items():
                if place.held:
                    model.add(amount == 0)
                else:
                    model.add(total <= matching.get(i, 0)).only_enforce_if(present(amount))


def _add_spread(
    model: cp_model.CpModel,
    g: Groups,
    q: int,
    places: Sequence[_Place],
    inside: Sequence[Linear],
    bounded: Sequence[Linear],
    carried: Sequence[dict[int, Linear]],
    make: Present,
) -> None:
    """count + self - min ≤ maxSkew for each domain that receives a carrier; min is 0 while there are fewer domains than minDomains."""
    top = int(g.held[q].max(initial=0) + g.held_bin[q].max(initial=0) + 1) + 1_000_000
    least = model.new_int_var(0, top, "")
    domains: Linear = 0
    for place, total in zip(places, inside, strict=True):
        if not place.counts:
            continue
        domains += place.stands if not isinstance(place.stands, bool) else int(place.stands)
        if place.stands is True:
            model.add(least <= total)
        elif place.stands is not False:
            stands = place.stands if isinstance(place.stands, cp_model.IntVar) else make(place.stands)
            model.add(least <= total).only_enforce_if(stands)
    if g.min_domains[q] > 1:
        enough = model.new_bool_var("")
        model.add(domains >= int(g.min_domains[q])).only_enforce_if(enough)
        model.add(least == 0).only_enforce_if(enough.negated())
    for place, most, coming in zip(places, bounded, carried, strict=True):
        some = _total(coming.values())
        if isinstance(some, int):
            continue
        if not place.counts or not place.usable:
            model.add(some == 0)
            continue
        model.add(most - least <= int(g.skew[q])).only_enforce_if(make(some))


def _add_affinity(
    model: cp_model.CpModel,
    g: Groups,
    q: int,
    places: Sequence[_Place],
    carried: Sequence[dict[int, Linear]],
    matching: dict[int, int],
    make: Present,
) -> None:
    """A carrier joins a domain that holds a match; if none runs anywhere, one domain may be started by a carrier that matches itself."""
    carriers = {int(i) for i in np.nonzero(g.carrier[q])[0]}
    none_held = not any(place.held for place in places)
    starts: list[cp_model.IntVar] = []
    for place, coming in zip(places, carried, strict=True):
        some = _total(coming.values())
        if isinstance(some, int) or place.held:
            continue
        others = _total(n * place.amounts[i] for i, n in matching.items() if i in place.amounts and i not in carriers)
        here = make(some)
        self_matching = [place.amounts[i] for i in coming if i in matching]
        if none_held and self_matching:
            start = model.new_bool_var("")
            model.add(sum(self_matching) >= 1).only_enforce_if(start)
            starts.append(start)
            if isinstance(others, int):
                model.add_implication(here, start)
            else:
                model.add_bool_or(start, make(others)).only_enforce_if(here)
        elif isinstance(others, int):
            model.add(some == 0)
        else:
            model.add(others >= 1).only_enforce_if(here)
    if starts:
        model.add_at_most_one(starts)


def _total(values: Iterable[Linear]) -> Linear:
    """The sum; the int 0 for nothing."""
    return sum(values)


class Split(NamedTuple):
    """How many of each item go to each cell: int64[I, Z]; items that no domain rule touches have zero rows and stay whole."""

    amount: Ints
    zoned: Bools
    unplaced: Ints


def split(packing: Packing, groups: Groups, target: Floats, deterministic_time: float) -> Split | None:
    """Spread items over cells so that every rule over domains holds, as near as can be to ``target`` float[I, Z].

    Each cell with a new bin counts as opened, so that the split stays valid whichever of them the plan opens. None when the model has no
    answer in the time.
    """
    cells = target.shape[1]
    over = [q for q in range(len(groups.kind)) if not groups.host[q]]
    zoned = np.zeros(len(packing.count), np.bool_)
    for q in over:
        zoned |= groups.carrier[q] | (groups.member[q] > 0)
    model = cp_model.CpModel()
    amount: dict[tuple[int, int], cp_model.IntVar] = {}
    for i in map(int, np.nonzero(zoned)[0]):
        for z in range(cells):
            if ((packing.most[i] > 0) & (packing.cell == z)).any():
                amount[i, z] = model.new_int_var(0, int(packing.count[i]), "")

    def present(value: Linear) -> cp_model.IntVar:
        some = model.new_bool_var("")
        model.add(value >= 1).only_enforce_if(some)
        model.add(value <= 0).only_enforce_if(some.negated())
        return some

    for q in over:
        _add_rule(model, groups, q, _cell_places(packing, groups, q, amount, cells), present)
    missing: Linear = 0
    tiers = int(packing.tier.max(initial=0))
    for i in map(int, np.nonzero(zoned)[0]):
        placed = sum(amount[i, z] for z in range(cells) if (i, z) in amount)
        if isinstance(placed, int):
            continue
        model.add(placed <= int(packing.count[i]))
        missing += int(packing.weight[i]) * 1000 ** min(3, tiers - int(packing.tier[i])) * (int(packing.count[i]) - placed)
    away: Linear = 0
    for (i, z), value in amount.items():
        wish = round(float(target[i, z]))
        model.add_hint(value, wish)
        off = model.new_int_var(0, int(packing.count[i]) + 1, "")
        model.add_abs_equality(off, value - wish)
        away += int(packing.weight[i]) * off
    model.minimize(missing * (4 * int((packing.weight * packing.count).sum()) + 1) + away)
    solver = new_solver(deterministic_time)
    if solver.solve(model) not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return None
    out = np.zeros((len(packing.count), cells), np.int64)
    for (i, z), value in amount.items():
        out[i, z] = solver.value(value)
    return Split(out, zoned, np.where(zoned, packing.count - out.sum(1), 0))


def _cell_places(packing: Packing, g: Groups, q: int, amount: dict[tuple[int, int], cp_model.IntVar], cells: int) -> list[_Place]:
    """The rule's domains as sums of cells."""
    domain_of_cell = np.full(cells, -1, np.int64)
    counted = np.zeros(cells, np.bool_)
    opened = np.zeros(cells, np.bool_)
    for b in range(len(packing.cell)):
        z = packing.cell[b]
        domain_of_cell[z] = g.domain[q, b]
        counted[z] = g.counts[q, b] or g.kind[q] != SPREAD
        opened[z] = True
    places = []
    for d in range(g.held.shape[1]):
        inside = [z for z in range(cells) if domain_of_cell[z] == d and counted[z]]
        stands = bool(g.stands[q, d]) or any(opened[z] for z in inside)
        if not inside and not stands and not g.held[q, d]:
            continue
        items = {i for i, z in amount if z in inside}
        amounts: dict[int, Linear] = {i: sum(amount[i, z] for z in inside if (i, z) in amount) for i in sorted(items)}
        places.append(_Place(amounts, int(g.held[q, d]), True, stands, True))
    return places
