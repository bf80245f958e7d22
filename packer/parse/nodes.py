"""Existing nodes: allocatable, what is free of it, taints, readiness, and the offering they were bought as."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from packer.errors import InputError
from packer.model import (
    ATTACHABLE_PREFIX,
    CPU,
    MEMORY,
    PODS,
    UNSCHEDULABLE_TAINT,
    Effect,
    Node,
    Pod,
    Taint,
)
from packer.parse import schema
from packer.parse.gpus import GpuModels
from packer.parse.nodelabels import Prices, offering_key, with_derived
from packer.parse.requests import sum_requests
from packer.parse.terms import taints
from packer.quantity import floor_milli, floor_units

Attached = Mapping[str, tuple[tuple[str, str], ...]]
_ALWAYS_LISTED = (CPU, MEMORY, PODS)


def read_node(
    body: schema.NodeObject,
    holders: Sequence[Pod],
    *,
    attached: Attached,
    attach_limits: Mapping[str, int],
    prices: Prices,
    models: GpuModels,
    started: Mapping[str, str],
    now: datetime | None,
) -> Node:
    """A Node with its holders. ``attached`` and ``started`` go by pod key; ``now`` is when the input was taken, if that is known.

    Raises InputError, which names the node, for quantities, effects and dates that cannot be read.
    """
    meta, status, spec = body.metadata or schema.Metadata(), body.status or schema.NodeStatus(), body.spec or schema.NodeSpec()
    name = meta.name or ""
    try:
        given = allocatable(status.allocatable if status.allocatable is not None else status.capacity, attach_limits)
        found = taints(spec.taints)
    except InputError as error:
        raise type(error)(error.what, where=f"Node {name}: {error.where}", mend=error.mend) from error
    if spec.unschedulable:
        found = tuple(sorted({*found, Taint(UNSCHEDULABLE_TAINT, "", Effect.NO_SCHEDULE)}))
    labels = meta.labels or {}
    key = offering_key(labels, spec.provider_id or "")
    offering = prices.find(key) if key else None
    machine = offering or (prices.any_of(key) if key else None)
    pods = tuple(sorted(holders, key=lambda pod: (pod.namespace, pod.name, pod.uid)))
    return Node(
        name=name,
        labels=with_derived(labels, spec.provider_id or "", machine, models),
        taints=found,
        allocatable=given,
        free=_free(given, pods, attached),
        pods=pods,
        ready=_ready(status) and not meta.deletion_timestamp,
        offering=offering.key if offering else key,
        price_microusd_per_hour=offering.price_microusd_per_hour if offering else None,
        ends_in_s=_ends_in(pods, started, now),
    )


def allocatable(quantities: schema.Quantities | None, attach_limits: Mapping[str, int] | None = None) -> dict[str, int]:
    """What pods can have, rounded down. Resources of which there are none are left out, limits on attached volumes never."""
    found = {
        name: (floor_milli if name == CPU else floor_units)(text, where=f"status.allocatable.{name}")
        for name, text in sorted((quantities or {}).items())
    }
    found.update(attach_limits or {})
    return {
        name: amount for name, amount in sorted(found.items()) if amount > 0 or name in _ALWAYS_LISTED or name.startswith(ATTACHABLE_PREFIX)
    }


def _free(given: Mapping[str, int], pods: Iterable[Pod], attached: Attached) -> dict[str, int]:
    """allocatable less what is held; a volume that several pods of a node share is attached once (NodeVolumeLimits)."""
    pods = tuple(pods)
    used = sum_requests(pod.spec.requests for pod in pods)
    used[PODS] = len(pods)
    used = {name: amount for name, amount in used.items() if not name.startswith(ATTACHABLE_PREFIX)}
    for resource, _ in {pair for pod in pods for pair in attached.get(pod.key, ())}:
        if resource in given:
            used[resource] = used.get(resource, 0) + 1
    return {name: given.get(name, 0) - used.get(name, 0) for name in sorted({*given, *used})}


def _ready(status: schema.NodeStatus) -> bool:
    """Not ready only if the kubelet or the node controller says so; kube-scheduler itself goes by taints."""
    return all(condition.status == "True" for condition in status.conditions or () if condition.type == "Ready")


def _ends_in(pods: Iterable[Pod], started: Mapping[str, str], now: datetime | None) -> int | None:
    """Seconds until the last pod ends, when all pods but those of daemons tell their expected duration; else None.

    A pod that is overdue ends now; one that was just bound and has no start time yet runs its whole duration.
    """
    remaining = []
    for pod in pods:
        if pod.owner and pod.owner.kind in ("DaemonSet", "Node"):
            continue
        if pod.spec.expected_duration_s is None:
            return None
        begun = parse_time(started.get(pod.key, ""))
        passed = int((now - begun).total_seconds()) if now and begun else 0
        remaining.append(max(0, pod.spec.expected_duration_s - max(0, passed)))
    return max(remaining, default=None)


def parse_time(text: str) -> datetime | None:
    """An RFC 3339 time as the API server writes it; None for anything else."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return found if found.tzinfo else None
