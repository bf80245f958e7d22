"""A row of a catalog table to offerings: labels that a node of the type will carry, allocatable, interruptions, one for each zone.

Sources: Karpenter's well-known labels of each provider, the reserve formulas that GKE and AKS publish, AWS's spot advisor bands.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Final, NamedTuple

from packer.errors import InputError, QuantityError
from packer.model import (
    ARCH,
    CAPACITY_TYPE,
    CATEGORY,
    CPU,
    FAMILY,
    GENERATION,
    GPU_COUNT,
    GPU_MEMORY,
    GPU_MODEL,
    INSTANCE_TYPE,
    MEMORY,
    OS,
    PODS,
    PROVIDER,
    REGION,
    STORAGE,
    ZONE,
    Offering,
    OfferingKey,
)
from packer.parse.volumes import BETA_REGION, BETA_ZONE
from packer.quantity import MEBI, floor_milli, parse_usd

GIB = 1 << 30

INTERRUPTIONS_PPM: Final = {"<5%": 35, "5-10%": 107, "10-15%": 183, "15-20%": 264, ">20%": 394}
"""Expected interruptions an hour, in millionths, by the spot advisor's band of monthly frequency: -ln(1 - p) / 730 h, p being the
band's middle (2.5, 7.5, 12.5, 17.5 %; 25 % for the open one). The middle band stands for spot machines of unknown frequency."""
UNKNOWN_BAND: Final = "10-15%"

ROOT_DISK: Final = {"aws": 17 * GIB, "gcp": 49 * GIB, "azure": 115 * GIB}
"""Allocatable ephemeral storage on the provider's default root disk: 20 GiB less 1 GiB reserved and 10 % for eviction (EKS, as Karpenter
has it); 100 GB less GKE's published reservation and 10 %; 128 GiB less AKS's 10 %."""

_AWS_NAME = re.compile(r"(?P<family>(?P<category>[a-z]+)(?:-[0-9]+tb)?(?P<generation>[0-9]+)?[a-z0-9-]*)(?:\.(?P<size>.+))?")
_GCP_NAME = re.compile(r"(?P<family>(?P<category>[a-z]+)(?P<generation>[0-9]+)[a-z]*)-(?P<size>.+)")
_AZURE_NAME = re.compile(
    r"(?:Standard|Basic)_(?P<letters>[A-Z]+)[0-9]+(?:-[0-9]+)?(?P<features>[a-z]*)(?:_(?P<extra>[A-Za-z0-9]+?))??(?:_v(?P<generation>[0-9]+))?"
)
_FRACTIONAL_FAMILIES = frozenset({"g6f", "gr6f"})
_GCP_SHARED_CORE = frozenset({"e2-micro", "e2-small", "e2-medium", "f1-micro", "g1-small"})
_GKE_ACCELERATORS = {"nvidia-a100-40gb": "nvidia-tesla-a100", "nvidia-h200": "nvidia-h200-141gb"}
_GKE_TESLA = frozenset({"nvidia-t4", "nvidia-v100", "nvidia-p100", "nvidia-p4", "nvidia-k80"})
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


class Shape(NamedTuple):
    """What an instance type's name tells. Empty where it does not."""

    family: str
    category: str = ""
    generation: str = ""
    size: str = ""


class PriceError(QuantityError):
    """A row whose price cannot be used; all else about it may be right."""


