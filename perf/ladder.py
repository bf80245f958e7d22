"""The ladder of sizes, and the named sets with the limits that the project set itself.

Every measurement runs in a process of its own, so that its peak memory is its own: ``python -m perf.ladder REQUEST`` is that process.
The clock starts at the parsed problem, with the compiled kernels loaded. A limit's figure is what the solver had at that time, cost and
bound alike; only a first plan, which comes before any bound, is held against the bound of the whole run.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from packer.errors import EnvironmentProblem, UsageError
from packer.model import Problem
from perf import alibaba, generators, measure, offers


@dataclass(frozen=True, slots=True)
class Rung:
    """One size. ``offerings``: about how many, None for all of one zone, 0 for zones and spot."""

    pods: int
    classes: int
    offerings: int | None = None
    nodes: int = 0


RUNGS = (
    Rung(100, 20),
    Rung(1_000, 50),
    Rung(10_000, 100),
    Rung(100_000, 100),
    Rung(10_000, 20),
    Rung(10_000, 500),
    Rung(10_000, 2_000),
    Rung(10_000, 100, 400),
    Rung(10_000, 100, 0),
    Rung(100_000, 2_000, 0),
    Rung(1_000, 50, nodes=1_000),
    Rung(10_000, 100, nodes=1_000),
    Rung(100_000, 100, nodes=1_000),
)
"""One thing grows at a time, from 10,000 pods of 100 classes on one zone's machines."""


@dataclass(frozen=True, slots=True)
class Line:
    """A named set and its limits. ``first``: the figure is the first plan's. ``trace``: one run on each given pod list, without seeds."""

    name: str
    title: str
    seconds: float
    median: float
    worst: float
    memory_mib: int | None = None
    first: bool = False
    trace: bool = False


LINES = (
    Line("first-1k", "first plan, 1,000 pods in 20–50 classes", 0.05, 0.04, 0.10, first=True),
    Line("first-10k", "first plan, 10,000 pods in 20–100 classes", 0.05, 0.04, 0.10, first=True),
    Line("1k", "1,000 pods in 20–50 classes", 3, 0.01, 0.03),
    Line("10k", "10,000 pods in 20–100 classes", 3, 0.003, 0.012),
    Line("100k", "100,000 pods in 100 classes", 10, 0.005, 0.015, memory_mib=2048),
    Line("zones", "zones and spot, 10,000 pods in 50 classes", 5, 0.007, 0.02),
    *(Line(f"alibaba-a-{v}", f"Alibaba GPU 2023, {v}, pooled", 10, 0.015, 0.015, trace=True) for v in alibaba.VARIANTS),
    Line("alibaba-b-default", "Alibaba GPU 2023, default, devices", 20, 0.03, 0.03, trace=True),
    Line("alibaba-b-multigpu50", "Alibaba GPU 2023, multigpu50, devices", 20, 0.02, 0.02, trace=True),
    Line("alibaba-b-gpushare100", "Alibaba GPU 2023, gpushare100, devices", 20, 0.06, 0.06, trace=True),
)
FIRST_PLAN_PROOF_S = 3.0
"""How long the bound of a first plan is improved for."""


def problem_of(line: str, seed: int, trace: Path | None) -> Problem:
    """The input of one run of a named set."""
    kind = line.removeprefix("first-")
    if kind == "1k":
        return generators.problem(generators.classes((20, 35, 50)[seed % 3], 1_000, seed), offers.recent())
    if kind == "10k":
        return generators.problem(generators.classes((20, 50, 100)[seed % 3], 10_000, seed), offers.recent())
    if kind == "100k":
        return generators.problem(generators.classes(100, 100_000, seed), offers.recent())
    if kind == "zones":
        machines = offers.zones_and_spot()
        return generators.problem(generators.classes(50, 10_000, seed, zones=offers.zones(machines)), machines)
    _, reading, variant = kind.split("-")
    if trace is None:
        raise UsageError(f"{line} needs --trace, the folder with openb_pod_list_{variant}.csv")
    return alibaba.load(trace / f"openb_pod_list_{variant}.csv", offers.aws(), devices=reading == "b")


