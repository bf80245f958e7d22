"""Existing nodes: what they can give, what is left, how they were bought, and when they would end."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from packer.model import (
    CAPACITY_TYPE,
    GPU_COUNT,
    GPU_MEMORY,
    GPU_MODEL,
    INSTANCE_TYPE,
    PROVIDER,
    REGION,
    UNSCHEDULABLE_TAINT,
    ZONE,
    Effect,
    Node,
    OfferingKey,
    Taint,
)
from tests.parse.build import Body, container, node, offer, owner, pod, problem

GIB = 1 << 30


def only_node(*items: Body, **options: object) -> Node:
    (found,) = problem(*items, **options).nodes  # type: ignore[arg-type]
    return found


def test_allocatable_not_capacity_is_what_pods_get_rounded_down() -> None:
    """A 2-CPU machine offers 0.94; a promise may never be rounded up."""
    found = only_node(
        node(allocatable={"cpu": "940.5m", "memory": "1.5", "pods": 110, "nvidia.com/gpu": 0}, status={"capacity": {"cpu": "2"}})
    )
    assert found.allocatable == {"cpu": 940, "memory": 1, "pods": 110}
    assert only_node(node(status={"allocatable": None, "capacity": {"cpu": "2", "pods": "5"}})).allocatable == {"cpu": 2000, "pods": 5}


def test_free_is_less_what_is_held_and_one_slot_a_pod() -> None:
    """Also where more is held than the node still offers."""
    items = [pod("a", nodeName="n-1", containers=[container(cpu="3", memory="1Gi", nvidia_com__gpu="1")]), node()]
    found = only_node(*items)
    assert found.free == {"cpu": 1000, "memory": 7 * GIB, "pods": 109, "nvidia.com/gpu": -1}


def test_a_cordon_is_a_taint() -> None:
    """NodeUnschedulable: tolerations of the taint pass it, so it is one."""
    found = only_node(node(unschedulable=True, taints=[{"key": "a", "value": "b", "effect": "NoExecute"}]))
    assert found.taints == (Taint("a", "b", Effect.NO_EXECUTE), Taint(UNSCHEDULABLE_TAINT, "", Effect.NO_SCHEDULE))


@pytest.mark.parametrize(
    ("conditions", "ready"),
    [
        ([], True),
        ([{"type": "Ready", "status": "True"}], True),
        ([{"type": "Ready", "status": "False"}], False),
        ([{"type": "Ready", "status": "Unknown"}], False),
    ],
)
def test_readiness_is_what_the_kubelet_says(conditions: list[Body], ready: bool) -> None:
    """A node without conditions (written by hand) counts as ready."""
    assert only_node(node(status={"conditions": conditions})).ready is ready


def test_a_node_that_is_being_deleted_is_not_ready() -> None:
    """Whatever its conditions say, it takes nothing new."""
    body = node()
    body["metadata"]["deletionTimestamp"] = "2030-01-01T00:00:00Z"
    assert not only_node(body).ready


# --- the offering below -------------------------------------------------------------------------------------------------------

PLACE = {REGION: "us-east-1", ZONE: "us-east-1a", INSTANCE_TYPE: "m5.large"}


@pytest.mark.parametrize(
    ("labels", "provider_id", "provider", "capacity_type"),
    [
        ({}, "aws:///us-east-1a/i-0", "aws", "on-demand"),
        ({"karpenter.sh/capacity-type": "spot"}, "aws:///x", "aws", "spot"),
        ({"eks.amazonaws.com/capacityType": "ON_DEMAND"}, "", "aws", "on-demand"),
        ({"cloud.google.com/gke-spot": "true"}, "gce://p/z/n", "gcp", "spot"),
        ({"kubernetes.azure.com/scalesetpriority": "spot"}, "azure:///subscriptions", "azure", "spot"),
        ({CAPACITY_TYPE: "reserved", PROVIDER: "metal"}, "", "metal", "reserved"),
        ({}, "kwok://n", "kwok", "on-demand"),
        ({}, "", "", "on-demand"),
    ],
)
def test_providers_mark_their_nodes_each_in_their_way(labels: Body, provider_id: str, provider: str, capacity_type: str) -> None:
    """The node's offering follows from labels and the provider id."""
    found = only_node(node(labels={**PLACE, **labels}, providerID=provider_id))
    assert found.offering == OfferingKey(provider, "us-east-1", "us-east-1a", "m5.large", capacity_type)
    assert found.labels[CAPACITY_TYPE] == capacity_type


