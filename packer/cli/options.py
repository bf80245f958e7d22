"""Options that several commands share, each a decorator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from packer.config import SETTINGS

Command = TypeVar("Command", bound=Callable[..., Any])
FORMATS = ("table", "wide", "json", "yaml", "html")


def default_of(name: str) -> str:
    """A setting's default and its reason, as help text. Flags themselves default to None, so that their absence can be told."""
    setting = SETTINGS[name]
    if setting.default == "":
        return f"{setting.why[0].upper()}{setting.why[1:]}."
    default = f"{setting.default:g}" if isinstance(setting.default, float) else str(setting.default)
    return f"Default {default}: {setting.why.removeprefix(f'{default}: ').removeprefix(f'{default} = ')}."


def output_options(*formats: str) -> Callable[[Command], Command]:
    """``-o``: which of ``formats`` a command prints; the first is its default unless a setting says otherwise."""

    def decorate(command: Command) -> Command:
        return click.option(
            "-o",
            "--output",
            type=click.Choice(formats or FORMATS),
            default=None,
            help=f"What to print. Default {(formats or FORMATS)[0]}.",
        )(command)

    return decorate


def input_options(command: Command) -> Command:
    """What to plan for: the input, the catalog and the policy."""
    for decorate in (
        click.option("--policy", metavar="FILE", help=f"Rules of which pods may use what. {default_of('policy')}"),
        click.option("--arch", type=click.Choice(("auto", "any", "amd64", "arm64")), help=f"Processors. {default_of('arch')}"),
        click.option(
            "--spot",
            type=click.Choice(("auto", "yes", "no")),
            default=None,
            help=f"Spot machines of the offline catalog. {default_of('spot')}",
        ),
        click.option("--region", help=f"Region of the offline catalog. {default_of('region')}"),
        click.option("--provider", help=f"Provider of the offline catalog. {default_of('provider')}"),
        click.option("--catalog", metavar="FILE", help=f"Machines on offer, CSV or YAML. {default_of('catalog')}"),
        click.option(
            "-f",
            "--filename",
            "files",
            multiple=True,
            metavar="FILE",
            help="Kubernetes objects, YAML or JSON, as `kubectl get -o json` prints them; a folder; - for standard input. Repeatable.",
        ),
    ):
        command = decorate(command)
    return command


def solver_options(command: Command) -> Command:
    """How long and how to search."""
    for decorate in (
        click.option("-q", "--quiet", is_flag=True, help="No progress and no notices on standard error."),
        click.option("--seed", type=int, default=None, help=default_of("seed")),
        click.option("--deadline", type=float, default=None, metavar="SECONDS", help=default_of("deadline")),
        click.option("--budget", type=int, default=None, metavar="UNITS", help=default_of("budget")),
    ):
        command = decorate(command)
    return command
