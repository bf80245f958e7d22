"""A plan as text: figures, words, widths, colours, and text from dumps that must not reach the terminal as commands."""

from __future__ import annotations

import re
from dataclasses import replace

from packer.model import Launch, Notice, Plan, Problem, Status
from packer.render import PLAIN, Style, plan_table, style_for
from packer.render.text import Column, table
from packer.summary import summarize, workload_of
from tests.views.samples import make_offering, make_pod, rich_sample

ESCAPE = "\x1b"


def test_table_says_what_to_buy_what_it_costs_and_how_good_that_is() -> None:
    # The first screen: types with counts, cost, bound, quality, who was left out.
    sample = rich_sample()
    text = plan_table(sample.problem, sample.plan)
    assert text.startswith("Plan  17 of 21 pods placed, 5 new nodes for $1.6112/h, 1 pod on 1 existing node, 1 skipped\n")
    assert re.search(r"4 +m7\.xlarge +z-a +on-demand +\$0\.2016 +\$0\.8064 +86 % +83 % +– +15\n", text)
    assert re.search(r"5 +together +\$1\.6112 +84 % +81 % +100 % +16\n", text)
    assert "within 0.6 % of the least possible" in text
    assert "batch/huge-0 and 2 more like it\n    6 offerings: cpu at most 7810m of 9\n    1 existing node: cpu 1830m of 9\n" in text
    assert "packer explain batch/huge-0" in text
    assert "1 Gated: ml/waits" in text
    assert "PriceUnusable: m9.large in z-a: price 0 is refused" in text


def test_wide_table_names_every_node_and_what_it_holds() -> None:
    sample = rich_sample()
    text = plan_table(sample.problem, sample.plan, wide=True)
    for launch in sample.plan.launches:
        assert launch.name in text
    assert "shop/web-7d9f6c5b4 × 4" in text
    assert "3700m/3920m" in text
    assert "scheduling gate example.com/hold" in text


def test_no_line_is_wider_than_the_terminal() -> None:
    # Columns give way in order of importance; nothing wraps into a mess.
    sample = rich_sample()
    for width in (60, 80, 100, 140):
        for wide in (False, True):
            text = plan_table(sample.problem, sample.plan, Style(width, colour=True), wide=wide)
            lines = re.sub(r"\x1b\[\d+m", "", text).splitlines()
            assert max(map(len, lines)) <= width, (width, wide)
    assert "TYPE" in plan_table(sample.problem, sample.plan, Style(60))


def test_colour_only_on_a_terminal_that_wants_it() -> None:
    # no-color.org; and colour never says anything that the words do not.
    assert style_for(False, 120, {}) == PLAIN
    assert style_for(True, 120, {}) == Style(120, True)
    assert style_for(True, 120, {"NO_COLOR": "1"}) == Style(120, False)
    assert style_for(True, 120, {"TERM": "dumb"}) == Style(120, False)
    sample = rich_sample()
    coloured = plan_table(sample.problem, sample.plan, Style(120, True))
    assert ESCAPE in coloured
    assert re.sub(r"\x1b\[\d+m", "", coloured) == plan_table(sample.problem, sample.plan, Style(120))


def test_control_characters_of_a_dump_do_not_reach_the_terminal() -> None:
    # A pod name from a hostile file must not clear the screen or hide a line.
    evil = "a\x1b[2Jb\rc\u202e"
    pod, offering = make_pod(evil, 100, 1, owner=evil), make_offering(evil, 1000, 2000, 4)
    plan = Plan(Status.FEASIBLE, (Launch(evil, offering.key, 1000, (pod.key,)),), (), (), (), (Notice(evil, evil),), 1000, 1000, 1000)
    for wide in (False, True):
        text = plan_table(Problem((pod,), (), (offering,)), plan, wide=wide)
        assert not set(text) & {"\x1b", "\r", "\u202e"}


def test_same_plan_gives_the_same_text_whatever_the_order_of_the_input() -> None:
    sample = rich_sample()
    shuffled = replace(sample.problem, pods=sample.problem.pods[::-1], offerings=sample.problem.offerings[::-1])
    assert plan_table(sample.problem, sample.plan, wide=True) == plan_table(shuffled, sample.plan, wide=True)


def test_nothing_to_do_is_said_in_words() -> None:
    text = plan_table(Problem((), (), ()), Plan(Status.OPTIMAL, (), (), (), (), (), 0, 0, 0))
    assert "nothing to buy" in text
    assert "no machine has to be bought" in text


def test_objective_appears_where_it_differs_from_the_cost() -> None:
    sample = rich_sample()
    plan = replace(sample.plan, objective_microusd_per_hour=sample.plan.cost_microusd_per_hour + 100_000)
    assert "Objective  $1.7112/h" in plan_table(sample.problem, plan)


def test_columns_give_way_from_the_least_important() -> None:
    columns = [Column("NAME", shrink=True), Column("EXTRA", drop=2), Column("MORE", drop=1)]
    rows = [["n" * 30, "e" * 10, "m" * 10]]
    assert table(columns, rows, Style(58))[0].split() == ["NAME", "EXTRA", "MORE"]
    assert table(columns, rows, Style(50))[0].split() == ["NAME", "MORE"]
    assert table(columns, rows, Style(40))[1] == "  " + "n" * 30
    assert table(columns, rows, Style(25))[1] == "  " + "n" * 22 + "…"
    assert table(columns, [], PLAIN) == []


def test_summary_adds_up_what_nodes_hold() -> None:
    # Fill = daemons or running pods, and the plan's pods; slots count too.
    sample = rich_sample()
    summary = summarize(sample.problem, sample.plan)
    standing = next(node for node in summary.nodes if node.existing)
    assert (standing.used("cpu"), standing.used("pods")) == (300, 2)
    assert summary.totals_used["cpu"] == sum(node.used("cpu") for node in summary.nodes if not node.existing)
    assert summary.resources == ("cpu", "memory", "nvidia.com/gpu", "pods")
    assert [len(group.nodes) for group in summary.groups] == [1, 3, 1, 1]


def test_workload_is_the_owner_or_the_name_without_what_controllers_add() -> None:
    assert workload_of(make_pod("web-5d8f7c9b6-x7k2p", 1, 1, owner="web-5d8f7c9b6"), "") == "default/web-5d8f7c9b6"
    for key, name in (("a/web-5d8f7c9b6-x7k2p", "a/web"), ("a/db-12", "a/db"), ("a/train", "a/train"), ("a/my-train", "a/my-train")):
        assert workload_of(None, key) == name
