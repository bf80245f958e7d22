"""kube-scheduler's own filter plugins agree with ours: on random clusters, and on every plan that we make."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from packer.rules import State
from tests.kube.replay import Filters, request
from tests.kube.worlds import world

pytestmark = pytest.mark.needs("go")


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
