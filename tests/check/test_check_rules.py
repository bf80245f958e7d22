"""For each rule the least plan that breaks it, and nothing else: the judge names exactly that rule."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest

from packer.check import Code, check_plan
from packer.model import (
    CPU,
    HOSTNAME,
    MEMORY,
    PODS,
    STORAGE,
    ZONE,
    Alternative,
    Daemon,
    Effect,
    Gang,
    HostPort,
    Launch,
    Limits,
    Node,
    NodeTerm,
    Offering,
    OfferingKey,
    Operator,
    Plan,
    Pod,
    PodAffinityTerm,
    PodSpec,
    Policy,
    PolicyRule,
    Problem,
    Requirement,
    Selector,
    Skipped,
    SkipReason,
    SpreadConstraint,
    Status,
    Taint,
    Unplaced,
    Why,
)
from tests.plans import plan_of

ROOM = {CPU: 4000, MEMORY: 8, PODS: 10}
APP = Selector((Requirement("app", Operator.IN, ("a",)),))


def offering(name: str = "m", zone: str = "a", price: int = 100, **changes: Any) -> Offering:
    plain = Offering(OfferingKey("cloud", "here", zone, name, "on-demand"), price, ROOM, {ZONE: zone})
    return replace(plain, **changes)


def pod(name: str = "p", **changes: Any) -> Pod:
    gang = changes.pop("gang", None)
    return Pod("default", name, f"uid-{name}", replace(PodSpec({CPU: 1000}), **changes), {"app": "a"}, gang=gang)


def node(name: str = "n", **changes: Any) -> Node:
    plain = Node(name, {HOSTNAME: name, ZONE: "a"}, (), ROOM, ROOM)
    return replace(plain, **changes)


@dataclass(frozen=True)
class Case:
    """A valid plan and the same plan with one thing bent."""

    code: str
    problem: Problem
    plan: Plan
    sound: tuple[Problem, Plan] | None = None


def bought(problem: Problem, *groups: Sequence[str], of: int = 0) -> Plan:
    """Each group of pods on a new node of one offering."""
    return plan_of(problem, [(problem.offerings[of], [f"default/{name}" for name in group]) for group in groups])


def kept(problem: Problem, **places: str) -> Plan:
    return plan_of(problem, (), {f"default/{name}": where for name, where in places.items()})


def one(spec_change: dict[str, Any], offered: Offering | None = None) -> tuple[Problem, Plan]:
    """One pod on one new machine."""
    problem = Problem((pod(**spec_change),), (), (offered or offering(),))
    return problem, bought(problem, ["p"])


def filters() -> Iterator[Case]:
    """What kube-scheduler refuses."""
    blue = Requirement("pool", Operator.IN, ("blue",))
    for code, requests in (
        (Why.INSUFFICIENT_CPU, {CPU: 4001}),
        (Why.INSUFFICIENT_MEMORY, {MEMORY: 9}),
        (Why.INSUFFICIENT_STORAGE, {STORAGE: 1}),
        (Why.INSUFFICIENT_RESOURCE, {"nvidia.com/gpu": 1}),
    ):
        yield Case(code, *one({"requests": requests}), sound=one({"requests": {CPU: 4000, MEMORY: 8}}))
    yield Case(Why.INSUFFICIENT_PODS, *one({}, offering(allocatable={**ROOM, PODS: 0})))
    yield Case(Why.NODE_SELECTOR, *one({"selector": (blue,)}), sound=one({"selector": (blue,)}, offering(labels={"pool": "blue"})))
    yield Case(
        Why.NODE_AFFINITY,
        *one({"node_terms": (NodeTerm(),)}),
        sound=one({"node_terms": (NodeTerm((Requirement(ZONE, Operator.EXISTS),)),)}),
    )
    elsewhere = NodeTerm((Requirement(ZONE, Operator.IN, ("b",)),))
    yield Case(
        Why.VOLUME_TOPOLOGY, *one({"volume_terms": ((elsewhere,),)}), sound=one({"volume_terms": ((elsewhere,),)}, offering(zone="b"))
    )
    soft = offering(taints=(Taint("team", "x", Effect.PREFER_NO_SCHEDULE),))
    yield Case(Why.TAINT, *one({}, offering(taints=(Taint("team", "x", Effect.NO_EXECUTE),))), sound=one({}, soft))
    yield ports()
    yield claims()
    yield spread()
    yield affinity()
    yield anti_affinity()
    yield symmetry()
    yield devices()


def ports() -> Case:
    """A daemon's host port is taken on every new node."""
    held = Daemon("kube-system", "d", PodSpec({}, host_ports=(HostPort("0.0.0.0", "TCP", 80),)))
    cases = [Problem((pod(host_ports=(HostPort("10.0.0.1", protocol, 80),)),), (), (offering(),), (held,)) for protocol in ("TCP", "UDP")]
    (bad, good) = cases
    return Case(Why.HOST_PORT, bad, bought(bad, ["p"]), sound=(good, bought(good, ["p"])))


