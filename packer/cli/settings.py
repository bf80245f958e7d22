"""``packer config``: what is in force, and why."""

from __future__ import annotations

import click

from packer.cli.options import output_options
from packer.cli.output import print_data, print_table
from packer.config import SETTINGS, effective


@click.command()
@click.argument("setting", required=False)
@output_options("table", "wide", "json", "yaml")
def config(setting: str | None, output: str | None) -> None:
    """Show each setting, its value and where that came from (default, file, environment or flag). Later sources win.

    The settings file is the one that BAYPLAN_CONFIG names, else ./bayplan.yaml, else ~/.config/bayplan/config.yaml.
    """
    if setting is not None and setting not in SETTINGS:
        from packer.config import nearest

        raise click.UsageError(f"no setting {setting!r}{nearest(setting, SETTINGS)}; `packer config` lists them")
    found = effective()
    rows = [
        {
            "setting": name,
            "value": found[name].value,
            "unit": SETTINGS[name].unit,
            "origin": found[name].origin,
            "default": SETTINGS[name].default,
            "variable": SETTINGS[name].variable,
            "why": SETTINGS[name].why,
        }
        for name in ([setting] if setting else SETTINGS)
    ]
    if output in ("json", "yaml"):
        print_data(rows, output)
    else:
        columns = ("setting", "value", "unit", "origin") + (("default", "variable", "why") if output == "wide" or setting else ())
        print_table(columns, [[str(row[column]) for column in columns] for row in rows])
