"""Ours, Karpenter's and first fit decreasing on the same inputs, judged by the same judge."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from packer.model import Offering, Plan, Problem, Stage
from perf import generators, measure, offers
from perf.peers import ffd, karpenter_peer
from perf.peers.run import PeerRun

POOLS: Mapping[str, Callable[[], tuple[Offering, ...]]] = {"all": offers.all_types, "cmr": offers.chosen_pool}
POOL_NAMES = {"all": "all types", "cmr": "c/m/r, 2–32 vCPU"}
FIRST_PLAN_SPEEDUP = 20
"""A first plan that is no dearer than Karpenter's should be there in this fraction of its time."""


@dataclass(frozen=True, slots=True)
class Row:
    """One planner on one input. ``distinct``: different plans over the repeats, or None where only one was made."""

    planner: str
    cost: int
    nodes: int
    left: int
    seconds: float
    over_bound: float | None
    distinct: int | None = None
    broken: Mapping[str, int] | None = None
    """None: not a plan of its own, but what ours had reached at some moment."""


@dataclass(frozen=True, slots=True)
class Comparison:
    workload: str
    pods: int
    pool: str
    types: int
    bound: int
    repeats: int
    rows: tuple[Row, ...]

    def row(self, planner: str) -> Row | None:
        return next((row for row in self.rows if row.planner == planner), None)


KARPENTER = f"Karpenter {karpenter_peer.VERSION}"
FFD = "first fit decreasing, one best type"
OURS, OURS_FIRST, OURS_THEN = "Bayplan", "Bayplan, first plan", "Bayplan, at Karpenter's time"


def compare(
    workload: str,
    pods: int,
    pool: str,
    *,
    repeats: int = 5,
    units: int | None = None,
    seed: int = 0,
    cpu: bool = False,
    tell: Callable[[str], None] = print,
) -> Comparison:
    """Run all three on one workload. Karpenter's Solve has no time limit here, so that its plan is whole.

    ``cpu``: processor seconds on all sides, Karpenter's garbage collection included.
    """
    offerings = POOLS[pool]()
    problem = generators.problem(generators.WORKLOADS[workload](pods, seed), offerings, overhead=False)
    measure.warm(problem)
    tell(f"{workload} {pods} on {POOL_NAMES[pool]}: ours")
    first = [measure.run(problem, units=0, cpu=cpu) for _ in range(repeats)]
    ours = [measure.run(problem, units=units, cpu=cpu) for _ in range(repeats)]
    tell(f"{workload} {pods} on {POOL_NAMES[pool]}: Karpenter")
    theirs = karpenter_peer.run(problem, repeats=repeats)
    tell(f"{workload} {pods} on {POOL_NAMES[pool]}: first fit decreasing")
    ffd_run = ffd.run(problem)
    bound = max(solved.plan.lower_bound_microusd_per_hour for solved in ours)
    karpenter_seconds = measure.middle(run.cpu_seconds if cpu else run.seconds for run in theirs)
    rows = [
        _karpenter_row(problem, theirs, karpenter_seconds, bound),
        _row(problem, FFD, ffd_run.plan, ffd_run.cpu_seconds if cpu else ffd_run.seconds, bound),
        _row(problem, OURS_FIRST, first[0].plan, measure.middle(s.seconds for s in first), bound, len({s.digest for s in first})),
        *_then(measure.at(ours[0].plan.stages, karpenter_seconds), karpenter_seconds, bound),
        _row(problem, OURS, ours[0].plan, measure.middle(s.seconds for s in ours), bound, len({s.digest for s in ours})),
    ]
    return Comparison(workload, pods, pool, offers.types(offerings), bound, repeats, tuple(rows))


def _row(problem: Problem, planner: str, plan: Plan, seconds: float, bound: int, distinct: int | None = None) -> Row:
    cost = plan.objective_microusd_per_hour
    over = measure.over(cost, bound)
    return Row(planner, cost, len(plan.launches), len(plan.unplaced), seconds, over, distinct, measure.broken_rules(problem, plan))