def claims() -> Case:
    problem = Problem((pod("p", exclusive_claims=("default/c",)), pod("q", exclusive_claims=("default/c",))), (), (offering(),))
    return Case(Why.EXCLUSIVE_CLAIM, problem, bought(problem, ["p", "q"]), sound=(problem, bought(problem, ["p"])))


def spread() -> Case:
    """Two in one zone while the other zone's node stands empty."""
    rule = (SpreadConstraint(ZONE, 1, APP),)
    nodes = (node("n"), node("m", labels={HOSTNAME: "m", ZONE: "b"}))
    problem = Problem((pod("p", spread=rule), pod("q", spread=rule)), nodes, ())
    return Case(Why.TOPOLOGY_SPREAD, problem, kept(problem, p="n", q="n"), sound=(problem, kept(problem, p="n", q="m")))


def affinity() -> Case:
    """The second pod of a group that keeps together may not start a second group."""
    near = (PodAffinityTerm(HOSTNAME, APP, ("default",)),)
    problem = Problem((pod("p", affinity=near), pod("q", affinity=near)), (), (offering(),))
    return Case(Why.POD_AFFINITY, problem, bought(problem, ["p"], ["q"]), sound=(problem, bought(problem, ["p", "q"])))


def anti_affinity() -> Case:
    apart = (PodAffinityTerm(HOSTNAME, APP, ("default",)),)
    problem = Problem((pod("p", anti_affinity=apart), pod("q", anti_affinity=apart)), (), (offering(),))
    return Case(Why.POD_ANTI_AFFINITY, problem, bought(problem, ["p", "q"]), sound=(problem, bought(problem, ["p"], ["q"])))


def symmetry() -> Case:
    """The pod says nothing itself: it is the one that runs there who wants no company."""
    alone = Pod("default", "hermit", "", PodSpec({}, anti_affinity=(PodAffinityTerm(HOSTNAME, APP, ("default",)),)))
    problem = Problem((pod(),), (node(pods=(alone,)), node("m")), ())
    return Case(Why.POD_ANTI_AFFINITY, problem, kept(problem, p="n"), sound=(problem, kept(problem, p="m")))


def devices() -> Case:
    """Three shares of 6 on two devices of 10: pooled they would fit, on devices they do not."""
    gpus = offering(allocatable={**ROOM, "gpu": 20})
    pods = tuple(pod(name, requests={"gpu": 6}) for name in "pqr")
    problem = Problem(pods, (), (gpus,), device_share=("gpu", 10))
    return Case(Why.DEVICE, problem, bought(problem, ["p", "q", "r"]), sound=(problem, bought(problem, ["p", "q"], ["r"])))


