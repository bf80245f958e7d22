"""kube-scheduler's own filter plugins agree with ours: on random clusters, and on every plan that we make."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace

import pytest

from packer import policy as policies
from packer.model import Limits, Offering, Plan, Pod, Problem
from packer.order import placement_order
from packer.rules import State
from packer.solve import Budget, solve
from tests.cases.support import Case, load_cases
from tests.cases.test_cases import plan_of
from tests.kube.replay import Filters, Raw, plan_request, request
from tests.kube.worlds import world
from tests.strategies import random_problem

pytestmark = pytest.mark.needs("go")

CASES = [pytest.param(case, id=case.name) for folder in ("reports", "faults") for case in load_cases(folder)]


@pytest.fixture(scope="module")
def filters() -> Iterator[Filters]:
    with Filters() as running:
        yield running


@pytest.mark.parametrize("block", range(20))
def test_rules_take_and_refuse_as_kube_scheduler_does(filters: Filters, block: int) -> None:
    """Each pod is asked on each node while a random cluster fills up: the answers are the same, rule by rule and in every state."""
    for seed in range(block * 50, block * 50 + 50):
        problem, rng = world(seed), random.Random(-seed)
        state = State.of(problem)
        launches = {f"new-{i}": rng.choice(problem.offerings) for i in range(rng.randint(1, 3))}
        for name, offering in launches.items():
            state.launch(name, offering)
        ours, steps = [], []
        for pod in problem.pods:
            takers = [name for name in state.nodes if not state.why_not(pod, name)]
            ours.append(frozenset(takers))
            node = rng.choice(sorted(takers)) if takers else ""
            steps.append((pod.key, node))
            if node:
                state.place(pod, node)
        verdict = filters.judge(request(problem, launches, steps, probe=True))
        assert list(verdict.takers) == ours, f"seed {seed}"
        assert not verdict.refusals


@pytest.mark.parametrize("case", CASES)
def test_case_plans_pass_through_kube_scheduler(filters: Filters, case: Case) -> None:
    """The very objects of each case: no placement that the scheduler refuses, no leftover pod that it would still take."""
    problem, plan = plan_of(case)
    objections = replayed(filters, problem, plan, Raw.of(case.objects))
    assert objections == []


@pytest.mark.parametrize("block", range(10))
def test_random_plans_pass_through_kube_scheduler(filters: Filters, block: int) -> None:
    """Every kind of constraint at once, existing nodes, stock, tiers and gangs: the solver's plans as the scheduler sees them."""
    for seed in range(block * 20, block * 20 + 20):
        problem = _expressible(random_problem(random.Random(seed)))
        plan = solve(problem, Budget(units=2)).plan
        assert replayed(filters, problem, plan) == [], f"seed {seed}"


def replayed(filters: Filters, problem: Problem, plan: Plan, raw: Raw | None = None) -> list[str]:
    """What kube-scheduler objects to: steps that it refuses, and leftovers that it would take where our own policy would let them."""
    verdict = filters.judge(plan_request(problem, plan, placement_order(problem, plan).steps, raw))
    taken = [
        f"{pod} would still fit on {node}"
        for pod, nodes in verdict.accepted.items()
        for node in nodes
        if _may_join(problem, plan, pod, node)
    ]
    return [*verdict.refusals, *taken]


def _expressible(problem: Problem) -> Problem:
    """What a manifest can say: claims of the pod's own namespace, and volumes tied to labels, never to a node's name."""
    nodes = tuple(replace(node, pods=tuple(map(_own_claims, node.pods))) for node in problem.nodes)
    return replace(problem, pods=tuple(map(_own_claims, problem.pods)), nodes=nodes)


def _own_claims(pod: Pod) -> Pod:
    claims = tuple(f"{pod.namespace}/{claim.rpartition('/')[2]}" for claim in pod.spec.exclusive_claims)
    volumes = tuple(terms for terms in pod.spec.volume_terms if not any(term.fields for term in terms))
    return replace(pod, spec=replace(pod.spec, exclusive_claims=claims, volume_terms=volumes))


def _may_join(problem: Problem, plan: Plan, key: str, node: str) -> bool:
    """Whether anything of ours, beyond kube-scheduler's rules, keeps the pod off that node: then it is right to leave it out.

    A gang that cannot be complete, nodes that are not ready, and what a policy or the pod itself says of machines, their number and price.
    """
    pod = next(pod for pod in problem.pods if pod.key == key)
    if pod.gang is not None:
        return False
    existing = next((n for n in problem.nodes if n.name == node), None)
    if existing is not None and not existing.ready:
        return False
    offering = _offering(problem, plan, node)
    if offering is None:
        return True
    rule, most = policies.rule_for(problem.policy, pod), pod.spec.max_price_microusd_per_hour
    unlimited = any(rule.alternatives[index].limits == Limits() for index, _ in policies.allowed(rule, offering))
    return unlimited and (most is None or offering.price_microusd_per_hour <= most)


def _offering(problem: Problem, plan: Plan, node: str) -> Offering | None:
    key = next((launch.offering for launch in plan.launches if launch.name == node), None)
    key = key or next((n.offering for n in problem.nodes if n.name == node), None)
    return next((o for o in problem.offerings if o.key == key), None)
