"""The recipe: problem -> classes -> arrays -> greedy -> columns and bound -> split over domains -> search -> plan.

Anytime and deterministic: work comes in rounds of 1, 1, 2, 4, 8 … units, each of which continues from what the rounds before left. A
larger budget runs the same rounds and then more, so the cost never rises and the bound never falls. The clock is only a safety.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from packer import cells, columns, cost, integer, kernels, rounding, search
from packer.arrays import Bins, Bools, Certificate, Floats, Packing, SideRows
from packer.decode import Assignment, decode, launches_of, placements_of
from packer.dense import Dense, build
from packer.model import Plan, Problem, Stage, Status
from packer.repair import is_valid, repaired
from packer.why import unplaced_with_reasons

DEFAULT_UNITS = 32
EXACT_PODS = 60
"""Plans of up to so many pods are also tried as one exact model."""
EXACT_TIME = 2.0
"""Deterministic seconds of CP-SAT for each of its objectives."""
SPLIT_TIME = 1.0
CLOSE = 2e-5
"""Relative gap at which more work is not worth anybody's while."""
FIRST_UNITS = 0.25
"""Search for the first plan that a user waits for, twice."""

OnStage = Callable[[Stage], None]


@dataclass(frozen=True, slots=True)
class Budget:
    """How much work to spend. ``units`` 0 stops at the first plan; ``deadline_s`` is a safety on the wall clock, and a plan that it cut
    says so (``truncated``); ``seed`` chooses among equally good searches."""

    units: int = DEFAULT_UNITS
    seed: int = 0
    deadline_s: float | None = None


@dataclass(frozen=True, slots=True)
class Result:
    """A plan, and what proves its bound."""

    plan: Plan
    certificate: Certificate | None
    packing: Packing | None
    """What the certificate is about: the relaxed packing."""
    side: SideRows | None
    allowed_unplaced: tuple[int, ...] = ()


def solve(problem: Problem, budget: Budget = Budget(), on_stage: OnStage | None = None) -> Result:
    """The cheapest plan found within the budget, with a proven lower bound. Infeasibility is data, never an exception."""
    run = _Run(problem, budget, on_stage)
    run.first_plan()
    run.exact_plan()
    for units in _rounds(budget.units):
        if run.finished():
            break
        run.improve(units)
    return run.result()


def _rounds(units: int) -> Iterator[int]:
    """1, 1, 2, 4, 8 … while they add up to no more than the budget."""
    size, spent = 1, 0
    while spent + size <= units:
        yield size
        spent += size
        size = spent


@dataclass(slots=True)
class _Best:
    """The incumbent over the whole packing's items."""

    bins: Bins
    lost: tuple[int, ...]
    cost: int
    inner: Bins | None = None
    """The same over the items of the part that it was found in."""

    def rank(self) -> tuple[tuple[int, ...], int, int]:
        return self.lost, self.cost, int(self.bins.times.sum())


@dataclass(slots=True)
class _Proof:
    """The bound, for plans that leave ``allowed`` pods unplaced by tier."""

    bound: int = 0
    allowed: tuple[int, ...] = ()
    counts_proven: bool = False
    certificate: Certificate | None = None
    weights: Floats = field(default_factory=lambda: np.zeros(0))
    load: Floats | None = None