def wholes() -> Iterator[Case]:
    """What is wrong with a plan as a whole."""
    problem, plan = one({})
    launch = plan.launches[0]
    yield Case(Code.POD_MISSING, replace(problem, pods=(*problem.pods, pod("q"))), plan)
    yield Case(Code.POD_UNKNOWN, problem, replace(plan, unplaced=(Unplaced("default/ghost", ()),)))
    yield Case(Code.POD_TWICE, problem, replace(plan, unplaced=(Unplaced("default/p", ()),)))
    yield Case(Code.SKIPPED, problem, replace(plan, skipped=(Skipped("default/s", SkipReason.GATED, ""),)))
    yield Case(Code.NODE_UNKNOWN, problem, kept(problem, p="nowhere"))
    yield Case(Code.NAME_TAKEN, replace(problem, nodes=(node(launch.name, ready=False),)), plan)
    yield Case(Code.OFFERING_UNKNOWN, replace(problem, offerings=()), plan)
    empty = Launch("spare", launch.offering, 100, ())
    yield Case(Code.LAUNCH_EMPTY, problem, refigured(problem, replace(plan, launches=(launch, empty))))
    dear = replace(problem, offerings=(offering(price=120),))
    yield Case(Code.PRICE, dear, plan)
    yield Case(Code.COST, problem, replace(plan, cost_microusd_per_hour=99))
    yield Case(Code.OBJECTIVE, problem, replace(plan, objective_microusd_per_hour=101, lower_bound_microusd_per_hour=101))
    yield Case(Code.BOUND, problem, replace(plan, lower_bound_microusd_per_hour=101))
    yield Case(Code.STATUS, problem, replace(plan, lower_bound_microusd_per_hour=99))
    yield Case(Code.STATUS, problem, replace(plan, status=Status.INFEASIBLE))
    yield Case(Code.STATUS, *impossible())
    small = Problem((pod("p"), pod("q")), (), (offering(),))
    yield Case(Code.LEFTOVER, small, bought(small, ["p"]))


def impossible() -> tuple[Problem, Plan]:
    """Nothing can be placed, yet the plan calls itself feasible."""
    problem = Problem((pod(requests={CPU: 9000}),), (), (offering(),))
    return problem, replace(plan_of(problem), status=Status.FEASIBLE)


def policies() -> Iterator[Case]:
    problem, plan = one({})
    picky = PolicyRule("picky", (Alternative("b", (Requirement(ZONE, Operator.IN, ("b",)),)),))
    yield Case(Why.POLICY, replace(problem, policy=Policy((picky,))), plan)
    yield Case(Why.POLICY, replace(problem, offerings=(offering(burstable=True),)), plan)
    yield Case(Why.MAX_PRICE, *one({"max_price_microusd_per_hour": 99}), sound=one({"max_price_microusd_per_hour": 100}))
    big = {CPU: 3000}
    two = Problem((pod("p", requests=big), pod("q", requests=big)), (), (offering(available_count=1),))
    yield Case(Why.STOCK, two, bought(two, ["p"], ["q"]), sound=(two, bought(two, ["p"])))
    for limits in (Limits(cost_microusd_per_hour=99), Limits(nodes=0), Limits(resources={CPU: 3999})):
        limited = Policy((PolicyRule("r", (Alternative("any", limits=limits),)),))
        yield Case(Why.LIMIT, replace(problem, policy=Policy(limits=limits)), plan)
        yield Case(Why.LIMIT, replace(problem, policy=limited), plan)
    gang = Problem((pod("p", gang=Gang("g", 2)), pod("q", gang=Gang("g", 2))), (), (offering(),))
    yield Case(Why.GANG, gang, bought(gang, ["p"]), sound=(gang, bought(gang, ["p", "q"])))


def refigured(problem: Problem, plan: Plan) -> Plan:
    """The plan with its sums right again."""
    groups = [(next(o for o in problem.offerings if o.key == launch.offering), launch.pods) for launch in plan.launches]
    return plan_of(problem, groups, {p.pod: p.node for p in plan.placements}, names=[launch.name for launch in plan.launches])


CASES = [*filters(), *wholes(), *policies()]


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case.code))
def test_least_invalid_plan_is_refused_for_its_rule_alone(case: Case) -> None:
    """A judge that names other rules beside the broken one would send its reader the wrong way."""
    assert {str(violation.code) for violation in check_plan(case.problem, case.plan)} == {str(case.code)}


