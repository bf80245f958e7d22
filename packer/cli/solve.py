"""``packer solve``: pods and offerings in, a plan out."""

from __future__ import annotations

import click

from packer.cli.options import input_options, output_options, solver_options


@click.command()
@input_options
@solver_options
@click.option("--repack", is_flag=True, help="Plan as if the pods that run now were waiting and their nodes were gone.")
@click.option("--record", metavar="FILE", help="Also write the decision to FILE, for `packer replay`; it holds no env or secrets.")
@output_options()
def solve(quiet: bool, repack: bool, record: str | None, output: str | None, files: tuple[str, ...], **flags: str | float | None) -> int:
    """Plan which machines to rent, and where each waiting pod goes, at the least cost.

    Reads pods, workloads, nodes and all that decides where a pod may run. A workload stands for those of its pods that the input
    lacks. Free room on existing nodes is used where that is cheapest. Exit code 1: some pod found no place, and the plan says why.

    \b
    kubectl get pods,nodes -A -o json | packer solve -f -
    packer solve -f cluster.json --policy policy.yaml -o html > report.html
    """
    from packer.cli.inputs import read_request
    from packer.cli.planning import make_plan
    from packer.cli.progress import Progress
    from packer.cli.views import print_plan
    from packer.compare import repack_problem

    with Progress(quiet=quiet) as progress:
        request = read_request(files, {"output": output, **flags}, quiet=quiet)
        problem = repack_problem(request.problem) if repack else request.problem
        result = make_plan(problem, request, progress)
    if record:
        from packer.cli.replay import write_record

        write_record(record, problem, request, result.plan)
    print_plan(problem, result.plan, str(request.settings["output"].value))
    return 1 if result.plan.unplaced else 0
