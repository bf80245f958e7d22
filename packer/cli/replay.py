"""``packer replay``: take a recorded decision again, and the writing of the record."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

import click

from packer.cli.options import output_options

if TYPE_CHECKING:
    from packer.cli.inputs import Request
    from packer.model import Plan, Problem

STEERING = ("budget", "deadline", "seed")


@click.command()
@click.argument("file")
@click.option("-q", "--quiet", is_flag=True, help="No progress on standard error.")
@output_options("table", "json", "yaml")
def replay(file: str, quiet: bool, output: str | None) -> int:
    """Solve the decision that `packer solve --record FILE` wrote again, and compare the digests.

    Exit code 0: the same plan. 1: another one, which is a bug if the program, its wheels and the processor's architecture are the same.
    """
    from packer import record
    from packer.cli.native import silenced
    from packer.cli.output import print_data
    from packer.cli.planning import vouch
    from packer.cli.progress import Progress
    from packer.cli.sources import read_file
    from packer.plan import digest, usd
    from packer.solve import Budget, solve

    decision = record.load(read_file(file, "record"), file)
    steering = decision.settings
    budget = Budget(units=int(steering["budget"]), seed=int(steering["seed"]), deadline_s=float(steering["deadline"]) or None)
    with Progress(quiet=quiet) as progress:
        with silenced():
            plan = solve(decision.problem, budget, progress.on_stage).plan
        vouch(decision.problem, plan)
    same = digest(plan) == decision.digest
    facts = {
        "same": same,
        "recorded": {"digest": decision.digest, "costPerHour": usd(decision.plan.cost_microusd_per_hour), "program": decision.program},
        "replayed": {"digest": digest(plan), "costPerHour": usd(plan.cost_microusd_per_hour), "program": version("bayplan")},
    }
    if output in ("json", "yaml"):
        print_data(facts, output)
    else:
        click.echo(_words(facts, truncated=decision.plan.truncated))
    return 0 if same else 1


def write_record(file: str, problem: Problem, request: Request, plan: Plan) -> None:
    """Write the decision to ``file``. Raises OSError, which the program words."""
    from packer import record

    settings = {name: request.number(name) for name in STEERING}
    Path(file).write_bytes(record.dump(record.Decision(problem, settings, plan, version("bayplan"))))


def _words(facts: dict[str, object], *, truncated: bool) -> str:
    recorded, replayed = facts["recorded"], facts["replayed"]
    assert isinstance(recorded, dict)
    assert isinstance(replayed, dict)
    if facts["same"]:
        return f"same plan: {replayed['digest']}"
    lines = ["another plan:"]
    for name, side in (("recorded", recorded), ("replayed", replayed)):
        lines.append(f"  {name}  {side['digest']}  ${side['costPerHour']}/h  bayplan {side['program']}")
    if truncated:
        lines.append("  the recorded one was cut by a deadline, so it depends on the machine's speed")
    elif recorded["program"] != replayed["program"]:
        lines.append("  another version of the program made it, which may find other plans")
    return "\n".join(lines)
