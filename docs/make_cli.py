"""Writes cli.md, the reference of all commands, from the program's own help. A test fails when it is out of date.

usage: python docs/make_cli.py
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterator
from pathlib import Path

import click

from packer.commands import COMMANDS
from packer.config import SETTINGS

TARGET = Path(__file__).with_name("cli.md")
HEAD = """# Command line

Written by `python docs/make_cli.py` from the program's own help. `packer`, `bayplan`, `kubectl bayplan` and `python -m packer` are the same
program. Data goes to standard output, progress and notices to standard error.

Exit codes: 0 all placed, 1 some pod without a place (or a difference, or a broken rule), 2 wrong usage or input, 3 environment or a bug,
130 interrupted, 141 the reader of the output went away. `packer --debug COMMAND …` shows the traceback of an error.
"""


def reference() -> str:
    """The whole page."""
    commands = [section for name, entry in COMMANDS.items() for section in _command(name, _resolve(entry.target))]
    return "\n".join([HEAD, *commands, *_settings()])


def _resolve(target: str) -> click.Command:
    module, _, attribute = target.partition(":")
    command: click.Command = getattr(importlib.import_module(module), attribute)
    return command


def _command(name: str, command: click.Command) -> Iterator[str]:
    with click.Context(command, info_name=f"packer {name}", terminal_width=110, help_option_names=["-h", "--help"]) as context:
        yield f"## `packer {name}`\n"
        yield from _help(command.help or "")
        yield f"    {' '.join(context.command.get_usage(context).removeprefix('Usage: ').split())}\n"
        rows = [record for param in command.params if isinstance(param, click.Option) and (record := param.get_help_record(context))]
    if rows:
        yield "| option | meaning |\n| --- | --- |"
        yield from (f"| {_cell(f'`{option}`')} | {_cell(text)} |" for option, text in rows)
        yield ""
    if isinstance(command, click.Group):
        for sub, child in command.commands.items():
            yield from _command(f"{name} {sub}", child)


def _help(text: str) -> Iterator[str]:
    """Paragraphs; those that click must not wrap (marked by a backspace character) become code."""
    for paragraph in inspect.cleandoc(text).split("\n\n"):
        if paragraph.startswith("\b"):
            yield "\n".join(f"    {line.strip()}" for line in paragraph.splitlines()[1:]) + "\n"
        else:
            yield " ".join(paragraph.split()) + "\n"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _settings() -> Iterator[str]:
    yield "## Settings\n"
    yield "A flag wins over the environment, that over the settings file (the one that BAYPLAN_CONFIG names, else `./bayplan.yaml`, else"
    yield "`~/.config/bayplan/config.yaml`), that over the default. `packer config` shows what is in force.\n"
    yield "| setting | variable | default | unit | why |\n| --- | --- | --- | --- | --- |"
    for setting in SETTINGS.values():
        default = setting.default if setting.default != "" else "–"
        yield f"| `{setting.name}` | `{setting.variable}` | {default} | {setting.unit} | {_cell(setting.why)} |"
    yield ""


if __name__ == "__main__":
    TARGET.write_text(reference(), encoding="utf-8")
