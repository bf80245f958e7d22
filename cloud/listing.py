"""Offerings for people: chosen by filters, joined over zones, and two snapshots compared. Pure functions of offerings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from packer.model import ARCH, CPU, FAMILY, GPU_COUNT, GPU_MODEL, MEMORY, Offering, OfferingKey
from packer.parse.gpus import words


@dataclass(frozen=True, slots=True)
class Filter:
    """What to keep. Empty and None mean no restriction; ``gpu`` is a model, as people write it, or "any"."""

    families: tuple[str, ...] = ()
    capacity_types: tuple[str, ...] = ()
    zones: tuple[str, ...] = ()
    gpu: str = ""
    arch: str = ""
    min_cpu_milli: int = 0
    min_memory_bytes: int = 0
    min_gpus: int = 0
    max_price_microusd: int | None = None

    def accepts(self, offering: Offering) -> bool:
        labels, key = offering.labels, offering.key
        model = labels.get(GPU_MODEL, "")
        return (
            (not self.families or labels.get(FAMILY) in self.families)
            and (not self.capacity_types or key.capacity_type in self.capacity_types)
            and (not self.zones or key.zone in self.zones)
            and (not self.gpu or (bool(model) and (self.gpu == "any" or words(self.gpu) <= words(model))))
            and (not self.arch or labels.get(ARCH) == self.arch)
            and offering.allocatable.get(CPU, 0) >= self.min_cpu_milli
            and offering.allocatable.get(MEMORY, 0) >= self.min_memory_bytes
            and int(labels.get(GPU_COUNT, "0")) >= self.min_gpus
            and (self.max_price_microusd is None or offering.price_microusd_per_hour <= self.max_price_microusd)
        )


@dataclass(frozen=True, slots=True)
class Line:
    """One type at one price: an offering, and the zones in which it is the same."""

    offering: Offering
    zones: tuple[str, ...]

    @property
    def price(self) -> int:
        return self.offering.price_microusd_per_hour


def joined(offerings: Iterable[Offering]) -> list[Line]:
    """Offerings that differ in their zone alone become one line, in the order of their keys."""
    lines: dict[tuple[object, ...], list[Offering]] = {}
    for offering in sorted(offerings, key=lambda o: o.key):
        key = offering.key
        same = (key.provider, key.region, key.instance_type, key.capacity_type, offering.price_microusd_per_hour)
        lines.setdefault(same, []).append(offering)
    return [Line(found[0], tuple(o.key.zone for o in found if o.key.zone)) for found in lines.values()]


def price_per_cpu(line: Line) -> int:
    """Micro-dollars an hour for one allocatable cpu, rounded."""
    return round(line.price * 1000 / max(1, line.offering.allocatable.get(CPU, 0)))


ORDERS: dict[str, Callable[[Line], object]] = {
    "price": lambda line: line.price,
    "price-per-cpu": price_per_cpu,
    "cpu": lambda line: -line.offering.allocatable.get(CPU, 0),
    "memory": lambda line: -line.offering.allocatable.get(MEMORY, 0),
    "name": lambda line: line.offering.key.instance_type,
}
"""Orders of a list; equal lines follow their keys."""


def in_order(lines: Iterable[Line], order: str) -> list[Line]:
    key = ORDERS[order]
    return sorted(lines, key=lambda line: (key(line), line.offering.key))


@dataclass(frozen=True, slots=True)
class Move:
    """One type whose price changed, in the zones named."""

    line: Line
    old_microusd: int

    @property
    def change(self) -> int:
        """Tenths of a percent, rounded."""
        return round((self.line.price - self.old_microusd) * 1000 / self.old_microusd) if self.old_microusd else 0


@dataclass(frozen=True, slots=True)
class Difference:
    added: tuple[Line, ...]
    removed: tuple[Line, ...]
    moves: tuple[Move, ...]

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.moves)


def difference(old: Sequence[Offering], new: Sequence[Offering]) -> Difference:
    """What the second snapshot adds, lacks, and prices otherwise than the first."""
    before, after = _by_key(old), _by_key(new)
    moved: dict[int, list[Offering]] = {}
    for key in before.keys() & after.keys():
        if before[key].price_microusd_per_hour != after[key].price_microusd_per_hour:
            moved.setdefault(before[key].price_microusd_per_hour, []).append(after[key])
    moves = [Move(line, price) for price, offerings in moved.items() for line in joined(offerings)]
    return Difference(
        tuple(joined(after[key] for key in after.keys() - before.keys())),
        tuple(joined(before[key] for key in before.keys() - after.keys())),
        tuple(sorted(moves, key=lambda move: (move.line.offering.key, move.old_microusd))),
    )


def _by_key(offerings: Iterable[Offering]) -> dict[OfferingKey, Offering]:
    return {offering.key: offering for offering in offerings}
