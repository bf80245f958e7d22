"""Published packing instances with known answers: readers, the same as pods and offerings, and a run over a folder of them.

    python -m perf.instances PATH [--bounds bpplib_bounds.tsv] [--sample N]

An :class:`Instance` is vector packing with variable bins: item kinds, each with one or several possible size vectors, into bin kinds with
a capacity vector, a cost and perhaps a stock. Formats:

- ESICUP one-dimensional sets (``*.BPP``, ``hard28``: quoted name, kinds, capacity, then size and count; Falkenauer's ``binpack*.txt``;
  Scholl's zipped sets: items, capacity, then one size a line). One file may hold many instances.
- BPPLIB bounds: name, lower and upper bound, tab-separated.
- VPSolver ``.vbp`` (dimensions, capacities, kinds, then sizes and count) and ``.mvp`` (several bin types; items with alternatives).
"""

from __future__ import annotations

import argparse
import math
import sys
import time
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations_with_replacement, product
from pathlib import Path

from packer.errors import InputError
from packer.model import INSTANCE_TYPE, PODS, Offering, OfferingKey, Pod, PodSpec, Problem

UNIT_MICROUSD = 1_000_000
"""One unit of cost of an instance, as a price: a plan's cost in dollars is the instance's objective."""
SLOTS = 1 << 20
"""Pod slots of a bin: never binding."""
BPPLIB_PREFIX = {"SCH_WAE1": "Schwerin1_", "SCH_WAE2": "Schwerin2_", "WAE_GAU1": "Waescher_", "hard28": "Hard28_"}
"""What BPPLIB puts before the names of a file's instances."""
KNOWN = {"instance.vbp": 21, "vbp.vbp": 21, "instance.mvp": 8, "mvp.mvp": 8}
"""Optima of VPSolver's example files."""


@dataclass(frozen=True, slots=True)
class Bin:
    capacity: tuple[int, ...]
    cost: int = 1
    stock: int | None = None


@dataclass(frozen=True, slots=True)
class Item:
    """``count`` items, each taking one of ``choices`` (a size vector each)."""

    choices: tuple[tuple[int, ...], ...]
    count: int = 1


@dataclass(frozen=True, slots=True)
class Instance:
    """``lower`` and ``upper`` are published bounds on the optimum; equal when the optimum is known, None when nothing is."""

    name: str
    bins: tuple[Bin, ...]
    items: tuple[Item, ...]
    lower: int | None = None
    upper: int | None = None

    @property
    def item_count(self) -> int:
        return sum(item.count for item in self.items)


def read(path: Path, bounds: dict[str, tuple[int, int]] | None = None) -> tuple[Instance, ...]:
    """All instances of a file, told by its suffix or its first character, with published bounds where ``bounds`` or ``KNOWN`` has them.

    Errors: :class:`InputError` if it is none of the formats.
    """
    if path.suffix == ".zip":
        with zipfile.ZipFile(path) as archive:
            names = sorted(name for name in archive.namelist() if name.upper().endswith(".BPP"))
            found = tuple(_scholl(Path(name).stem, archive.read(name).decode("ascii")) for name in names)
    else:
        text = path.read_text(encoding="latin-1")
        try:
            if path.suffix == ".vbp":
                found = (_vbp(path.name, text),)
            elif path.suffix == ".mvp":
                found = (_mvp(path.name, text),)
            elif text.lstrip().startswith("'"):
                found = tuple(_quoted(BPPLIB_PREFIX.get(path.stem, ""), text))
            else:
                found = tuple(_falkenauer(text))
        except (ValueError, IndexError) as error:
            raise InputError(f"not a known instance format ({error})", where=str(path)) from error
    known = {name: (optimum, optimum) for name, optimum in KNOWN.items()} | (bounds or {})
    return tuple(with_bounds(instance, known) for instance in found)


def read_bounds(path: Path) -> dict[str, tuple[int, int]]:
    """BPPLIB's table: name → (lower, upper)."""
    bounds = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        name, lower, upper = line.split("\t")
        bounds[name] = (int(lower), int(upper))
    return bounds


def with_bounds(instance: Instance, bounds: dict[str, tuple[int, int]]) -> Instance:
    """The instance with its published bounds, where the table has its name."""
    if instance.name not in bounds:
        return instance
    lower, upper = bounds[instance.name]
    return replace(instance, lower=lower, upper=upper)


# Formats --------------------------------------------------------------------------------------------------------------------------