def offerings_of(row: Mapping[str, str]) -> Iterator[Offering]:
    """One row of a catalog table (columns: docs/input.md) as an offering for each of its ``|``-joined zones.

    Raises PriceError for an unusable price and InputError for numbers that are none.
    """
    name, provider, capacity_type = row["instance_type"], row["provider"], row["capacity_type"] or "on-demand"
    shape = shape_of(provider, name)
    model, devices = row["gpu_model"], _number(row, "gpu_count")
    price = usable_price(row["price_usd_per_hour"], capacity_type)
    labels = _labels(row, shape, devices)
    allocatable = _allocatable(row)
    spot = capacity_type == "spot"
    interruptions = INTERRUPTIONS_PPM.get(row["interruption"], INTERRUPTIONS_PPM[UNKNOWN_BAND]) if spot else 0
    burstable, fractional = is_burstable(provider, name), is_fractional(shape.family, model, devices)
    for zone in row["zone"].split("|"):
        yield Offering(
            key=OfferingKey(provider, row["region"], zone, name, capacity_type),
            price_microusd_per_hour=price,
            allocatable=allocatable,
            labels={**labels, ZONE: zone, BETA_ZONE: zone} if zone else labels,
            interruptions_per_hour_ppm=interruptions,
            burstable=burstable,
            fractional_gpu=fractional,
        )


def usable_price(text: object, capacity_type: str) -> int:
    """Micro-dollars an hour. Only reserved (prepaid) capacity may cost nothing. Raises PriceError for all other rows without a price."""
    try:
        price = parse_usd(text if isinstance(text, (str, int, float)) else str(text))
    except QuantityError as error:
        raise PriceError("not an amount of dollars", mend=error.mend) from error
    if price == 0 and capacity_type != "reserved":
        raise PriceError("only reserved capacity may cost nothing", mend="give its price, or leave the row out")
    return price


@lru_cache(maxsize=16_384)
def shape_of(provider: str, name: str) -> Shape:
    """Family, category and generation: m5.large is m5, m, 5; n2-standard-4 is n2, n, 2; Standard_D4s_v5 is Dsv5, D, 5."""
    if provider == "azure":
        match = _AZURE_NAME.fullmatch(name)
        if not match:
            return Shape(name)
        generation = match["generation"] or "1"
        letters, extra = match["letters"], match["extra"] or ""
        return Shape(f"{letters}{match['features']}{extra}v{generation}", letters[0], generation, name.split("_")[1])
    match = (_GCP_NAME if provider == "gcp" else _AWS_NAME).fullmatch(name)
    if not match:
        return Shape(name)
    if match["family"].startswith("fargate"):
        return Shape("fargate", "fargate", "", name.removeprefix("fargate-"))
    return Shape(match["family"], match["category"], match["generation"] or "", match["size"] or "")


def is_burstable(provider: str, name: str) -> bool:
    """Cpu by credits or shared cores: AWS t, GCP e2-micro to e2-medium, f1 and g1, Azure B."""
    if provider == "gcp":
        return name in _GCP_SHARED_CORE
    return shape_of(provider, name).category == {"aws": "t", "azure": "B"}.get(provider)


def is_fractional(family: str, model: str, devices: int) -> bool:
    """A slice of a GPU that the table counts as one, or as none: AWS g6f and gr6f, virtual GPUs on Azure."""
    return family in _FRACTIONAL_FAMILIES or model.endswith(("-vgpu", "-frac")) or (bool(model) and devices == 0)


