"""``packer scrub``: a dump that can be shown to others."""

from __future__ import annotations

import click

from packer.cli.options import output_options


@click.command()
@click.option("-f", "--filename", "files", multiple=True, metavar="FILE", help="Dumps to strip; a folder; - for stdin. Repeatable.")
@click.option("--rename", is_flag=True, help="Also replace names of pods, namespaces, nodes and labels' values by made-up ones.")
@output_options("json", "yaml")
def scrub(files: tuple[str, ...], rename: bool, output: str | None) -> None:
    """Strip a dump to what the packer needs: no env, no commands, no annotations but the few that matter, no images, no secrets.

    The result plans exactly as the dump does.

    \b
    kubectl get pods,nodes -A -o json | packer scrub -f - > safe.json
    """
    from packer.cli.sources import read_sources
    from packer.parse.scrub import scrub as strip

    click.echo(strip(read_sources(files), rename=rename))