def _quoted(prefix: str, text: str) -> Iterator[Instance]:
    """'NAME', kinds, capacity, then size and count for each kind; repeated."""
    parts = text.split("'")
    for name, body in zip(parts[1::2], parts[2::2], strict=True):
        kinds, capacity, *numbers = map(int, body.split())
        pairs = zip(numbers[0::2], numbers[1::2], strict=True)
        items = tuple(Item(((size,),), count) for size, count in pairs)
        if len(items) != kinds:
            raise ValueError(f"{name}: {len(items)} kinds, not {kinds}")
        yield Instance(prefix + "".join(name.split()), (Bin((capacity,)),), items)


def _falkenauer(text: str) -> Iterator[Instance]:
    """Number of problems; each: name, then capacity, items and the best known number of bins, then one size an item.

    Triplets have one decimal place, in the capacity too; they are counted in tenths.
    """
    words = iter(text.split())
    for _ in range(int(next(words))):
        name, capacity = next(words), next(words)
        tenths = "." in capacity
        count, best = int(next(words)), int(next(words))
        items = counted((_whole(next(words), tenths),) for _ in range(count))
        yield Instance(f"Falkenauer_{name}", (Bin((_whole(capacity, tenths),)),), items, upper=best)


def _whole(word: str, tenths: bool) -> int:
    whole, _, part = word.partition(".")
    return int(whole) * 10 + int(part or 0) if tenths else int(word)


def _scholl(name: str, text: str) -> Instance:
    """Number of items, capacity, one size an item."""
    count, capacity, *sizes = map(int, text.split())
    if len(sizes) != count:
        raise ValueError(f"{name}: {len(sizes)} items, not {count}")
    return Instance(name, (Bin((capacity,)),), counted((size,) for size in sizes))


def _vbp(name: str, text: str) -> Instance:
    words = list(map(int, text.split()))
    dimensions = words[0]
    capacity, kinds = tuple(words[1 : 1 + dimensions]), words[1 + dimensions]
    rows = _rows(words[2 + dimensions :], dimensions + 1)
    if len(rows) != kinds:
        raise ValueError(f"{len(rows)} kinds, not {kinds}")
    return Instance(name, (Bin(capacity),), tuple(Item((row[:-1],), row[-1]) for row in rows))


def _mvp(name: str, text: str) -> Instance:
    """Dimensions, bin types (capacities, cost, stock or -1), item kinds (alternatives and count, then one size vector each)."""
    words = iter(map(int, text.split()))
    dimensions, bin_count = next(words), next(words)
    bins = []
    for _ in range(bin_count):
        capacity, cost, stock = tuple(next(words) for _ in range(dimensions)), next(words), next(words)
        bins.append(Bin(capacity, cost, None if stock < 0 else stock))
    items = []
    for _ in range(next(words)):
        alternatives, count = next(words), next(words)
        items.append(Item(tuple(tuple(next(words) for _ in range(dimensions)) for _ in range(alternatives)), count))
    return Instance(name, tuple(bins), tuple(items))


def _rows(words: Sequence[int], width: int) -> list[tuple[int, ...]]:
    if len(words) % width:
        raise ValueError(f"{len(words)} numbers are not rows of {width}")
    return [tuple(words[i : i + width]) for i in range(0, len(words), width)]


def counted(sizes: Iterable[tuple[int, ...]]) -> tuple[Item, ...]:
    """Equal sizes joined, largest first."""
    counts: dict[tuple[int, ...], int] = {}
    for size in sizes:
        counts[size] = counts.get(size, 0) + 1
    return tuple(Item((size,), count) for size, count in sorted(counts.items(), reverse=True))


# As pods and offerings ------------------------------------------------------------------------------------------------------------


def without_choices(instance: Instance) -> Iterator[Instance]:
    """The instance once for each way to share its items among their size vectors: its optimum is the least of theirs."""
    shares = [[*combinations_with_replacement(range(len(item.choices)), item.count)] for item in instance.items]
    for i, picked in enumerate(product(*shares)):
        items = tuple(
            Item((choice,), chosen.count(k))
            for item, chosen in zip(instance.items, picked, strict=True)
            for k, choice in enumerate(item.choices)
            if k in chosen
        )
        yield replace(instance, name=f"{instance.name}/{i}", items=items)


