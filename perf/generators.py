"""Workloads with fixed seeds: the same arguments give the same pods, on any machine.

Each workload is a function of a size and a seed that returns waiting pods; :func:`problem` joins them with offerings, daemons and nodes.
Only ``random.Random.random`` is drawn from, whose sequence Python promises to keep.
"""

from __future__ import annotations

import random
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import TypeVar

from packer import model
from packer.model import (
    CPU,
    GPU,
    HOSTNAME,
    MEMORY,
    PODS,
    ZONE,
    Daemon,
    Node,
    Offering,
    Operator,
    Pod,
    PodAffinityTerm,
    PodSpec,
    Problem,
    Requirement,
    Selector,
    SpreadConstraint,
    Toleration,
)

T = TypeVar("T")

MIB = 1 << 20
NAMESPACE = "perf"

LABEL_VALUES = "abcdefg"
DIVERSE_CPU_MILLI = (100, 250, 500, 1000, 1500)
DIVERSE_MEMORY_MIB = (100, 256, 512, 1024, 2048, 4096)

CLASS_CPU_MILLI = {
    50: 4, 100: 8, 200: 5, 250: 10, 500: 14, 750: 5, 1000: 14, 1500: 6, 2000: 10, 3000: 5, 4000: 8, 6000: 4, 8000: 4,
    12000: 1.5, 16000: 1.5,
}  # fmt: skip
"""Weights of a class's cpu request in :func:`classes`: many small services, a tail of large workers."""
CLASS_MIB_PER_CPU = {512: 1, 1024: 2, 2048: 5, 3072: 2, 4096: 5, 6144: 1.5, 8192: 2.5, 12288: 0.7}
"""Weights of MiB a cpu, before a random factor of 0.6 to 1.3."""
GPU_MODELS = ("nvidia-t4", "nvidia-l4", "nvidia-a10g", "")
"""Models that GPU pods ask for; empty = any."""


def problem(
    pods: Iterable[Pod],
    offerings: Sequence[Offering],
    nodes: Sequence[Node] = (),
    *,
    overhead: bool = True,
    device_share: tuple[str, int] | None = None,
) -> Problem:
    """Pods, machines and, with ``overhead``, four daemons that take 200m, 300 MiB and 4 slots of each new node."""
    return Problem(tuple(pods), tuple(nodes), tuple(offerings), daemons() if overhead else (), device_share=device_share)


def daemons(count: int = 4, cpu_milli: int = 50, memory_mib: int = 75) -> tuple[Daemon, ...]:
    """Daemons that run on every node, whatever its taints."""
    spec = PodSpec({CPU: cpu_milli, MEMORY: memory_mib * MIB}, tolerations=(Toleration(operator="Exists"),))
    return tuple(Daemon("kube-system", f"agent-{i}", spec) for i in range(count))


# Karpenter's benchmark and its kin ------------------------------------------------------------------------------------------------


