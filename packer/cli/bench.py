"""``packer bench``: the door to the benchmarks, which live in a checkout and stay out of the wheel."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path

import click

from packer.errors import EnvironmentProblem

MODULE = "perf.bench"


@click.command(context_settings={"ignore_unknown_options": True, "allow_extra_args": True, "help_option_names": []}, add_help_option=False)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def bench(arguments: tuple[str, ...]) -> int:
    """Measure cost over the proven bound, time and memory on generated workloads; with --peers also those of other planners.

    Needs a checkout: the benchmarks are no part of the installed program. `packer bench -h` there lists what can be measured.
    """
    checkout = Path(__file__).parents[2]
    if (checkout / "perf").is_dir() and str(checkout) not in sys.path:
        sys.path.insert(0, str(checkout))
    if importlib.util.find_spec("perf") is None or importlib.util.find_spec(MODULE) is None:
        if {"-h", "--help"} & set(arguments):
            click.echo(click.get_current_context().get_help())
            return 0
        raise EnvironmentProblem("the benchmarks are not installed; run this in a checkout: make bench")
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    module = importlib.import_module(MODULE)
    code = module.main(list(arguments))
    return code if isinstance(code, int) else 0
