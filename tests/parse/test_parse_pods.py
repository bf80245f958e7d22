"""Pods: who is planned and who is skipped and why, the label contract, priorities, terms; one spec object for equal specs."""

from __future__ import annotations

from typing import Any

import pytest

from packer.model import (
    CAPACITY_TYPE,
    GPU_MEMORY,
    GPU_MODEL,
    HOSTNAME,
    NodeTerm,
    Operator,
    PodAffinityTerm,
    Requirement,
    Selector,
    SpreadConstraint,
    Toleration,
)
from tests.parse.build import Body, container, node, obj, offer, only_pod, owner, pod, problem, skipped

REQUIRED, PREFERRED = "requiredDuringSchedulingIgnoredDuringExecution", "preferredDuringSchedulingIgnoredDuringExecution"
DELETED = {"deletionTimestamp": "2030-01-01T00:00:00Z"}
GATE = {"schedulingGates": [{"name": "example.com/quota"}]}

SKIPPED = {
    "Finished": pod("p", status={"phase": "Succeeded"}),
    "Terminating": pod("p", meta=DELETED),
    "Ignored": pod("p", meta={"labels": {"bayplan.io/ignore": "true"}}),
    "Static": pod("p", meta={"annotations": {"kubernetes.io/config.mirror": "abc"}}),
    "DaemonSet": pod("p", meta=owner("DaemonSet", "agent")),
    "OtherScheduler": pod("p", schedulerName="night-scheduler"),
    "Gated": pod("p", **GATE),
    "Nominated": pod("p", status={"nominatedNodeName": "n-1"}),
    "Volume": pod("p", volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "nope"}}]),
    "Unsupported": pod("p", resourceClaims=[{"name": "gpu", "resourceClaimName": "g"}]),
}


@pytest.mark.parametrize("reason", SKIPPED)
def test_each_reason_to_skip_a_pod(reason: str) -> None:
    """Such a pod is in ``skipped``, once, with words, and in no other list."""
    found = problem(SKIPPED[reason], node("n-1"))
    assert skipped(found) == {"default/p": reason}
    assert found.pods == ()
    assert found.skipped[0].message


@pytest.mark.parametrize(
    "body",
    [
        pod("p", schedulingGates=[{"name": "bayplan.io/placement"}]),
        pod("p", meta={"annotations": {"bayplan.io/ignore": "false"}}),
        pod("p", schedulerName="default-scheduler"),
        pod("p", status={"nominatedNodeName": "gone"}),
        pod("p", meta=owner("ReplicaSet", "web-1")),
    ],
    ids=["our own gate", "ignore false", "named default scheduler", "nominated to a node that is gone", "owned"],
)
def test_what_does_not_stop_a_pod(body: Body) -> None:
    """Our gate waits for the plan itself; a nomination to a node that no longer exists holds nothing."""
    assert only_pod(body, node("n-1")).name == "p"


def test_one_foreign_gate_beside_ours_still_stops_a_pod() -> None:
    """Kueue's gate goes first."""
    gates = {"schedulingGates": [{"name": "bayplan.io/placement"}, {"name": "kueue.x-k8s.io/admission"}]}
    found = problem(pod("p", **gates))
    assert skipped(found) == {"default/p": "Gated"}
    assert "kueue" in found.skipped[0].message
    assert "bayplan.io/placement" not in found.skipped[0].message


def test_a_nomination_counts_when_the_input_has_no_nodes_at_all() -> None:
    """``kubectl get pods`` alone says nothing of nodes, so the node may well be there."""
    assert skipped(problem(SKIPPED["Nominated"])) == {"default/p": "Nominated"}


def test_other_schedulers_can_be_ours() -> None:
    """A second scheduler for soft placement plans through us too."""
    found = problem(pod("p", schedulerName="bayplan-scheduler"), schedulers=("default-scheduler", "bayplan-scheduler"))
    assert [one.name for one in found.pods] == ["p"]


def test_bound_pods_are_on_their_nodes_whoever_bound_them() -> None:
    """Terminating and foreign pods hold their room; finished ones hold nothing and are told of."""
    bound = [
        pod("run", nodeName="n-1"),
        pod("leave", nodeName="n-1", meta=DELETED),
        pod("foreign", nodeName="n-1", schedulerName="other"),
        pod("agent", nodeName="n-1", meta=owner("DaemonSet", "agent")),
        pod("done", nodeName="n-1", status={"phase": "Failed"}),
    ]
    found = problem(*bound, node("n-1"))
    assert [one.name for one in found.nodes[0].pods] == ["agent", "foreign", "leave", "run"]
    assert [one.name for one in found.nodes[0].pods if one.terminating] == ["leave"]
    assert found.nodes[0].free["cpu"] == 0
    assert found.nodes[0].free["pods"] == 106
    assert skipped(found) == {"default/done": "Finished"}


