"""Makes whole plans from assignments, with figures that add up, for tests that then bend one thing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from packer import cost
from packer.model import Launch, Offering, Placement, Plan, Problem, Status, Unplaced


def plan_of(
    problem: Problem,
    launches: Sequence[tuple[Offering, Sequence[str]]] = (),
    placements: Mapping[str, str] | None = None,
    *,
    names: Sequence[str] = (),
    bound: int | None = None,
) -> Plan:
    """A plan with these machines and placements; all other waiting pods are unplaced. ``bound`` None: the objective itself."""
    bought = tuple(
        Launch(names[i] if names else f"new-{i}", offering.key, offering.price_microusd_per_hour, tuple(pods))
        for i, (offering, pods) in enumerate(launches)
    )
    put = tuple(Placement(pod, node) for pod, node in sorted((placements or {}).items()))
    placed = {pod for launch in bought for pod in launch.pods} | {placement.pod for placement in put}
    unplaced = tuple(Unplaced(pod.key, ()) for pod in problem.pods if pod.key not in placed)
    total = sum(launch.price_microusd_per_hour for launch in bought)
    draft = Plan(Status.FEASIBLE, bought, put, unplaced, problem.skipped, problem.notices, total, 0, 0)
    objective = cost.objective(problem, draft)
    lower = objective if bound is None else bound
    status = Status.OPTIMAL if lower == objective else Status.FEASIBLE
    if problem.pods and not placed:
        status = Status.INFEASIBLE
    return replace(draft, status=status, objective_microusd_per_hour=objective, lower_bound_microusd_per_hour=lower)