def diverse(count: int, seed: int = 0, *, hostname_affinity: bool = False) -> tuple[Pod, ...]:
    """The mix of Karpenter's scheduling benchmark (scheduling_benchmark_test.go, v1.14.1): a fifth each of generic pods, zone spread,
    hostname spread, affinity to their own label by zone, and hostname anti-affinity within one group; the rest is generic.

    As there, a spread constraint counts pods of a random label value, which need not be the pod's own. ``hostname_affinity`` adds a
    sixth kind, affinity to their own label by hostname, which other versions of that benchmark have.
    """
    rng = random.Random(seed)
    mix = [_generic, _spread(ZONE), _spread(HOSTNAME), _together(ZONE), _apart]
    if hostname_affinity:
        mix.insert(3, _together(HOSTNAME))
    kinds = [kind for kind in mix for _ in range(count // len(mix))]
    kinds += [_generic] * (count - len(kinds))
    return _pods("diverse", (kind(rng) for kind in kinds))


def generic(count: int, seed: int = 0) -> tuple[Pod, ...]:
    """Pods of 5 cpu and 6 memory sizes, free to run anywhere."""
    rng = random.Random(seed)
    return _pods("generic", (_generic(rng) for _ in range(count)))


def homogeneous(count: int, seed: int = 0, *, cpu_milli: int = 1500, memory_mib: int = 3072) -> tuple[Pod, ...]:
    """One big set of equal pods; the seed changes nothing."""
    spec = PodSpec({CPU: cpu_milli, MEMORY: memory_mib * MIB})
    return _pods("homogeneous", ((spec, {"app": "web"}) for _ in range(count)))


def complementary(count: int, seed: int = 0) -> tuple[Pod, ...]:
    """Half heavy in cpu (1–4 cpu at 0.25–0.5 GiB each), half heavy in memory (0.25–0.5 cpu, 8–16 GiB): cheap only when mixed."""
    rng = random.Random(seed)
    specs = []
    for i in range(count):
        if i % 2:
            cpu = _choose(rng, (1000, 2000, 3000, 4000))
            memory = cpu * _choose(rng, (256, 512)) // 1000
        else:
            cpu, memory = _choose(rng, (250, 500)), _choose(rng, (8192, 12288, 16384))
        specs.append((PodSpec({CPU: cpu, MEMORY: memory * MIB}), {"app": "heavy"}))
    return _pods("complementary", specs)


def gpu_mix(count: int, seed: int = 0) -> tuple[Pod, ...]:
    """Seven in ten are generic; the others ask for 1, 2, 4 or 8 devices, half of them for one model, with cpu and memory to match."""
    rng = random.Random(seed)
    specs: list[tuple[PodSpec, dict[str, str]]] = []
    for _ in range(count):
        if rng.random() < 0.7:
            specs.append(_generic(rng))
            continue
        devices = _choose(rng, (1, 1, 1, 1, 1, 2, 4, 8))
        requests = {
            CPU: devices * _choose(rng, (1500, 3000, 3500)),
            MEMORY: devices * _choose(rng, (4096, 8192, 12288)) * MIB,
            GPU: devices,
        }
        gpu_model = _choose(rng, (*GPU_MODELS[:3], "", "", ""))
        specs.append((PodSpec(requests, selector=_wants(gpu_model=gpu_model)), {"app": "train"}))
    return _pods("gpu", specs)


def _generic(rng: random.Random) -> tuple[PodSpec, dict[str, str]]:
    return PodSpec(_size(rng)), {"my-label": _choose(rng, LABEL_VALUES)}


def _spread(key: str) -> Callable[[random.Random], tuple[PodSpec, dict[str, str]]]:
    def make(rng: random.Random) -> tuple[PodSpec, dict[str, str]]:
        labels = {"my-label": _choose(rng, LABEL_VALUES)}
        counted = _labelled("my-label", _choose(rng, LABEL_VALUES))
        return PodSpec(_size(rng), spread=(SpreadConstraint(key, 1, counted),)), labels

    return make


def _together(key: str) -> Callable[[random.Random], tuple[PodSpec, dict[str, str]]]:
    def make(rng: random.Random) -> tuple[PodSpec, dict[str, str]]:
        value = _choose(rng, LABEL_VALUES)
        term = PodAffinityTerm(key, _labelled("my-affinity", value), (NAMESPACE,))
        return PodSpec(_size(rng), affinity=(term,)), {"my-affinity": value}

    return make


def _apart(rng: random.Random) -> tuple[PodSpec, dict[str, str]]:
    term = PodAffinityTerm(HOSTNAME, _labelled("app", "nginx"), (NAMESPACE,))
    return PodSpec(_size(rng), anti_affinity=(term,)), {"app": "nginx"}


def _size(rng: random.Random) -> dict[str, int]:
    return {CPU: _choose(rng, DIVERSE_CPU_MILLI), MEMORY: _choose(rng, DIVERSE_MEMORY_MIB) * MIB}


WORKLOADS: Mapping[str, Callable[[int, int], tuple[Pod, ...]]] = {
    "diverse": diverse,
    "generic": generic,
    "gpu-mix": gpu_mix,
    "homogeneous": homogeneous,
    "complementary": complementary,
}
"""The five workloads that are run side by side with the peers."""


# Synthetic classes: the ladder ----------------------------------------------------------------------------------------------------


def classes(
    class_count: int,
    pod_count: int,
    seed: int = 0,
    *,
    gpu_share: float = 0.05,
    any_arch: float = 0.3,
    zones: Sequence[str] = (),
    pinned: float = 0.3,
    on_demand_only: float = 0.4,
) -> tuple[Pod, ...]:
    """``pod_count`` pods of ``class_count`` shapes whose popularity has a Pareto tail.

    ``gpu_share`` of the shapes ask for 1, 2 or 4 GPUs; ``any_arch`` run on either architecture, the rest on amd64 only. With ``zones``,
    ``pinned`` of the shapes are tied to one zone and ``on_demand_only`` of them refuse spot. ``class_count`` ≤ ``pod_count``.
    """
    if not 0 < class_count <= pod_count:
        raise ValueError(f"{class_count} classes need at least as many pods, not {pod_count}")
    rng = random.Random(seed)
    specs = [_class_spec(rng, gpu_share, any_arch, zones, pinned, on_demand_only) for _ in range(class_count)]
    sizes = _shares(rng, class_count, pod_count)
    return _pods("class", ((spec, {"app": f"c{i}"}) for i, (spec, size) in enumerate(zip(specs, sizes, strict=True)) for _ in range(size)))


def _class_spec(
    rng: random.Random, gpu_share: float, any_arch: float, zones: Sequence[str], pinned: float, on_demand_only: float
) -> PodSpec:
    cpu = _weighted(rng, CLASS_CPU_MILLI)
    if rng.random() < 0.3:
        cpu = int(cpu * (0.7 + 0.7 * rng.random()))
    memory_mib = max(64, int(cpu / 1000 * _weighted(rng, CLASS_MIB_PER_CPU) * (0.6 + 0.7 * rng.random())))
    gpus, gpu_model = 0, ""
    if rng.random() < gpu_share:
        gpus, gpu_model = _choose(rng, (1, 1, 1, 2, 4)), _choose(rng, GPU_MODELS)
        cpu = _choose(rng, (2000, 3500, 4000, 7000)) * gpus
        memory_mib = int(cpu / 1000 * 4096 * (0.5 + 0.5 * rng.random()))
    requests = {CPU: cpu, MEMORY: memory_mib * MIB} | ({GPU: gpus} if gpus else {})
    arch = "" if rng.random() < any_arch else "amd64"
    zone = _choose(rng, zones) if zones and rng.random() < pinned else ""
    capacity_type = "on-demand" if zones and rng.random() < on_demand_only else ""
    return PodSpec(requests, selector=_wants(arch=arch, gpu_model=gpu_model, zone=zone, capacity_type=capacity_type))


def _shares(rng: random.Random, class_count: int, pod_count: int) -> list[int]:
    """Split ``pod_count`` in parts ≥ 1 with a Pareto(1.1) tail; what rounding leaves over goes to the largest parts, one each."""
    weights = [(1.0 - rng.random()) ** (-1 / 1.1) - 0.8 for _ in range(class_count)]
    total = sum(weights)
    sizes = [1 + int(weight / total * (pod_count - class_count)) for weight in weights]
    largest = sorted(range(class_count), key=lambda i: (-sizes[i], i))
    for i in largest[: pod_count - sum(sizes)]:
        sizes[i] += 1
    return sizes


# Existing nodes -------------------------------------------------------------------------------------------------------------------


def existing_nodes(count: int, offerings: Sequence[Offering], seed: int = 0, *, fill: float = 0.7) -> tuple[Node, ...]:
    """``count`` nodes of random on-demand types of 2 to 32 cpu, filled with generic pods to about ``fill`` of a resource."""
    rng = random.Random(seed)
    usual = sorted(
        (o for o in offerings if o.key.capacity_type != "spot" and 1500 <= o.allocatable[CPU] <= 32000 and GPU not in o.allocatable),
        key=lambda o: o.key,
    )
    nodes = []
    for i in range(count):
        offering = _choose(rng, usual)
        name = f"node-{i:04d}"
        free = dict(offering.allocatable)
        pods: list[Pod] = []
        share = fill * (0.6 + 0.8 * rng.random())
        while True:
            spec, labels = _generic(rng)
            if any(free[r] - spec.requests.get(r, 0) < (1 - share) * offering.allocatable[r] for r in (CPU, MEMORY)) or free[PODS] < 10:
                break
            pods.append(Pod(NAMESPACE, f"{name}-{len(pods)}", f"{name}-{len(pods)}", spec, labels))
            for resource, amount in spec.requests.items():
                free[resource] -= amount
            free[PODS] -= 1
        nodes.append(
            Node(
                name,
                {**offering.labels, HOSTNAME: name},
                offering.taints,
                offering.allocatable,
                free,
                tuple(pods),
                offering=offering.key,
                price_microusd_per_hour=offering.price_microusd_per_hour,
            )
        )
    return tuple(nodes)


# Offerings for benchmarks ---------------------------------------------------------------------------------------------------------


def one_zone_each(offerings: Iterable[Offering]) -> tuple[Offering, ...]:
    """Of each type and capacity type only the offering in its first zone, for runs in which zones do not matter."""
    first: dict[tuple[str, str], Offering] = {}
    for offering in sorted(offerings, key=lambda o: o.key):
        first.setdefault((offering.key.instance_type, offering.key.capacity_type), offering)
    return tuple(first.values())


def of_families(
    offerings: Iterable[Offering],
    categories: Sequence[str] = ("c", "m", "r", "g"),
    *,
    generation: int = 4,
    cpu_milli: tuple[int, int] = (0, 1 << 40),
    metal: bool = True,
) -> tuple[Offering, ...]:
    """Offerings of the given categories (c, m, r, …), of ``generation`` and later, whose allocatable cpu lies in ``cpu_milli``."""
    return tuple(
        o
        for o in offerings
        if o.labels.get(model.CATEGORY, "") in categories
        and int(o.labels.get(model.GENERATION, "0")) >= generation
        and cpu_milli[0] <= o.allocatable[CPU] <= cpu_milli[1]
        and (metal or "metal" not in o.key.instance_type)
        and not o.burstable
        and not o.fractional_gpu
    )


def scaled(offerings: Iterable[Offering], resource: str, factor: int) -> tuple[Offering, ...]:
    """The same offerings with ``resource`` counted in parts (1000 = thousandths of a device)."""
    return tuple(
        replace(o, allocatable={**o.allocatable, resource: o.allocatable[resource] * factor}) if resource in o.allocatable else o
        for o in offerings
    )


# Small helpers --------------------------------------------------------------------------------------------------------------------


def _pods(prefix: str, specs: Iterable[tuple[PodSpec, Mapping[str, str]]]) -> tuple[Pod, ...]:
    return tuple(Pod(NAMESPACE, f"{prefix}-{i:06d}", f"{prefix}-{i:06d}", spec, labels) for i, (spec, labels) in enumerate(specs))


def _wants(*, arch: str = "", gpu_model: str = "", zone: str = "", capacity_type: str = "") -> tuple[Requirement, ...]:
    wanted = {model.ARCH: arch, model.GPU_MODEL: gpu_model, ZONE: zone, model.CAPACITY_TYPE: capacity_type}
    return tuple(sorted(Requirement(key, Operator.IN, (value,)) for key, value in wanted.items() if value))


def _labelled(key: str, value: str) -> Selector:
    return Selector((Requirement(key, Operator.IN, (value,)),))


def _choose(rng: random.Random, items: Sequence[T]) -> T:
    return items[int(rng.random() * len(items))]


def _weighted(rng: random.Random, weights: Mapping[int, float]) -> int:
    edges = list(accumulate(weights.values()))
    return list(weights)[bisect_right(edges, rng.random() * edges[-1])]
