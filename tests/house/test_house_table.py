"""Every command can be found, says what it is for, and is documented; asking for help costs nothing."""

from __future__ import annotations

import importlib
import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from packer.cli import packer
from packer.commands import COMMANDS

ROOT = Path(__file__).parents[2]
HEAVY = {
    "numpy",
    "numba",
    "ortools",
    "highspy",
    "scipy",
    "pandas",
    "msgspec",
    "orjson",
    "yaml",
    "rich",
    "packer.model",
    "packer.solve",
    "cloud",
}


def resolve(target: str) -> click.Command:
    module, _, attribute = target.partition(":")
    command = getattr(importlib.import_module(module), attribute)
    assert isinstance(command, click.Command)
    return command


def all_commands() -> list[tuple[str, click.Command]]:
    found: list[tuple[str, click.Command]] = []
    for name, entry in COMMANDS.items():
        command = resolve(entry.target)
        found.append((name, command))
        if isinstance(command, click.Group):
            found += [(f"{name} {sub}", command.commands[sub]) for sub in command.commands]
    return found


@pytest.mark.parametrize("name", COMMANDS)
def test_each_entry_of_the_table_resolves_to_a_command_of_that_name(name: str) -> None:
    """The table is text, so only this notices a slip of the pen before a user does."""
    assert resolve(COMMANDS[name].target).name == name


def test_every_command_and_option_has_help() -> None:
    """What has no help does not exist for a user."""
    bare = []
    for name, command in all_commands():
        if not command.help:
            bare.append(name)
        bare += [f"{name} {param.opts[0]}" for param in command.params if isinstance(param, click.Option) and not param.help]
    assert bare == []


def test_the_reference_is_the_programs_own_help() -> None:
    """docs/cli.md is read by those who decide whether to try. Out of date? `python docs/make_cli.py` writes it."""
    spec = importlib.util.spec_from_file_location("make_cli", ROOT / "docs" / "make_cli.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert (ROOT / "docs" / "cli.md").read_text(encoding="utf-8") == module.reference()


@pytest.mark.parametrize("arguments", [["--help"], ["-h"], *([name, "-h"] for name in COMMANDS)], ids=" ".join)
def test_help_works_everywhere_by_both_spellings(arguments: list[str]) -> None:
    """-h is what people type."""
    result = CliRunner().invoke(packer, arguments)
    assert result.exit_code == 0, result.output
    assert result.output.startswith("Usage: ")


def test_help_imports_no_solver() -> None:
    """`packer --help` must answer at once; one stray import at the top of a module costs a second."""
    code = f"import sys, json; from packer.cli import main; main(['--help']); print(json.dumps(sorted({HEAVY!r} & set(sys.modules))))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert json.loads(run.stdout.splitlines()[-1]) == []


def test_the_three_names_are_one_program() -> None:
    """packer is HashiCorp's name too; whoever has that one calls ours bayplan or kubectl bayplan."""
    import tomllib

    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["scripts"]
    assert set(scripts) == {"packer", "bayplan", "kubectl-bayplan"}
    assert len(set(scripts.values())) == 1
