"""What a solve cost, how good it was at any moment, and how that is printed. Times are wall-clock from the parsed problem,
unless processor seconds are asked for."""

from __future__ import annotations

import resource
import statistics
import sys
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from packer.check import check_plan
from packer.errors import UsageError
from packer.model import Plan, Problem, Stage
from packer.plan import digest
from packer.solve import Budget, solve

WITHOUT_END = 1 << 30
"""Units that no deadline of ours lets the solver spend."""


@dataclass(frozen=True, slots=True)
class Solved:
    """One solve of ours. ``seconds`` is until the plan was in hand, every name and reason included."""

    plan: Plan
    seconds: float

    @property
    def digest(self) -> str:
        return digest(self.plan)


BUSY = 6
"""How much longer than its time a solve may take by the wall when processor seconds are counted."""


def run(problem: Problem, *, units: int | None = None, seconds: float | None = None, cpu: bool = False) -> Solved:
    """Solve within so many units (None: the default budget), or with ``seconds`` until the clock says stop.

    ``cpu``: all times, those of the stages too, are processor seconds of this process, for figures from a machine that is not idle.
    """
    clock = time.process_time if cpu else time.perf_counter
    if seconds is not None:
        budget = Budget(units=WITHOUT_END, deadline_s=seconds * BUSY if cpu else seconds)
    else:
        budget = Budget() if units is None else Budget(units=units)
    times: list[float] = []
    started = clock()
    plan = solve(problem, budget, lambda _: times.append(clock() - started)).plan
    taken = clock() - started
    if cpu:
        plan = replace(plan, stages=tuple(replace(stage, seconds=t) for stage, t in zip(plan.stages, times, strict=True)))
    return Solved(plan, taken)


def warm(problem: Problem) -> None:
    """Load the compiled kernels, so that what follows is timed without them."""
    run(problem, units=2)


def at(stages: Sequence[Stage], seconds: float) -> Stage | None:
    """The best that the solver had by then: fewest unplaced, then least cost, with the best bound proven by then. None: nothing yet."""
    done = [stage for stage in stages if stage.seconds <= seconds]
    if not done:
        return None
    best = min(done, key=lambda stage: (stage.unplaced, stage.cost_microusd_per_hour))
    bounds = [s.bound_microusd_per_hour for s in done if s.unplaced == best.unplaced and s.bound_microusd_per_hour is not None]
    return Stage(best.name, best.cost_microusd_per_hour, best.work, best.seconds, max(bounds, default=None), best.unplaced)


def over(cost: int, bound: int | None) -> float | None:
    """Cost over bound, as a share: 0.01 is one per cent. None where there is no bound to compare with."""
    if bound is None or bound <= 0:
        return 0.0 if cost == 0 else None
    return cost / bound - 1


def broken_rules(problem: Problem, plan: Plan) -> dict[str, int]:
    """How often the judge found each rule broken."""
    return dict(sorted(Counter(violation.code for violation in check_plan(problem, plan)).items()))


def peak_memory_mib() -> int:
    """The most memory that this process ever held."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak // (1 << 20 if sys.platform == "darwin" else 1 << 10)


def middle(values: Iterable[float]) -> float:
    return statistics.median(values)


# Text -----------------------------------------------------------------------------------------------------------------------------


def percent(share: float | None) -> str:
    """``1.24 %``; a dash where there is no bound."""
    return "–" if share is None else f"{100 * share:.2f} %"


def usd(microusd: int) -> str:
    return f"{microusd / 1e6:,.2f}"


def duration(seconds: float) -> str:
    return f"{1000 * seconds:.0f} ms" if seconds < 0.1 else f"{seconds:.2f} s"


def table(header: Sequence[str], rows: Iterable[Sequence[str]], *, left: int = 1) -> str:
    """A Markdown table whose columns line up; the first ``left`` columns are text, the rest figures."""
    lines = [list(header), *(list(row) for row in rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(header))]
    rule = ["-" * width if i < left else "-" * (width - 1) + ":" for i, width in enumerate(widths)]

    def written(line: Sequence[str]) -> str:
        cells = (cell.ljust(width) if i < left else cell.rjust(width) for i, (cell, width) in enumerate(zip(line, widths, strict=True)))
        return "| " + " | ".join(cells) + " |"

    return "\n".join(written(line) for line in (lines[0], rule, *lines[1:]))


def splice(path: Path, name: str, text: str) -> None:
    """Put ``text`` between the marks ``<!-- name -->`` and ``<!-- /name -->`` of a Markdown file.

    Errors: :class:`UsageError` when the file lacks them.
    """
    before, opening, rest = path.read_text(encoding="utf-8").partition(f"<!-- {name} -->\n")
    _, closing, after = rest.partition(f"<!-- /{name} -->")
    if not opening or not closing:
        raise UsageError(f"{path} has no marks <!-- {name} --> and <!-- /{name} -->")
    path.write_text(f"{before}{opening}\n{text}\n\n{closing}{after}", encoding="utf-8")
