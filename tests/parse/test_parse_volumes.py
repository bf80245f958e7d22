"""Volumes: where claims let a pod run, and when a pod waits for storage rather than for a node."""

from __future__ import annotations

from typing import Any

import pytest

from packer.model import REGION, ZONE, NodeTerm, Operator, PodSpec, Requirement
from packer.rules import node_labels_ok
from tests.parse.build import Body, node, obj, offer, only_pod, pod, problem, skipped

BETA = "failure-domain.beta.kubernetes.io/zone"
WAITS = {"volumeBindingMode": "WaitForFirstConsumer", "provisioner": "disk.example.com"}
MOUNT = {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]}


def claim(name: str = "data", *, phase: str = "", meta: Body | None = None, **spec: Any) -> Body:
    status = {"status": {"phase": phase}} if phase else {}
    return obj(
        "v1", "PersistentVolumeClaim", name, namespace="default", meta=meta, spec={"accessModes": ["ReadWriteOnce"], **spec}, **status
    )


def volume(name: str = "vol", *, labels: Body | None = None, **spec: Any) -> Body:
    body = {"capacity": {"storage": "10Gi"}, "accessModes": ["ReadWriteOnce"], **spec}
    return obj("v1", "PersistentVolume", name, meta={"labels": labels or {}}, spec=body)


def storage_class(name: str = "std", *, meta: Body | None = None, **fields: Any) -> Body:
    return obj("storage.k8s.io/v1", "StorageClass", name, meta=meta, **fields)


def bound(*, labels: Body | None = None, **spec: Any) -> PodSpec:
    return only_pod(pod("p", **MOUNT), claim(volumeName="vol"), volume(labels=labels, **spec)).spec


def required(*terms: Body) -> Body:
    return {"required": {"nodeSelectorTerms": [{"matchExpressions": list(term)} for term in terms]}}


def zones_open_to(spec: PodSpec) -> set[str]:
    """Of a few kinds of node, those that the volumes accept."""
    kinds = {
        "a": {ZONE: "z-a"},
        "b": {ZONE: "z-b"},
        "c": {ZONE: "z-c"},
        "beta b": {BETA: "z-b"},
        "both": {BETA: "z-a", ZONE: "z-b"},
        "none": {},
    }
    return {name for name, labels in kinds.items() if node_labels_ok(spec, labels, None) is None}


@pytest.mark.parametrize(
    ("labels", "open_to"),
    [
        ({ZONE: "z-b"}, {"b", "both", "none"}),
        ({BETA: "z-b"}, {"b", "beta b", "none"}),
        ({BETA: "z-b__z-c"}, {"b", "c", "beta b", "none"}),
        ({}, {"a", "b", "c", "beta b", "both", "none"}),
    ],
)
def test_zone_labels_of_a_bound_volume(labels: Body, open_to: set[str]) -> None:
    """VolumeZone: the label as it is first, then its GA name; ``__`` separates zones; nodes without any topology label pass."""
    assert zones_open_to(bound(labels=labels)) == open_to


def test_zone_and_region_labels_hold_together() -> None:
    """All labels of a volume must match."""
    spec = bound(labels={ZONE: "z-a", REGION: "r-1"})
    assert node_labels_ok(spec, {ZONE: "z-a", REGION: "r-1"}, None) is None
    assert node_labels_ok(spec, {ZONE: "z-a", REGION: "r-2"}, None) is not None


def test_node_affinity_of_a_bound_volume() -> None:
    """VolumeBinding: the volume's own terms, ORed."""
    terms = required([{"key": ZONE, "operator": "In", "values": ["z-a"]}], [{"key": "disk", "operator": "Exists"}])
    assert bound(nodeAffinity=terms).volume_terms == (
        (NodeTerm((Requirement("disk", Operator.EXISTS),)), NodeTerm((Requirement(ZONE, Operator.IN, ("z-a",)),))),
    )


WAITING = {
    "no such claim": [],
    "claim without a class": [claim()],
    "class that binds at once": [claim(storageClassName="std"), storage_class(provisioner="d")],
    "class unknown": [claim(storageClassName="std")],
    "default class does not help a claim that is there": [
        claim(),
        storage_class(**WAITS, meta={"annotations": {"storageclass.kubernetes.io/is-default-class": "true"}}),
    ],
    "claim that names its volume but is not bound": [claim(volumeName="vol", phase="Pending"), volume()],
    "volume unknown": [claim(volumeName="vol")],
    "claim being deleted": [claim(volumeName="vol", meta={"deletionTimestamp": "2030-01-01T00:00:00Z"}), volume()],
    "claim that lost its volume": [claim(volumeName="vol", phase="Lost"), volume()],
    "local class without a free volume": [
        claim(storageClassName="local"),
        storage_class("local", volumeBindingMode="WaitForFirstConsumer", provisioner="kubernetes.io/no-provisioner"),
    ],
}


@pytest.mark.parametrize("why", WAITING)
def test_a_pod_that_waits_for_storage_is_no_shortage_of_nodes(why: str) -> None:
    """VolumeBinding fails before it looks at nodes: whatever was bought would stay empty."""
    found = problem(pod("p", **MOUNT), *WAITING[why])
    assert skipped(found) == {"default/p": "Volume"}
    assert "data" in found.skipped[0].message


