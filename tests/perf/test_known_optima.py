"""Published instances whose optimum is known: the bound never above it, the plan never more than one bin above it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from perf.instances import Bin, Instance, Item, solve_instance

UNITS = 8
HARD_UNITS = {"HARD0": 256}
PATIENCE_S = 120.0
EXACT = {"instance.vbp", "instance.mvp"}


def instances() -> list[object]:
    path = Path(__file__).parent / "data" / "known_optima.json"
    entries = json.loads(path.read_text(encoding="utf-8"))["instances"]
    slow = [pytest.mark.needs("slow")]
    return [pytest.param(_instance(e), id=e["name"], marks=slow if e["name"] in HARD_UNITS else []) for e in entries]


def _instance(entry: dict[str, object]) -> Instance:
    bins = tuple(Bin(tuple(capacity), cost, stock) for capacity, cost, stock in entry["bins"])  # type: ignore[attr-defined]
    items = tuple(Item(tuple(map(tuple, choices)), count) for choices, count in entry["items"])  # type: ignore[attr-defined]
    return Instance(str(entry["name"]), bins, items, int(str(entry["optimum"])), int(str(entry["optimum"])))


@pytest.mark.parametrize("instance", instances())
def test_bound_below_and_plan_within_a_bin_of_the_optimum(instance: Instance) -> None:
    """VPSolver's two are met exactly: they are small, with many dimensions or several kinds of bins and choices of sizes."""
    outcome = solve_instance(instance, PATIENCE_S, HARD_UNITS.get(instance.name, UNITS))
    assert instance.upper is not None
    assert outcome.bound <= instance.upper + 1e-9
    assert instance.upper <= outcome.cost <= instance.upper + (instance.name not in EXACT)
