"""The machines that benchmarks plan with: AWS us-east-1 from the offline catalog, as the published figures name them."""

from __future__ import annotations

from collections.abc import Collection
from functools import cache

from cloud import catalog
from packer.model import Offering
from perf import generators

REGION = "us-east-1"
POOL_CPU_MILLI = (1_500, 32_000)
"""Allocatable cpu of machines of 2 to 32 vCPU."""


@cache
def aws(capacity_types: tuple[str, ...] = ("on-demand",)) -> tuple[Offering, ...]:
    """Every offering that the default policy allows: no burstable and no fractional-GPU families."""
    offerings, _ = catalog.load("aws", regions=[REGION], capacity_types=capacity_types)
    return tuple(o for o in offerings if not o.burstable and not o.fractional_gpu)


def all_types() -> tuple[Offering, ...]:
    """All on-demand types in all their zones."""
    return aws()


def chosen_pool() -> tuple[Offering, ...]:
    """What a careful operator allows: families c, m and r with 2 to 32 vCPU, on demand, in all zones."""
    return generators.of_families(aws(), ("c", "m", "r"), generation=1, cpu_milli=POOL_CPU_MILLI)


def recent(limit: int | None = None) -> tuple[Offering, ...]:
    """Families c, m, r and g of generation 4 and later, no bare metal, on demand, one zone each; with ``limit`` so many of them, evenly."""
    return thinned(generators.one_zone_each(generators.of_families(aws(), metal=False)), limit)


def zones_and_spot() -> tuple[Offering, ...]:
    """The same families, on demand and spot, in every zone: some 7,000 offerings."""
    return generators.of_families(aws(("on-demand", "spot")), metal=False)


def thinned(offerings: tuple[Offering, ...], limit: int | None) -> tuple[Offering, ...]:
    if limit is None or len(offerings) <= limit:
        return offerings
    return tuple(offerings[i * len(offerings) // limit] for i in range(limit))


def zones(offerings: Collection[Offering]) -> tuple[str, ...]:
    return tuple(sorted({o.key.zone for o in offerings}))


def types(offerings: Collection[Offering]) -> int:
    """How many instance types there are among them."""
    return len({o.key.instance_type for o in offerings})