def test_waiting_for_the_first_consumer_asks_for_what_the_class_allows() -> None:
    """allowedTopologies: ORed terms of ANDed keys."""
    topologies = [{"matchLabelExpressions": [{"key": ZONE, "values": ["z-b", "z-a"]}]}]
    spec = only_pod(pod("p", **MOUNT), claim(storageClassName="std"), storage_class(**WAITS, allowedTopologies=topologies)).spec
    assert zones_open_to(spec) == {"a", "b", "both"}
    assert only_pod(pod("p", **MOUNT), claim(storageClassName="std"), storage_class(**WAITS)).spec.volume_terms == ()


def test_the_beta_annotation_names_the_class_too() -> None:
    """GetPersistentVolumeClaimClass looks there first."""
    meta = {"annotations": {"volume.beta.kubernetes.io/storage-class": "std"}}
    assert only_pod(pod("p", **MOUNT), claim(meta=meta, storageClassName="gone"), storage_class(**WAITS)).spec.volume_terms == ()


def test_a_provisioner_at_work_has_chosen_its_node() -> None:
    """The selected-node annotation: provisioning is under way for that node alone."""
    meta = {"annotations": {"volume.kubernetes.io/selected-node": "n-7"}}
    spec = only_pod(pod("p", **MOUNT), claim(storageClassName="std", meta=meta), storage_class(**WAITS)).spec
    assert node_labels_ok(spec, {}, "n-7") is None
    assert node_labels_ok(spec, {}, "n-8") is not None


@pytest.mark.parametrize(
    ("change", "fits"),
    [
        ({}, True),
        ({"capacity": {"storage": "1Gi"}}, False),
        ({"accessModes": ["ReadOnlyMany"]}, False),
        ({"volumeMode": "Block"}, False),
        ({"storageClassName": "other"}, False),
        ({"claimRef": {"namespace": "default", "name": "other"}}, False),
        ({"claimRef": {"namespace": "default", "name": "data"}}, True),
        ({"claimRef": {"namespace": "default", "name": "data"}, "accessModes": []}, True),
    ],
)
def test_a_static_volume_must_fit_its_claim(change: Body, fits: bool) -> None:
    """FindMatchingVolume: size, modes, class, and not promised to another."""
    local = storage_class("local", volumeBindingMode="WaitForFirstConsumer", provisioner="kubernetes.io/no-provisioner")
    on_b = required([{"key": ZONE, "operator": "In", "values": ["z-b"]}])
    wanted = claim(storageClassName="local", resources={"requests": {"storage": "5Gi"}})
    found = problem(pod("p", **MOUNT), wanted, local, volume(**{"storageClassName": "local", "nodeAffinity": on_b, **change}))
    assert skipped(found) == ({} if fits else {"default/p": "Volume"})
    if fits:
        assert zones_open_to(found.pods[0].spec) == {"b", "both"}


def test_read_write_once_pod_claims_are_exclusive() -> None:
    """VolumeRestrictions: one pod in the cluster."""
    spec = only_pod(pod("p", **MOUNT), claim(volumeName="vol", accessModes=["ReadWriteOncePod"]), volume()).spec
    assert spec.exclusive_claims == ("default/data",)


def test_ephemeral_volumes_are_claims_made_with_the_pod() -> None:
    """The claim appears within moments, so its class decides and nothing waits for it."""
    ephemeral = {"volumes": [{"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"spec": {"storageClassName": "std"}}}}]}
    topologies = [{"matchLabelExpressions": [{"key": ZONE, "values": ["z-c"]}]}]
    assert only_pod(pod("p", **ephemeral)).spec.volume_terms == ()
    assert zones_open_to(only_pod(pod("p", **ephemeral), storage_class(provisioner="d", allowedTopologies=topologies)).spec) == {"c"}
    made = claim("p-scratch", volumeName="vol")
    assert zones_open_to(only_pod(pod("p", **ephemeral), made, volume(labels={ZONE: "z-a"})).spec) == {"a", "none"}


def test_attach_limits_count_volumes_where_a_driver_tells_them() -> None:
    """NodeVolumeLimits: CSINode says how many; a volume that two pods of a node share is attached once."""
    csi = {"csi": {"driver": "disk.example.com", "volumeHandle": "h"}}
    resource = "attachable-volumes-csi-disk.example.com"
    drivers = {"drivers": [{"name": "disk.example.com", "allocatable": {"count": 3}}, {"name": "other"}]}
    limits = obj("storage.k8s.io/v1", "CSINode", "n-1", spec=drivers)
    running = [pod(name, nodeName="n-1", **MOUNT) for name in ("a", "b")]
    found = problem(pod("p", **MOUNT), *running, claim(volumeName="vol"), volume(**csi), node("n-1"), limits)
    assert found.pods[0].spec.requests[resource] == 1
    assert (found.nodes[0].allocatable[resource], found.nodes[0].free[resource]) == (3, 2)
    assert resource not in problem(pod("p", **MOUNT), claim(volumeName="vol"), volume(**csi)).pods[0].spec.requests
    limited = offer(resources={"cpu": "4", "memory": "8Gi", "pods": "30", resource: "25"})
    assert only_pod(pod("p", **MOUNT), claim(volumeName="vol"), volume(**csi), catalog=[limited]).spec.requests[resource] == 1


def test_pods_with_volumes_alike_share_their_spec() -> None:
    """Claims differ by name, not by what they ask of a node."""
    both = [pod(name, volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": f"data-{name}"}}]) for name in ("a", "b")]
    claims = [claim(f"data-{name}", volumeName=f"vol-{name}") for name in ("a", "b")]
    found = problem(*both, *claims, volume("vol-a", labels={ZONE: "z-a"}), volume("vol-b", labels={ZONE: "z-a"}))
    assert found.pods[0].spec is found.pods[1].spec
