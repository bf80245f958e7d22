"""Small Kubernetes objects for the tests of reading, as the API server would print them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from packer import parse
from packer.model import Pod, Policy, Problem

Body = dict[str, Any]


def container(name: str = "main", **requests: Any) -> Body:
    """A container with requests; ``cpu="1"``, ``nvidia_com__gpu="1"`` (underscores stand for dots, two for a slash)."""
    named = {key.replace("__", "/").replace("_", "."): value for key, value in requests.items()}
    return {"name": name, "image": "registry.example/app:1", "resources": {"requests": named}}


def pod(name: str = "web", *, namespace: str = "default", meta: Body | None = None, status: Body | None = None, **spec: Any) -> Body:
    spec.setdefault("containers", [container(cpu="1", memory="1Gi")])
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, **(meta or {})},
        "spec": spec,
        "status": {"phase": "Running" if spec.get("nodeName") else "Pending", **(status or {})},
    }


def node(
    name: str = "n-1", *, labels: Body | None = None, allocatable: Body | None = None, status: Body | None = None, **spec: Any
) -> Body:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **(labels or {})}},
        "spec": spec,
        "status": {
            "allocatable": allocatable or {"cpu": "4", "memory": "8Gi", "pods": "110"},
            "conditions": [{"type": "Ready", "status": "True"}],
            **(status or {}),
        },
    }


def obj(api_version: str, kind: str, name: str, *, namespace: str | None = None, meta: Body | None = None, **fields: Any) -> Body:
    where = {"namespace": namespace} if namespace else {}
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name, **where, **(meta or {})}, **fields}


def owner(kind: str, name: str, uid: str = "") -> Body:
    return {"ownerReferences": [{"apiVersion": "v1", "kind": kind, "name": name, "uid": uid, "controller": True}]}


def as_list(items: Iterable[Body]) -> bytes:
    """What ``kubectl get -o json`` prints."""
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": list(items)}).encode()


def problem(*items: Body, catalog: Iterable[Body] = (), policy: Policy | None = None, **options: Any) -> Problem:
    offerings, notices = parse.read_catalog(json.dumps(list(catalog)))
    return parse.build_problem(parse.read_objects([as_list(items)]), offerings, policy, notices, **options)


def only_pod(*items: Body, **options: Any) -> Pod:
    """The one waiting pod of the input."""
    (found,) = problem(*items, **options).pods
    return found


def skipped(found: Problem) -> dict[str, str]:
    return {one.pod: one.reason.value for one in found.skipped}


def offer(instance_type: str = "c4", **fields: Any) -> Body:
    return {
        "instance_type": instance_type,
        "zone": "z-a",
        "capacity_type": "on-demand",
        "price": 0.1,
        "resources": {"cpu": "4", "memory": "8Gi", "pods": "30"},
        **fields,
    }
