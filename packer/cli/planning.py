"""Solving for the command line: no plan leaves here that the independent judge has not passed."""

from __future__ import annotations

from packer.check import check_plan
from packer.cli.inputs import Request
from packer.cli.native import silenced
from packer.cli.output import say
from packer.cli.progress import Progress
from packer.errors import BayplanError
from packer.model import Plan, Problem
from packer.solve import Budget, Result, solve
from packer.warm import ensure

SHOWN_VIOLATIONS = 20


class UnsoundPlanError(BayplanError):
    """The solver made a plan that breaks a rule: a bug, which must not reach anybody's cluster."""


def make_plan(problem: Problem, request: Request, progress: Progress) -> Result:
    """Solve with the request's budget, deadline and seed. Raises UnsoundPlanError with the list of broken rules."""
    progress.say("preparing")
    ensure(lambda text: say(text, quiet=progress.quiet))
    with silenced():
        result = solve(problem, budget_of(request), progress.on_stage)
    progress.say("checking")
    vouch(problem, result.plan)
    return result


def budget_of(request: Request) -> Budget:
    deadline = float(request.number("deadline"))
    return Budget(units=int(request.number("budget")), seed=int(request.number("seed")), deadline_s=deadline or None)


def vouch(problem: Problem, plan: Plan) -> None:
    """Raise UnsoundPlanError unless ``plan`` breaks no rule of ``problem``."""
    broken = check_plan(problem, plan)
    if broken:
        lines = [f"  {violation.subject}: {violation.code}: {violation.message}" for violation in broken[:SHOWN_VIOLATIONS]]
        rest = len(broken) - len(lines)
        lines += [f"  and {rest} more"] if rest else []
        mend = "Nothing was printed. This is a bug: please report it with the file that --record would write"
        raise UnsoundPlanError("\n".join([f"the plan breaks {len(broken)} rules:", *lines, mend]))
