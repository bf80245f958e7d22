"""Two plans side by side, and what a repack of the running nodes would save."""

from __future__ import annotations

from dataclasses import replace

from packer.compare import compare_plans, compare_running, kept_nodes, repack_problem
from packer.model import Launch, Node, Owner, Pod, PodSpec, Problem, Status, Unplaced
from packer.render import comparison_text, repack_text, violations_text
from tests.views.samples import GI, make_offering, make_pod, rich_sample

SMALL, LARGE = make_offering("m7.large", 100_000, 2000, 8), make_offering("m7.xlarge", 190_000, 4000, 16)


def standing(name: str, pods: tuple[Pod, ...], price: int | None = 190_000) -> Node:
    """A node that runs ``pods`` on a large machine."""
    allocatable = {"cpu": 4000, "memory": 16 * GI, "pods": 110}
    free = {
        "cpu": 4000 - sum(pod.spec.requests["cpu"] for pod in pods),
        "memory": 16 * GI - sum(pod.spec.requests["memory"] for pod in pods),
        "pods": 110 - len(pods),
    }
    labels = {"node.kubernetes.io/instance-type": "m7.xlarge", "kubernetes.io/hostname": name}
    return Node(name, labels, (), allocatable, free, pods, offering=LARGE.key if price else None, price_microusd_per_hour=price)


def test_a_plan_equals_itself_whatever_its_launches_are_called() -> None:
    # Names are hashes and messages are prose: neither makes a difference worth an exit code.
    plan = rich_sample().plan
    renamed = replace(plan, launches=tuple(replace(launch, name=f"n{i}") for i, launch in enumerate(plan.launches[::-1])), stages=())
    assert compare_plans(plan, renamed).same
    assert "Same plan" in comparison_text(compare_plans(plan, renamed))


def test_differences_in_cost_types_and_places_are_named() -> None:
    plan = rich_sample().plan
    spot = rich_sample().problem.offerings[4]
    moved = replace(plan.launches[0], offering=spot.key, price_microusd_per_hour=161_280)
    cheaper = replace(plan, launches=(moved, *plan.launches[1:]), cost_microusd_per_hour=plan.cost_microusd_per_hour - 40_320)
    comparison = compare_plans(plan, cheaper)
    assert not comparison.same
    assert comparison.cost_change == -40_320
    assert {(change.offering.instance_type, change.before, change.after) for change in comparison.types} == {
        ("m7.xlarge", 4, 3),
        ("m7.2xlarge", 0, 1),
    }
    assert [move.pod for move in comparison.moves] == sorted(moved.pods)
    text = comparison_text(comparison, names=("today", "with spot"))
    assert "with spot is $0.0403/h cheaper (2 %)" in text
    assert "4 pods on another kind of node" in text


def test_a_plan_that_places_fewer_pods_is_not_called_cheaper() -> None:
    # Leaving pods out is not a saving.
    plan = rich_sample().plan
    fewer = replace(
        plan, launches=plan.launches[:-1], unplaced=(*plan.unplaced, Unplaced("ml/train-0", ())), cost_microusd_per_hour=4 * 201_600
    )
    comparison = compare_plans(plan, fewer)
    assert comparison.newly_unplaced == ("ml/train-0",)
    text = comparison_text(comparison)
    assert "second places 1 fewer pods" in text
    assert "cheaper" not in text


def test_repack_asks_for_movable_pods_only() -> None:
    # Daemons and static pods belong to their node and terminating pods are on their way out; waiting pods are another question.
    web = make_pod("web-1", 500, 1, owner="web")
    agent = Pod("kube-system", "agent-1", "a", PodSpec({"cpu": 100, "memory": GI}), owner=Owner("DaemonSet", "agent", "a"))
    static = Pod("kube-system", "proxy-n1", "s", PodSpec({"cpu": 100, "memory": GI}), owner=Owner("Node", "n1", "n"))
    going = replace(make_pod("old-1", 500, 1, owner="old"), terminating=True)
    problem = Problem((make_pod("waiting", 100, 1),), (standing("n1", (web, agent, static, going)),), (SMALL, LARGE))
    repack = repack_problem(problem)
    assert [pod.key for pod in repack.pods] == ["default/web-1"]
    assert repack.nodes == ()


def test_nodes_without_a_price_or_with_a_protected_pod_are_left_alone() -> None:
    # No saving can be claimed for what has no price, nor for what must not move.
    protected = replace(make_pod("db-1", 500, 1, owner="db"), do_not_disrupt=True)
    nodes = (standing("a", (make_pod("x", 100, 1),), None), standing("b", (protected,)), standing("c", (make_pod("y", 100, 1),)))
    problem = Problem((), nodes, (SMALL, LARGE))
    assert [name for name, _ in kept_nodes(problem)] == ["a", "b"]
    assert [pod.name for pod in repack_problem(problem).pods] == ["y"]


def test_saving_compares_the_same_pods_on_both_sides() -> None:
    one, two = make_pod("one", 500, 1, owner="o"), make_pod("two", 500, 1)
    problem = Problem((), (standing("a", (one,)), standing("b", (two,))), (SMALL, LARGE))
    plan = replace(
        rich_sample().plan,
        status=Status.OPTIMAL,
        launches=(Launch("new", SMALL.key, 100_000, ("default/one", "default/two")),),
        placements=(),
        unplaced=(),
        cost_microusd_per_hour=100_000,
    )
    repack = compare_running(problem, plan)
    assert (repack.cost_now, repack.cost_repacked, repack.saving.saved) == (380_000, 100_000, 280_000)
    assert repack.worthwhile
    text = repack_text(repack)
    assert "A repack would save $0.2800/h (73 %), $204/month" in text
    assert "1 pod without an owner would not start again: default/two" in text


def test_a_repack_that_loses_pods_is_not_a_saving() -> None:
    one = make_pod("one", 500, 1, owner="o")
    problem = Problem((), (standing("a", (one,)),), ())
    plan = replace(rich_sample().plan, launches=(), placements=(), unplaced=(Unplaced("default/one", ()),), cost_microusd_per_hour=0)
    repack = compare_running(problem, plan)
    assert not repack.worthwhile
    assert "not possible as it stands: 1 pod would have no place" in repack_text(repack)


def test_violations_are_listed_with_rule_subject_and_numbers() -> None:
    class Found:
        code, message, subject = "OutOfStock", "3 bought, 2 available", "sim/r1/z-a/m7.large/spot"

    assert "valid" in violations_text([])
    text = violations_text([Found()])
    assert "The plan is invalid: 1 violation" in text
    assert "OutOfStock" in text
    assert "3 bought, 2 available" in text
