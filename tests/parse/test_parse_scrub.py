"""Scrub: nothing that could be secret is left, and the plan is the same."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml

from packer import parse
from packer.parse.scrub import scrub
from tests.parse.build import Body, as_list, container, node, obj, offer, owner, pod

SECRET = "hunter2"


def dump() -> list[Body]:
    """A bit of everything, each with a secret where real dumps have them."""
    telling = {
        "env": [{"name": "PASSWORD", "value": SECRET}],
        "command": ["sh", "-c", SECRET],
        "args": [SECRET],
        "image": f"registry.example/{SECRET}:1",
        "volumeMounts": [{"name": "v", "mountPath": f"/{SECRET}"}],
        "livenessProbe": {"exec": {"command": [SECRET]}},
    }
    meta: Body = {
        "uid": "u-1",
        "labels": {"app": "web", "volumes": "a-label"},
        "annotations": {
            "kubectl.kubernetes.io/last-applied-configuration": SECRET,
            "bayplan.io/note": SECRET,
            "bayplan.io/gpu-model": "T4,!M60",
            "scheduling.k8s.io/group-name": "g",
        },
        "managedFields": [{"manager": SECRET}],
    }
    volumes = [
        {"name": "s", "secret": {"secretName": SECRET}},
        {"name": "v", "persistentVolumeClaim": {"claimName": "data"}},
        {"name": "h", "hostPath": {"path": f"/{SECRET}"}},
    ]
    template = {
        "metadata": {"labels": {"app": "d"}, "annotations": {"x": SECRET}},
        "spec": {"containers": [telling], "volumes": volumes[:1]},
    }
    mirror = {"annotations": {"kubernetes.io/config.mirror": SECRET, "kubernetes.io/config.source": SECRET}}
    resized = {
        "message": SECRET,
        "containerStatuses": [
            {"name": "main", "image": SECRET, "resources": {"requests": {"cpu": "3"}}, "allocatedResources": {"cpu": "3"}}
        ],
    }
    affinity = {
        "podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {
                    "topologyKey": "kubernetes.io/hostname",
                    "labelSelector": {"matchLabels": {"app": "web"}},
                    "namespaceSelector": {"matchLabels": {"t": "1"}},
                }
            ]
        }
    }
    return [
        pod("a", meta=meta, containers=[{**container(cpu="1"), **telling}], volumes=volumes, affinity=affinity, serviceAccountName=SECRET),
        pod("b", containers=[container(cpu="1")], nodeName="n-1", status=resized),
        pod("static-n-1", meta=mirror, nodeName="n-1"),
        pod("agent-1", meta=owner("DaemonSet", "agent"), nodeName="n-1"),
        pod("gated", schedulingGates=[{"name": "example.com/quota"}]),
        pod("done", status={"phase": "Succeeded", "message": SECRET}),
        node(
            "n-1",
            providerID=f"aws:///{SECRET}/i-1",
            labels={"topology.kubernetes.io/zone": "z-a", "node.kubernetes.io/instance-type": "c4"},
        ),
        obj("v1", "PersistentVolumeClaim", "data", namespace="default", meta={"annotations": {"x": SECRET}}, spec={"volumeName": "vol"}),
        obj(
            "v1",
            "PersistentVolume",
            "vol",
            meta={"labels": {"topology.kubernetes.io/zone": "z-a"}},
            spec={"csi": {"driver": "d", "volumeHandle": "h", "volumeAttributes": {"k": SECRET}}},
        ),
        obj("v1", "Namespace", "default", meta={"labels": {"t": "1"}}),
        obj("v1", "Secret", "s", namespace="default", data={"k": SECRET}),
        obj("v1", "ConfigMap", "c", namespace="default", data={"k": SECRET}),
        obj("scheduling.volcano.sh/v1beta1", "PodGroup", "g", namespace="default", spec={"minMember": 1, "queue": SECRET}),
        obj("apps/v1", "Deployment", "d", namespace="default", spec={"replicas": 2, "template": template}),
        obj("apps/v1", "DaemonSet", "agent", namespace="default", spec={"template": template}),
        obj("scheduling.k8s.io/v1", "PriorityClass", "base", value=5, globalDefault=True, description=SECRET),
    ]


CATALOG = [offer("c4"), offer("nan-type", price=float("nan"))]


def case(items: list[Body]) -> bytes:
    pods = [one for one in items if one["kind"] == "Pod"]
    others = [one for one in items if one["kind"] != "Pod"]
    return yaml.safe_dump({"id": 1, "input": {"pods": pods[:1], "existing_pods": pods[1:], "objects": others, "catalog": CATALOG}}).encode()


@pytest.mark.parametrize("form", [as_list, case], ids=["dump", "case"])
def test_the_scrubbed_dump_is_the_same_problem(form: Any) -> None:
    """Equal problems give equal digests, so what is reported from a scrubbed dump is the reporter's own case."""
    text = form(dump())
    assert parse.load([scrub([text]).encode()]) == parse.load([text])


@pytest.mark.parametrize("form", [as_list, case], ids=["dump", "case"])
@pytest.mark.parametrize("rename", [False, True])
def test_no_secret_is_left(form: Any, rename: bool) -> None:
    """env, commands, images, annotations, paths, messages, ids of accounts: none is needed, so none is kept."""
    assert SECRET not in scrub([form(dump())], rename=rename)


def test_scrubbing_twice_changes_nothing() -> None:
    """What is left is needed."""
    once = scrub([as_list(dump())])
    assert scrub([once.encode()]) == once


def test_made_up_names_keep_the_problem_but_for_names() -> None:
    """As many pods, the same requests, domains, gangs and skips; no name of before."""
    text = as_list(dump())
    before, after = parse.load([text]), parse.load([scrub([text], rename=True).encode()])
    assert [one.spec.requests for one in after.pods] == [one.spec.requests for one in before.pods]
    assert [len(one.spec.volume_terms) for one in after.pods] == [len(one.spec.volume_terms) for one in before.pods]
    assert [one.gang is None for one in after.pods] == [one.gang is None for one in before.pods]
    assert sorted(one.reason for one in after.skipped) == sorted(one.reason for one in before.skipped)
    assert [one.free for one in after.nodes] == [one.free for one in before.nodes]
    assert [one.labels["topology.kubernetes.io/zone"] for one in after.nodes] == ["z-a"]
    scrubbed = scrub([text], rename=True)
    assert not [name for name in ("static-n-1", "agent", "gated", '"data"', '"vol"', '"web"') if name in scrubbed]


def test_made_up_names_match_where_the_old_ones_did() -> None:
    """Anti-affinity between pods of one app still holds between them, and the catalog's own labels are still found."""
    labels = {"pool": "blue"}
    term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "web"}}}
    required = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    items = [pod(name, meta={"labels": {"app": "web"}}, affinity=required, nodeSelector=labels) for name in ("a", "b")]
    text = json.dumps({"input": {"pods": items, "catalog": [offer("c4", labels=labels)]}}).encode()
    found = parse.load([scrub([text], rename=True).encode()])
    one, two = found.pods
    (wanted,) = one.spec.anti_affinity
    assert wanted.selector is not None
    assert wanted.selector.requirements[0].values == (two.labels["app"],)
    assert one.spec.selector[0].values == (found.offerings[0].labels["pool"],)
