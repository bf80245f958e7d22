"""All settings in one place: each with unit, default and the reason for it. Later sources win: default, file, environment, flag.

The file is YAML: the one that BAYPLAN_CONFIG names, else ./bayplan.yaml, else the user's bayplan/config.yaml. Unknown keys are errors.
"""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from packer.errors import UsageError

PREFIX = "BAYPLAN_"
FILE_VARIABLE = PREFIX + "CONFIG"
Value = str | int | float


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting. ``why`` is the reason for its default."""

    name: str
    default: Value
    unit: str
    why: str
    least: float | None = None
    choices: tuple[str, ...] = ()

    @property
    def variable(self) -> str:
        """The environment variable that sets it."""
        return PREFIX + self.name.upper().replace("-", "_")


_ASKED = "what the nodes that exist are, what the policy speaks of, or what pods ask for"
SETTINGS: dict[str, Setting] = {
    setting.name: setting
    for setting in (
        Setting("provider", "", "name", "empty: read from the nodes' labels, else aws, whose offline prices are the most exact"),
        Setting("region", "", "name", "empty: read from the nodes' labels, else us-east-1, the region with the most complete price list"),
        Setting("catalog", "", "file", "empty: the offline catalog that comes with the package"),
        Setting("spot", "auto", "choice", f"auto: {_ASKED}; whoever said nothing should not be interrupted", choices=("auto", "yes", "no")),
        Setting(
            "arch",
            "auto",
            "choice",
            f"auto: {_ASKED}, else amd64; images may run on nothing else",
            choices=("auto", "any", "amd64", "arm64"),
        ),
        Setting("policy", "", "file", "empty: every offering, less burstable and fractional-GPU families"),
        Setting(
            "budget", 32, "work units", "a few seconds for a thousand pods, past which little is won; 0 = the first plan only", least=0
        ),
        Setting("deadline", 0.0, "seconds", "0 = none: the same plan every time; a plan that a deadline cut says so", least=0),
        Setting("seed", 0, "integer", "any fixed number makes a plan repeatable", least=0),
        Setting("output", "table", "format", "a person reads it first", choices=("table", "wide", "json", "yaml", "html")),
    )
}


@dataclass(frozen=True, slots=True)
class Effective:
    """A setting's value and where it came from: "default", "file PATH", "environment VARIABLE" or "flag"."""

    value: Value
    origin: str


def effective(
    flags: Mapping[str, Value | None] | None = None, *, environ: Mapping[str, str] | None = None, file: Path | None = None
) -> dict[str, Effective]:
    """Every setting's effective value and origin. ``file`` overrides the search for one. Raises UsageError."""
    environ = os.environ if environ is None else environ
    found = {name: Effective(setting.default, "default") for name, setting in SETTINGS.items()}
    path = file or _file(environ)
    if path is not None:
        for name, value in _read(path).items():
            found[name] = Effective(_typed(_setting(name, str(path)), value, str(path)), f"file {path}")
    for name in _variables(environ):
        variable = SETTINGS[name].variable
        found[name] = Effective(_typed(SETTINGS[name], environ[variable], variable), f"environment {variable}")
    for name, flag in (flags or {}).items():
        if flag is not None:
            found[name] = Effective(_typed(_setting(name, "flag"), flag, f"--{name}"), "flag")
    return found


def nearest(word: str, known: Iterable[str]) -> str:
    """``, did you mean 'x'?`` or nothing."""
    close = difflib.get_close_matches(word, list(known), n=1)
    return f", did you mean {close[0]!r}?" if close else ""


def _file(environ: Mapping[str, str]) -> Path | None:
    named = environ.get(FILE_VARIABLE)
    if named:
        return Path(named)
    home = environ.get("XDG_CONFIG_HOME") or os.path.join(os.path.expanduser("~"), ".config")
    return next((path for path in (Path("bayplan.yaml"), Path(home) / "bayplan" / "config.yaml") if path.is_file()), None)


def _read(path: Path) -> dict[str, Any]:
    import yaml

    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"settings file {path}: {error.strerror}; mend the path or unset {FILE_VARIABLE}") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise UsageError(f"settings file {path} is not YAML: {' '.join(str(error).split())}") from error
    if data is None:
        return {}
    if not isinstance(data, dict):
        raise UsageError(f"settings file {path} must be a mapping of setting to value, e.g. `budget: 16`")
    return {str(key): value for key, value in data.items()}


def _variables(environ: Mapping[str, str]) -> list[str]:
    """Names of the settings that the environment gives. A BAYPLAN_ variable that sets nothing is a slip of the pen, so an error,
    unless Kubernetes put it there: a Service called bayplan gives every pod of its namespace such variables.
    """
    by_variable = {setting.variable: name for name, setting in SETTINGS.items()}
    names = []
    for variable in sorted(environ):
        if variable.startswith(PREFIX) and variable not in _RESERVED and not _SERVICE_LINK.search(variable):
            if variable not in by_variable:
                raise UsageError(f"environment variable {variable} is not a setting{nearest(variable, by_variable)}; unset it")
            if environ[variable] != "":
                names.append(by_variable[variable])
    return names


_RESERVED = {FILE_VARIABLE, PREFIX + "TEST_ALL"}
_SERVICE_LINK = re.compile(r"_(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT(_\d+_(TCP|UDP|SCTP)(_\w+)?)?)$")


def _setting(name: str, where: str) -> Setting:
    if name not in SETTINGS:
        raise UsageError(f"{where}: no setting {name!r}{nearest(name, SETTINGS)}; known: {', '.join(SETTINGS)}")
    return SETTINGS[name]


def _typed(setting: Setting, value: Any, where: str) -> Value:
    """The value in the type of the default. Raises UsageError that says the unit."""
    kind = type(setting.default)
    wrong = UsageError(f"{where}: {setting.name} must be {_described(setting)}, got {value!r}")
    if kind is str:
        if not isinstance(value, str):
            raise wrong
    elif isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise wrong
    try:
        typed: Value = kind(value)
    except ValueError:
        raise wrong from None
    if isinstance(value, float) and typed != value:
        raise wrong
    if setting.choices and typed not in setting.choices:
        raise wrong
    if setting.least is not None and not (isinstance(typed, (int, float)) and setting.least <= typed < float("inf")):
        raise wrong
    return typed


def _described(setting: Setting) -> str:
    if setting.choices:
        return "one of " + ", ".join(setting.choices)
    kind = {str: "text", int: "a whole number", float: "a number"}[type(setting.default)]
    least = "" if setting.least is None else f" of at least {setting.least:g}"
    return f"{kind}{least} ({setting.unit})"
