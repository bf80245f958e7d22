"""What a node's labels and provider id say of the machine below: provider, capacity type, GPU model, offering.

Existing nodes get the ``bayplan.io/`` labels that follow from the usual providers' keys, so that the label contract and policies
hold for them as for new ones. Labels that a node has are never changed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from packer.model import (
    CAPACITY_TYPE,
    CATEGORY,
    FAMILY,
    GENERATION,
    GPU_COUNT,
    GPU_MEMORY,
    GPU_MODEL,
    INSTANCE_TYPE,
    PROVIDER,
    REGION,
    ZONE,
    Offering,
    OfferingKey,
)
from packer.parse.gpus import GpuModels, words
from packer.parse.volumes import BETA_REGION, BETA_ZONE

_SCHEMES = {"aws": "aws", "gce": "gcp", "azure": "azure"}
_PROVIDER_HINTS = (
    ("karpenter.k8s.aws/", "aws"),
    ("eks.amazonaws.com/", "aws"),
    ("cloud.google.com/", "gcp"),
    ("kubernetes.azure.com/", "azure"),
)
_CAPACITY_KEYS = ("karpenter.sh/capacity-type", "eks.amazonaws.com/capacityType")
_SPOT_MARKS = (
    ("cloud.google.com/gke-spot", "true"),
    ("cloud.google.com/gke-preemptible", "true"),
    ("cloud.google.com/gke-provisioning", "spot"),
    ("kubernetes.azure.com/scalesetpriority", "spot"),
    ("node.kubernetes.io/lifecycle", "spot"),
)
_MODEL_KEYS = (
    "karpenter.k8s.aws/instance-gpu-name",
    "cloud.google.com/gke-accelerator",
    "nvidia.com/gpu.product",
    "karpenter.azure.com/sku-gpu-name",
)
_MEMORY_KEYS = ("karpenter.k8s.aws/instance-gpu-memory", "nvidia.com/gpu.memory")
_COUNT_KEYS = ("karpenter.k8s.aws/instance-gpu-count", "cloud.google.com/gke-accelerator-count", "nvidia.com/gpu.count")
_FROM_OFFERING = (PROVIDER, FAMILY, GENERATION, CATEGORY, GPU_MODEL, GPU_MEMORY, GPU_COUNT)


def provider_of(labels: Mapping[str, str], provider_id: str) -> str:
    """aws, gcp, azure, the provider id's scheme, or "" when nothing tells."""
    if labels.get(PROVIDER):
        return labels[PROVIDER]
    scheme = re.match(r"([a-z0-9.+-]+)://", provider_id)
    if scheme:
        return _SCHEMES.get(scheme[1], scheme[1])
    return next((provider for key in sorted(labels) for prefix, provider in _PROVIDER_HINTS if key.startswith(prefix)), "")


def capacity_type_of(labels: Mapping[str, str]) -> str:
    """on-demand unless a label says otherwise."""
    told = labels.get(CAPACITY_TYPE) or next((labels[key] for key in _CAPACITY_KEYS if labels.get(key)), "")
    if told:
        return told.lower().replace("_", "-")
    return "spot" if any(labels.get(key) == value for key, value in _SPOT_MARKS) else "on-demand"


def offering_key(labels: Mapping[str, str], provider_id: str) -> OfferingKey | None:
    """The offering that a node was bought as, as far as its labels tell; None without an instance type."""
    instance_type = labels.get(INSTANCE_TYPE) or labels.get("beta.kubernetes.io/instance-type") or ""
    if not instance_type:
        return None
    return OfferingKey(
        provider=provider_of(labels, provider_id),
        region=labels.get(REGION) or labels.get(BETA_REGION) or "",
        zone=labels.get(ZONE) or labels.get(BETA_ZONE) or "",
        instance_type=instance_type,
        capacity_type=capacity_type_of(labels),
    )


class Prices:
    """Finds the offering of an existing node in a catalog."""

    def __init__(self, offerings: Iterable[Offering]) -> None:
        self._by_type: dict[tuple[str, str], list[Offering]] = {}
        for offering in offerings:
            self._by_type.setdefault((offering.key.instance_type, offering.key.capacity_type), []).append(offering)

    def find(self, key: OfferingKey) -> Offering | None:
        """The catalog's row for the key. Fields that one side leaves empty agree with anything; rows that agree but differ in price
        tell nothing, since an unknown price is neither of them.
        """
        found = [one for one in self._by_type.get((key.instance_type, key.capacity_type), ()) if _agree(key, one.key)]
        exact = next((one for one in found if one.key == key), None)
        if exact or len({one.price_microusd_per_hour for one in found}) != 1:
            return exact
        return min(found, key=lambda one: one.key)

    def any_of(self, key: OfferingKey) -> Offering | None:
        """Some row of the same machine, whatever its zone and capacity type: for facts that do not depend on them."""
        found = [
            one
            for capacity_type in (key.capacity_type, "on-demand", "spot", "reserved")
            for one in self._by_type.get((key.instance_type, capacity_type), ())
            if key.provider in ("", one.key.provider) or not one.key.provider
        ]
        return min(found, key=lambda one: one.key) if found else None


def with_derived(labels: Mapping[str, str], provider_id: str, offering: Offering | None, models: GpuModels) -> dict[str, str]:
    """The labels plus the ``bayplan.io/`` ones that they, or the node's offering, imply."""
    derived = {CAPACITY_TYPE: capacity_type_of(labels), PROVIDER: provider_of(labels, provider_id)}
    model = next((labels[key] for key in _MODEL_KEYS if labels.get(key)), "")
    if model:
        derived[GPU_MODEL] = model_name(model, models)
    for key, sources in ((GPU_MEMORY, _MEMORY_KEYS), (GPU_COUNT, _COUNT_KEYS)):
        number = next((labels[one] for one in sources if labels.get(one, "").isdecimal()), "")
        if number:
            derived[key] = number
    if offering:
        derived = {**derived, **{key: offering.labels[key] for key in _FROM_OFFERING if key in offering.labels}}
    return {**{key: value for key, value in derived.items() if value}, **labels}


def model_name(name: str, models: GpuModels) -> str:
    """The catalog's spelling of a model, if just one known model has exactly its words."""
    same = [known for known in models.known if words(known) == words(name)]
    return same[0] if len(same) == 1 else name.lower()


def _agree(one: OfferingKey, other: OfferingKey) -> bool:
    pairs = ((one.provider, other.provider), (one.region, other.region), (one.zone, other.zone))
    return all(not a or not b or a == b for a, b in pairs)