def test_pods_on_nodes_that_the_input_lacks_are_told_of_once() -> None:
    """One line, not one for each of thirty thousand pods."""
    found = problem(*(pod(f"p{i}", nodeName=f"n{i % 2}") for i in range(6)))
    assert (found.pods, found.skipped) == ((), ())
    assert [(one.reason, one.message.split(" are")[0]) for one in found.notices] == [("NodeUnknown", "6 pods")]


def test_a_nominated_pod_holds_room_on_its_node() -> None:
    """What it preempted for must not be promised to others; free may go below zero until the victim is gone."""
    urgent = pod("urgent", containers=[container(cpu="3")], status={"nominatedNodeName": "n-1"})
    found = problem(urgent, pod("victim", nodeName="n-1", containers=[container(cpu="3")], meta=DELETED), node("n-1"))
    assert found.nodes[0].free["cpu"] == -2000


# --- the label contract -------------------------------------------------------------------------------------------------------


def contract(where: str = "labels", **values: str) -> Body:
    return pod("p", meta={where: {f"bayplan.io/{key.replace('_', '-')}": value for key, value in values.items()}})


@pytest.mark.parametrize("where", ["labels", "annotations"])
def test_contract_keys_are_labels_or_annotations(where: str) -> None:
    """What a label value cannot hold (commas, exclamation marks, dollars) is an annotation of the same key."""
    wishes = {"gpu_memory": "16Gi", "capacity_type": "spot", "max_hourly_cost": "3.5", "expected_duration": "90m", "restart_cost": "600"}
    spec = only_pod(contract(where, **wishes)).spec
    assert spec.selector == (Requirement(CAPACITY_TYPE, Operator.IN, ("spot",)), Requirement(GPU_MEMORY, Operator.GT, ("16383",)))
    assert (spec.max_price_microusd_per_hour, spec.expected_duration_s, spec.restart_cost_s) == (3_500_000, 5400, 600)


KNOWN = ["nvidia-t4", "nvidia-a100-40gb", "nvidia-a100-80gb", "nvidia-a10g", "nvidia-m60"]


@pytest.mark.parametrize(
    ("wish", "requirements"),
    [
        ("T4", [(Operator.IN, ("nvidia-t4",))]),
        ("tesla-t4", [(Operator.IN, ("nvidia-t4",))]),
        ("NVIDIA-A100-SXM4-40GB", [(Operator.IN, ("nvidia-a100-40gb",))]),
        ("a100,a10g", [(Operator.IN, ("nvidia-a100-40gb", "nvidia-a100-80gb", "nvidia-a10g"))]),
        ("!M60", [(Operator.NOT_IN, ("nvidia-m60",))]),
        ("A100, !a100-40gb", [(Operator.IN, ("nvidia-a100-40gb", "nvidia-a100-80gb")), (Operator.NOT_IN, ("nvidia-a100-40gb",))]),
        ("H900", [(Operator.IN, ("h900",))]),
    ],
)
def test_gpu_models_are_found_however_they_are_written(wish: str, requirements: list[tuple[Operator, tuple[str, ...]]]) -> None:
    """Against the catalog's names; a model that nobody offers matches nothing rather than everything."""
    catalog = [offer(name, gpu_model=name) for name in KNOWN]
    spec = only_pod(contract("annotations", gpu_model=wish), catalog=catalog).spec
    assert spec.selector == tuple(Requirement(GPU_MODEL, *one) for one in requirements)


@pytest.mark.parametrize(
    "wishes",
    [
        {"gpu_memory": "lots"},
        {"capacity_type": "sport"},
        {"max_hourly_cost": "cheap"},
        {"expected_duration": "soon"},
        {"restart_cost": "-1"},
    ],
)
def test_a_wish_that_cannot_be_read_stops_its_pod_alone(wishes: dict[str, str]) -> None:
    """A typing error in one team's label must not stop the plan of all others, nor be ignored."""
    found = problem(contract(**wishes), pod("fine"))
    assert skipped(found) == {"default/p": "Unsupported"}
    assert f"bayplan.io/{next(iter(wishes)).replace('_', '-')}" in found.skipped[0].message
    assert len(found.pods) == 1