@pytest.mark.parametrize("case", [case for case in CASES if case.sound], ids=lambda case: str(case.code))
def test_the_same_plan_without_the_fault_passes(case: Case) -> None:
    """The refusal must come from the fault, not from how the case is built."""
    assert case.sound is not None
    assert check_plan(*case.sound) == ()


def test_every_code_has_a_least_case() -> None:
    """A rule that no case breaks is a rule that nobody has seen refused."""
    beyond = {Why.NOTHING_OFFERED}  # says why a pod is unplaced; no plan can break it
    assert {str(case.code) for case in CASES} == {str(code) for code in (*Code, *Why) if code not in beyond}


def test_pods_that_depend_on_each_other_bind_in_the_right_order() -> None:
    """The follower's name sorts first, yet its leader must be bound before it."""
    near = (PodAffinityTerm(HOSTNAME, Selector((Requirement("role", Operator.IN, ("leader",)),)), ("default",)),)
    leader = replace(pod("z"), labels={"role": "leader"})
    problem = Problem((pod("a", affinity=near), leader), (), (offering(),))
    assert check_plan(problem, bought(problem, ["a", "z"])) == ()


def test_an_order_that_the_greedy_order_misses_is_searched_for() -> None:
    """Two counted pods fill zone a up at once unless the pod that minds them goes first; nothing tells the greedy order so."""
    heavy = Selector((Requirement("app", Operator.IN, ("b",)),))
    counted = [replace(pod(name, spread=(SpreadConstraint(HOSTNAME, 2, heavy),)), labels={"app": "b"}) for name in ("a", "b")]
    minding = pod("z", spread=(SpreadConstraint(ZONE, 1, heavy),))
    problem = Problem((*counted, minding), (node("n"), node("m", labels={HOSTNAME: "m", ZONE: "b"})), ())
    assert check_plan(problem, kept(problem, a="n", b="n", z="n")) == ()


def test_a_limit_that_is_passed_already_forbids_only_adding_to_it() -> None:
    """What runs is not the plan's fault; using its free room adds nothing."""
    standing = node(offering=offering().key, price_microusd_per_hour=100)
    problem = Problem((pod(),), (standing,), (offering(),), policy=Policy(limits=Limits(nodes=0)))
    assert check_plan(problem, kept(problem, p="n")) == ()


def test_unplaced_gang_is_no_leftover() -> None:
    """A gang that cannot start as a whole waits, although single members would fit."""
    members = tuple(pod(name, gang=Gang("g", 3)) for name in "pqr")
    problem = Problem(members, (node(free={**ROOM, CPU: 2000}),), ())
    assert check_plan(problem, plan_of(problem)) == ()


def test_room_on_a_node_that_is_not_ready_is_no_leftover() -> None:
    """Its kubelet may be gone and its taint on the way: to wait is no fault of the plan."""
    problem = Problem((pod(),), (node(ready=False),), ())
    assert check_plan(problem, plan_of(problem)) == ()


def test_leftover_respects_the_policy_of_bought_machines() -> None:
    """A machine that a pod's rule forbids is not free room for it."""
    picky = PolicyRule(
        "picky",
        (Alternative("b", (Requirement(ZONE, Operator.IN, ("b",)),)),),
        selector=Selector((Requirement("app", Operator.IN, ("b",)),)),
    )
    other = replace(pod("q"), labels={"app": "b"})
    problem = Problem((pod("p"), other), (), (offering(),), policy=Policy((picky,)))
    assert check_plan(problem, bought(problem, ["p"])) == ()


def test_violations_come_with_numbers_and_subject() -> None:
    """Whoever reads a refusal must see how much was asked and how much there was."""
    (violation,) = check_plan(*one({"requests": {CPU: 4001}}))
    assert violation.subject == "default/p"
    assert "4001m" in violation.message
    assert "4000m" in violation.message
