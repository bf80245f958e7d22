"""From flags to a problem: files, the settings in force, the catalog and the policy."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from packer import parse
from packer.cli.caution import cautious
from packer.cli.offline import offline_catalog
from packer.cli.output import say
from packer.cli.sources import read_file, read_sources
from packer.config import Effective, effective
from packer.errors import InputError
from packer.model import Policy, Problem
from packer.policy import load_policy


@dataclass(frozen=True, slots=True)
class Request:
    """A problem and the settings that shall be used on it."""

    problem: Problem
    settings: Mapping[str, Effective]

    def number(self, name: str) -> int | float:
        value = self.settings[name].value
        assert not isinstance(value, str)
        return value


def read_request(files: Iterable[str], flags: Mapping[str, Any], *, quiet: bool) -> Request:
    """Everything that a command needs to plan. Raises UsageError, InputError or EnvironmentProblem."""

    def tell(text: str) -> None:
        say(text, quiet=quiet)

    settings = effective(flags)
    catalog, policy_file = str(settings["catalog"].value), str(settings["policy"].value)
    policy = load_policy(_text(policy_file, "policy")) if policy_file else Policy()
    raw = parse.read_objects(read_sources(files))
    if catalog:
        offerings, notices = parse.read_catalog(_text(catalog, "catalog"))
        raw.catalog = None
    elif raw.catalog is not None:
        offerings, notices = (), ()
    else:
        offerings, notices = offline_catalog(raw, settings, tell)
    problem = parse.build_problem(raw, offerings, policy, notices)
    if not catalog and raw.catalog is None:
        problem = cautious(problem, str(settings["spot"].value), str(settings["arch"].value), tell)
    return Request(problem, settings)


def _text(name: str, what: str) -> str:
    try:
        return read_file(name, what).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"not text in UTF-8 (byte {error.start})", where=f"{what} {name}", mend="save it as UTF-8") from error
