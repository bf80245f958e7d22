"""Two-constraint bin packing by Caprara and Toth's ten classes, regenerated, and a comparison of class means.

python -m perf.caprara_toth [--published FILE] [--size N] [--each N]
"""

from __future__ import annotations

import random
from collections.abc import Callable

from packer.errors import InputError
from perf.instances import Bin, Instance, counted

SIZES = (25, 50, 100, 200)
TRIPLET_SIZES = (24, 51, 99, 201)
UNIFORM = {1: (1000, 100, 400), 2: (1000, 1, 1000), 3: (1000, 200, 800), 4: (1000, 50, 200), 5: (1000, 25, 100), 6: (150, 20, 100)}
"""Class → capacity and the range of both sizes, drawn independently."""


def caprara_toth(kind: int, count: int, seed: int) -> Instance:
    """One instance of class ``kind`` (1–10) with ``count`` items in two dimensions (Caprara and Toth, Discrete Applied Mathematics 111,
    2001, after Spieksma, 1994). The published files are not used: equal distributions, other numbers.

    1–6: both sizes uniform and independent. 7: the second size within 10 of the first. 8: the second within 10 of 120 less the first.
    9: as 1 with capacity 980, which gives the load of its published bounds (its recipe could not be read). 10: triplets that fill a bin of 1000 exactly in both dimensions (``count`` divisible by 3).
    """
    rng = random.Random(f"{kind}/{count}/{seed}")

    def draw(low: int, high: int) -> int:
        return low + int(rng.random() * (high - low + 1))

    name = f"caprara-toth-{kind}-{count}-{seed}"
    if kind in UNIFORM:
        capacity, low, high = UNIFORM[kind]
        sizes = [(draw(low, high), draw(low, high)) for _ in range(count)]
        return Instance(name, (Bin((capacity, capacity)),), counted(sizes))
    if kind in (7, 8):
        first = [draw(20, 100) for _ in range(count)]
        sizes = [(w, draw(w - 10, w + 10) if kind == 7 else draw(110 - w, 130 - w)) for w in first]
        return Instance(name, (Bin((150, 150)),), counted(sizes))
    if kind == 9:
        sizes = [(draw(100, 400), draw(100, 400)) for _ in range(count)]
        return Instance(name, (Bin((980, 980)),), counted(sizes))
    if kind == 10 and count % 3 == 0:
        triplets = [size for _ in range(count // 3) for size in zip(_thirds(draw), _thirds(draw), strict=True)]
        return Instance(name, (Bin((1000, 1000)),), counted(triplets), count // 3, count // 3)
    raise InputError(f"no class {kind} with {count} items", mend="classes are 1 to 10; class 10 wants a multiple of 3")


def _thirds(draw: Callable[[int, int], int]) -> tuple[int, int, int]:
    """Three sizes of at least 200 that add up to 1000."""
    first, second = draw(200, 400), draw(200, 400)
    return first, second, 1000 - first - second
