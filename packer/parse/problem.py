"""The whole input to one Problem: every waiting pod either to be planned or skipped for a reason, every running pod on its node."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from typing import Any, TypeVar

from packer.model import GPU_MODEL, Node, Notice, Offering, Operator, Pod, Policy, Problem, Requirement, Skipped, SkipReason
from packer.parse import schema
from packer.parse.catalog import read_rows, without_duplicates
from packer.parse.contract import IGNORE, MIRROR, PLACEMENT_GATE, told
from packer.parse.daemons import read_daemons
from packer.parse.gangs import Gangs
from packer.parse.gpus import GpuModels
from packer.parse.nodelabels import Prices
from packer.parse.nodes import parse_time, read_node
from packer.parse.objects import RawInput, RawPod
from packer.parse.pods import Context, Parsed, PodReader, controller_of
from packer.parse.volumes import VolumeIndex
from packer.parse.workloads import synthesise

SCHEDULERS = ("default-scheduler",)
NAMESPACE_NAME_LABEL = "kubernetes.io/metadata.name"
Body = TypeVar("Body")


def build_problem(
    raw: RawInput,
    offerings: Iterable[Offering] | None = None,
    policy: Policy | None = None,
    notices: Iterable[Notice] = (),
    *,
    schedulers: Collection[str] = SCHEDULERS,
    now: datetime | None = None,
) -> Problem:
    """A validated Problem. ``offerings`` are added to the catalog of a case file in the input, if there is one.

    Waiting pods of schedulers other than ``schedulers`` are skipped. ``now`` (the newest time in the input unless given) is used
    only for how long running pods of known duration still run. Raises InputError for objects that cannot be what they claim.
    """
    raw = _deduplicated(raw)
    rows, row_notices = read_rows(raw.catalog or ())
    catalog, duplicate_notices = without_duplicates((*(offerings or ()), *rows))
    models = GpuModels(offering.labels[GPU_MODEL] for offering in catalog if GPU_MODEL in offering.labels)
    made = synthesise(raw)
    pods = [*raw.pods, *made.pods]
    volumes = VolumeIndex(raw.claims, raw.volumes, raw.storage_classes, raw.csi_nodes, made.claims)
    volumes.limit_also({resource for offering in catalog for resource in offering.allocatable})
    reader = PodReader(_context(raw, pods, volumes, models))
    gangs = Gangs(pods, raw.groups)
    sorted_pods = _Sorted(raw, reader, gangs, frozenset(schedulers))
    for pod in pods:
        sorted_pods.add(pod)
    daemons, daemon_notices = read_daemons(raw.daemon_sets, raw.pods, reader)
    nodes = _nodes(raw, sorted_pods, volumes, Prices(catalog), models, now or _newest(raw))
    all_notices = (*notices, *row_notices, *duplicate_notices, *daemon_notices, *gangs.notices, *sorted_pods.notices(reader, pods))
    return Problem(
        pods=tuple(sorted_pods.waiting),
        nodes=nodes,
        offerings=catalog,
        daemons=tuple(daemons),
        policy=with_models(policy or Policy(), models),
        skipped=tuple(sorted(sorted_pods.skipped, key=lambda one: (one.pod, one.reason))),
        notices=tuple(sorted(set(all_notices), key=lambda one: (one.reason, one.message))),
    )


def with_models(policy: Policy, models: GpuModels) -> Policy:
    """The policy with its GPU models in the catalog's spelling."""

    def spelled(requirement: Requirement) -> tuple[Requirement, ...]:
        if requirement.key != GPU_MODEL or requirement.operator not in (Operator.IN, Operator.NOT_IN):
            return (requirement,)
        wanted = requirement.operator is Operator.IN
        return models.of(requirement.values if wanted else (), () if wanted else requirement.values)

    rules = tuple(
        dataclasses.replace(
            rule,
            alternatives=tuple(
                dataclasses.replace(one, requirements=tuple(new for old in one.requirements for new in spelled(old)))
                for one in rule.alternatives
            ),
        )
        for rule in policy.rules
    )
    return dataclasses.replace(policy, rules=rules)


class _Sorted:
    """Pods as they are told apart: waiting, skipped for a reason, or holding room on a node."""

    def __init__(self, raw: RawInput, reader: PodReader, gangs: Gangs, schedulers: frozenset[str]) -> None:
        self.waiting: list[Pod] = []
        self.skipped: list[Skipped] = []
        self.holders: dict[str, list[Pod]] = {(node.metadata or schema.Metadata()).name or "": [] for node in raw.nodes}
        self.attached: dict[str, tuple[tuple[str, str], ...]] = {}
        self.started: dict[str, str] = {}
        self._reader, self._gangs, self._schedulers = reader, gangs, schedulers
        self._astray: dict[str, list[str]] = {}

    def add(self, raw: RawPod) -> None:
        if raw.finished:
            self._skip(raw, SkipReason.FINISHED, f"it has finished ({raw.phase})")
        elif raw.node_name:
            self._hold(self._reader.pod(raw), raw, raw.node_name)
        else:
            self._pending(raw)

    def _pending(self, raw: RawPod) -> None:
        reason = _not_ours(raw, self._schedulers)
        if reason:
            self._skip(raw, *reason)
            return
        parsed = self._reader.pod(raw, self._gangs.of(raw))
        if raw.nominated and (raw.nominated in self.holders or not self.holders):
            self._hold(parsed, raw, raw.nominated)
            self._skip(raw, SkipReason.NOMINATED, f"it is to run on node {raw.nominated}, whose room it holds")
        elif parsed.unsupported or raw.key in self._gangs.problems:
            self._skip(raw, SkipReason.UNSUPPORTED, parsed.unsupported or self._gangs.problems[raw.key])
        elif parsed.volume_problem:
            self._skip(raw, SkipReason.VOLUME, parsed.volume_problem)
        else:
            self.waiting.append(parsed.pod)

    def _hold(self, parsed: Parsed, raw: RawPod, node: str) -> None:
        """All assigned pods count, whoever bound them, terminating ones too (NodeInfo.Requested)."""
        if node not in self.holders:
            self._astray.setdefault(node, []).append(raw.key)
            return
        self.holders[node].append(parsed.pod)
        if parsed.attached:
            self.attached[raw.key] = parsed.attached
        self.started[raw.key] = raw.started_at

    def _skip(self, raw: RawPod, reason: SkipReason, message: str) -> None:
        if not raw.background:
            self.skipped.append(Skipped(raw.key, reason, message))

    def notices(self, reader: PodReader, pods: Iterable[RawPod]) -> list[Notice]:
        found = []
        if self._astray:
            count, nodes = sum(map(len, self._astray.values())), sorted(self._astray)
            first = ", ".join(nodes[:3]) + (", …" if len(nodes) > 3 else "")
            text = f"{count} pods are bound to {len(nodes)} nodes that the input lacks ({first}): add nodes to what kubectl gets"
            found.append(Notice("NodeUnknown", text))
        for name in sorted({pod.spec.priority_class_name or "" for pod in pods if reader.unknown_class(pod.spec)}):
            found.append(Notice("PriorityClassUnknown", f"priority class {name} is not in the input: its pods count as priority 0"))
        return found