def rung_problem(rung: Rung, seed: int = 0) -> Problem:
    if rung.offerings == 0:
        machines = offers.zones_and_spot()
        pods = generators.classes(rung.classes, rung.pods, seed, zones=offers.zones(machines))
    else:
        machines = offers.recent(rung.offerings)
        pods = generators.classes(rung.classes, rung.pods, seed)
    nodes = generators.existing_nodes(rung.nodes, machines, seed) if rung.nodes else ()
    return generators.problem(pods, machines, nodes)


# One measurement, in its own process ---------------------------------------------------------------------------------------------


def measured(problem: Problem, *, units: int | None, seconds: float | None, limit: float | None, first: bool, cpu: bool) -> dict[str, Any]:
    """Figures of one solve; ``limit``: the time at which cost and bound are read."""
    measure.warm(problem)
    quick = measure.run(problem, units=0, cpu=cpu)
    solved = measure.run(problem, units=units, seconds=None if units is not None else seconds, cpu=cpu)
    memory = measure.peak_memory_mib()
    plan = solved.plan
    final = plan.lower_bound_microusd_per_hour
    then = measure.at(plan.stages, limit) if limit is not None else None
    bound = final if first or then is None else then.bound_microusd_per_hour
    return {
        "pods": len(problem.pods),
        "offerings": len(problem.offerings),
        "nodes": len(problem.nodes),
        "cost": plan.objective_microusd_per_hour,
        "bound": final,
        "over": measure.over(plan.objective_microusd_per_hour, final),
        "seconds": solved.seconds,
        "units": plan.stages[-1].work if plan.stages else 0,
        "unplaced": len(plan.unplaced),
        "firstOver": measure.over(quick.plan.objective_microusd_per_hour, final),
        "firstSeconds": quick.seconds,
        "overAtLimit": measure.over(then.cost_microusd_per_hour, bound) if then is not None else None,
        "memoryMib": memory,
        "broken": measure.broken_rules(problem, plan),
    }


def child(request: dict[str, Any]) -> dict[str, Any]:
    """What the process of one measurement does."""
    if "rung" in request:
        return measured(
            rung_problem(Rung(**request["rung"])), units=request["units"], seconds=None, limit=None, first=False, cpu=request["cpu"]
        )
    line = _line(request["line"])
    problem = problem_of(line.name, request["seed"], Path(request["trace"]) if request["trace"] else None)
    seconds = FIRST_PLAN_PROOF_S if line.first else line.seconds
    return measured(problem, units=request["units"], seconds=seconds, limit=line.seconds, first=line.first, cpu=request["cpu"])


def _line(name: str) -> Line:
    found = next((line for line in LINES if line.name == name), None)
    if found is None:
        raise UsageError(f"no acceptance set {name!r}; there are {', '.join(line.name for line in LINES)}")
    return found


def _ask(request: dict[str, Any]) -> dict[str, Any]:
    command = [sys.executable, "-m", "perf.ladder", json.dumps(request)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False, cwd=Path(__file__).parents[1])
    if done.returncode != 0:
        raise EnvironmentProblem(f"the measurement {json.dumps(request)} ended with exit code {done.returncode}; its message is above")
    # Native libraries may write to standard output too: the answer is the last line.
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


# The whole run -------------------------------------------------------------------------------------------------------------------


def listing() -> str:
    """The names that ``--set`` takes, and the ladder's sizes."""
    return "\n".join([*(f"{line.name:22} {line.title}: {_limits(line)}" for line in LINES), "", *map(_size, RUNGS)])


def run(
    sets: Sequence[str],
    *,
    seeds: int,
    units: int | None,
    trace: Path | None,
    rungs: bool,
    acceptance: bool,
    cpu: bool = False,
    into: Path | None = None,
    as_json: bool = False,
) -> int:
    """Print the ladder and the acceptance sets; 1 if a limit is missed or a plan breaks a rule."""
    lines = [_line(name) for name in sets] or [line for line in LINES if acceptance and (trace is not None or not line.trace)]
    ladder = [_climb(rung, units, cpu) for rung in (RUNGS if rungs else ())]
    judged = [_judge(line, 1 if line.trace else seeds, units, trace, cpu) for line in lines]
    if as_json:
        print(json.dumps({"ladder": ladder, "acceptance": judged}, indent=2))
    else:
        print("\n\n".join(text for text in (_ladder_table(ladder), _acceptance_table(judged)) if text))
        if not sets and acceptance and trace is None:
            print("\nThe Alibaba sets need --trace, the folder of that trace's pod lists.")
    for name, text in (("ladder", _ladder_table(ladder)), ("acceptance", _acceptance_table(judged))):
        if into and text:
            measure.splice(into, name, text)
    return 1 if any(entry["missed"] for entry in judged) or any(entry["broken"] for entry in ladder) else 0


