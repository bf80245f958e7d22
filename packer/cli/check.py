"""``packer check``: judge a plan without trusting who made it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from packer.cli.options import input_options, output_options, solver_options

if TYPE_CHECKING:
    from packer.cli.bound import Proof


@click.command()
@click.argument("plan")
@input_options
@click.option("--bound", is_flag=True, help="Also prove the lower bound again: dual values anew, re-verified by CP-SAT in exact integers.")
@solver_options
@output_options("table", "json", "yaml")
def check(plan: str, bound: bool, quiet: bool, output: str | None, files: tuple[str, ...], **flags: str | float | None) -> int:
    """Judge PLAN, the JSON that `packer solve -o json` printed, against the input it was made for; every broken rule is named.

    The judge is plain Python and shares no code with the solver but the values, the rules and the price list. PLAN can also be a
    file that `packer solve --record` wrote; it holds its own input. Exit code 1 means that a rule is broken.
    """
    from packer.check import check_plan
    from packer.cli.output import print_data
    from packer.cli.plans import read_plan_and_problem
    from packer.cli.views import terminal_style
    from packer.render.comparison import violations_text

    judged, problem = read_plan_and_problem(plan, files, flags, quiet=quiet)
    broken = check_plan(problem, judged)
    proof = None
    if bound:
        from packer.cli.bound import prove

        proof = prove(judged, problem, flags, quiet=quiet)
    if output in ("json", "yaml"):
        violations = [{"code": str(item.code), "message": item.message, "subject": item.subject} for item in broken]
        print_data({"valid": not broken, "violations": violations, **({"bound": _data(proof)} if proof else {})}, output)
    else:
        click.echo(violations_text(broken, terminal_style()))
        if proof:
            click.echo(proof.text)
    return 1 if broken or (proof and not proof.holds) else 0


def _data(proof: Proof) -> dict[str, Any]:
    from packer.plan import usd

    return {"holds": proof.holds, "claimedPerHour": usd(proof.claimed), "provenPerHour": usd(proof.proven), "message": proof.text}
