"""The label contract: what pods may ask of the packer, in labels or, where a label cannot hold it, in annotations of the same key.

Also the keys of other projects that users already have and that the packer reads.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from packer.errors import QuantityError
from packer.model import CAPACITY_TYPE, GPU_MEMORY, GPU_MODEL, PREFIX, Operator, Requirement
from packer.parse.gpus import GpuModels
from packer.quantity import MEBI, floor_units, parse_duration, parse_usd

IGNORE: Final = PREFIX + "ignore"
GANG: Final = PREFIX + "gang"
GANG_SIZE: Final = PREFIX + "gang-size"
MAX_HOURLY_COST: Final = PREFIX + "max-hourly-cost"
EXPECTED_DURATION: Final = PREFIX + "expected-duration"
RESTART_COST: Final = PREFIX + "restart-cost"
DO_NOT_DISRUPT: Final = (PREFIX + "do-not-disrupt", "karpenter.sh/do-not-disrupt", "karpenter.sh/do-not-evict")
SAFE_TO_EVICT: Final = "cluster-autoscaler.kubernetes.io/safe-to-evict"
PLACEMENT_GATE: Final = PREFIX + "placement"
"""Our own scheduling gate: a pod held by nothing else waits for the packer."""

MIRROR: Final = "kubernetes.io/config.mirror"
BETA_STORAGE_CLASS: Final = "volume.beta.kubernetes.io/storage-class"
DEFAULT_STORAGE_CLASS: Final = "storageclass.kubernetes.io/is-default-class"
BIND_COMPLETED: Final = "pv.kubernetes.io/bind-completed"
SELECTED_NODE: Final = "volume.kubernetes.io/selected-node"
POD_GROUP_LABELS: Final = ("scheduling.x-k8s.io/pod-group", "pod-group.scheduling.sigs.k8s.io", "pod-group.scheduling.sigs.k8s.io/name")
POD_GROUP_ANNOTATIONS: Final = ("scheduling.k8s.io/group-name", "scheduling.volcano.sh/group-name")
POD_GROUP_SIZE_LABEL: Final = "pod-group.scheduling.sigs.k8s.io/min-available"
KUEUE_GROUP: Final = "kueue.x-k8s.io/pod-group-name"
KUEUE_GROUP_SIZE: Final = "kueue.x-k8s.io/pod-group-total-count"

_SPEC_KEYS = (GPU_MEMORY, GPU_MODEL, CAPACITY_TYPE, MAX_HOURLY_COST, EXPECTED_DURATION, RESTART_COST)
_KEPT = {
    IGNORE,
    GANG,
    GANG_SIZE,
    *_SPEC_KEYS,
    MIRROR,
    BIND_COMPLETED,
    BETA_STORAGE_CLASS,
    DEFAULT_STORAGE_CLASS,
    SELECTED_NODE,
    KUEUE_GROUP_SIZE,
    *DO_NOT_DISRUPT,
    SAFE_TO_EVICT,
    *POD_GROUP_ANNOTATIONS,
}
_CAPACITY_TYPES = ("on-demand", "spot", "reserved")


def kept_annotations(annotations: Mapping[str, str]) -> dict[str, str] | None:
    """The annotations that the packer reads; all others may hold anything, secrets too, and are dropped at once."""
    return {key: value for key, value in annotations.items() if key in _KEPT} or None


def asks_to_stay(labels: Mapping[str, str], annotations: Mapping[str, str]) -> bool:
    """Does the pod ask not to be moved: ``do-not-disrupt`` of ours or Karpenter's, or cluster-autoscaler's ``safe-to-evict: "false"``?"""
    marked = any((told(labels, annotations, key) or "false").lower() != "false" for key in DO_NOT_DISRUPT)
    return marked or (told(labels, annotations, SAFE_TO_EVICT) or "true").lower() == "false"


def told(labels: Mapping[str, str], annotations: Mapping[str, str], key: str) -> str | None:
    """The value of a contract key: the label's, else the annotation's."""
    return labels.get(key) or annotations.get(key)


def spec_keys(labels: Mapping[str, str], annotations: Mapping[str, str]) -> tuple[str | None, ...]:
    """The values that shape a PodSpec, in the order of ``wishes``: equal tuples give equal Wishes."""
    return tuple(told(labels, annotations, key) for key in _SPEC_KEYS)


@dataclass(frozen=True, slots=True)
class Wishes:
    """What the contract keys of a pod amount to."""

    selector: tuple[Requirement, ...] = ()
    max_price_microusd_per_hour: int | None = None
    expected_duration_s: int | None = None
    restart_cost_s: int | None = None


def wishes(values: tuple[str | None, ...], models: GpuModels) -> Wishes:
    """Read the values of ``spec_keys``. Raises QuantityError, which names the key, for values that cannot be read."""
    memory, model, capacity_type, max_cost, duration, restart_cost = values
    requirements: list[Requirement] = []
    if memory:
        # Rounded down as the label is: 24G asks for the 22,888 MiB that cards of 24 GB are labelled with.
        requirements.append(Requirement(GPU_MEMORY, Operator.GT, (str(floor_units(memory, where=GPU_MEMORY) // MEBI - 1),)))
    if model:
        requirements += models.requirements(model)
    if capacity_type:
        requirements.append(Requirement(CAPACITY_TYPE, Operator.IN, _capacity_types(capacity_type)))
    return Wishes(
        selector=tuple(requirements),
        max_price_microusd_per_hour=parse_usd(max_cost, where=MAX_HOURLY_COST) if max_cost else None,
        expected_duration_s=parse_duration(duration, where=EXPECTED_DURATION) if duration else None,
        restart_cost_s=parse_duration(restart_cost, where=RESTART_COST) if restart_cost else None,
    )


def _capacity_types(text: str) -> tuple[str, ...]:
    found = tuple(sorted({part.strip().lower().replace("_", "-") for part in text.split(",") if part.strip()}))
    if not found or any(part not in _CAPACITY_TYPES for part in found):
        raise QuantityError(
            f"{text!r} is not a capacity type", where=CAPACITY_TYPE, mend=f"write one or more of {', '.join(_CAPACITY_TYPES)}"
        )
    return found
