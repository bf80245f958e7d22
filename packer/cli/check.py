"""``packer check``: judge a plan without trusting who made it."""

from __future__ import annotations

import click

from packer.cli.options import input_options, output_options

GZIP = b"\x1f\x8b"


@click.command()
@click.argument("plan")
@input_options
@click.option("-q", "--quiet", is_flag=True, help="No progress and no notices on standard error.")
@output_options("table", "json", "yaml")
def check(plan: str, quiet: bool, output: str | None, files: tuple[str, ...], **flags: str | None) -> int:
    """Judge PLAN, the JSON that `packer solve -o json` printed, against the input it was made for; every broken rule is named.

    The judge is plain Python and shares no code with the solver but the values, the rules and the price list. PLAN can also be a
    file that `packer solve --record` wrote; it holds its own input. Exit code 1 means that a rule is broken.
    """
    from packer.check import check_plan
    from packer.cli.inputs import read_request
    from packer.cli.output import print_data
    from packer.cli.plans import parse_plan
    from packer.cli.sources import read_file
    from packer.cli.views import terminal_style
    from packer.render.comparison import violations_text

    data = read_file(plan, "plan")
    if data.startswith(GZIP):
        from packer import record

        decision = record.load(data, plan)
        problem, judged = decision.problem, decision.plan
    else:
        judged = parse_plan(data, plan)
        problem = read_request(files, flags, quiet=quiet).problem
    broken = check_plan(problem, judged)
    if output in ("json", "yaml"):
        violations = [{"code": str(item.code), "message": item.message, "subject": item.subject} for item in broken]
        print_data({"valid": not broken, "violations": violations}, output)
    else:
        click.echo(violations_text(broken, terminal_style()))
    return 1 if broken else 0
