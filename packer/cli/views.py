"""A plan on standard output, in the form that was asked for."""

from __future__ import annotations

import os
import shutil
import sys
from importlib.metadata import version

import click

from packer.cli.output import print_data
from packer.compare import Saving
from packer.model import Plan, Problem
from packer.plan import to_json
from packer.render.plan import plan_table
from packer.render.text import Style, style_for


def print_plan(problem: Problem, plan: Plan, form: str, saving: Saving | None = None) -> None:
    """``form``: table, wide, json, yaml or html."""
    if form in ("json", "yaml"):
        print_data(to_json(plan), form)
    elif form == "html":
        from packer.report import report_html

        click.echo(report_html(problem, plan, saving=saving, version=version("bayplan")))
    else:
        click.echo(plan_table(problem, plan, terminal_style(), wide=form == "wide"))


def terminal_style() -> Style:
    """As wide as the terminal, in colour there unless NO_COLOR says otherwise; plain into a pipe."""
    return style_for(sys.stdout.isatty(), shutil.get_terminal_size().columns, os.environ)