# --- priority -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "priority"),
    [
        ({"priority": 7, "priorityClassName": "high"}, 7),
        ({"priorityClassName": "high"}, 1000),
        ({"priorityClassName": "system-node-critical"}, 2_000_001_000),
        ({"priorityClassName": "system-cluster-critical"}, 2_000_000_000),
        ({}, 5),
        ({"priorityClassName": "unknown"}, 0),
    ],
)
def test_priority_comes_from_the_pod_its_class_or_the_default(spec: Body, priority: int) -> None:
    """Admission writes spec.priority; templates have only the class."""
    classes = [
        obj("scheduling.k8s.io/v1", "PriorityClass", "high", value=1000),
        obj("scheduling.k8s.io/v1", "PriorityClass", "base", value=5, globalDefault=True),
    ]
    found = problem(pod("p", **spec), *classes)
    assert found.pods[0].priority == priority
    assert [one.reason for one in found.notices] == (["PriorityClassUnknown"] if "unknown" in spec.values() else [])


# --- terms --------------------------------------------------------------------------------------------------------------------


def test_node_selection_keeps_ands_and_ors_apart() -> None:
    """nodeSelector is ANDed with the ORed terms; an empty list of terms matches nothing and is not the same as none."""
    terms = [
        {"matchExpressions": [{"key": "b", "operator": "NotIn", "values": ["2", "1"]}], "matchFields": []},
        {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n-1"]}]},
        {},
    ]
    spec = only_pod(pod("p", nodeSelector={"a": "1"}, affinity={"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": terms}}})).spec
    assert spec.selector == (Requirement("a", Operator.IN, ("1",)),)
    assert spec.node_terms == (
        NodeTerm(),
        NodeTerm((), (Requirement("metadata.name", Operator.IN, ("n-1",)),)),
        NodeTerm((Requirement("b", Operator.NOT_IN, ("1", "2")),)),
    )
    assert only_pod(pod("p", affinity={"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": []}}})).spec.node_terms == ()
    assert only_pod(pod("p")).spec.node_terms is None


def test_tolerations_default_to_equal_and_lose_their_seconds() -> None:
    """A missing operator means Equal with the empty value; tolerationSeconds does not matter for placement."""
    given: list[Body] = [
        {"key": "a"},
        {"operator": "Exists"},
        {"key": "a", "tolerationSeconds": 9},
        {"key": "b", "value": "x", "effect": "NoExecute"},
    ]
    assert only_pod(pod("p", tolerations=given)).spec.tolerations == (
        Toleration("", "Exists"),
        Toleration("a", "Equal"),
        Toleration("b", "Equal", "x", "NoExecute"),
    )


def test_spread_takes_over_the_pods_own_values() -> None:
    """matchLabelKeys: each revision is spread on its own; keys that the pod lacks are left out."""
    constraint = {
        "maxSkew": 2,
        "topologyKey": "topology.kubernetes.io/zone",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "web"}},
        "matchLabelKeys": ["pod-template-hash", "absent"],
        "minDomains": 3,
        "nodeAffinityPolicy": "Ignore",
        "nodeTaintsPolicy": "Honor",
    }
    labels = {"app": "web", "pod-template-hash": "abc"}
    spec = only_pod(pod("p", meta={"labels": labels}, topologySpreadConstraints=[constraint])).spec
    wanted = Selector((Requirement("app", Operator.IN, ("web",)), Requirement("pod-template-hash", Operator.IN, ("abc",))))
    assert spec.spread == (SpreadConstraint("topology.kubernetes.io/zone", 2, wanted, True, 3, False, True),)


def test_spread_defaults() -> None:
    """Node affinity honoured, taints ignored, one domain enough; without a selector it counts nobody; soft stays soft."""
    given: list[Body] = [{"maxSkew": 1, "topologyKey": "k", "whenUnsatisfiable": "ScheduleAnyway", "labelSelector": {}, "minDomains": 4}]
    given.append({"maxSkew": 1, "topologyKey": "k"})
    spec = only_pod(pod("p", topologySpreadConstraints=given)).spec
    assert set(spec.spread) == {SpreadConstraint("k", 1, Selector(), hard=False), SpreadConstraint("k", 1, None)}


def affinity(term: Body, **labels: str) -> PodAffinityTerm:
    namespaces = [
        obj("v1", "Namespace", "blue", meta={"labels": {"team": "x"}}),
        obj("v1", "Namespace", "green", meta={"labels": {"team": "y"}}),
    ]
    body = pod("p", meta={"labels": labels}, affinity={"podAntiAffinity": {REQUIRED: [{"topologyKey": HOSTNAME, **term}]}})
    (found,) = only_pod(body, *namespaces).spec.anti_affinity
    return found