def problem(instance: Instance) -> Problem:
    """Items as pods (dimension d is resource ``example.com/d``), bins as offerings. Items must have one size vector each."""
    dimensions = len(instance.bins[0].capacity)
    names = [f"example.com/{d}" for d in range(dimensions)]
    pods = []
    for i, item in enumerate(instance.items):
        (size,) = item.choices
        spec = PodSpec({name: amount for name, amount in zip(names, size, strict=True) if amount})
        pods += [Pod("instance", f"item-{i:04d}-{k:04d}", f"item-{i:04d}-{k:04d}", spec) for k in range(item.count)]
    offerings = []
    for i, bin_ in enumerate(instance.bins):
        key = OfferingKey("instance", "", "", f"bin-{i}", "on-demand")
        allocatable = {**dict(zip(names, bin_.capacity, strict=True)), PODS: SLOTS}
        labels = {INSTANCE_TYPE: key.instance_type}
        offerings.append(Offering(key, bin_.cost * UNIT_MICROUSD, allocatable, labels, available_count=bin_.stock))
    return Problem(tuple(pods), (), tuple(offerings))


# Solving them ---------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the packer made of an instance. ``bound`` and ``cost`` are in units of the instance's cost; the bound may be a fraction."""

    instance: Instance
    bound: float
    cost: int
    seconds: float

    @property
    def sound(self) -> bool:
        """The bound is not above the best known cost, every item is placed and the plan is at most one unit of cost above it."""
        upper = self.instance.upper
        return self.cost >= 0 and (upper is None or (self.bound <= upper + 1e-9 and self.cost <= upper + 1))


def solve_instance(instance: Instance, seconds: float, units: int = 4096) -> Outcome:
    """Solve with ``units`` of work or within about ``seconds``, shared out over the ways to choose sizes when items have a choice."""
    from packer.solve import Budget, solve

    ways = list(without_choices(instance)) if any(len(item.choices) > 1 for item in instance.items) else [instance]
    started = time.perf_counter()
    bounds, costs = [], []
    for way in ways:
        plan = solve(problem(way), Budget(units, deadline_s=seconds / len(ways))).plan
        bounds.append(plan.lower_bound_microusd_per_hour)
        costs.append(None if plan.unplaced else plan.cost_microusd_per_hour)
    placed = [cost for cost in costs if cost is not None]
    cost = min(placed) // UNIT_MICROUSD if placed else -1
    return Outcome(instance, min(bounds) / UNIT_MICROUSD, cost, time.perf_counter() - started)


def main(argv: Sequence[str] | None = None) -> int:
    """Print a line an instance and a summary a file; 1 if any bound is above the known optimum or any plan more than one bin above it."""
    parser = argparse.ArgumentParser(
        prog="python -m perf.instances", description="Solve published instances and compare with what is known."
    )
    parser.add_argument("path", type=Path, help="a file of instances, or a folder of such files")
    parser.add_argument("--bounds", type=Path, help="BPPLIB's table of bounds (default: bpplib_bounds.tsv beside or above PATH)")
    parser.add_argument("--sample", type=int, default=0, help="so many instances a file, evenly chosen; 0 = all")
    parser.add_argument("--seconds", type=float, default=10.0, help="at most so long an instance")
    given = parser.parse_args(argv)
    table = given.bounds or next((p for p in (given.path, *given.path.parents) if (p / "bpplib_bounds.tsv").exists()), None)
    bounds = read_bounds(table if table and table.is_file() else table / "bpplib_bounds.tsv") if table else {}
    failed = 0
    for path in _files(given.path):
        instances = read(path, bounds)
        step = max(1, len(instances) // given.sample) if given.sample else 1
        outcomes = [_reported(solve_instance(one, given.seconds)) for one in instances[::step][: given.sample or None]]
        failed += sum(not outcome.sound for outcome in outcomes)
        known = [outcome for outcome in outcomes if outcome.instance.upper is not None]
        met = sum(outcome.cost == outcome.instance.upper for outcome in known)
        proven = sum(math.ceil(outcome.bound - 1e-9) == outcome.instance.upper for outcome in known)
        _say(f"{path.name}: {len(outcomes)} solved, {met} of {len(known)} at the known optimum, {proven} with a bound that proves it")
    return 1 if failed else 0


def _files(path: Path) -> list[Path]:
    formats = (".bpp", ".txt", ".zip", ".vbp", ".mvp", "")
    inside = sorted(p for p in path.rglob("*") if p.is_file() and p.suffix.lower() in formats and "info" not in p.stem)
    return inside if path.is_dir() else [path]


def _reported(outcome: Outcome) -> Outcome:
    known = "?" if outcome.instance.upper is None else str(outcome.instance.upper)
    verdict = "" if outcome.sound else "  WRONG"
    _say(
        f"  {outcome.instance.name:28} items {outcome.instance.item_count:5}  known {known:>5}  bound {outcome.bound:9.3f}"
        f"  plan {outcome.cost:5}  {outcome.seconds:5.1f} s{verdict}"
    )
    return outcome


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
