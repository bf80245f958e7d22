"""OR-Tools where it is best: the exact plan of a small problem, and the split of pods over topology domains. Arrays only.

Both models carry the semantics of kube-scheduler's PodTopologySpread and InterPodAffinity filters as indicators:
domains come from bins that stand or are opened; a domain that receives no carrier of a rule is not bounded by it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from ortools.sat.python import cp_model

from packer.arrays import AFFINITY, ANTI, SPREAD, Bins, Bools, Floats, Groups, Ints, Packing

Linear = Any
"""A CP-SAT expression, or an int where nothing is variable."""


Present = Callable[[Linear], cp_model.IntVar]
"""Makes a Boolean that is true when an expression is positive."""


class Exact(NamedTuple):
    """What the exact model found. ``bound`` is proven only with ``complete``; counts are proven greatest with ``counts_proven``."""

    bins: Bins
    objective: int
    bound: int
    counts_proven: bool
    complete: bool


class Task(NamedTuple):
    """The exact model's input: a packing, the rules between its items, gangs, and how far to go."""

    packing: Packing
    groups: Groups
    gang: Ints
    """[I] gang of each item or -1."""
    gang_minimum: Ints
    """[gangs]"""
    slots: int
    """New bins that a plan may open (in each cell, where cells matter)."""
    complete: bool
    """No best plan can open more bins than ``slots``."""
    deterministic_time: float
    hint: Bins | None


ANYWHERE = -1
"""The one cell of a model whose rules do not look at cells."""


def new_solver(deterministic_time: float) -> cp_model.CpSolver:
    """One worker, a fixed seed and deterministic time: the same model gives the same answer on any machine."""
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = 1
    solver.parameters.max_deterministic_time = deterministic_time
    return solver


def exact(task: Task) -> Exact | None:
    """The best plan, lexicographically: pods placed by tier, objective, fewer bins. None when nothing was found in the time."""
    return _ExactModel(task).solve()


class _Slot(NamedTuple):
    """One bin of the model: which machine it is, in which cell, and whether it stands already."""

    uses: dict[int, cp_model.IntVar]
    """Machines: one kind for all that differ in their cell alone."""
    cells: dict[int, Linear]
    existing: bool
    opened: Linear


