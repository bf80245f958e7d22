"""The rules against a plain twin that recounts everything: on random clusters both must refuse for the same reasons."""

from __future__ import annotations

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from packer.model import Pod, Problem, Why
from packer.order import placement_order
from packer.rules import State
from tests import naive
from tests.plans import plan_of
from tests.strategies import problems, random_problem


def stages(problem: Problem, rng: random.Random) -> tuple[State, naive.World]:
    """The same cluster twice: as a State and as the twin, with a few new nodes."""
    launches = {f"new-{i}": rng.choice(problem.offerings) for i in range(rng.randint(0, 3))}
    # Half of the time the State does not hear of the pods beforehand and has to recount when it meets their rules.
    state = State(problem.nodes, problem.daemons, device_share=problem.device_share, pods=problem.pods if rng.random() < 0.5 else ())
    for name, offering in launches.items():
        state.launch(name, offering)
    return state, naive.world_of(problem, launches)


def agree(state: State, world: naive.World, pod: Pod) -> dict[str, set[Why]]:
    answers = {}
    for spot in world.spots:
        expected = naive.why_not(world, pod, spot)
        got = state.why_not(pod, spot.name)
        assert {reason.code for reason in got} == expected, (pod, spot.name, got)
        assert state.admits(pod, spot.name) == (not expected)
        answers[spot.name] = expected
    return answers


@settings(max_examples=150, deadline=None)
@given(problems(pods=6, offerings=4, nodes=3), st.integers(0, 2**32))
def test_state_refuses_exactly_what_the_twin_refuses(problem: Problem, seed: int) -> None:
    """Incremental counts are worth nothing unless they equal counts from scratch after any placements and removals."""
    check_walk(problem, random.Random(seed))


def test_state_agrees_on_many_plain_seeds() -> None:
    """Hypothesis prefers small cases; plain seeds give fuller ones."""
    for seed in range(250):
        rng = random.Random(seed)
        check_walk(random_problem(rng, pods=8, offerings=4, nodes=3, devices=seed % 4 == 0), rng)


def check_walk(problem: Problem, rng: random.Random) -> None:
    state, world = stages(problem, rng)
    placed: list[tuple[Pod, naive.Spot]] = []
    if not world.spots:
        return
    for pod in problem.pods:
        answers = agree(state, world, pod)
        good = [name for name, codes in answers.items() if not codes]
        # Now and then a pod goes where it should not: the counts must be right there too.
        name = rng.choice(good) if good and rng.random() < 0.8 else rng.choice(sorted(answers))
        state.place(pod, name)
        spot = world.spot(name)
        spot.added.append(pod)
        placed.append((pod, spot))
        if rng.random() < 0.25:
            gone, where = placed.pop(rng.randrange(len(placed)))
            state.remove(gone, where.name)
            where.added.remove(gone)
            agree(state, world, gone)


@settings(max_examples=150, deadline=None)
@given(problems(pods=6, offerings=3, nodes=2), st.integers(0, 2**32))
def test_order_exists_exactly_when_trying_all_orders_finds_one(problem: Problem, seed: int) -> None:
    """A plan is valid if some order of binding passes every filter; the greedy order must miss none in small cases."""
    rng = random.Random(seed)
    launches = {f"new-{i}": rng.choice(problem.offerings) for i in range(rng.randint(1, 3))}
    world = naive.world_of(problem, launches)
    wanted: list[tuple[Pod, naive.Spot]] = []
    for pod in problem.pods:
        relaxed = [spot for spot in world.spots if not naive.why_not(world, pod, spot) - {Why.TOPOLOGY_SPREAD, Why.POD_AFFINITY}]
        if relaxed:
            spot = rng.choice(relaxed)
            spot.added.append(pod)
            wanted.append((pod, spot))
    for pod, spot in wanted:
        spot.added.remove(pod)
    bought = [(offering, [pod.key for pod, spot in wanted if spot.name == name]) for name, offering in launches.items()]
    plan = plan_of(problem, bought, {pod.key: spot.name for pod, spot in wanted if not spot.new}, names=list(launches))
    assert (not placement_order(problem, plan).refusals) == naive.can_be_bound(world, wanted)
