"""Plans from files: the JSON that a solve printed, or a recorded decision, which holds its own input."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from packer import record
from packer.check import check_plan
from packer.cli.inputs import read_request
from packer.cli.sources import read_file
from packer.errors import InputError, UsageError
from packer.model import Plan, Problem
from packer.plan import from_json

MEND = "give what `packer solve -o json` printed"
GZIP = b"\x1f\x8b"


def read_plan(name: str) -> Plan:
    """The plan in a file. Raises UsageError, InputError, EnvironmentProblem."""
    data = read_file(name, "plan")
    return record.load(data, name).plan if data.startswith(GZIP) else _parsed(data, name)


def read_plan_and_problem(name: str, files: Iterable[str], flags: Mapping[str, Any], *, quiet: bool) -> tuple[Plan, Problem]:
    """The plan in a file and what it is a plan of: what was recorded with it, else what ``files`` and ``flags`` say."""
    data, files = read_file(name, "plan"), tuple(files)
    if data.startswith(GZIP):
        if files:
            raise UsageError(f"{name} is a recorded decision, which holds its own input; leave -f out")
        decision = record.load(data, name)
        return decision.plan, decision.problem
    return _parsed(data, name), read_request(files, flags, quiet=quiet).problem


def must_hold(name: str, plan: Plan, problem: Problem) -> None:
    """Raise InputError unless ``plan``, which came from outside, is a valid plan of ``problem``."""
    broken = check_plan(problem, plan)
    if broken:
        first = f"{broken[0].subject}: {broken[0].message}"
        raise InputError(f"no valid plan of this input ({first})", where=name, mend="`packer check` lists all that is wrong")


def _parsed(data: bytes, where: str) -> Plan:
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