def gke_reserved(vcpu: int, memory_mib: int) -> tuple[int, int]:
    """(millicores, MiB) that GKE keeps: 6 % of the first core, 1 % of the second, 0.5 % of two more, 0.25 % of the rest; a quarter of the
    first 4 GiB, 20 % to 8, 10 % to 16, 6 % to 128, 2 % above, and 100 MiB for eviction
    (cloud.google.com/kubernetes-engine/docs/concepts/plan-node-sizes).
    """
    cpu_steps = ((1, 6000), (1, 1000), (2, 500), (vcpu, 250))
    cpu_micro, left = 0, vcpu
    for cores, share in cpu_steps:
        cpu_micro += min(cores, left) * share * 10
        left -= min(cores, left)
    if memory_mib < 1024:
        return -(-cpu_micro // 1000), 255 + 100
    hundredths, rest = 0, memory_mib
    for width, percent in ((4096, 25), (4096, 20), (8192, 10), (114_688, 6), (memory_mib, 2)):
        hundredths += min(width, rest) * percent
        rest -= min(width, rest)
    return -(-cpu_micro // 1000), -(-hundredths // 100) + 100


def aks_reserved(vcpu: int, memory_mib: int, max_pods: int) -> tuple[int, int]:
    """(millicores, MiB) that AKS keeps from Kubernetes 1.29 on: 60m, 100m, 140m, 180m, 260m … for 1, 2, 4, 8, 16 … cores; the lesser of
    20 MB a pod plus 50 MB and a quarter of the memory; and 100 MiB for eviction
    (learn.microsoft.com/azure/aks/node-resource-reservations).
    """
    cpu = 60 if vcpu <= 1 else 100 if vcpu < 4 else 100 + 10 * vcpu
    return cpu, min(20 * max_pods + 50, -(-memory_mib // 4)) + 100


def _allocatable(row: Mapping[str, str]) -> dict[str, int]:
    """What the table says, else the provider's published formula."""
    provider, vcpu, memory_mib = row["provider"], row["vcpu"], _number(row, "memory_mib")
    vcpu_milli = 1000 * int(vcpu) if vcpu.isascii() and vcpu.isdecimal() else floor_milli(vcpu, where="vcpu")
    max_pods = _number(row, "max_pods") or 110
    cpu, memory = _number(row, "alloc_cpu_m"), _number(row, "alloc_mem_mib")
    if not (cpu and memory):
        kept = (0, 0)
        if provider == "gcp":
            kept = gke_reserved(vcpu_milli // 1000, memory_mib)
            kept = (1060, kept[1]) if row["instance_type"] in ("e2-micro", "e2-small", "e2-medium") else kept
        elif provider == "azure":
            kept = aks_reserved(vcpu_milli // 1000, memory_mib, max_pods)
        elif row["instance_type"].startswith("fargate-"):
            kept = (0, 256)  # EKS adds this to the pod's request before it picks the shape
        cpu, memory = cpu or max(0, vcpu_milli - kept[0]), memory or max(0, memory_mib - kept[1])
    found = {CPU: cpu, MEMORY: memory * MEBI, PODS: max_pods, STORAGE: ROOT_DISK.get(provider, 17 * GIB)}
    devices = _number(row, "gpu_count")
    if row["accel_resource"] and devices:
        found[row["accel_resource"]] = devices
    return found


def _labels(row: Mapping[str, str], shape: Shape, devices: int) -> dict[str, str]:
    provider, region, name = row["provider"], row["region"], row["instance_type"]
    arch = _ARCHITECTURES.get(row["arch"], row["arch"])
    found = {
        OS: "linux",
        ARCH: arch,
        INSTANCE_TYPE: name,
        REGION: region,
        "beta.kubernetes.io/os": "linux",
        "beta.kubernetes.io/arch": arch,
        "beta.kubernetes.io/instance-type": name,
        BETA_REGION: region,
        PROVIDER: provider,
        CAPACITY_TYPE: row["capacity_type"] or "on-demand",
        FAMILY: shape.family,
    }
    if shape.category:
        found[CATEGORY] = shape.category
    if shape.generation:
        found[GENERATION] = shape.generation
    if row["gpu_model"] and devices:
        found[GPU_MODEL], found[GPU_COUNT] = row["gpu_model"], str(devices)
        if row["gpu_memory_mib"]:
            found[GPU_MEMORY] = row["gpu_memory_mib"]
    provider_labels = _PROVIDER_LABELS.get(provider)
    return provider_labels(found, row, shape, devices) if provider_labels else found


def _aws_labels(found: dict[str, str], row: Mapping[str, str], shape: Shape, devices: int) -> dict[str, str]:
    key = "karpenter.k8s.aws/instance-"
    found["karpenter.sh/capacity-type"] = found[CAPACITY_TYPE]
    found[key + "family"] = shape.family
    found[key + "category"] = shape.category
    found[key + "generation"] = shape.generation
    found[key + "size"] = shape.size
    found[key + "cpu"] = row["vcpu"]
    found[key + "memory"] = row["memory_mib"]
    found[key + "cpu-manufacturer"] = _aws_cpu_maker(shape, found[ARCH])
    if row["network_mbps"]:
        found[key + "network-bandwidth"] = row["network_mbps"]
    if row["local_ssd_gib"]:
        found[key + "local-nvme"] = row["local_ssd_gib"]
    if row["gpu_model"] and devices:
        maker, _, model = row["gpu_model"].partition("-")
        if row["accel_resource"].endswith("/gpu"):
            found[key + "gpu-name"], found[key + "gpu-manufacturer"], found[key + "gpu-count"] = model, maker, str(devices)
            if row["gpu_memory_mib"]:
                found[key + "gpu-memory"] = row["gpu_memory_mib"]
        else:
            found[key + "accelerator-name"], found[key + "accelerator-manufacturer"] = model, maker
            found[key + "accelerator-count"] = str(devices)
    if shape.family == "fargate":
        found["eks.amazonaws.com/compute-type"] = "fargate"
    return {name: value for name, value in found.items() if value}


def _aws_cpu_maker(shape: Shape, arch: str) -> str:
    if arch == "arm64":
        return "aws"
    attributes = shape.family.removeprefix(shape.category + shape.generation)
    return "amd" if attributes[:1] == "a" else "intel"


def _gcp_labels(found: dict[str, str], row: Mapping[str, str], shape: Shape, devices: int) -> dict[str, str]:
    spot = found[CAPACITY_TYPE] == "spot"
    found["karpenter.sh/capacity-type"] = found[CAPACITY_TYPE]
    found["cloud.google.com/machine-family"] = shape.family
    found["cloud.google.com/gke-provisioning"] = "spot" if spot else "standard"
    if spot:
        found["cloud.google.com/gke-spot"] = "true"
    if row["gpu_model"] and devices:
        found["cloud.google.com/gke-accelerator"] = gke_accelerator(row["gpu_model"])
        found["cloud.google.com/gke-accelerator-count"] = str(devices)
    return found


def gke_accelerator(model: str) -> str:
    """GKE's name of a model: the older ones are still Tesla there."""
    return model.replace("nvidia-", "nvidia-tesla-", 1) if model in _GKE_TESLA else _GKE_ACCELERATORS.get(model, model)


def _azure_labels(found: dict[str, str], row: Mapping[str, str], shape: Shape, devices: int) -> dict[str, str]:
    key = "karpenter.azure.com/sku-"
    found["karpenter.sh/capacity-type"] = found[CAPACITY_TYPE]
    found[key + "name"] = row["instance_type"]
    found[key + "family"] = shape.category
    found[key + "version"] = shape.generation
    found[key + "cpu"] = row["vcpu"]
    found[key + "memory"] = row["memory_mib"]
    if found[CAPACITY_TYPE] == "spot":
        found["kubernetes.azure.com/scalesetpriority"] = "spot"
    if row["gpu_model"] and devices:
        maker, _, model = row["gpu_model"].partition("-")
        found[key + "gpu-name"], found[key + "gpu-manufacturer"], found[key + "gpu-count"] = model.upper(), maker, str(devices)
    return {name: value for name, value in found.items() if value}


_PROVIDER_LABELS = {"aws": _aws_labels, "aws-fargate": _aws_labels, "gcp": _gcp_labels, "azure": _azure_labels}


def _number(row: Mapping[str, str], column: str) -> int:
    """A whole number; 0 for an empty field."""
    text = row[column]
    if not text:
        return 0
    if not (text.isascii() and text.isdecimal()):
        raise InputError(f"{text!r} is not a whole number", where=column, mend="write digits only")
    return int(text)