class _Run:
    """One solve: the arrays, the incumbent, the bound, and the stages so far."""

    def __init__(self, problem: Problem, budget: Budget, on_stage: OnStage | None) -> None:
        self.started = time.perf_counter()
        self.problem, self.budget, self.on_stage = problem, budget, on_stage
        self.stages: list[Stage] = []
        self.work = 0
        self.truncated = False
        self.round = 0
        self._prepare(build(problem, glued=len(problem.pods) > EXACT_PODS))

    def _prepare(self, dense: Dense) -> None:
        """Start from these arrays."""
        self.dense = dense
        self.packing = dense.packing
        self.relaxed = dense.relaxed
        side = cells.side_rows(self.relaxed, self.dense.groups)
        self.lp_index = cells.merged_index(self.relaxed, np.moveaxis(side.coef, 1, 0))
        self.lp_packing = cells.merge(self.relaxed, self.lp_index)
        self.lp_kinds = np.arange(len(self.packing.price), dtype=np.int64)
        if not len(side.rhs):
            # No row tells cells apart, so a bin kind in one of them can stand in for its like in all.
            self.lp_packing = self.lp_packing._replace(cell=np.zeros_like(self.lp_packing.cell))
            self.lp_kinds = np.nonzero(kernels.dominance(self.lp_packing))[0].astype(np.int64)
            self.lp_packing = cells.with_kinds(self.lp_packing, self.lp_kinds)
        self.lp_side = side._replace(
            coef=side.coef[:, np.unique(self.lp_index, return_index=True)[1], : int(self.lp_packing.cell.max(initial=-1)) + 1]
        )
        self.regimes = cells.regimes(self.packing, self.dense.groups)
        self.usable: Bools = self.regimes[-1]
        self.part = cells.whole(self.packing, self.dense.gang)
        self.generator: columns.Generator | None = None
        self.columns: columns.Columns | None = None
        self.coin = max(1, int(np.gcd.reduce(np.concatenate([self.packing.price, np.unique(self.packing.adder)]), initial=0)))
        """Every objective is a multiple of this, so the bound may be rounded up to one."""
        self.best = self._measured(search.empty(self.packing))
        self.proof = _Proof()

    # Stages, in the order in which they run.

    def first_plan(self) -> None:
        """Greedy in every regime; the best is kept for what follows. The last, all domains at once, only if the others fall short."""
        weights = kernels.lone_weights(self.packing)
        for usable in self.regimes:
            if usable.all() and self.best.inner is not None and not any(self.best.lost) and not self.packing.existing.any():
                break
            part = self._split(usable, cells.even_target(self.packing, usable))
            if part is None:
                continue
            part, found = self._greedy(part, weights[part.first])
            if self._offer(part, found):
                self.usable, self.part = usable, part
        self._stage("greedy")
        if self.budget.units and self._large():
            self._offer(self.part, rounding.first_plan(self.part.packing, FIRST_UNITS, self.budget.seed))
            self._stage("first")

    def exact_plan(self) -> None:
        """CP-SAT over every way to fill a bin when the problem is small: often the optimum, proven."""
        if self._large():
            return
        task = self._exact_task()
        loose = None if task is None or self._out_of_time() else integer.exact(task)
        if task is None or loose is None:
            if any(pod.spec.affinity for pod in self.problem.pods):
                self._prepare(build(self.problem))
                self.first_plan()
            return
        found: integer.Exact | None = loose
        if not self._valid(loose.bins):
            found = integer.exact(task._replace(strict=True))
        if found is None:
            return
        candidate = self._measured(found.bins)
        if candidate.rank() <= self.best.rank() or not self._valid(self.best.bins):
            self.best = candidate
        if self._measured(loose.bins).lost == self.best.lost and not self.dense.claims_shared:
            self.proof = _Proof(min(loose.bound, self.best.cost), self.best.lost, loose.counts_proven)
        self._stage("exact")

    def _valid(self, bins: Bins) -> bool:
        """Could kube-scheduler bind it? Without rules between pods the arrays say it all."""
        return not len(self.dense.groups.kind) or is_valid(self.problem, self.dense, decode(self.dense, bins))

    def improve(self, units: int) -> None:
        """One round: columns and bound, then search, each with the share of the work that it has to win."""
        share = self._share_of_columns() * units
        self._bound(max(1, round(share)))
        self._stage("columns")
        if not self.finished():
            self._search(max(0.5, units - share))
            self._stage("search")
            if self.generator is not None:
                self.generator.learn(self._lp_start())
        self.work += units

    def _share_of_columns(self) -> float:
        """Of the gap between plan and bound, the part below the LP is for column generation to close, the part above for the search."""
        found = self.columns
        if found is None:
            return 0.5
        if found.done:
            return 0.0
        below, above = found.lp - self.proof.bound, self.best.cost - found.lp
        return min(max(below / max(below + above, 1.0), 0.2), 0.9)

    def finished(self) -> bool:
        """Nothing left to win, or the safety deadline has struck."""
        if self._out_of_time():
            self.truncated = True
            return True
        nothing = len(self.packing.count) == 0 or len(self.packing.price) == 0
        close = self.proof.bound >= self.best.cost - int(CLOSE * self.best.cost)
        return nothing or (self.proof.allowed == self.best.lost and close and self._counts_proven())

    def result(self) -> Result:
        """Decode the incumbent, mend what the arrays could not express, and say what is proven."""
        assignment = repaired(self.problem, self.dense, decode(self.dense, self.best.bins))
        return Result(
            plan=self._plan(assignment),
            certificate=self.proof.certificate,
            packing=self.lp_packing,
            side=self.lp_side,
            allowed_unplaced=self.proof.allowed,
        )

    # How each stage works.

    def _greedy(self, part: cells.Part, weights: Floats) -> tuple[cells.Part, Bins]:
        """A greedy plan, and the part without the gangs that it had to give up: one at a time, the least urgent and largest first."""
        while True:
            bins, _ = kernels.greedy(part.packing, weights, part.packing.count, int(part.packing.count.sum()) + 1)
            broken = self._broken_gangs(part, bins)
            if not broken:
                return part, bins
            count = np.where(self.dense.gang[part.first] == broken[0], 0, part.packing.count)
            part = part._replace(packing=part.packing._replace(count=count))

    def _broken_gangs(self, part: cells.Part, bins: Bins) -> list[int]:
        """Gangs that the plan starts in part, the first to give up first."""
        placed = bins.times @ bins.pattern * part.packing.weight
        broken = []
        for gang, minimum in enumerate(self.dense.gang_minimum):
            members = self.dense.gang[part.first] == gang
            if 0 < placed[members].sum() < minimum:
                broken.append((-int(part.packing.tier[members].min()), -int(minimum), gang))
        return [gang for *_, gang in sorted(broken)]

    def _bound(self, units: int) -> None:
        """Continue column generation on the relaxed packing; a change of placed counts starts it anew."""
        if self.generator is None or self.proof.allowed != self.best.lost:
            allowed = np.array(self.best.lost, np.int64)
            self.generator = columns.Generator(self.lp_packing, self.lp_side, self._lp_start(), allowed)
            certificate = self.proof.certificate
            self.proof = _Proof(allowed=self.best.lost, counts_proven=False, certificate=certificate)
        found = self.columns = self.generator.run(units)
        lower = -(-found.lower_bound // self.coin) * self.coin
        if lower > self.proof.bound:
            self.proof.bound = min(lower, self.best.cost)
            self.proof.certificate = found.certificate
        self.proof.weights = found.weights[self.lp_index]
        if len(self.lp_side.rhs):
            share = self.packing.count / np.maximum(self.lp_packing.count[self.lp_index], 1)
            self.proof.load = found.load[self.lp_index] * share[:, None]

    def _lp_start(self) -> Bins:
        """The incumbent's bins whose kinds the LP has kept."""
        position = np.full(len(self.packing.price), -1, np.int64)
        position[self.lp_kinds] = np.arange(len(self.lp_kinds))
        known = position[self.best.bins.kind] >= 0
        bins = Bins(position[self.best.bins.kind[known]], self.best.bins.times[known], self.best.bins.pattern[known])
        return cells.gathered(bins, self.lp_index)

    def _search(self, units: float) -> None:
        """Split anew by what the LP says, round its columns, and search from the best there is, with better values each time."""
        self.round += 1
        part, start, weights = self._search_from()
        searcher = search.Search(part.packing, start, weights, lower_bound=self.proof.bound, seed=self.budget.seed + self.round)
        searcher.run(units)
        self._offer(part, searcher.best)

    def _split(self, usable: Bools, target: Floats) -> cells.Part | None:
        return cells.part_of(self.packing, self.dense.groups, self.dense.gang, usable, target, SPLIT_TIME)

    def _search_from(self) -> tuple[cells.Part, Bins, Floats]:
        split = cells.has_domains(self.dense.groups)
        part = self.part
        if split and self.proof.load is not None:
            part = self._split(self.usable, self.proof.load) or part
        weights = np.maximum(self.proof.weights[part.first], 1e-3 * kernels.lone_weights(part.packing))
        part, start = self._greedy(part, weights)
        start = self._rounded(part, weights, start)
        inner = self.best.inner
        if not self._offer(part, start) and not split and inner is not None and inner.pattern.shape[1] == start.pattern.shape[1]:
            start = inner
        self.part = part
        return part, start, weights

    def _rounded(self, part: cells.Part, weights: Floats, start: Bins) -> Bins:
        """The best rounding of the LP's columns, in the part's kinds and items."""
        if self.columns is None or not len(self.columns.kinds):
            return start
        position = {(p.cap[b].tobytes(), int(p.price[b])): b for p in (part.packing,) for b in reversed(range(len(p.price)))}
        exact = {int(kind): b for b, kind in enumerate(part.kinds)}
        lp = self.lp_packing
        kinds = np.array(
            [exact.get(int(self.lp_kinds[b]), position.get((lp.cap[b].tobytes(), int(lp.price[b])), -1)) for b in self.columns.kinds],
            np.int64,
        )
        known = kinds >= 0
        return rounding.round_columns(
            part.packing,
            kinds[known],
            self.columns.patterns[known],
            self.columns.values[known],
            weights,
            self.lp_index[part.first],
            start,
        )

    def _large(self) -> bool:
        return len(self.problem.pods) > EXACT_PODS

    def _exact_task(self) -> integer.Task | None:
        p, lost = self.packing, self.best.lost
        pods = int((p.count * p.weight).sum())
        if not pods or not len(p.price) or p.device_resource >= 0:
            return None
        sure = lost if self._valid(self.best.bins) else None
        return integer.Task(
            p._replace(most=self.relaxed.most) if not self.dense.claims_shared else p,
            self.dense.groups,
            self.dense.gang,
            self.dense.gang_minimum,
            False,
            sure,
            EXACT_TIME if self.budget.deadline_s is None else min(EXACT_TIME, self.budget.deadline_s / 8),
            self.best.bins,
        )

    # Bookkeeping.

    def _measured(self, bins: Bins) -> _Best:
        lost = search.lost_pods(self.packing, search.leftover(self.packing, bins))
        return _Best(bins, tuple(int(n) for n in lost), search.cost(self.packing, bins))

    def _offer(self, part: cells.Part, bins: Bins) -> bool:
        """Take the part's plan if it beats the incumbent."""
        if self._broken_gangs(part, bins):
            return False
        candidate = self._measured(cells.fold(bins, part, len(self.packing.count)))
        better = candidate.rank() < self.best.rank()
        if better:
            candidate.inner = bins
            self.best = candidate
        return better

    def _stage(self, name: str) -> None:
        bound = self.proof.bound if self.proof.allowed == self.best.lost else None
        stage = Stage(name, self.best.cost, self.work, time.perf_counter() - self.started, bound, sum(self.best.lost))
        self.stages.append(stage)
        if self.on_stage is not None:
            self.on_stage(stage)

    def _out_of_time(self) -> bool:
        return self.budget.deadline_s is not None and time.perf_counter() - self.started > self.budget.deadline_s

    def _counts_proven(self) -> bool:
        """All that has any bin at all is placed, or the exact model proved that no more can be."""
        placeable = (self.packing.most > 0).any(1)
        rest = search.leftover(self.packing, self.best.bins)
        return self.proof.counts_proven or not (rest[placeable] > 0).any()

    def _plan(self, assignment: Assignment) -> Plan:
        launches = launches_of(self.dense, assignment)
        placements = placements_of(self.dense, assignment)
        draft = Plan(
            status=Status.FEASIBLE,
            launches=launches,
            placements=placements,
            unplaced=unplaced_with_reasons(self.problem, launches, placements, [pod.key for pod in assignment.unplaced]),
            skipped=tuple(sorted(self.problem.skipped, key=lambda s: (s.pod, s.reason))),
            notices=tuple(sorted(self.problem.notices, key=lambda n: (n.reason, n.message))),
            cost_microusd_per_hour=sum(launch.price_microusd_per_hour for launch in launches),
            objective_microusd_per_hour=0,
            lower_bound_microusd_per_hour=0,
            stages=tuple(self.stages),
            truncated=self.truncated,
            seed=self.budget.seed,
        )
        objective = cost.objective(self.problem, draft)
        bound = min(self.proof.bound, objective) if self.proof.allowed == self.best.lost else 0
        placed_any = bool(launches or draft.placements)
        if assignment.unplaced and not placed_any:
            status = Status.INFEASIBLE
        else:
            status = Status.OPTIMAL if objective == bound and self._counts_proven() else Status.FEASIBLE
        return replace(draft, status=status, objective_microusd_per_hour=objective, lower_bound_microusd_per_hour=bound)
