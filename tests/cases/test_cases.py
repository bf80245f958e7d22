"""What people met with other schedulers and autoscalers, with the right answer; the whole way from objects to a checked plan."""

from __future__ import annotations

import json

import pytest
import yaml

from packer import parse
from packer.check import check_plan
from packer.model import Plan, Problem
from packer.plan import digest, to_json
from packer.policy import load_policy
from packer.quantity import ceil_milli, ceil_units
from packer.solve import solve
from tests.cases.support import Case, load_cases, verdict

REPORTS = list(load_cases("reports"))
FAULTS = list(load_cases("faults"))
ORDERS = 4


def problem_of(case: Case) -> Problem:
    """As the command line does it: objects as JSON bytes, the catalog as YAML text, the policy as YAML text."""
    raw = parse.read_objects([json.dumps(case.document()).encode()])
    offerings, notices = parse.read_catalog(yaml.safe_dump({"catalog": list(case.offers)}))
    policy = load_policy(case.policy) if case.policy else None
    return parse.build_problem(raw, offerings, policy, notices)


def plan_of(case: Case) -> tuple[Problem, Plan]:
    problem = problem_of(case)
    return problem, solve(problem).plan


def named(cases: list[Case]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("case", [pytest.param(case, id=case.name) for case in cases])


@named(REPORTS + FAULTS)
def test_the_plan_is_the_right_answer_and_passes_the_judge(case: Case) -> None:
    """The expected values were confirmed by exhaustive search with kube-scheduler's own filters (reports) or are small enough to see."""
    problem, plan = plan_of(case)
    assert check_plan(problem, plan) == ()
    assert verdict(case, to_json(plan)) == []


@named(REPORTS + FAULTS)
def test_the_order_of_the_input_changes_nothing(case: Case) -> None:
    """Reversed and shuffled pods, nodes and offers: the same cost and the same digest."""
    _, plan = plan_of(case)
    for seed in range(ORDERS):
        _, again = plan_of(case.shuffled(seed))
        assert again.cost_microusd_per_hour == plan.cost_microusd_per_hour
        assert digest(again) == digest(plan)


@named([case for case in REPORTS if "requests" in case.expect])
def test_effective_requests_follow_the_scheduler(case: Case) -> None:
    """The numbers behind the answer, not the answer alone: a wrong sum may buy the right machine by luck."""
    pods = {pod.name: pod.spec.requests for pod in problem_of(case).pods}
    for name, requests in case.expect["requests"].items():
        expected = {key: ceil_milli(value) if key == "cpu" else ceil_units(value) for key, value in requests.items()}
        assert dict(pods[name]) == expected
