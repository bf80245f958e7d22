"""Plans from files."""

from __future__ import annotations

import json

from packer.check import check_plan
from packer.cli.sources import read_file
from packer.errors import InputError
from packer.model import Plan, Problem
from packer.plan import from_json

MEND = "give what `packer solve -o json` printed"


def read_plan(name: str) -> Plan:
    """The plan in a JSON file. Raises UsageError, InputError, EnvironmentProblem."""
    return parse_plan(read_file(name, "plan"), name)


def read_valid_plan(name: str, problem: Problem) -> Plan:
    """The plan in a JSON file, which must be one of ``problem``. Raises as :func:`read_plan` does."""
    plan = read_plan(name)
    broken = check_plan(problem, plan)
    if broken:
        first = f"{broken[0].subject}: {broken[0].message}"
        raise InputError(f"no valid plan of this input ({first})", where=name, mend="`packer check` lists all that is wrong")
    return plan


def parse_plan(data: bytes, where: str) -> Plan:
    """A plan from its JSON. Raises InputError."""
    try:
        content = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise InputError(f"not a plan in JSON ({error})", where=where, mend=MEND) from error
    if not isinstance(content, dict):
        raise InputError("not a plan", where=where, mend=MEND)
    try:
        return from_json(content)
    except InputError as error:
        raise InputError(error.what, where=f"{where}, {error.where}" if error.where else where, mend=error.mend or MEND) from error
