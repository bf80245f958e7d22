"""A plan's lower bound, proven once more for ``packer check --bound``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from packer.cli.inputs import Request
from packer.cli.native import silenced
from packer.cli.planning import budget_of
from packer.cli.progress import Progress
from packer.config import effective
from packer.dense import build
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
        return _proof(plan, result, _coin(problem))


def _coin(problem: Problem) -> int:
    """What every objective is a multiple of, so that a bound may be rounded up to one: the greatest common divisor of what is paid."""
    packing = build(problem).packing
    return max(1, int(np.gcd.reduce(np.concatenate([packing.price, packing.adder.ravel()]), initial=0)))


def _proof(plan: Plan, result: Result, coin: int) -> Proof:
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
    proven = 0 if found.faults else -(-found.bound // coin) * coin
    if proven < claimed:
        faults = "; ".join(found.faults[:3]) or f"the dual values prove {an_hour(proven)}"
        return Proof(claimed, min(proven, claimed - 1), f"The bound of {an_hour(claimed)} is not proven: {faults}.")
    return Proof(
        claimed,
        proven,
        f"The bound holds: dual values prove {an_hour(proven)}, re-verified in integers ({found.by_cp_sat} machine kinds by CP-SAT).",
    )
