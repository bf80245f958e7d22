"""``packer compare``: two plans, or a repack with what runs now."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from packer.cli.options import input_options, output_options, solver_options
from packer.errors import UsageError

if TYPE_CHECKING:
    from packer.compare import Comparison, Repack


@click.command()
@click.argument("plans", nargs=-1)
@input_options
@solver_options
@output_options("table", "json", "yaml", "html")
def compare(plans: tuple[str, ...], quiet: bool, output: str | None, files: tuple[str, ...], **flags: str | float | None) -> int:
    """Compare two plans (what `packer solve -o json` printed), or what runs now with a repack.

    With -f and no PLANS: what the pods that run now would cost if they were packed anew, and what that would save. With -f and one
    plan, made by `packer solve --repack`, that plan serves as the repack. Exit code 1 means that there is a difference.

    \b
    packer compare yesterday.json today.json
    packer compare -f cluster.json
    """
    if len(plans) == 2 and not files:
        return _two_plans(plans[0], plans[1], output)
    if len(plans) < 2 and files:
        return _running(plans, files, flags, quiet, output)
    raise UsageError("give two plans, or -f FILE to compare with the nodes that run now; see `packer compare -h`")


def _two_plans(first: str, second: str, output: str | None) -> int:
    from packer.cli.output import print_data
    from packer.cli.plans import read_plan
    from packer.cli.views import terminal_style
    from packer.compare import compare_plans
    from packer.render.comparison import comparison_text

    if output == "html":
        raise UsageError("two plans have no page of their own; -o table, json or yaml")
    found = compare_plans(read_plan(first), read_plan(second))
    if output in ("json", "yaml"):
        print_data(_comparison_data(found), output)
    else:
        click.echo(comparison_text(found, terminal_style(), names=(first, second)))
    return 0 if found.same else 1


def _running(plans: tuple[str, ...], files: tuple[str, ...], flags: dict[str, Any], quiet: bool, output: str | None) -> int:
    from packer.cli.inputs import read_request
    from packer.cli.output import print_data
    from packer.cli.planning import make_plan
    from packer.cli.plans import must_hold, read_plan
    from packer.cli.progress import Progress
    from packer.cli.views import print_plan, terminal_style
    from packer.compare import compare_running, repack_problem
    from packer.render.comparison import repack_text

    with Progress(quiet=quiet) as progress:
        request = read_request(files, flags, quiet=quiet)
        if not any(node.pods for node in request.problem.nodes):
            raise UsageError(
                "nothing runs in this input, so there is nothing to repack; dump nodes as well: kubectl get pods,nodes -A -o json"
            )
        anew = repack_problem(request.problem)
        if plans:
            plan = read_plan(plans[0])
            must_hold(plans[0], plan, anew)
        else:
            plan = make_plan(anew, request, progress).plan
    found = compare_running(request.problem, plan)
    if output in ("json", "yaml"):
        print_data(_repack_data(found), output)
    elif output == "html":
        print_plan(anew, plan, "html", found.saving)
    else:
        click.echo(repack_text(found, terminal_style()))
    return 1 if found.unplaced or found.saving.saved else 0


def _comparison_data(found: Comparison) -> dict[str, Any]:
    from packer.plan import usd

    def pair(before: int, after: int) -> dict[str, str]:
        return {"before": usd(before), "after": usd(after), "change": usd(after - before)}

    return {
        "same": found.same,
        "costPerHour": pair(found.cost_before, found.cost_after),
        "objectivePerHour": pair(found.objective_before, found.objective_after),
        "lowerBoundPerHour": pair(found.bound_before, found.bound_after),
        "nodes": {"before": found.nodes_before, "after": found.nodes_after},
        "placed": {"before": found.placed_before, "after": found.placed_after},
        "offerings": [
            {
                "offering": str(change.offering),
                "before": change.before,
                "after": change.after,
                "costPerHour": pair(change.cost_before_microusd_per_hour, change.cost_after_microusd_per_hour),
            }
            for change in found.types
        ],
        "moves": [{"pod": move.pod, "before": move.before, "after": move.after} for move in found.moves],
        "newlyPlaced": list(found.newly_placed),
        "newlyUnplaced": list(found.newly_unplaced),
    }


def _repack_data(found: Repack) -> dict[str, Any]:
    from packer.plan import usd

    def types(lines: tuple[tuple[str, int, int], ...]) -> list[dict[str, Any]]:
        return [{"instanceType": name, "nodes": nodes, "costPerHour": usd(cost)} for name, nodes, cost in lines]

    return {
        "worthwhile": found.worthwhile,
        "savedPerHour": usd(found.saving.saved),
        "costPerHour": {"now": usd(found.cost_now), "repacked": usd(found.cost_repacked)},
        "nodes": {"now": found.nodes_now, "repacked": found.nodes_repacked},
        "podsMoved": found.pods_moved,
        "unplaced": list(found.unplaced),
        "kept": [{"node": node, "why": why} for node, why in found.kept],
        "withoutOwner": list(found.bare),
        "types": {"now": types(found.types_now), "repacked": types(found.types_repacked)},
    }
