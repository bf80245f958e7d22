"""One row of a catalog as offerings."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from packer import model
from packer.model import ARCH, CPU, INSTANCE_TYPE, MEMORY, OS, PODS, REGION, ZONE, Offering, OfferingKey
from packer.quantity import parse_usd

MIB = 1 << 20
PPM = {"<5%": 34, "5-10%": 103, "10-15%": 171, "15-20%": 240, ">20%": 308}


def offerings_of(row: Mapping[str, str]) -> Iterator[Offering]:
    name, provider = row["instance_type"], row["provider"]
    capacity_type = row["capacity_type"]
    family, category, generation = _family(provider, name)
    gpus = int(row["gpu_count"] or 0)
    labels = {
        OS: "linux",
        ARCH: row["arch"],
        INSTANCE_TYPE: name,
        REGION: row["region"],
        model.PROVIDER: provider,
        model.CAPACITY_TYPE: capacity_type,
        model.FAMILY: family,
        model.CATEGORY: category,
    }
    if generation:
        labels[model.GENERATION] = generation
    vcpu, memory = float(row["vcpu"]), int(row["memory_mib"])
    allocatable = {
        CPU: int(row["alloc_cpu_m"] or vcpu * 1000 - 100),
        MEMORY: int(row["alloc_mem_mib"] or memory * 0.93) * MIB,
        PODS: int(row["max_pods"]),
        model.STORAGE: 17 << 30,
    }
    if gpus:
        labels |= {model.GPU_MODEL: row["gpu_model"], model.GPU_COUNT: str(gpus), model.GPU_MEMORY: row["gpu_memory_mib"]}
        if row["accel_resource"]:
            allocatable[row["accel_resource"]] = gpus
    price = parse_usd(row["price_usd_per_hour"])
    burstable = bool(re.match(r"t\d|f1-|g1-|e2-(micro|small|medium)|Standard_B", name))
    fractional = family in ("g6f", "gr6f") or "frac" in row["gpu_model"] or "vgpu" in row["gpu_model"]
    for zone in row["zone"].split("|"):
        yield Offering(
            OfferingKey(provider, row["region"], zone, name, capacity_type),
            price,
            allocatable,
            {**labels, ZONE: zone} if zone else labels,
            interruptions_per_hour_ppm=PPM.get(row["interruption"], 0),
            burstable=burstable,
            fractional_gpu=fractional,
        )


def _family(provider: str, name: str) -> tuple[str, str, str]:
    family = name.split(".")[0] if provider == "aws" else name.split("-")[0] if provider == "gcp" else name
    match = re.match(r"(?:Standard_)?([A-Za-z]+)-?(\d+)?", family)
    return family, match[1].lower() if match else "", (match[2] or "") if match else ""
