"""``packer check``: judge a plan without trusting who made it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import click

from packer.cli.options import input_options, output_options
from packer.errors import InputError

if TYPE_CHECKING:
    from packer.check import Violation
    from packer.model import Plan

GZIP = b"\x1f\x8b"


@click.command()
@click.argument("plan")
@input_options
@click.option(
    "--bound", is_flag=True, help="Also prove the lower bound again with CP-SAT, from dual values and not from the solver's word."
)
@click.option("-q", "--quiet", is_flag=True, help="No progress and no notices on standard error.")
@output_options("table", "json", "yaml")
def check(plan: str, bound: bool, quiet: bool, output: str | None, files: tuple[str, ...], **flags: str | None) -> int:
    """Judge PLAN, the JSON that `packer solve -o json` printed, against the input it was made for; every broken rule is named.

    The judge is plain Python and shares no code with the solver but the values and the rules. PLAN can also be a file that
    `packer solve --record` wrote; it holds its own input. Exit code 1 means that a rule is broken.
    """
    from packer.check import check_plan
    from packer.cli.inputs import read_request
    from packer.cli.output import print_data
    from packer.cli.sources import read_file

    data = read_file(plan, "plan")
    if data.startswith(GZIP):
        from packer import record

        decision = record.load(data, plan)
        problem, judged = decision.problem, decision.plan
    else:
        judged = read_plan(data, plan)
        problem = read_request(files, flags, quiet=quiet).problem
    broken = check_plan(problem, judged)
    if output in ("json", "yaml"):
        print_data(_facts(broken), output)
    else:
        click.echo(_words(broken, judged))
    return 1 if broken else 0


def read_plan(data: bytes, where: str) -> Plan:
    """A plan from its JSON or YAML. Raises InputError."""
    from packer.plan import from_json

    mend = "give what `packer solve -o json` printed"
    try:
        content = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise InputError(f"not a plan in JSON: {error}", where=where, mend=mend) from error
    if not isinstance(content, dict):
        raise InputError("not a plan", where=where, mend=mend)
    return from_json(content)


def _facts(broken: Iterable[Violation]) -> dict[str, Any]:
    violations = [{"code": item.code, "message": item.message, "subject": item.subject} for item in broken]
    return {"valid": not violations, "violations": violations}


def _words(broken: tuple[Violation, ...], plan: Plan) -> str:
    pods = sum(len(launch.pods) for launch in plan.launches) + len(plan.placements)
    if not broken:
        return f"The plan holds: {pods} placed pods and {len(plan.launches)} launches break no rule, and the figures add up."
    return "\n".join([f"The plan breaks {len(broken)} rules:", *(f"  {item.subject}: {item.code}: {item.message}" for item in broken)])
