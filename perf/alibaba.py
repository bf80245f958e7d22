"""The Alibaba GPU trace of 2023 as a packing problem (Weng et al., "Beware of Fragmentation", USENIX ATC 2023).

The trace itself stays outside: give the path of one of its ``openb_pod_list_*.csv``. All of its pods wait at once; GPUs count in
thousandths; each new node gives 200m cpu, 300 MiB and 4 slots to daemons. Two readings of a share of a GPU:

(A) *pooled*: thousandths of all devices of a node add up, as kube-scheduler would sum an extended resource.
(B) *devices*: a share sits on one device and a request for n GPUs takes n whole ones (``Problem.device_share``).
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path

from packer.errors import InputError
from packer.model import CPU, GPU, GPU_MODEL, MEMORY, Offering, Operator, Pod, PodSpec, Problem, Requirement
from perf.generators import MIB, of_families, problem, scaled

DEVICE = 1000
"""Thousandths that one GPU has."""

MODELS = {
    "T4": "nvidia-t4",
    "A10": "nvidia-a10g",
    "V100M16": "",
    "V100M32": "",
    "P100": "",
    "G2": "",
    "G3": "",
}
"""The trace's GPU models as models of the catalog. Empty: generation ≥ 4 has no such model (V100, P100) or the trace hides its name
(G2, G3); a pod that accepts an unmapped model accepts any."""

VARIANTS = ("default", "gpuspec33", "multigpu50", "gpushare100")


def offerings(catalog: Iterable[Offering]) -> tuple[Offering, ...]:
    """Families c, m, r, g and p of generation 4 and later, no metal, no fractional GPUs, NVIDIA only, GPUs in thousandths."""
    kept = of_families(catalog, ("c", "m", "r", "g", "p"), generation=4, metal=False)
    return scaled((o for o in kept if o.labels.get(GPU_MODEL, "nvidia").startswith("nvidia")), GPU, DEVICE)


def pods(path: Path) -> tuple[Pod, ...]:
    """The pods of one list, named as in the trace.

    Errors: :class:`InputError` for a file that is not such a list or names a model that ``MODELS`` lacks.
    """
    found: list[Pod] = []
    specs: dict[tuple[str, ...], PodSpec] = {}
    with path.open(encoding="utf-8", newline="") as stream:
        for row in csv.DictReader(stream):
            try:
                key = (row["cpu_milli"], row["memory_mib"], row["num_gpu"], row["gpu_milli"], row.get("gpu_spec") or "")
                if key not in specs:
                    specs[key] = _spec(*key)
                found.append(Pod("alibaba", row["name"], row["name"], specs[key]))
            except (KeyError, ValueError) as error:
                raise InputError(f"{error} in row {len(found) + 2}", where=str(path), mend="give an openb_pod_list CSV") from error
    return tuple(found)


def load(path: Path, catalog: Sequence[Offering], *, devices: bool = False) -> Problem:
    """Reading (A), or (B) with ``devices``, of one pod list on the offerings of ``catalog`` that :func:`offerings` keeps."""
    return problem(pods(path), offerings(catalog), device_share=(GPU, DEVICE) if devices else None)


def model_table() -> str:
    """How GPU models of the trace are read, one line each."""
    return "\n".join(f"{name:8} {kind or 'any'}" for name, kind in MODELS.items())


def _spec(cpu_milli: str, memory_mib: str, gpus: str, gpu_milli: str, gpu_spec: str) -> PodSpec:
    requests = {CPU: int(cpu_milli), MEMORY: int(memory_mib) * MIB, GPU: int(gpus) * int(gpu_milli)}
    wanted = sorted({MODELS[name] for name in gpu_spec.split("|")}) if gpu_spec else [""]
    selector = (Requirement(GPU_MODEL, Operator.IN, tuple(wanted)),) if "" not in wanted else ()
    return PodSpec({resource: amount for resource, amount in requests.items() if amount}, selector=selector)
