"""A plan's lower bound, proven once more for ``packer check --bound``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from packer.cli.inputs import Request
from packer.cli.native import silenced
from packer.cli.planning import budget_of
from packer.cli.progress import Progress
from packer.config import effective
from packer.model import Plan, Problem
from packer.recheck import check_bound
from packer.solve import Result, solve
from packer.words import an_hour


@dataclass(frozen=True, slots=True)
class Proof:
    """Whether the ``claimed`` bound follows, and what was proven; micro-dollars an hour."""

    claimed: int
    proven: int
    text: str

    @property
    def holds(self) -> bool:
        return self.claimed <= self.proven


def prove(plan: Plan, problem: Problem, flags: Mapping[str, Any], *, quiet: bool) -> Proof:
    """Dual values from a solve of our own (anyone's would do), judged by arithmetic and CP-SAT alone."""
    request = Request(problem, effective(flags))
    with Progress(quiet=quiet) as progress, silenced():
        result = solve(problem, budget_of(request), progress.on_stage)
        progress.say("proving the bound")
        return _proof(plan, result)


def _proof(plan: Plan, result: Result) -> Proof:
    claimed = plan.lower_bound_microusd_per_hour
    if len(plan.unplaced) > sum(result.allowed_unplaced):
        return Proof(
            claimed,
            0,
            f"The bound is not proven: it speaks of {sum(result.allowed_unplaced)} unplaced pods, the plan has {len(plan.unplaced)}.",
        )
    if claimed == 0:
        return Proof(0, 0, "The bound claims nothing.")
    if result.certificate is None or result.packing is None or result.side is None:
        again = result.plan.lower_bound_microusd_per_hour
        return Proof(
            claimed, again, f"The bound comes from an exact model; CP-SAT, asked again, proves {an_hour(again)} of {an_hour(claimed)}."
        )
    found = check_bound(result.packing, result.side, result.certificate, result.allowed_unplaced, claimed)
    proven = found.bound if not found.faults else 0
    if not found.proven:
        faults = "; ".join(found.faults[:3]) or f"the dual values prove {an_hour(proven)}"
        return Proof(claimed, min(proven, claimed - 1), f"The bound of {an_hour(claimed)} is not proven: {faults}.")
    return Proof(
        claimed,
        proven,
        f"The bound holds: dual values prove {an_hour(proven)}, re-verified in integers ({found.by_cp_sat} machine kinds by CP-SAT).",
    )