def _karpenter_row(problem: Problem, runs: Sequence[PeerRun], seconds: float, bound: int) -> Row:
    """Its median run by cost: input with zones or affinity packs differently every time."""
    typical = sorted(runs, key=lambda run: run.plan.objective_microusd_per_hour)[len(runs) // 2]
    return _row(problem, KARPENTER, typical.plan, seconds, bound, len({run.fingerprint for run in runs}))


def _then(stage: Stage | None, seconds: float, bound: int) -> list[Row]:
    if stage is None:
        return []
    cost = stage.cost_microusd_per_hour
    return [Row(OURS_THEN, cost, 0, stage.unplaced, seconds, measure.over(cost, bound))]


# What the comparison is accepted by ----------------------------------------------------------------------------------------------


def misses(comparison: Comparison) -> list[str]:
    """Which of the project's promises this comparison breaks; empty when it keeps all."""
    karpenter, ours, first = comparison.row(KARPENTER), comparison.row(OURS), comparison.row(OURS_FIRST)
    if karpenter is None or ours is None or first is None:
        return ["a side is missing"]
    found = []
    if ours.left > karpenter.left:
        found.append(f"ours leaves {ours.left} pods, Karpenter {karpenter.left}")
    if ours.left == karpenter.left and ours.cost > karpenter.cost:
        found.append("ours is dearer")
    if ours.left == karpenter.left and (karpenter.over_bound or 0) > 0.01 and ours.cost >= karpenter.cost:
        found.append("ours is no cheaper although Karpenter is more than 1 % over the bound")
    if ours.distinct != 1:
        found.append(f"ours made {ours.distinct} different plans")
    if ours.broken or first.broken:
        found.append("ours breaks rules")
    if comparison.workload == "diverse" or (comparison.workload == "generic" and comparison.pods >= 5000):
        if first.left == karpenter.left and first.cost > karpenter.cost:
            found.append("the first plan is dearer than Karpenter's")
        if first.seconds * FIRST_PLAN_SPEEDUP > karpenter.seconds:
            found.append(
                f"the first plan takes {first.seconds:.3f} s, more than 1/{FIRST_PLAN_SPEEDUP} of Karpenter's {karpenter.seconds:.2f} s"
            )
    return found


def text(comparison: Comparison) -> str:
    """One heading and one table."""
    title = (
        f"{comparison.workload}, {comparison.pods:,} pods, {POOL_NAMES[comparison.pool]} ({comparison.types:,} types); "
        f"proven bound {measure.usd(comparison.bound)} $/h"
    )
    header = ("planner", "$/h", "nodes", "over bound", "time", f"plans in {comparison.repeats}", "rules broken")
    return f"{title}\n\n{measure.table(header, map(_cells, comparison.rows))}"


def _cells(row: Row) -> list[str]:
    cost = measure.usd(row.cost) + (f" ({row.left:,} pods left)" if row.left else "")
    broken = "" if row.broken is None else ", ".join(f"{code} ×{count}" for code, count in row.broken.items()) or "none"
    nodes = f"{row.nodes:,}" if row.nodes else ""
    distinct = "" if row.distinct is None else str(row.distinct)
    return [row.planner, cost, nodes, measure.percent(row.over_bound), measure.duration(row.seconds), distinct, broken]


def summary(comparisons: Sequence[Comparison]) -> str:
    """All comparisons in one table: what each side costs over the bound, and how long it took."""
    rows = []
    for c in comparisons:
        karpenter, one_type, first, ours = (c.row(name) for name in (KARPENTER, FFD, OURS_FIRST, OURS))
        if karpenter is None or ours is None or first is None or one_type is None:
            continue
        saving = None if not karpenter.cost else 1 - ours.cost / karpenter.cost
        rows.append(
            [
                f"{c.workload} {c.pods:,}",
                POOL_NAMES[c.pool],
                measure.usd(karpenter.cost),
                measure.percent(karpenter.over_bound),
                measure.duration(karpenter.seconds),
                measure.percent(one_type.over_bound),
                measure.usd(ours.cost),
                measure.percent(ours.over_bound),
                measure.duration(first.seconds),
                measure.percent(saving),
            ]
        )
    names = ("Karpenter $/h", "over bound", "time", "one type, over bound", "Bayplan $/h", "over bound", "first plan in", "saved")
    return measure.table(("workload", "machines", *names), rows, left=2)


def data(comparison: Comparison) -> dict[str, Any]:
    """For ``--json``: money in micro-dollars an hour, times in seconds."""
    return {
        "workload": comparison.workload,
        "pods": comparison.pods,
        "machines": comparison.pool,
        "types": comparison.types,
        "boundMicrousdPerHour": comparison.bound,
        "repeats": comparison.repeats,
        "misses": misses(comparison),
        "planners": [
            {
                "name": row.planner,
                "costMicrousdPerHour": row.cost,
                "nodes": row.nodes or None,
                "unplaced": row.left,
                "seconds": row.seconds,
                "overBound": row.over_bound,
                "distinctPlans": row.distinct,
                "brokenRules": row.broken,
            }
            for row in comparison.rows
        ],
    }
