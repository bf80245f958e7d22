"""``packer show``: a plan that was made before, in any form."""

from __future__ import annotations

import click

from packer.cli.options import input_options, output_options


@click.command()
@click.argument("plan")
@input_options
@click.option("-q", "--quiet", is_flag=True, help="No notices on standard error.")
@output_options()
def show(plan: str, quiet: bool, output: str | None, files: tuple[str, ...], **flags: str | None) -> int:
    """Show PLAN, made before, as a table, a page, JSON or YAML, without solving again. It is checked first.

    PLAN is what `packer solve --record FILE` wrote, which holds its own input; or what `packer solve -o json` printed, with -f for
    the input it was made for. Exit code 1 means that some pod found no place.

    \b
    packer solve -f cluster.json --record decision.gz
    packer show decision.gz -o html > report.html
    """
    from packer.cli.plans import must_hold, read_plan_and_problem
    from packer.cli.views import print_plan
    from packer.config import effective

    shown, problem = read_plan_and_problem(plan, files, flags, quiet=quiet)
    must_hold(plan, shown, problem)
    print_plan(problem, shown, str(effective({"output": output})["output"].value))
    return 1 if shown.unplaced else 0
