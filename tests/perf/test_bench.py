"""The benchmark's own arithmetic and text, without running a benchmark."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from packer.errors import UsageError
from packer.model import Stage
from perf import bench, ladder, measure, sides
from perf.sides import FFD, KARPENTER, OURS, OURS_FIRST, Comparison, Row

STAGES = (
    Stage("greedy", 120, 0, 0.01),
    Stage("columns", 120, 1, 0.5, 90),
    Stage("search", 105, 1, 1.0, 90),
    Stage("columns", 105, 2, 4.0, 100),
)


def test_what_was_reached_at_a_time_uses_only_what_was_known_then() -> None:
    """Neither a cost nor a bound from later may flatter the figure for an earlier moment."""
    assert measure.at(STAGES, 0.001) is None
    early, late = measure.at(STAGES, 0.6), measure.at(STAGES, 2.0)
    assert early is not None
    assert (early.cost_microusd_per_hour, early.bound_microusd_per_hour) == (120, 90)
    assert late is not None
    assert (late.cost_microusd_per_hour, late.bound_microusd_per_hour) == (105, 90)


def test_more_placed_pods_beat_a_lower_cost() -> None:
    """A stage that places more pods is the better one, whatever it costs, and only bounds for its count apply."""
    then = measure.at((Stage("a", 10, 0, 0.1, 10, unplaced=3), Stage("b", 50, 1, 0.2, 40)), 1.0)
    assert then is not None
    assert (then.cost_microusd_per_hour, then.bound_microusd_per_hour) == (50, 40)


@pytest.mark.parametrize("cost, bound, share", [(105, 100, 0.05), (0, 0, 0.0), (5, 0, None), (5, None, None)])
def test_cost_over_bound(cost: int, bound: int | None, share: float | None) -> None:
    """No bound, no figure; nothing to pay is exactly at the bound."""
    found = measure.over(cost, bound)
    assert found == share if share is None else found == pytest.approx(share)


def test_tables_are_markdown_whose_columns_line_up() -> None:
    """They are pasted into READMEs and read in terminals."""
    text = measure.table(("name", "cost"), [("a", "1.00"), ("longer", "20.00")])
    assert text.splitlines() == ["| name   |  cost |", "| ------ | ----: |", "| a      |  1.00 |", "| longer | 20.00 |"]


def comparison(workload: str = "diverse", **changes: Row) -> Comparison:
    rows = {
        KARPENTER: Row(KARPENTER, 150, 9, 0, 2.0, 0.5, 5, {"TopologySpread": 1}),
        FFD: Row(FFD, 160, 9, 0, 1.0, 0.6, None, {}),
        OURS_FIRST: Row(OURS_FIRST, 120, 9, 0, 0.05, 0.2, 1, {}),
        OURS: Row(OURS, 101, 9, 0, 3.0, 0.01, 1, {}),
    }
    return Comparison(workload, 2000, "all", 100, 100, 5, tuple({**rows, **changes}.values()))


def test_a_comparison_that_keeps_every_promise_misses_none() -> None:
    """Cheaper, a first plan in time, one plan in five, no rule broken."""
    assert sides.misses(comparison()) == []


@pytest.mark.parametrize(
    "planner, change, word",
    [
        (OURS, {"cost": 151}, "dearer"),
        (OURS, {"cost": 150}, "no cheaper"),
        (OURS, {"distinct": 2}, "different plans"),
        (OURS, {"broken": {"HostPortConflict": 1}}, "breaks rules"),
        (OURS, {"left": 1}, "leaves 1 pods"),
        (OURS_FIRST, {"seconds": 0.2}, "first plan takes"),
        (OURS_FIRST, {"cost": 151}, "first plan is dearer"),
    ],
)
def test_each_broken_promise_is_named(planner: str, change: dict[str, object], word: str) -> None:
    """One promise broken, one line that says so."""
    row = comparison().row(planner)
    assert row is not None
    broken = comparison(**{planner: replace(row, **change)})  # type: ignore[arg-type]
    assert any(word in miss for miss in sides.misses(broken))


def test_only_diverse_and_large_generic_input_promise_a_fast_first_plan() -> None:
    """On few shapes Karpenter itself takes milliseconds, and nothing was promised there."""
    slow = comparison("homogeneous", **{OURS_FIRST: Row(OURS_FIRST, 120, 9, 0, 1.0, 0.2, 1, {})})
    assert sides.misses(slow) == []


def test_the_text_of_a_comparison_names_broken_rules_and_leaves_out_what_is_unknown() -> None:
    """Honest tables: a rule that a peer breaks is shown beside its cost."""
    text = sides.text(comparison())
    assert "TopologySpread ×1" in text
    assert "50.00 %" in text
    assert sides.summary([comparison()]).count("\n") == 2


def test_sets_without_their_trace_say_what_they_need() -> None:
    """The trace is not ours to ship."""
    with pytest.raises(UsageError, match="--trace"):
        ladder.problem_of("alibaba-a-default", 0, None)


def test_an_unknown_set_is_answered_with_the_known_ones() -> None:
    """An error that can be acted on."""
    with pytest.raises(UsageError, match="first-1k"):
        ladder.run(["nonesuch"], seeds=1, units=None, trace=None, rungs=False, acceptance=True, as_json=False)


def test_a_plan_that_comes_too_late_misses_its_limit(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """No plan at the limit counts as infinitely far off, not as no figure."""
    monkeypatch.setattr(ladder, "_ask", lambda request: {"overAtLimit": None, "memoryMib": 100, "broken": {}})
    assert ladder.run(["first-1k"], seeds=3, units=None, trace=None, rungs=False, acceptance=True, as_json=False) == 1
    assert "too late" in capsys.readouterr().out
    assert ladder.run(["first-1k"], seeds=3, units=None, trace=None, rungs=False, acceptance=True, as_json=True) == 1
    assert json.loads(capsys.readouterr().out)["acceptance"][0]["measuredWorst"] is None


def test_limits_are_judged_by_median_and_worst(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """A good median does not excuse one bad seed, nor the other way round."""
    gaps = iter((0.001, 0.002, 0.2))
    monkeypatch.setattr(ladder, "_ask", lambda request: {"overAtLimit": next(gaps), "memoryMib": 100, "broken": {}})
    assert ladder.run(["1k"], seeds=3, units=None, trace=None, rungs=False, acceptance=True, as_json=False) == 1
    assert "missed: worst" in capsys.readouterr().out


def test_every_set_and_rung_is_listed() -> None:
    """``--list`` is where names for ``--set`` come from."""
    listing = ladder.listing()
    assert all(line.name in listing for line in ladder.LINES)
    assert len(listing.splitlines()) == len(ladder.LINES) + 1 + len(ladder.RUNGS)


@pytest.mark.parametrize("rung", [rung for rung in ladder.RUNGS if rung.pods <= 1_000])
def test_rungs_have_the_size_that_they_say(rung: ladder.Rung) -> None:
    """Pods and existing nodes as listed, and machines to choose from."""
    problem = ladder.rung_problem(rung)
    assert (len(problem.pods), len(problem.nodes)) == (rung.pods, rung.nodes)
    assert len(problem.offerings) > 300


def test_bench_shows_its_help(capsys: pytest.CaptureFixture[str]) -> None:
    """The door from ``packer bench`` passes arguments through."""
    assert bench.main(["--help"]) == 0
    assert "--peers" in capsys.readouterr().out


def test_tables_go_between_the_marks_of_a_file(tmp_path: Path) -> None:
    """Figures in documents are written by the benchmark, so that nobody copies them wrongly; what stands around stays."""
    page = tmp_path / "page.md"
    page.write_text("before\n\n<!-- peers -->\nold\n<!-- /peers -->\n\nafter\n", encoding="utf-8")
    measure.splice(page, "peers", "new")
    assert page.read_text(encoding="utf-8") == "before\n\n<!-- peers -->\n\nnew\n\n<!-- /peers -->\n\nafter\n"
    with pytest.raises(UsageError, match="ladder"):
        measure.splice(page, "ladder", "new")


def test_the_page_of_figures_has_all_marks(tmp_path: Path) -> None:
    """``--into perf/README.md`` finds its places."""
    page = tmp_path / "README.md"
    page.write_text((Path(bench.__file__).parent / "README.md").read_text(encoding="utf-8"), encoding="utf-8")
    for name in ("peers", "acceptance", "ladder"):
        measure.splice(page, name, f"figures of {name}")
        assert f"figures of {name}" in page.read_text(encoding="utf-8")