def test_a_node_without_an_instance_type_has_no_offering() -> None:
    """Bare metal is not for rent."""
    assert only_node(node()).offering is None


ROWS = [
    offer("m4", zone="z-a", price=0.1),
    offer("m4", zone="z-b", price=0.2),
    offer("m4", zone="z-a", price=0.03, capacity_type="spot"),
    offer("m8", zone="", price=0.4),
]


@pytest.mark.parametrize(
    ("labels", "price"),
    [
        ({INSTANCE_TYPE: "m4", ZONE: "z-a"}, 100_000),
        ({INSTANCE_TYPE: "m4", ZONE: "z-a", "karpenter.sh/capacity-type": "spot"}, 30_000),
        ({INSTANCE_TYPE: "m4", ZONE: "dc-3"}, None),
        ({INSTANCE_TYPE: "m4"}, None),
        ({INSTANCE_TYPE: "m8", ZONE: "z-q"}, 400_000),
        ({INSTANCE_TYPE: "m9", ZONE: "z-a"}, None),
    ],
)
def test_a_price_is_known_or_it_is_not(labels: Body, price: int | None) -> None:
    """An unknown price is neither zero nor the dearest: another zone's price, or one of two, is no price."""
    assert only_node(node(labels=labels), catalog=ROWS).price_microusd_per_hour == price


def test_existing_nodes_carry_the_contracts_labels_too() -> None:
    """So that ``gpu-model: T4`` finds the T4 node that runs already; what a node says of itself is never changed."""
    row = offer("g4dn.xlarge", provider="aws", gpu_model="nvidia-t4", gpu_memory="16Gi", resources={"cpu": "4", "nvidia.com/gpu": "1"})
    from_catalog = only_node(node(labels={INSTANCE_TYPE: "g4dn.xlarge", ZONE: "z-q"}), catalog=[row])
    assert {key: from_catalog.labels[key] for key in (GPU_MODEL, GPU_MEMORY, GPU_COUNT)} == {
        GPU_MODEL: "nvidia-t4",
        GPU_MEMORY: "16384",
        GPU_COUNT: "1",
    }
    product = {"nvidia.com/gpu.product": "Tesla-T4", "nvidia.com/gpu.memory": "15360", GPU_COUNT: "9"}
    from_labels = only_node(node(labels=product), catalog=[row])
    assert {key: from_labels.labels[key] for key in (GPU_MODEL, GPU_MEMORY, GPU_COUNT)} == {
        GPU_MODEL: "nvidia-t4",
        GPU_MEMORY: "15360",
        GPU_COUNT: "9",
    }


# --- when it ends -------------------------------------------------------------------------------------------------------------


def running(name: str, duration: str | None, started: str = "2026-01-01T10:00:00Z", **meta: object) -> Body:
    annotations = {"bayplan.io/expected-duration": duration} if duration else {}
    return pod(name, nodeName="n-1", meta={"annotations": annotations, **meta}, status={"startTime": started})


NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("pods", "ends_in_s"),
    [
        ([], None),
        ([running("a", "3h")], 3600),
        ([running("a", "3h"), running("b", "5h")], 3 * 3600),
        ([running("a", "3h"), running("b", None)], None),
        ([running("a", "3h"), running("agent", None, **owner("DaemonSet", "agent"))], 3600),
        ([running("a", "1h")], 0),
        ([running("a", "3h", started="")], 3 * 3600),
    ],
    ids=["empty", "one", "latest", "one unknown", "daemons do not count", "overdue", "not started yet"],
)
def test_a_node_ends_with_the_last_pod_of_known_duration(pods: list[Body], ends_in_s: int | None) -> None:
    """Unknown is the horizon; a pod without a start time runs its whole duration."""
    assert only_node(*pods, node(), now=NOON).ends_in_s == ends_in_s


def test_without_a_clock_the_newest_time_in_the_dump_stands_for_now() -> None:
    """The packer has no clock: a saved input gives the same plan next year, and no pod seems nearer to its end than it is."""
    items = [running("a", "3h"), pod("new", meta={"creationTimestamp": "2026-01-01T11:00:00Z"}), node()]
    assert only_node(*items).ends_in_s == 2 * 3600
