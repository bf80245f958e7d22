"""``packer explain``: why a pod goes where it goes."""

from __future__ import annotations

import click

from packer.cli.options import input_options, output_options, solver_options


@click.command()
@click.argument("pod", metavar="[NAMESPACE/]POD")
@click.option(
    "--plan", "plan_file", metavar="FILE", help="Explain this plan instead of solving anew: a recorded decision, or what -o json printed."
)
@input_options
@solver_options
@output_options("table", "json", "yaml")
def explain(pod: str, plan_file: str | None, quiet: bool, output: str | None, files: tuple[str, ...], **flags: str | float | None) -> int:
    """Say why a pod goes where it goes, or why it cannot: which machines were possible, which not and for what, with numbers.

    For a placed pod: why its node has the type it has, and what the runner-up would add. For a pod without a place: the least
    change of the pod, the policy or the catalog that would give it one. Exit code 1 means that the pod has no place.
    """
    from packer.cli.inputs import read_request
    from packer.cli.output import print_data
    from packer.cli.planning import make_plan
    from packer.cli.plans import must_hold, read_plan_and_problem
    from packer.cli.progress import Progress
    from packer.cli.views import terminal_style
    from packer.explain import Outcome, find_pod, to_json
    from packer.explain import explain as explanation_of
    from packer.render.explanation import explanation_text

    with Progress(quiet=quiet) as progress:
        if plan_file:
            plan, problem = read_plan_and_problem(plan_file, files, flags, quiet=quiet)
            must_hold(plan_file, plan, problem)
        else:
            request = read_request(files, flags, quiet=quiet)
            problem, plan = request.problem, make_plan(request.problem, request, progress).plan
        progress.say("explaining")
        answer = explanation_of(problem, plan, find_pod(problem, plan, pod))
    if output in ("json", "yaml"):
        print_data(to_json(answer), output)
    else:
        click.echo(explanation_text(answer, terminal_style()))
    return 1 if answer.outcome is Outcome.UNPLACED else 0
