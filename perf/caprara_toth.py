"""Two-constraint bin packing by Caprara and Toth's ten classes, regenerated, and a comparison of class means.

python -m perf.caprara_toth [--published FILE] [--size N] [--each N]
"""

from __future__ import annotations

import argparse
import csv
import math
import random
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import fmean, stdev

from packer.errors import InputError
from perf.instances import Bin, Instance, Outcome, counted, solve_instance

SIZES = (25, 50, 100, 200)
TRIPLET_SIZES = (24, 51, 99, 201)
UNIFORM = {1: (1000, 100, 400), 2: (1000, 1, 1000), 3: (1000, 200, 800), 4: (1000, 50, 200), 5: (1000, 25, 100), 6: (150, 20, 100)}
"""Class → capacity and the range of both sizes, drawn independently."""


def caprara_toth(kind: int, count: int, seed: int) -> Instance:
    """One instance of class ``kind`` (1–10) with ``count`` items in two dimensions (Caprara and Toth, Discrete Applied Mathematics 111,
    2001, after Spieksma, 1994). The published files are not used: equal distributions, other numbers.

    1–6: both sizes uniform and independent. 7: the second size within 10 of the first. 8: the second within 10 of 120 less the first.
    9: as 1 with capacity 980, which gives the load of its published bounds (its recipe could not be read).
    10: triplets that fill a bin of 1000 exactly in both dimensions (``count`` divisible by 3).
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


def read_published(path: Path) -> dict[tuple[int, int], float]:
    """Mean optimum by class and size of a table class_or_size,n,instance,z_star,lp_bound (class 10 has its size first)."""
    optima: dict[tuple[int, int], list[float]] = {}
    with path.open(encoding="utf-8", newline="") as stream:
        for row in csv.DictReader(stream):
            key = (10, int(row["class_or_size"])) if row["n"] == "class10" else (int(row["class_or_size"]), int(row["n"]))
            optima.setdefault(key, []).append(float(row["z_star"]))
    return {key: fmean(values) for key, values in optima.items()}


def main(argv: Sequence[str] | None = None) -> int:
    """Means by class and size: plan, proven bound and, where published, the optimum of the original files.

    Regenerated instances are other samples of the same class, so the published mean and ours differ by chance: the last column is that
    difference in standard errors of a mean of so many instances. What is proven is the plan over the bound: 1 if it is above 1 % anywhere.
    """
    parser = argparse.ArgumentParser(prog="python -m perf.caprara_toth", description="Plan over bound on regenerated Caprara-Toth classes.")
    parser.add_argument("--published", type=Path, help="table of optima: class_or_size,n,instance,z_star,lp_bound")
    parser.add_argument("--size", type=int, action="append", help="number of items (repeatable; default all four)")
    parser.add_argument("--each", type=int, default=10, help="instances a class and size")
    parser.add_argument("--seconds", type=float, default=10.0, help="at most so long an instance")
    given = parser.parse_args(argv)
    published = read_published(given.published) if given.published else {}
    sys.stdout.write("class size     plan    bound  over %  published  errors\n")
    worst = 0.0
    for kind in range(1, 11):
        for size in TRIPLET_SIZES if kind == 10 else SIZES:
            if given.size and size not in given.size:
                continue
            outcomes = [solve_instance(caprara_toth(kind, size, seed), given.seconds) for seed in range(given.each)]
            over = _over(outcomes)
            worst = max(worst, over)
            plans = [float(outcome.cost) for outcome in outcomes]
            known = published.get((kind, size))
            error = (stdev(plans) * (2 / len(plans)) ** 0.5) if len(plans) > 1 else 0.0
            against = f"{known:9.1f}  {(fmean(plans) - known) / error:6.1f}" if known is not None and error else f"{known or '':>9}"
            sys.stdout.write(f"{kind:5} {size:4} {fmean(plans):8.1f} {fmean(o.bound for o in outcomes):8.2f} {over:7.2f}  {against}\n")
            sys.stdout.flush()
    return 1 if worst > 1 else 0


def _over(outcomes: Sequence[Outcome]) -> float:
    """Percent by which the mean plan is above the mean of the bounds, each rounded up: costs are whole bins. Infinite without a bound."""
    bounds = [math.ceil(outcome.bound - 1e-9) for outcome in outcomes]
    return (fmean(float(outcome.cost) for outcome in outcomes) / fmean(bounds) - 1) * 100 if any(bounds) else math.inf


if __name__ == "__main__":
    sys.exit(main())
