"""What a peer's run is, and how its machines become a plan of ours that the same judge can look at."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from packer import cost
from packer import plan as plans
from packer.model import GroupedReason, Launch, Offering, OfferingKey, Placement, Plan, Problem, Status, Unplaced, Why


@dataclass(frozen=True, slots=True)
class PeerRun:
    """One repeat of a peer: its plan and the seconds that its own algorithm took by the wall and of a processor, set-up left out."""

    plan: Plan
    seconds: float
    cpu_seconds: float
    timed_out: bool = False

    @property
    def fingerprint(self) -> str:
        """Equal for runs that buy the same machines for the same pods."""
        content = sorted([str(launch.offering), *launch.pods] for launch in self.plan.launches)
        return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:16]


def offered(problem: Problem) -> tuple[Offering, ...]:
    """What both sides may buy: our default policy leaves burstable and fractional-GPU families out, so the peer is not shown them."""
    return tuple(o for o in problem.offerings if not o.burstable and not o.fractional_gpu)


def peer_plan(
    problem: Problem,
    bought: Sequence[tuple[OfferingKey, tuple[str, ...]]],
    left: Mapping[str, str],
    placements: Sequence[tuple[str, str]] = (),
) -> Plan:
    """A peer's machines as a plan. ``left``: pods that it did not place, and what it says of them; ``placements``: (pod, existing node).
    It proves nothing: bound 0."""
    prices = {o.key: o.price_microusd_per_hour for o in problem.offerings}
    bought = sorted((key, tuple(sorted(pods))) for key, pods in bought if pods)
    launches = tuple(Launch(name, key, prices[key], pods) for name, (key, pods) in zip(plans.launch_names(bought), bought, strict=True))
    plan = Plan(
        status=Status.FEASIBLE if launches or not left else Status.INFEASIBLE,
        launches=launches,
        placements=tuple(Placement(pod, node) for pod, node in sorted(placements)),
        unplaced=tuple(Unplaced(pod, (GroupedReason(Why.NOTHING_OFFERED, why),)) for pod, why in sorted(left.items())),
        skipped=problem.skipped,
        notices=problem.notices,
        cost_microusd_per_hour=sum(launch.price_microusd_per_hour for launch in launches),
        objective_microusd_per_hour=0,
        lower_bound_microusd_per_hour=0,
    )
    return replace(plan, objective_microusd_per_hour=cost.objective(problem, plan))
