"""``packer bench``: how close to the proven bound, how fast, in how much memory; with ``--peers`` beside other planners."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

import click

WORKLOADS = ("diverse", "generic", "gpu-mix", "homogeneous", "complementary")


@click.command(name="bench", context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.option("--peers", is_flag=True, help="Compare with Karpenter's own scheduler (needs Go) and with first fit decreasing on one type.")
@click.option(
    "--workload", "workloads", multiple=True, type=click.Choice(WORKLOADS), help="With --peers: only these. Repeatable; default all."
)
@click.option("--pods", "sizes", multiple=True, type=click.IntRange(1), help="With --peers: sizes. Repeatable; default 2000 and 5000.")
@click.option(
    "--types", "pools", multiple=True, type=click.Choice(["all", "cmr"]), help="With --peers: machines; cmr is c/m/r of 2–32 vCPU."
)
@click.option("--repeats", default=5, show_default=True, type=click.IntRange(1), help="With --peers: runs of each planner.")
@click.option("--units", type=click.IntRange(0), help="Work units of each solve, instead of the default budget or the time of each line.")
@click.option("--set", "sets", multiple=True, help="Only these acceptance sets (names: --list). Repeatable.")
@click.option("--rungs/--no-rungs", default=True, help="Without --peers: the ladder of sizes.")
@click.option("--acceptance/--no-acceptance", default=True, help="Without --peers: the named sets with their limits.")
@click.option("--seeds", default=10, show_default=True, type=click.IntRange(1), help="Seeds of each acceptance set.")
@click.option("--trace", type=click.Path(exists=True, file_okay=False, path_type=Path), help="Folder of the Alibaba GPU 2023 pod lists.")
@click.option("--cpu-time", is_flag=True, help="Count processor seconds, not the wall clock (for a busy machine).")
@click.option("--list", "listed", is_flag=True, help="Name the acceptance sets and the ladder's rungs, then stop.")
@click.option("--into", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="Also put the tables between this file's marks.")
@click.option("--json", "as_json", is_flag=True, help="Print figures as JSON instead of tables.")
def bench(
    peers: bool,
    workloads: tuple[str, ...],
    sizes: tuple[int, ...],
    pools: tuple[str, ...],
    repeats: int,
    units: int | None,
    sets: tuple[str, ...],
    rungs: bool,
    acceptance: bool,
    seeds: int,
    trace: Path | None,
    cpu_time: bool,
    listed: bool,
    into: Path | None,
    as_json: bool,
) -> int:
    """Measure cost over the proven bound, time and memory on generated workloads with fixed seeds.

    \b
    packer bench                              the ladder, then the acceptance sets (about half an hour)
    packer bench --set 1k --seeds 3           one acceptance set, three seeds
    packer bench --peers --workload diverse --pods 2000 --types cmr

    Exit code 1 when a figure misses its limit. Times are wall-clock: run it on an idle machine.
    """
    if peers:
        # The chosen pool has no GPUs: the GPU mix is run there only when it is asked for by name.
        inputs = [(w, n, p) for p in pools or ("all", "cmr") for w in workloads or WORKLOADS for n in sizes or (2000, 5000)]
        return _peers([i for i in inputs if workloads or (i[0], i[2]) != ("gpu-mix", "cmr")], repeats, units, cpu_time, into, as_json)
    from perf import ladder

    if listed:
        click.echo(ladder.listing())
        return 0
    return ladder.run(
        sets,
        seeds=seeds,
        units=units,
        trace=trace,
        rungs=rungs and not sets,
        acceptance=acceptance,
        cpu=cpu_time,
        into=into,
        as_json=as_json,
    )


def _peers(inputs: Sequence[tuple[str, int, str]], repeats: int, units: int | None, cpu: bool, into: Path | None, as_json: bool) -> int:
    from perf import measure, sides

    done = []
    for workload, pods, pool in inputs:
        comparison = sides.compare(workload, pods, pool, repeats=repeats, units=units, cpu=cpu, tell=_tell)
        done.append(comparison)
        if not as_json:
            click.echo(sides.text(comparison) + "\n")
    missed = [f"{c.workload} {c.pods:,} on {sides.POOL_NAMES[c.pool]}: {miss}" for c in done for miss in sides.misses(c)]
    if as_json:
        click.echo(json.dumps([sides.data(c) for c in done], indent=2))
    else:
        click.echo(sides.summary(done))
        click.echo("\n" + ("\n".join(f"missed: {line}" for line in missed) or "every promise kept"))
    if into:
        measure.splice(into, "peers", "\n\n".join([sides.summary(done), *map(sides.text, done)]))
    return 1 if missed else 0


def _tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """The door for ``packer bench``: returns the exit code."""
    code = bench.main(args=list(arguments) if arguments is not None else None, prog_name="packer bench", standalone_mode=False)
    return code if isinstance(code, int) else 0
