"""Explanations: every claim is checked against the rules, and reads with its numbers."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from packer.errors import InputError
from packer.explain import Explanation, Lever, Outcome, explain, find_pod, to_json
from packer.model import (
    INSTANCE_TYPE,
    ZONE,
    Alternative,
    Daemon,
    Gang,
    HostPort,
    Launch,
    Limits,
    Node,
    NodeTerm,
    Offering,
    Operator,
    Placement,
    Plan,
    Pod,
    PodAffinityTerm,
    PodSpec,
    Policy,
    PolicyRule,
    Problem,
    Requirement,
    Selector,
    SpreadConstraint,
    Status,
    Taint,
    Toleration,
    Unplaced,
    Why,
)
from packer.model import Effect as TaintEffect
from packer.render import Style, explanation_text
from packer.situation import Situation
from packer.why import reasons_for, unplaced_with_reasons
from tests.views.samples import GI, make_offering, make_pod, rich_sample

IN_Z = Requirement(ZONE, Operator.IN, ("z-x",))
APP = Selector((Requirement("app", Operator.IN, ("web",)),))


def left_out(problem: Problem, key: str, launches: tuple[Launch, ...] = (), placements: tuple[Placement, ...] = ()) -> Explanation:
    """The explanation of a pod that a plan of these launches leaves out."""
    cost = sum(launch.price_microusd_per_hour for launch in launches)
    plan = Plan(Status.FEASIBLE, launches, placements, (Unplaced(key, ()),), (), (), cost, cost, 0)
    return explain(problem, plan, key)


def remedy(explanation: Explanation, lever: Lever) -> str:
    """The changes by one lever, as one text."""
    return " & ".join(" & ".join(one.changes) for one in explanation.nearest if one.lever is lever)


def test_offerings_are_grouped_by_the_reason_that_says_most() -> None:
    # The issue's own example: most lack the GPU; those with one are in the wrong zone.
    small = [make_offering(f"c{i}", 1000 + i, 4000, 8) for i in range(12)]
    gpu = [make_offering(f"g{i}", 9000 + i, 4000, 8, zone="z-b", gpus=1) for i in range(3)]
    pod = make_pod("train", 1000, 2, requests={"nvidia.com/gpu": 1}, selector=(Requirement(ZONE, Operator.IN, ("z-a",)),))
    explanation = left_out(Problem((pod,), (), (*small, *gpu)), "default/train")
    assert [(reason.offerings, reason.message) for reason in explanation.offerings.excluded] == [
        (12, "nvidia.com/gpu 0 of 1"),
        (3, f"needs {ZONE}=z-a, found z-b"),
    ]
    assert "12 offerings: nvidia.com/gpu 0 of 1" in explanation_text(explanation)


def test_a_zone_that_nobody_offers_is_said_once() -> None:
    # Too small besides, but the zone is what rules out all of them.
    offerings = (make_offering("c1", 1000, 2000, 4), make_offering("c2", 2000, 16_000, 32))
    pod = make_pod("p", 8000, 2, selector=(IN_Z,))
    excluded = left_out(Problem((pod,), (), offerings), "default/p").offerings.excluded
    assert [(reason.code, reason.offerings) for reason in excluded] == [(Why.NODE_SELECTOR, 2)]


def test_numbers_of_possible_and_excluded_add_up() -> None:
    sample = rich_sample()
    for pod in sample.problem.pods:
        explanation = explain(sample.problem, sample.plan, pod.key)
        for survey, total in ((explanation.offerings, len(sample.problem.offerings)), (explanation.nodes, len(sample.problem.nodes))):
            assert survey.total == total
            assert survey.possible + sum(reason.offerings + reason.nodes for reason in survey.excluded) == total


def test_a_new_nodes_story_names_what_fills_it_and_its_neighbours_in_price() -> None:
    # Why this type: the next cheaper one lacks cpu and memory, with numbers; the next dearer one would do.
    sample = rich_sample()
    story = explain(sample.problem, sample.plan, "shop/web-7d9f6c5b4-00003").node
    assert story is not None
    cpu = story.fillings[0]
    assert (cpu.resource, cpu.own, cpu.planned, cpu.overhead, cpu.allocatable, cpu.free) == ("cpu", 900, 3600, 100, 3920, 220)
    assert story.next_cheaper is not None
    assert story.next_cheaper.offering.instance_type == "m7.large"
    assert story.next_cheaper.lacks == ("cpu 1830m of 3600m", "memory 6.7Gi of 12Gi")
    assert story.next_dearer is not None
    assert (story.next_dearer.offering.instance_type, story.next_dearer.added_microusd_per_hour) == ("m7.2xlarge", 201_600)
    assert story.runner_up is not None
    assert (story.runner_up.offering.capacity_type, story.runner_up.added_microusd_per_hour) == ("spot", -40_320)


def test_runner_up_respects_stock_policy_and_rules_between_pods() -> None:
    # An alternative that could not be had, or that would break a spread, is no alternative.
    spread = SpreadConstraint(ZONE, 1, APP)
    pods = tuple(make_pod(f"web-{i}", 1000, 2, spread=(spread,), labels={"app": "web"}) for i in range(2))
    a = make_offering("c2", 100_000, 2000, 4, zone="z-a")
    b = make_offering("c2", 100_000, 2000, 4, zone="z-b")
    sold_out = make_offering("c3", 110_000, 4000, 8, zone="z-b", available_count=0)
    burstable = make_offering("t3", 120_000, 4000, 8, zone="z-b", burstable=True)
    in_a = make_offering("c4", 130_000, 4000, 8, zone="z-a")
    fair = make_offering("c5", 140_000, 4000, 8, zone="z-b")
    launches = (Launch("one", a.key, 100_000, (pods[0].key,)), Launch("two", b.key, 100_000, (pods[1].key,)))
    plan = Plan(Status.FEASIBLE, launches, (), (), (), (), 200_000, 200_000, 0)
    story = explain(Problem(pods, (full_node(),), (a, b, sold_out, burstable, in_a, fair)), plan, pods[1].key).node
    assert story is not None
    assert story.runner_up is not None
    assert (story.runner_up.offering, story.runner_up.added_microusd_per_hour) == (fair.key, 40_000)


def test_without_the_pod_a_smaller_node_would_do() -> None:
    sample = rich_sample()
    story = explain(sample.problem, sample.plan, "shop/db-0").node
    assert story is not None
    assert story.without_pod is not None
    assert (story.without_pod.offering.instance_type, story.without_pod.added_microusd_per_hour) == ("m7.large", -100_800)


def test_a_pod_on_an_existing_node_costs_nothing_and_would_cost_a_node() -> None:
    sample = rich_sample()
    explanation = explain(sample.problem, sample.plan, "small-0")
    assert (explanation.outcome, explanation.pod) == (Outcome.EXISTING_NODE, "ops/small-0")
    assert explanation.node is not None
    assert explanation.node.name == "standing-1"
    assert explanation.node.alone is not None
    assert explanation.node.alone.added_microusd_per_hour == 100_800
    assert "goes to existing node standing-1, which costs nothing more" in explanation_text(explanation)


def test_a_skipped_pod_says_why() -> None:
    sample = rich_sample()
    text = explanation_text(explain(sample.problem, sample.plan, "waits"))
    assert text == "ml/waits  skipped: Gated\n\n  scheduling gate example.com/hold"


def test_unknown_and_ambiguous_names_are_refused_with_help() -> None:
    sample = rich_sample()
    with pytest.raises(InputError, match="did you mean ml/train-0"):
        find_pod(sample.problem, sample.plan, "ml/trian-0")
    with pytest.raises(InputError, match="runs already, on standing-1"):
        find_pod(sample.problem, sample.plan, "agent-x")
    twice = replace(sample.problem, pods=(*sample.problem.pods, make_pod("db-0", 1, 1, namespace="other")))
    with pytest.raises(InputError, match="2 pods are called db-0; say which: other/db-0, shop/db-0"):
        find_pod(twice, sample.plan, "db-0")


def full_node() -> Node:
    """A node in z-b without a free core: it makes the zone a domain that can receive nothing."""
    labels = {ZONE: "z-b", INSTANCE_TYPE: "c1", "kubernetes.io/hostname": "full"}
    return Node("full", labels, (), {"cpu": 1000, "memory": GI, "pods": 10}, {"cpu": 0, "memory": GI, "pods": 10})


def offerings() -> tuple[Offering, ...]:
    return (make_offering("c4", 100_000, 4000, 8), make_offering("c8", 200_000, 7910, 16))


def test_nearest_miss_of_a_large_pod_is_a_smaller_request() -> None:
    # The example: cpu 9000m -> 7910m.
    explanation = left_out(Problem((make_pod("p", 9000, 4),), (), offerings()), "default/p")
    assert remedy(explanation, Lever.POD) == "cpu 9000m → 7910m"
    assert explanation.nearest[0].where == "c8 in z-a, on-demand"
    assert explanation.nearest[0].added_microusd_per_hour == 200_000
    assert remedy(explanation, Lever.CATALOG) == "offer a machine like c8 with cpu 9000m instead of 7910m"


def test_nearest_miss_of_a_gpu_pod_is_a_type_with_enough_gpus() -> None:
    pod = make_pod("p", 1000, 4, requests={"nvidia.com/gpu": 8})
    explanation = left_out(Problem((pod,), (), (*offerings(), make_offering("g1", 500_000, 4000, 8, gpus=1))), "default/p")
    assert remedy(explanation, Lever.POD) == "nvidia.com/gpu 8 → 1"
    assert remedy(explanation, Lever.CATALOG) == "offer a machine like g1 with nvidia.com/gpu 8 instead of 1"


def test_nearest_miss_of_a_tainted_place_is_a_toleration() -> None:
    tainted = make_offering("g1", 500_000, 4000, 8, gpus=1, taints=(Taint("nvidia.com/gpu", "present", TaintEffect.NO_SCHEDULE),))
    pod = make_pod("p", 1000, 4, requests={"nvidia.com/gpu": 1})
    explanation = left_out(Problem((pod,), (), (tainted,)), "default/p")
    assert remedy(explanation, Lever.POD) == "tolerate nvidia.com/gpu=present:NoSchedule"
    assert explanation.nearest[0].added_microusd_per_hour == 500_000


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({"selector": (IN_Z,)}, f"let {ZONE} also be z-a (now z-x)"),
        ({"selector": (Requirement("disk", Operator.EXISTS),)}, "drop the selector disk Exists"),
        ({"node_terms": (NodeTerm((IN_Z,)),)}, "drop the required node affinity"),
        ({"volume_terms": ((NodeTerm((IN_Z,)),),)}, f"use a volume that can be reached there (a volume is tied to {ZONE}=z-x)"),
        ({"max_price_microusd_per_hour": 50_000}, "raise the pod's highest price from $0.0500/h to $0.1000/h"),
    ],
)
def test_nearest_miss_of_a_constrained_pod_is_the_constraint(spec: dict[str, Any], words: str) -> None:
    explanation = left_out(Problem((make_pod("p", 1000, 4, **spec),), (), offerings()), "default/p")
    assert remedy(explanation, Lever.POD) == words


def test_nearest_miss_can_be_a_zone_of_the_catalog() -> None:
    explanation = left_out(Problem((make_pod("p", 1000, 4, volume_terms=((NodeTerm((IN_Z,)),),)),), (), offerings()), "default/p")
    assert remedy(explanation, Lever.CATALOG) == "offer c4 in zone z-x"


def test_nearest_miss_of_a_port_against_a_daemon_mentions_the_port() -> None:
    daemon = Daemon("kube-system", "exporter", PodSpec({"cpu": 10}, host_ports=(HostPort("0.0.0.0", "TCP", 9100),)))
    pod = make_pod("p", 1000, 4, host_ports=(HostPort("0.0.0.0", "TCP", 9100),))
    explanation = left_out(Problem((pod,), (), offerings(), (daemon,)), "default/p")
    assert explanation.offerings.excluded[0].message == "host port 9100/TCP is taken by a daemon of every such node"
    assert remedy(explanation, Lever.POD) == "drop host port 9100/TCP, or take another one"


def test_nearest_miss_of_the_policy_is_what_it_forbids() -> None:
    burstable = make_offering("t3", 50_000, 4000, 8, burstable=True)
    explanation = left_out(Problem((make_pod("p", 1000, 4),), (), (burstable,)), "default/p")
    assert remedy(explanation, Lever.POLICY) == "rule 'default': allow burstable types"
    rule = PolicyRule("training", (Alternative("spot", (Requirement("bayplan.io/capacity-type", Operator.IN, ("spot",)),), 40_000),))
    explanation = left_out(Problem((make_pod("p", 1000, 4),), (), offerings(), policy=Policy((rule,))), "default/p")
    wanted = "let bayplan.io/capacity-type also be on-demand and raise its highest price from $0.0400/h to $0.1000/h"
    assert remedy(explanation, Lever.POLICY) == f"rule 'training': {wanted}"


def test_nearest_miss_at_a_limit_is_the_limit() -> None:
    pod, placed = make_pod("p", 3000, 4), make_pod("q", 3000, 4)
    launch = Launch("n", offerings()[0].key, 100_000, (placed.key,))
    problem = Problem((pod, placed), (), offerings()[:1], policy=Policy(limits=Limits(cost_microusd_per_hour=150_000)))
    explanation = left_out(problem, "default/p", (launch,))
    assert remedy(explanation, Lever.POLICY) == "raise the cost limit of the policy from $0.1500/h to $0.2000/h"
    assert remedy(explanation, Lever.POD) == "cpu 3 → 1"


def test_nearest_miss_of_what_is_sold_out_is_one_more_in_stock() -> None:
    none = left_out(Problem((make_pod("p", 1000, 4),), (), (make_offering("c4", 100_000, 4000, 8, available_count=0),)), "default/p")
    assert remedy(none, Lever.CATALOG) == "stock of c4 in z-a, on-demand from 0 to 1"
    offering = make_offering("c4", 100_000, 4000, 8, available_count=1)
    pod, placed = make_pod("p", 4000, 4), make_pod("q", 4000, 4)
    used = left_out(Problem((pod, placed), (), (offering,)), "default/p", (Launch("n", offering.key, 100_000, (placed.key,)),))
    assert remedy(used, Lever.CATALOG) == "stock of c4 in z-a, on-demand from 1 to 2"
    assert used.nearest[0].added_microusd_per_hour == 100_000


def test_nearest_miss_of_a_spread_is_a_wider_skew() -> None:
    # One zone on offer, another that only stands and is full: the skew is what refuses.
    spread = SpreadConstraint(ZONE, 1, APP)
    pods = tuple(make_pod(f"web-{i}", 1000, 2, spread=(spread,), labels={"app": "web"}) for i in range(2))
    offering = make_offering("c1", 100_000, 1000, 2, zone="z-a")
    full = full_node()
    launch = Launch("n", offering.key, 100_000, (pods[0].key,))
    explanation = left_out(Problem(pods, (full,), (offering,)), "default/web-1", (launch,))
    assert remedy(explanation, Lever.POD) == f"maxSkew over {ZONE} from 1 to 2"
    reasons = unplaced_with_reasons(Problem(pods, (full,), (offering,)), (launch,), (), ["default/web-1"])[0].reasons
    assert {reason.code for reason in reasons} == {Why.TOPOLOGY_SPREAD, Why.INSUFFICIENT_CPU}


def test_nearest_miss_of_lonely_affinity_is_the_affinity() -> None:
    pod = make_pod("p", 1000, 2, affinity=(PodAffinityTerm(ZONE, APP, ("default",)),))
    assert remedy(left_out(Problem((pod,), (), offerings()), "default/p"), Lever.POD) == "drop the required pod affinity"


def test_free_room_of_the_plan_can_be_the_nearest_place() -> None:
    # Half a gigabyte less, and the pod fits beside others at no cost: better than a machine of its own.
    offering = make_offering("c4", 100_000, 4000, 8, available_count=1)
    placed, pod = make_pod("q", 1000, 4), make_pod("p", 1000, 5)
    explanation = left_out(Problem((pod, placed), (), (offering,)), "default/p", (Launch("n", offering.key, 100_000, (placed.key,)),))
    first = explanation.nearest[0]
    assert (first.lever, first.changes, first.where, first.added_microusd_per_hour) == (Lever.POD, ("memory 5Gi → 4Gi",), "new node n", 0)


def test_every_remedy_holds_when_the_input_is_changed_by_hand() -> None:
    # The claim "would place it", tried: the changed pod has no obstacle at the place that the remedy names.
    problem = Problem((make_pod("p", 9000, 40, selector=(IN_Z,), tolerations=(Toleration("a", "Exists"),)),), (), offerings())
    explanation = left_out(problem, "default/p")
    assert remedy(explanation, Lever.POD).split(" & ") == ["cpu 9000m → 7910m", "memory 40Gi → 16Gi", f"let {ZONE} also be z-a (now z-x)"]
    changed = make_pod("p", 7910, 16, selector=(Requirement(ZONE, Operator.IN, ("z-a", "z-x")),))
    assert any(not choice.obstacles for choice in Situation(replace(problem, pods=(changed,))).choices(changed))


def test_a_gang_says_that_it_waits_as_a_whole() -> None:
    pods = tuple(replace(make_pod(f"g{i}", 4000, 4), gang=Gang("train", 3)) for i in range(3))
    reasons = unplaced_with_reasons(
        Problem(pods, (), (make_offering("c4", 100_000, 4000, 8, available_count=2),)), (), (), [p.key for p in pods]
    )
    assert {reason.code for entry in reasons for reason in entry.reasons} == {Why.GANG}
    assert "gang train starts with 3 more pods or not at all" in reasons[0].reasons[0].message


def test_nearest_miss_of_a_gang_is_a_start_with_fewer_members() -> None:
    # Two of three machines are in stock: the gang could start with two.
    pods = tuple(replace(make_pod(f"g{i}", 4000, 4), gang=Gang("train", 3)) for i in range(3))
    explanation = left_out(Problem(pods, (), (make_offering("c4", 100_000, 4000, 8, available_count=2),)), "default/g1")
    assert explanation.nearest[0].changes == ("let gang train start with 2 pods (now it needs 3)",)
    assert explanation.nearest[0].added_microusd_per_hour == 200_000
    enough = left_out(Problem(pods, (), (make_offering("c4", 100_000, 4000, 8, available_count=3),)), "default/g1")
    assert enough.nearest == ()


def test_nothing_on_offer_is_a_reason_of_its_own() -> None:
    pod = make_pod("p", 100, 1)
    assert [reason.code for reason in reasons_for(Problem((pod,), (), ()), pod)] == [Why.NOTHING_OFFERED]


def test_json_has_the_text_s_figures_in_the_plan_s_units() -> None:
    sample = rich_sample()
    for pod in sample.problem.pods:
        data = json.loads(json.dumps(to_json(explain(sample.problem, sample.plan, pod.key))))
        assert data["kind"] == "Explanation"
        assert data["offerings"]["total"] == 6
    data = to_json(explain(sample.problem, sample.plan, "shop/db-0"))
    assert data["node"]["nextCheaper"]["lacks"] == ["cpu 1830m of 2300m", "memory 6.7Gi of 10Gi"]
    assert data["node"]["runnerUp"]["addedPerHour"] == "-0.040320"


def test_text_is_the_same_for_the_same_plan_and_respects_the_width() -> None:
    sample = rich_sample()
    shuffled = replace(sample.problem, pods=sample.problem.pods[::-1], offerings=sample.problem.offerings[::-1])
    for pod in sample.problem.pods:
        text = explanation_text(explain(sample.problem, sample.plan, pod.key), Style(80))
        assert text == explanation_text(explain(shuffled, sample.plan, pod.key), Style(80))
        assert max(map(len, text.splitlines())) <= 80


def test_specs_are_judged_once_however_many_pods_share_them() -> None:
    # Thousands of pods against thousands of offerings: work grows with specs, not with pods.
    spec = PodSpec({"cpu": 100_000, "memory": GI})
    pods = tuple(Pod("default", f"p{i:05d}", f"u{i}", spec) for i in range(3000))
    many = tuple(make_offering(f"c{i}", 1000 + i, 1000 + i % 900, 4, zone=f"z{i % 3}") for i in range(7000))
    situation = Situation(Problem(pods, (), many))
    parts = situation.choices(pods[0])
    assert len(parts) == 900
    assert situation.choices(pods[-1]) is parts
    unplaced = unplaced_with_reasons(Problem(pods, (), many), (), (), [pod.key for pod in pods])
    assert len(unplaced) == 3000
    assert all(entry.reasons is unplaced[0].reasons for entry in unplaced)
    assert unplaced[0].reasons[0].message == "cpu at most 1899m of 100000m"