class _ExactModel:
    """Slots that choose a kind and hold items."""

    def __init__(self, task: Task) -> None:
        self.task, self.p = task, task.packing
        self.model = cp_model.CpModel()
        new = np.nonzero(~self.p.existing & (self.p.most > 0).any(0))[0]
        counts = task.groups.counts[task.groups.host][:, new]
        self.by_cell = bool(len(task.groups.kind)) and not task.groups.host.all()
        self.one_cell_slots = bool((counts != counts[:, :1]).any()) if len(new) else False
        self.kind_at: dict[tuple[int, int], int] = {}
        self.machine: dict[int, int] = {}
        self.new = self._machines([int(b) for b in new])
        self.slots = self._open_slots()
        self.parts: dict[tuple[int, int, int], Linear] = {}
        items = range(len(self.p.count))
        self.held = [[self._amount(s, i) for i in items] for s in range(len(self.slots))]
        self.placed = [sum(self.held[s][i] for s in range(len(self.slots))) for i in items]
        for i in items:
            self.model.add(self.placed[i] <= int(self.p.count[i]))
        self._fit()
        self._scarcity()
        self._gangs()
        self._rules()
        if task.hint is not None:
            self._hint(task.hint)

    def _machines(self, new: list[int]) -> list[int]:
        """The first kind of each set of new kinds that differ in their cell alone; ``kind_at`` finds the others."""
        p = self.p
        reach = np.array([(p.most[:, (p.cell == z) & ~p.existing] > 0).any(1) for z in range(int(p.cell.max(initial=-1)) + 1)])
        firsts: dict[object, list[int]] = {}
        for b in new:
            cell = int(p.cell[b]) if self.by_cell or self.one_cell_slots else ANYWHERE
            same = (p.cap[b].tobytes(), int(p.price[b]), p.adder[:, b].tobytes(), int(p.stock_group[b]), p.limit_use[:, b].tobytes())
            for first in firsts.setdefault(same, []):
                both = reach[p.cell[b]] & reach[p.cell[first]]
                if cell != ANYWHERE and (first, cell) not in self.kind_at and (p.most[both, b] == p.most[both, first]).all():
                    self.machine[b] = first
                    break
            else:
                firsts[same].append(b)
                self.machine[b] = b
            self.kind_at[self.machine[b], cell] = b
        self.most = {first: p.most[:, [b for b in new if self.machine[b] == first]].max(1) for first in sorted(set(self.machine.values()))}
        return sorted(self.most)

    def _open_slots(self) -> list[_Slot]:
        p, slots = self.p, []
        for group in sorted({int(g) for g, e in zip(p.stock_group, p.existing, strict=True) if e}):
            kinds = [int(b) for b in np.nonzero(p.existing & (p.stock_group == group))[0]]
            for b in kinds:
                self.most[b] = p.most[:, b]
                self.machine[b] = b
                self.kind_at[b, int(p.cell[b])] = b
            slots += [self._slot(kinds, [int(p.cell[kinds[0]])], True) for _ in range(int(p.stock[group]))]
        cells = sorted({cell for first, cell in self.kind_at if not p.existing[first]})
        for some in [[cell] for cell in cells] if self.one_cell_slots else [cells]:
            machines = [first for first in self.new if any((first, cell) in self.kind_at for cell in some)]
            row = [self._slot(machines, some, False) for _ in range(self.task.slots if machines else 0)]
            for a, b in pairwise(row):
                rank = {k: n + 1 for n, k in enumerate(machines)}
                self.model.add(sum(rank[k] * a.uses[k] for k in machines) >= sum(rank[k] * b.uses[k] for k in machines))
            slots += row
        return slots

    def _slot(self, machines: list[int], cells: list[int], existing: bool) -> _Slot:
        uses = {b: self.model.new_bool_var("") for b in machines}
        opened = sum(uses.values())
        self.model.add(opened == 1 if existing else opened <= 1)
        if len(cells) == 1:
            return _Slot(uses, {cells[0]: 1 if existing else opened}, existing, opened)
        inside: dict[int, Linear] = {cell: self.model.new_bool_var("") for cell in cells}
        self.model.add(sum(inside.values()) == opened)
        for b, x in uses.items():
            self.model.add(sum(inside[cell] for cell in cells if (b, cell) in self.kind_at) >= x)
        return _Slot(uses, inside, existing, opened)

    def _amount(self, s: int, i: int) -> Linear:
        slot = self.slots[s]
        top = min(int(self.p.count[i]), max(int(self.most[b][i]) for b in slot.uses))
        if top <= 0:
            return 0
        amount = self.model.new_int_var(0, top, "")
        for cell, inside in slot.cells.items():
            kinds = [b for (first, where), b in self.kind_at.items() if where == cell and first in slot.uses]
            if len(slot.cells) > 1 and not (self.p.most[i, kinds] > 0).any():
                self.model.add(amount <= top - top * inside)
        return amount

    def _part(self, s: int, i: int, cell: int) -> Linear:
        """How much of an item a slot brings into a cell."""
        slot, amount = self.slots[s], self.held[s][i]
        if cell not in slot.cells or isinstance(amount, int):
            return 0
        if len(slot.cells) == 1:
            return amount
        if (s, i, cell) not in self.parts:
            top = int(self.p.count[i])
            split = {where: self.model.new_int_var(0, top, "") for where in slot.cells}
            self.model.add(sum(split.values()) == amount)
            for where, value in split.items():
                self.model.add(value <= top * slot.cells[where])
                self.parts[s, i, where] = value
        return self.parts[s, i, cell]

    def _fit(self) -> None:
        p, model = self.p, self.model
        for s, slot in enumerate(self.slots):
            held = self.held[s]
            for r in range(p.demand.shape[1]):
                takes = [(int(p.demand[i, r]), held[i]) for i in range(len(held)) if p.demand[i, r] and not isinstance(held[i], int)]
                if takes:
                    model.add(sum(d * a for d, a in takes) <= sum(int(p.cap[b, r]) * x for b, x in slot.uses.items()))
            for i, a in enumerate(held):
                if not isinstance(a, int):
                    model.add(a <= sum(int(min(self.most[b][i], p.count[i])) * x for b, x in slot.uses.items()))
            for i, j in zip(*np.nonzero(np.triu(p.clash)), strict=True):
                a, b = held[int(i)], held[int(j)]
                if not isinstance(a, int) and not isinstance(b, int):
                    model.add_bool_or(self._present(a).negated(), self._present(b).negated())

    def _present(self, amount: Linear) -> cp_model.IntVar:
        """A new Boolean that is true when the amount is positive."""
        present = self.model.new_bool_var("")
        self.model.add(amount >= 1).only_enforce_if(present)
        self.model.add(amount <= 0).only_enforce_if(present.negated())
        return present

    def _scarcity(self) -> None:
        p = self.p
        uses = [(b, x) for slot in self.slots for b, x in slot.uses.items()]
        for group in range(len(p.stock)):
            new = [x for b, x in uses if p.stock_group[b] == group and not p.existing[b]]
            if new:
                self.model.add(sum(new) <= int(p.stock[group]))
        for row, limit in zip(p.limit_use, p.limit, strict=True):
            self.model.add(sum(int(row[b]) * x for b, x in uses if row[b]) <= int(limit))

    def _gangs(self) -> None:
        for gang, minimum in enumerate(self.task.gang_minimum):
            members = np.nonzero(self.task.gang == gang)[0]
            placed = sum(int(self.p.weight[i]) * self.placed[i] for i in members)
            size = int((self.p.weight[members] * self.p.count[members]).sum())
            starts = self.model.new_bool_var("")
            self.model.add(placed <= size * starts)
            self.model.add(placed >= int(minimum)).only_enforce_if(starts)

    def _rules(self) -> None:
        g = self.task.groups
        for q in range(len(g.kind)):
            places = self._host_places(q) if g.host[q] else self._domain_places(q)
            _add_rule(self.model, g, q, places, self._present)

    def _host_places(self, q: int) -> list[_Place]:
        g, places = self.task.groups, []
        for s, slot in enumerate(self.slots):
            kind = self.kind_at[next((first, cell) for first in slot.uses for cell in slot.cells if (first, cell) in self.kind_at)]
            counts = bool(g.counts[q, kind])
            held = int(g.held_bin[q, kind]) if slot.existing else 0
            stands = True if slot.existing else slot.opened
            amounts = {i: a for i, a in enumerate(self.held[s]) if not isinstance(a, int)}
            places.append(_Place(amounts, held, counts, stands, counts or g.kind[q] == ANTI))
        if g.aside_hosts[q]:
            places.append(_Place({}, int(g.aside_least[q]), True, True, False))
        return places

    def _domain_places(self, q: int) -> list[_Place]:
        g, places = self.task.groups, []
        kinds = list(self.kind_at.values())
        relevant = [int(i) for i in np.nonzero(g.carrier[q] | (g.member[q] > 0))[0]]
        for d in range(g.held.shape[1]):
            cells = sorted({int(self.p.cell[b]) for b in kinds if g.domain[q, b] == d and (g.counts[q, b] or g.kind[q] != SPREAD)})
            if not cells and not g.stands[q, d] and not g.held[q, d]:
                continue
            amounts = {i: _total(self._part(s, i, z) for s in range(len(self.slots)) for z in cells) for i in relevant}
            inside = [slot for slot in self.slots if any(z in slot.cells for z in cells)]
            stands: Linear | bool = bool(g.stands[q, d]) or any(slot.existing for slot in inside)
            if not stands and inside:
                stands = self._present(_total(slot.cells[z] for slot in inside for z in cells if z in slot.cells))
            places.append(_Place({i: a for i, a in amounts.items() if not isinstance(a, int)}, int(g.held[q, d]), True, stands, True))
        return places

    def _hint(self, bins: Bins) -> None:
        free = list(range(len(self.slots)))
        for kind, times, pattern in zip(bins.kind, bins.times, bins.pattern, strict=True):
            for _ in range(int(times)):
                machine = self.machine.get(int(kind), -1)
                s = next((s for s in free if machine in self.slots[s].uses), None)
                if s is None:
                    return
                free.remove(s)
                self.model.add_hint(self.slots[s].uses[machine], 1)
                for i, a in enumerate(self.held[s]):
                    if not isinstance(a, int):
                        self.model.add_hint(a, int(pattern[i]))

    def _cost(self) -> Linear:
        p = self.p
        total: Linear = sum(int(p.price[b]) * x for slot in self.slots for b, x in slot.uses.items())
        for s, slot in enumerate(self.slots):
            for i, a in enumerate(self.held[s]):
                charges = {int(p.adder[i, b]) for b in slot.uses}
                if isinstance(a, int) or charges == {0}:
                    continue
                top = int(p.count[i]) * max(charges)
                charge = self.model.new_int_var(0, top, "")
                for b, x in slot.uses.items():
                    if p.adder[i, b]:
                        self.model.add(charge >= int(p.adder[i, b]) * a).only_enforce_if(x)
                total += charge
        return total

    def solve(self) -> Exact | None:
        p, task = self.p, self.task
        counts_proven, best = True, None
        for tier in sorted({int(t) for t in p.tier}):
            placed = sum(int(p.weight[i]) * self.placed[i] for i in np.nonzero(p.tier == tier)[0])
            most = int((p.weight * p.count)[p.tier == tier].sum())
            self.model.maximize(placed)
            solver = new_solver(task.deterministic_time)
            status = solver.solve(self.model)
            if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
                return None
            got = solver.value(placed)
            counts_proven &= status == cp_model.OPTIMAL or got == most
            self.model.add(placed == got)
            self._renew_hint(solver)
        cost = self._cost()
        self.model.minimize(cost)
        solver = new_solver(task.deterministic_time)
        status = solver.solve(self.model)
        if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
            return None
        objective = round(solver.objective_value)
        bound = objective if status == cp_model.OPTIMAL else max(0, int(np.ceil(solver.best_objective_bound - 1e-6)))
        best = self._read(solver)
        if status == cp_model.OPTIMAL:
            best = self._fewest_bins(cost, objective, solver, best)
        return Exact(best, objective, bound, counts_proven and task.complete, task.complete)

    def _fewest_bins(self, cost: Linear, objective: int, solver: cp_model.CpSolver, best: Bins) -> Bins:
        self.model.add(cost <= objective)
        self._renew_hint(solver)
        self.model.minimize(sum(x for slot in self.slots if not slot.existing for x in slot.uses.values()))
        again = new_solver(self.task.deterministic_time)
        status = again.solve(self.model)
        return self._read(again) if status in (cp_model.OPTIMAL, cp_model.FEASIBLE) else best

    def _renew_hint(self, solver: cp_model.CpSolver) -> None:
        self.model.clear_hints()
        for s, slot in enumerate(self.slots):
            inside = slot.cells.values() if len(slot.cells) > 1 else ()
            for x in (*slot.uses.values(), *inside):
                self.model.add_hint(x, solver.value(x))
            for a in self.held[s]:
                if not isinstance(a, int):
                    self.model.add_hint(a, solver.value(a))

    def _read(self, solver: cp_model.CpSolver) -> Bins:
        rows: dict[tuple[int, tuple[int, ...]], int] = {}
        for s, slot in enumerate(self.slots):
            pattern = tuple(0 if isinstance(a, int) else solver.value(a) for a in self.held[s])
            machine = next((b for b, x in slot.uses.items() if solver.value(x)), None)
            if machine is not None and any(pattern):
                cell = next(z for z, inside in slot.cells.items() if isinstance(inside, int) or solver.value(inside))
                row = (self.kind_at[machine, cell], pattern)
                rows[row] = rows.get(row, 0) + 1
        return bins_of(rows, len(self.p.count))


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


def _add_rule(model: cp_model.CpModel, g: Groups, q: int, places: Sequence[_Place], present: Present) -> None:
    """One rule over its domains, whatever they are."""
    carriers = [int(i) for i in np.nonzero(g.carrier[q])[0]]
    matching = {int(i): int(g.member[q, i]) for i in np.nonzero(g.member[q])[0]}
    inside = [sum(matching[i] * a for i, a in place.amounts.items() if i in matching) + place.held for place in places]
    carried = [{i: place.amounts[i] for i in carriers if i in place.amounts} for place in places]
    if g.kind[q] == SPREAD:
        _add_spread(model, g, q, places, inside, carried, present)
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
    for place, total, coming in zip(places, inside, carried, strict=True):
        some = _total(coming.values())
        if isinstance(some, int):
            continue
        if not place.counts or not place.usable:
            model.add(some == 0)
            continue
        model.add(total - least <= int(g.skew[q])).only_enforce_if(make(some))


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
