"""Compiles one family of kernels by using it on a little problem: ``python -m packer.warm_kernels search|bounds``."""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np

from packer import columns, kernels, search
from packer.arrays import Bins, Packing, empty_side
from packer.dense import build
from packer.model import CPU, HOSTNAME, MEMORY, PODS, ZONE, Node, Offering, OfferingKey, Pod, PodSpec, Problem

GIB = 1 << 30
SIZES = ((500, 1), (900, 3), (1500, 2), (2100, 7))
"""Millicores and GiB of the pods of each class."""
COPIES = 40


def bounds() -> None:
    """Dominance, greedies, pricing."""
    packing = _packing()
    kernels.dominance(packing)
    bins, _ = kernels.greedy(packing, kernels.lone_weights(packing), packing.count, int(packing.count.sum()) + 1)
    side = empty_side(len(packing.count), int(packing.cell.max()) + 1)
    columns.Generator(packing, side, bins, np.zeros(int(packing.tier.max()) + 1, np.int64)).run(1)


def neighbourhoods() -> None:
    """Neighbourhood search, from a start that needs no greedy: every item in a bin of its own."""
    packing = _packing()
    classes = len(packing.count)
    kind = np.array([int(np.argmax((packing.most[c] > 0) & ~packing.existing)) for c in range(classes)], np.int64)
    start = Bins(kind, packing.count.copy(), np.eye(classes, dtype=np.int64))
    search.Search(packing, start, packing.price[kind].astype(np.float64)).run(1)


FAMILIES: dict[str, Callable[[], None]] = {"search": neighbourhoods, "bounds": bounds}


def _packing() -> Packing:
    """A few classes of pods, machines of three sizes in two zones, and one node that exists."""
    pods = tuple(
        Pod("warm", f"{number}-{copy}", "", PodSpec({CPU: cpu, MEMORY: gib * GIB}), {"app": str(number)})
        for number, (cpu, gib) in enumerate(SIZES)
        for copy in range(COPIES)
    )
    room = {CPU: 4000, MEMORY: 16 * GIB, PODS: 20}
    node = Node("old", {HOSTNAME: "old", ZONE: "a"}, (), room, room)
    return build(Problem(pods, (node,), tuple(_offering(zone, size) for zone in "ab" for size in (1, 2, 4)))).packing


def _offering(zone: str, size: int) -> Offering:
    key = OfferingKey("warm", "r", zone, f"x{size}", "on-demand")
    return Offering(key, 90_000 * size + 10_000, {CPU: 4000 * size, MEMORY: 16 * GIB * size, PODS: 20 * size}, {ZONE: zone})


if __name__ == "__main__":
    FAMILIES[sys.argv[1]]()
