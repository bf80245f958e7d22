"""Data on standard output, notices on standard error."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

import click


def print_data(data: Any, form: str) -> None:
    """``data`` as indented JSON or as YAML, keys in their own order."""
    if form == "yaml":
        import yaml

        click.echo(yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=120), nl=False)
    else:
        click.echo(json.dumps(data, indent=2, ensure_ascii=False))


def print_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Columns as kubectl prints them: upper-case header, three spaces between, no lines."""
    lines = [[name.upper() for name in header], *(list(row) for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(header))]
    for line in lines:
        click.echo("   ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())


def say(message: str, *, quiet: bool = False) -> None:
    """One line on standard error."""
    if not quiet:
        click.echo(message, err=True)
