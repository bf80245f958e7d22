"""From flags to a problem: files, the settings in force, the catalog and the policy."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from packer import parse
from packer.cli.offline import offline_catalog
from packer.cli.output import say
from packer.cli.sources import read_file, read_sources
from packer.config import Effective, effective
from packer.model import Notice, Offering, Policy, Problem
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
    settings = effective(flags)
    raw = parse.read_objects(read_sources(files))
    policy = _policy(str(settings["policy"].value))
    offerings, notices = _offerings(raw, settings, quiet=quiet)
    return Request(parse.build_problem(raw, offerings, policy, notices), settings)


def _policy(name: str) -> Policy:
    return load_policy(read_file(name, "policy").decode()) if name else Policy()


def _offerings(raw: parse.RawInput, settings: Mapping[str, Effective], *, quiet: bool) -> tuple[tuple[Offering, ...], tuple[Notice, ...]]:
    """The catalog that is named, else the one inside the input (case files), else the offline one for where the nodes are."""
    name = str(settings["catalog"].value)
    if name:
        return parse.read_catalog(read_file(name, "catalog").decode())
    if raw.catalog:
        return raw.catalog
    return offline_catalog(parse.node_labels(raw), settings, lambda text: say(text, quiet=quiet))