def _not_ours(raw: RawPod, schedulers: frozenset[str]) -> tuple[SkipReason, str] | None:
    """Why a pod that is not bound is not to be planned, from what it says of itself."""
    owner = controller_of(raw)
    scheduler = raw.spec.scheduler_name or "default-scheduler"
    gates = [gate.name for gate in raw.spec.scheduling_gates or () if gate.name != PLACEMENT_GATE]
    if raw.deleted_at:
        return SkipReason.TERMINATING, "it is being deleted"
    if (told(raw.labels, raw.annotations, IGNORE) or "").lower() == "true":
        return SkipReason.IGNORED, f"{IGNORE} is true"
    if MIRROR in raw.annotations or (owner and owner.kind == "Node"):
        return SkipReason.STATIC, "a static pod runs on the node whose kubelet made it"
    if owner and owner.kind == "DaemonSet":
        return SkipReason.DAEMON_SET, f"DaemonSet {owner.name} pins it to its node"
    if scheduler not in schedulers:
        return SkipReason.OTHER_SCHEDULER, f"its scheduler is {scheduler}"
    if gates:
        return SkipReason.GATED, f"scheduling gates hold it: {', '.join(sorted(gates))}"
    return None


def _nodes(raw: RawInput, pods: _Sorted, volumes: VolumeIndex, prices: Prices, models: GpuModels, now: datetime | None) -> tuple[Node, ...]:
    found = []
    for body in raw.nodes:
        name = (body.metadata or schema.Metadata()).name or ""
        found.append(
            read_node(
                body,
                pods.holders[name],
                attached=pods.attached,
                attach_limits=volumes.attach_limits.get(name, {}),
                prices=prices,
                models=models,
                started=pods.started,
                now=now,
            )
        )
    return tuple(found)


def _context(raw: RawInput, pods: Iterable[RawPod], volumes: VolumeIndex, models: GpuModels) -> Context:
    namespaces = {name: {NAMESPACE_NAME_LABEL: name} for name in sorted({pod.namespace for pod in pods})}
    for body in raw.namespaces:
        meta = body.metadata or schema.Metadata()
        namespaces[meta.name or ""] = {NAMESPACE_NAME_LABEL: meta.name or "", **(meta.labels or {})}
    values = {(one.metadata or schema.Metadata()).name or "": one.value or 0 for one in raw.priority_classes}
    defaults = [one.value or 0 for one in raw.priority_classes if one.global_default]
    return Context(namespaces, values, min(defaults, default=0), volumes, models)


def _newest(raw: RawInput) -> datetime | None:
    """The newest time in the input: no later than when it was taken, so that pods never seem nearer to their end than they are."""
    newest = max((time for pod in raw.pods for time in (pod.created_at, pod.started_at) if time), default="")
    return parse_time(newest)


def _deduplicated(raw: RawInput) -> RawInput:
    """Of objects that several sources have, the newest: input order has no say."""
    kept: dict[str, Any] = {}
    for slot in dataclasses.fields(raw):
        value = getattr(raw, slot.name)
        if slot.name == "pods":
            value = _newest_each(
                value, lambda pod: (pod.namespace, pod.name), lambda pod: (pod.created_at, _version(pod.resource_version), repr(pod))
            )
        elif slot.name == "workloads":
            value = _newest_each(value, lambda one: (one.kind, *_named(one.body)), lambda one: _age(one.body))
        elif slot.name != "catalog":
            value = _newest_each(value, _named, _age)
        kept[slot.name] = value
    return RawInput(**kept)


def _newest_each(items: Sequence[Body], name: Any, age: Any) -> list[Body]:
    found: dict[Any, Body] = {}
    for item in items:
        key = name(item)
        found[key] = max(found[key], item, key=age) if key in found else item
    return list(found.values())


def _named(body: Any) -> tuple[str, str]:
    meta = body.metadata or schema.Metadata()
    return meta.namespace or "default", meta.name or ""


def _age(body: Any) -> tuple[str, int, str]:
    meta = body.metadata or schema.Metadata()
    return meta.creation_timestamp or "", _version(meta.resource_version or ""), repr(body)


def _version(text: str) -> int:
    return int(text) if text.isdecimal() and len(text) < 25 else 0
