"""A dump stripped to what the packer needs, so that it can be shown to others: it plans exactly as the dump does.

What the schema does not name is gone by reading alone: env, commands, arguments, images, managed fields, messages. Of annotations,
volumes and provider ids only what decides a plan is left.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from packer.parse import schema
from packer.parse.contract import MIRROR, kept_annotations
from packer.parse.objects import KINDS, RawInput, RawPod, Source, Workload, read_objects
from packer.parse.rename import renamed
from packer.parse.workloads import unseen_owners

_VERSIONS = {
    "scheduling.x-k8s.io": "v1alpha1",
    "jobset.x-k8s.io": "v1alpha2",
}
"""Versions of groups that are not at v1; readers go by the group alone."""


def scrub(sources: Iterable[str | Path | bytes | Source], *, rename: bool = False) -> str:
    """JSON: a List of the objects that matter, or a case file if the sources had one. One object a line.

    ``rename`` also replaces the names of pods, namespaces, nodes and other objects, and label values that are not well known, by
    made-up ones in the same order, so that ties still fall the same way.
    """
    raw = read_objects(sources)
    if rename:
        _spell_out(raw)
    parts = renamed(_parts(raw)) if rename else _parts(raw)
    case = raw.catalog is not None or any(pod.background for pod in raw.pods)
    if not case:
        return f'{{"apiVersion":"v1","kind":"List","items":[\n{_lines(item for items in parts.values() for item in items)}\n]}}\n'
    body = ",\n".join(f'"{key}":[\n{_lines(items)}\n]' for key, items in parts.items() if items or key == "catalog")
    return f'{{"input":{{\n{body}\n}}}}\n'


def _parts(raw: RawInput) -> dict[str, list[dict[str, Any]]]:
    """Objects under the keys of a case file; ``catalog`` only if there was one."""
    parts: dict[str, list[dict[str, Any]]] = {
        "pods": [_pod(pod) for pod in raw.pods if not pod.background],
        "existing_pods": [_pod(pod) for pod in raw.pods if pod.background],
        "objects": [_stripped(item) for item in _others(raw)],
    }
    if raw.catalog is not None:
        parts["catalog"] = [_finite(row) for row in raw.catalog]
    return parts


def _spell_out(raw: RawInput) -> None:
    """Say outright what is otherwise told by how names are made: the Deployment of a ReplicaSet that is not in the input, and the
    claim of an ephemeral volume.
    """
    claims = {f"{meta.namespace or 'default'}/{meta.name}" for meta in (claim.metadata for claim in raw.claims) if meta}
    known = {(workload.kind, workload.body.metadata.name) for workload in raw.workloads}
    for pod in raw.pods:
        above = [owner for owner in unseen_owners(pod) if (owner[0], owner[2]) in known]
        if above:
            pod.owners = (schema.OwnerReference(above[0][0], above[0][2], "", True),)
        if any(volume.ephemeral and f"{pod.namespace}/{pod.name}-{volume.name}" in claims for volume in pod.spec.volumes or ()):
            volumes = [
                schema.Volume(volume.name, schema.ClaimVolume(f"{pod.name}-{volume.name}")) if volume.ephemeral else volume
                for volume in pod.spec.volumes or ()
            ]
            pod.spec = msgspec.structs.replace(pod.spec, volumes=volumes)


def _others(raw: RawInput) -> Iterator[dict[str, Any]]:
    for kind, entry in KINDS.items():
        if kind != "Pod":
            for body in getattr(raw, entry.slot):
                if not isinstance(body, Workload):
                    yield _object(kind, body)
                elif body.kind == kind:
                    yield _object(kind, body.body)


def _object(kind: str, body: schema.Part) -> dict[str, Any]:
    group = KINDS[kind].groups[0]
    version = _VERSIONS.get(group, "v1")
    return {"apiVersion": f"{group}/{version}" if group else version, "kind": kind, **msgspec.to_builtins(body)}


def _pod(raw: RawPod) -> dict[str, Any]:
    status = {
        "phase": raw.phase,
        "nominatedNodeName": raw.nominated,
        "startTime": raw.started_at,
        **(msgspec.to_builtins(raw.resize) if raw.resize else {}),
    }
    meta = {
        "name": raw.name,
        "namespace": raw.namespace,
        "uid": raw.uid,
        "labels": raw.labels,
        "annotations": raw.annotations,
        "creationTimestamp": raw.created_at,
        "deletionTimestamp": raw.deleted_at,
        "resourceVersion": raw.resource_version,
        "ownerReferences": msgspec.to_builtins(list(raw.owners)),
    }
    spec = {**msgspec.to_builtins(raw.spec), "nodeName": raw.node_name}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": _told(meta), "spec": _told(spec), "status": _told(status)}
    return {key: _stripped(part) for key, part in pod.items()}


def _finite(row: dict[str, Any]) -> dict[str, Any]:
    """JSON has no NaN: a price that is none stays one as text."""
    return {key: str(item) if isinstance(item, float) and not math.isfinite(item) else item for key, item in row.items()}


def _told(mapping: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in mapping.items() if value}


def _stripped(value: Any) -> Any:
    """The value with annotations, volumes and provider ids cut down wherever they stand (templates have them too)."""
    if isinstance(value, list):
        return [_stripped(item) for item in value]
    if not isinstance(value, dict):
        return value
    cut = {key: _CUTS[key](item) if key in _CUTS else _stripped(item) for key, item in value.items()}
    return {key: item for key, item in cut.items() if item or key not in _CUTS}


def _annotations(value: Any) -> dict[str, str]:
    return {key: "true" if key == MIRROR else text for key, text in (kept_annotations(value) or {}).items()}


def _volumes(value: Any) -> list[Any]:
    return [_stripped(volume) for volume in value if "persistentVolumeClaim" in volume or "ephemeral" in volume]


def _provider_id(value: Any) -> str:
    scheme, found, _ = str(value).partition("://")
    return f"{scheme}://" if found else ""


_CUTS: dict[str, Callable[[Any], Any]] = {
    "annotations": _annotations,
    "volumes": _volumes,
    "providerID": _provider_id,
    "labels": dict,
    "matchLabels": dict,
    "nodeSelector": dict,
}
"""Labels are left alone: a label may itself be called ``volumes``."""


def _lines(items: Iterable[dict[str, Any]]) -> str:
    return ",\n".join(msgspec.json.encode(item).decode() for item in items)