def _climb(rung: Rung, units: int | None, cpu: bool) -> dict[str, Any]:
    print(f"ladder: {_size(rung)}", file=sys.stderr, flush=True)
    return {**asdict(rung), **_ask({"rung": asdict(rung), "units": units, "cpu": cpu})}


def _judge(line: Line, seeds: int, units: int | None, trace: Path | None, cpu: bool) -> dict[str, Any]:
    """All seeds of a set, and whether median and worst keep its limits. A plan that came too late counts as infinitely far off."""
    runs = []
    for seed in range(seeds):
        print(f"{line.name}: seed {seed}", file=sys.stderr, flush=True)
        runs.append(_ask({"line": line.name, "seed": seed, "units": units, "cpu": cpu, "trace": str(trace.resolve()) if trace else None}))
    gaps = [math.inf if run["overAtLimit"] is None else run["overAtLimit"] for run in runs]
    median, worst, memory = measure.middle(gaps), max(gaps), max(run["memoryMib"] for run in runs)
    missed = []
    if median > line.median:
        missed.append("median")
    if worst > line.worst:
        missed.append("worst")
    if line.memory_mib is not None and memory > line.memory_mib:
        missed.append("memory")
    if any(run["broken"] for run in runs):
        missed.append("rules")
    known = {name: None if math.isinf(gap) else gap for name, gap in (("measuredMedian", median), ("measuredWorst", worst))}
    return {**asdict(line), **known, "memoryMib": memory, "missed": missed, "runs": runs}


# Text ----------------------------------------------------------------------------------------------------------------------------


def _size(rung: Rung) -> str:
    return f"{rung.pods:,} pods, {rung.classes:,} classes, {_machines(rung)}, {rung.nodes:,} existing nodes"


def _machines(rung: Rung) -> str:
    if rung.offerings == 0:
        return "all offerings with zones and spot"
    return "all types in one zone" if rung.offerings is None else f"{rung.offerings:,} types in one zone"


def _limits(line: Line) -> str:
    median, worst = (f"{100 * share:g} %" for share in (line.median, line.worst))
    text = f"≤ {worst}" if line.median == line.worst else f"median ≤ {median}, worst ≤ {worst}"
    time = measure.duration(line.seconds) if line.seconds < 1 else f"{line.seconds:g} s"
    return f"{text} in {time}" + (f" and {line.memory_mib} MiB" if line.memory_mib else "")


def _ladder_table(ladder: Sequence[dict[str, Any]]) -> str:
    header = (
        "pods",
        "classes",
        "offerings",
        "existing nodes",
        "first plan",
        "over bound",
        "plan",
        "over bound",
        "peak memory",
        "rules broken",
    )
    rows = [
        [
            f"{e['pods']:,}",
            f"{e['classes']:,}",
            f"{e['offerings']:,}",
            f"{e['nodes']:,}",
            measure.duration(e["firstSeconds"]),
            measure.percent(e["firstOver"]),
            measure.duration(e["seconds"]),
            measure.percent(e["over"]),
            f"{e['memoryMib']:,} MiB",
            _broken(e["broken"]),
        ]
        for e in ladder
    ]
    return measure.table(header, rows, left=0) if rows else ""


def _acceptance_table(judged: Sequence[dict[str, Any]]) -> str:
    header = ("set", "limit", "median", "worst", "peak memory", "verdict")
    rows = [
        [
            e["title"],
            _limits(_line(e["name"])),
            _share(e["measuredMedian"]),
            _share(e["measuredWorst"]),
            f"{e['memoryMib']:,} MiB",
            f"missed: {', '.join(e['missed'])}" if e["missed"] else "kept",
        ]
        for e in judged
    ]
    return measure.table(header, rows, left=2) if rows else ""


def _share(value: float | None) -> str:
    return "too late" if value is None else measure.percent(value)


def _broken(rules: dict[str, int]) -> str:
    return ", ".join(f"{code} ×{count}" for code, count in rules.items()) or "none"


if __name__ == "__main__":
    print(json.dumps(child(json.loads(sys.argv[1]))))