@pytest.mark.parametrize(
    ("term", "namespaces", "everywhere"),
    [
        ({}, ("default",), False),
        ({"namespaces": ["b", "a"]}, ("a", "b"), False),
        ({"namespaceSelector": {}}, (), True),
        ({"namespaceSelector": {"matchLabels": {"team": "x"}}}, ("blue",), False),
        ({"namespaceSelector": {"matchLabels": {"team": "x"}}, "namespaces": ["a"]}, ("a", "blue"), False),
        ({"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "default"}}}, ("default",), False),
        ({"namespaceSelector": {"matchLabels": {"team": "none"}}}, (), False),
    ],
)
def test_the_namespaces_of_a_term(term: Body, namespaces: tuple[str, ...], everywhere: bool) -> None:
    """Its own by default, named ones and selected ones together; an empty selector is all, a null one none."""
    found = affinity({"labelSelector": {}, **term})
    assert (found.namespaces, found.all_namespaces) == (namespaces, everywhere)


def test_label_keys_of_a_term_fold_into_its_selector() -> None:
    """matchLabelKeys add In, mismatchLabelKeys NotIn; folding what the API server has folded already changes nothing."""
    term = {"labelSelector": {"matchLabels": {"app": "web"}}, "matchLabelKeys": ["rev"], "mismatchLabelKeys": ["tenant"]}
    wanted = Selector(
        (Requirement("app", Operator.IN, ("web",)), Requirement("rev", Operator.IN, ("1",)), Requirement("tenant", Operator.NOT_IN, ("t",)))
    )
    assert affinity(term, rev="1", tenant="t").selector == wanted
    folded: Body = {
        "labelSelector": {"matchLabels": {"app": "web"}, "matchExpressions": [{"key": "rev", "operator": "In", "values": ["1"]}]}
    }
    assert affinity({**folded, "matchLabelKeys": ["rev"], "mismatchLabelKeys": ["tenant"]}, rev="1", tenant="t").selector == wanted
    assert affinity({"matchLabelKeys": ["rev"]}, rev="1").selector is None


def test_preferences_keep_their_weights() -> None:
    """They break ties only, so none may turn into a requirement."""
    term = {"topologyKey": HOSTNAME, "labelSelector": {}}
    given = {
        "nodeAffinity": {
            PREFERRED: [
                {"weight": 7, "preference": {"matchExpressions": [{"key": "a", "operator": "Exists"}]}},
                {"weight": 1, "preference": {}},
            ]
        },
        "podAffinity": {PREFERRED: [{"weight": 5, "podAffinityTerm": term}]},
        "podAntiAffinity": {PREFERRED: [{"weight": 100, "podAffinityTerm": term}]},
    }
    spec = only_pod(pod("p", affinity=given)).spec
    near = PodAffinityTerm(HOSTNAME, Selector(), ("default",))
    assert spec.preferred_terms == ((7, NodeTerm((Requirement("a", Operator.EXISTS),))),)
    assert (spec.preferred_affinity, spec.preferred_anti_affinity) == (((5, near),), ((100, near),))
    assert (spec.node_terms, spec.affinity, spec.anti_affinity) == (None, (), ())


# --- one object for equal specs -----------------------------------------------------------------------------------------------


def test_equal_specs_are_one_object_however_they_are_written() -> None:
    """The solver's work grows with specs, not with pods: text, order and node tokens must not tell them apart."""
    token = {"name": "kube-api-access-x", "projected": {"sources": []}}
    one = pod(
        "a",
        containers=[container(cpu="1", memory="1Gi")],
        tolerations=[{"key": "a", "operator": "Exists"}, {"key": "b", "operator": "Exists"}],
    )
    two = pod(
        "b",
        containers=[
            {
                "name": "other",
                "image": "x:2",
                "env": [{"name": "A", "value": "1"}],
                "resources": {"limits": {"cpu": "1000m", "memory": "1024Mi"}},
            }
        ],
        tolerations=[{"key": "b", "operator": "Exists"}, {"key": "a", "operator": "Exists"}],
        volumes=[token],
    )
    three = pod("c", nodeName="n-1", containers=one["spec"]["containers"], tolerations=one["spec"]["tolerations"])
    found = problem(one, two, three, node("n-1"))
    assert found.pods[0].spec is found.pods[1].spec is found.nodes[0].pods[0].spec


@pytest.mark.parametrize(
    "change",
    [
        {"containers": [container(cpu="2")]},
        {"nodeSelector": {"a": "b"}},
        {"tolerations": [{"operator": "Exists"}]},
        {"hostNetwork": True, "containers": [{"name": "m", "ports": [{"containerPort": 1}]}]},
        {"topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "k", "labelSelector": {}}]},
        {"meta": {"labels": {"bayplan.io/restart-cost": "5"}}},
    ],
)
def test_specs_that_differ_stay_apart(change: dict[str, Any]) -> None:
    """Each field that decides where a pod may run is part of its content."""
    found = problem(pod("a"), pod("b", **change))
    assert found.pods[0].spec != found.pods[1].spec
