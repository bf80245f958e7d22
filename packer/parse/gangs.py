"""Gangs: pods that start together. PodGroups of Kubernetes, scheduler-plugins and Volcano, Kueue's pod groups, and our own labels.

A gang's minimum is what it still lacks: minMember (or the size that the pods tell) less the members that run or hold room.
"""

from __future__ import annotations

from collections.abc import Iterable

from packer.errors import InputError, QuantityError
from packer.model import Gang, Notice
from packer.parse import schema
from packer.parse.contract import (
    GANG,
    GANG_SIZE,
    KUEUE_GROUP,
    KUEUE_GROUP_SIZE,
    POD_GROUP_ANNOTATIONS,
    POD_GROUP_LABELS,
    POD_GROUP_SIZE_LABEL,
    told,
)
from packer.parse.objects import RawPod
from packer.quantity import ceil_units


class Gangs:
    """The gangs of the input. ``problems`` tells which pods carry a size that cannot be read (pod key -> text)."""

    def __init__(self, pods: Iterable[RawPod], groups: Iterable[schema.GroupObject]) -> None:
        self._declared = dict(_declared(group) for group in groups)
        self.problems: dict[str, str] = {}
        self.notices: list[Notice] = []
        self._gangs = self._build(pods)

    def of(self, raw: RawPod) -> Gang | None:
        """The gang of a waiting pod."""
        name, _, _ = membership(raw)
        return self._gangs.get(name)

    def _build(self, pods: Iterable[RawPod]) -> dict[str, Gang]:
        sizes: dict[str, int] = {}
        here: dict[str, int] = {}
        for raw in pods:
            name, size_text, done_counts = membership(raw)
            if not name:
                continue
            sizes[name] = max(sizes.get(name, 0), self._size(raw, size_text))
            here[name] = here.get(name, 0) + _counts(raw, done_counts)
        found = {}
        for name in sorted(sizes):
            minimum = self._declared.get(name, sizes[name])
            if minimum:
                found[name] = Gang(name, max(0, minimum - here[name]))
            elif name not in self._declared:
                self.notices.append(
                    Notice("GangUnknown", f"pod group {name} is not in the input and its pods tell no size: they start alone")
                )
        return found

    def _size(self, raw: RawPod, text: str | None) -> int:
        try:
            return max(0, ceil_units(text)) if text else 0
        except QuantityError as error:
            self.problems[raw.key] = f"{GANG_SIZE}: {error}"
            return 0


def membership(raw: RawPod) -> tuple[str, str | None, bool]:
    """(``namespace/group`` or "", the size that the pod tells, whether finished members count too)."""
    labels, annotations = raw.labels, raw.annotations
    own = told(labels, annotations, GANG)
    if own:
        return f"{raw.namespace}/{own}", told(labels, annotations, GANG_SIZE), False
    if raw.spec.scheduling_group and raw.spec.scheduling_group.pod_group_name:
        return f"{raw.namespace}/{raw.spec.scheduling_group.pod_group_name}", None, False
    name = next((labels[key] for key in POD_GROUP_LABELS if labels.get(key)), None)
    name = name or next((annotations[key] for key in POD_GROUP_ANNOTATIONS if annotations.get(key)), None)
    if name:
        return f"{raw.namespace}/{name}", labels.get(POD_GROUP_SIZE_LABEL) or told(labels, annotations, GANG_SIZE), False
    if labels.get(KUEUE_GROUP):
        return f"{raw.namespace}/{labels[KUEUE_GROUP]}", annotations.get(KUEUE_GROUP_SIZE), True
    return "", None, False


def _counts(raw: RawPod, done_counts: bool) -> int:
    """1 for a member that need not be placed: it runs, or it has been promised a node (or, for Kueue, it has finished)."""
    if raw.finished:
        return int(done_counts and raw.phase == "Succeeded")
    return int(bool(raw.node_name or raw.nominated) and not raw.deleted_at)


def _declared(group: schema.GroupObject) -> tuple[str, int]:
    """(``namespace/name``, members needed). A group without a gang policy needs none together."""
    meta, spec = group.metadata or schema.Metadata(), group.spec or schema.GroupSpec()
    policy = spec.scheduling_policy.gang if spec.scheduling_policy else None
    least = spec.min_member or (policy.min_count if policy else None) or 0
    if least < 0:
        raise InputError("its minimum is negative", where=f"PodGroup {meta.namespace}/{meta.name}", mend="give a count of at least 0")
    return f"{meta.namespace or 'default'}/{meta.name}", least
