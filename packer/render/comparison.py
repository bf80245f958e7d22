"""What differs between plans, what a repack would save, and what a judge found, as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from packer.compare import Comparison, Repack
from packer.render.text import PLAIN, Column, Ink, Style, block, clean, facts, heading, table, wrapped
from packer.words import a_month, added, an_hour, count, gap_words, listed, money, percent, place_name

_MOST = 15


class Violation(Protocol):
    """What a judge says (packer.check.Violation)."""

    @property
    def code(self) -> str: ...
    @property
    def message(self) -> str: ...
    @property
    def subject(self) -> str: ...


def comparison_text(comparison: Comparison, style: Style = PLAIN, *, names: tuple[str, str] = ("first", "second")) -> str:
    """The second plan against the first: cost, nodes by offering, pods whose place differs."""
    if comparison.same:
        cost = an_hour(comparison.cost_after)
        return block(
            [f"{heading('Same plan', style)}  {cost}, {count(comparison.nodes_after, 'new node')}, {comparison.placed_after:,} pods placed"]
        )
    return block(
        [_verdict(comparison, names, style)],
        _figures(comparison, names, style),
        _types(comparison, style),
        _pods(comparison, style),
    )


def _verdict(comparison: Comparison, names: tuple[str, str], style: Style) -> str:
    change, second = comparison.cost_change, clean(names[1])
    if comparison.placed_before != comparison.placed_after:
        fewer = comparison.placed_after < comparison.placed_before
        text = f"{second} places {abs(comparison.placed_after - comparison.placed_before):,} {'fewer' if fewer else 'more'} pods"
        return f"{style.paint(text, Ink.WARN if fewer else Ink.GOOD)} and costs {added(change)}"
    if change == 0:
        return f"{second} costs the same, {an_hour(comparison.cost_after)}, with other nodes or places"
    share = percent(abs(change), comparison.cost_before) if comparison.cost_before else ""
    text = f"{second} is {an_hour(abs(change))} {'cheaper' if change < 0 else 'dearer'}{f' ({share})' if share else ''}"
    return style.paint(text, Ink.GOOD if change < 0 else Ink.WARN) + f", {a_month(abs(change))}"


def _figures(c: Comparison, names: tuple[str, str], style: Style) -> list[str]:
    columns = [
        Column(""),
        Column(names[0].upper(), right=True, shrink=True),
        Column(names[1].upper(), right=True, shrink=True),
        Column("CHANGE", right=True),
    ]
    rows = [["cost", an_hour(c.cost_before), an_hour(c.cost_after), added(c.cost_change)]]
    if (c.objective_before, c.objective_after) != (c.cost_before, c.cost_after):
        rows.append(["objective", an_hour(c.objective_before), an_hour(c.objective_after), added(c.objective_after - c.objective_before)])
    rows.append(["bound", an_hour(c.bound_before), an_hour(c.bound_after), added(c.bound_after - c.bound_before)])
    rows.append(["new nodes", f"{c.nodes_before:,}", f"{c.nodes_after:,}", f"{c.nodes_after - c.nodes_before:+,}"])
    rows.append(["pods placed", f"{c.placed_before:,}", f"{c.placed_after:,}", f"{c.placed_after - c.placed_before:+,}"])
    return [*table(columns, rows, style), *wrapped(f"{names[1]}: {gap_words(c.objective_after, c.bound_after)}", style)]


def _types(comparison: Comparison, style: Style) -> list[str]:
    columns = [Column("OFFERING", shrink=True), Column("BEFORE", right=True), Column("AFTER", right=True), Column("$/H", right=True)]
    rows = [
        [
            place_name(change.offering),
            f"{change.before:,}",
            f"{change.after:,}",
            added(change.cost_after_microusd_per_hour - change.cost_before_microusd_per_hour),
        ]
        for change in comparison.types
    ]
    lines = table(columns, rows[:_MOST], style)
    return [*lines, f"  and {len(rows) - _MOST:,} more offerings"] if len(rows) > _MOST else lines


def _pods(comparison: Comparison, style: Style) -> list[str]:
    lines = []
    if comparison.newly_placed:
        lines += wrapped(f"Now placed: {listed(comparison.newly_placed)}", style, hang=2)
    if comparison.newly_unplaced:
        lines += wrapped(f"No longer placed: {listed(comparison.newly_unplaced)}", style, hang=2)
    elsewhere = [move for move in comparison.moves if "unplaced" not in (move.before, move.after)]
    if elsewhere:
        examples = listed((f"{move.pod} ({move.before} → {move.after})" for move in elsewhere), 3)
        lines += wrapped(f"{count(len(elsewhere), 'pod')} on another kind of node: {examples}", style, hang=2)
    return lines


def repack_text(repack: Repack, style: Style = PLAIN) -> str:
    """What the running nodes cost, what the same pods would cost bought anew, and what stands in the way."""
    saved = repack.saving.saved
    if repack.unplaced:
        verdict = style.paint(f"A repack is not possible as it stands: {count(len(repack.unplaced), 'pod')} would have no place", Ink.WARN)
    elif repack.worthwhile:
        share = percent(saved, repack.cost_now)
        verdict = style.paint(f"A repack would save {an_hour(saved)} ({share})", Ink.GOOD) + f", {a_month(saved)}"
    else:
        verdict = "A repack would save nothing: what runs now is as cheap as anything found"
    pairs = [
        ("Now", f"{count(repack.nodes_now, 'node')} for {an_hour(repack.cost_now)}"),
        (
            "Repacked",
            f"{count(repack.nodes_repacked, 'node')} for {an_hour(repack.cost_repacked)}, {count(repack.pods_moved, 'pod')} moved",
        ),
    ]
    columns = [
        Column("TYPE", shrink=True),
        Column("NOW", right=True),
        Column("$/H", right=True),
        Column("REPACKED", right=True),
        Column("$/H", right=True),
    ]
    now = {name: (nodes, cost) for name, nodes, cost in repack.types_now}
    after = {name: (nodes, cost) for name, nodes, cost in repack.types_repacked}
    names = sorted(now.keys() | after.keys(), key=lambda name: (-max(now.get(name, (0, 0))[1], after.get(name, (0, 0))[1]), name))
    rows = []
    for name in names:
        (before, cost_before), (later, cost_after) = now.get(name, (0, 0)), after.get(name, (0, 0))
        rows.append([name, *_nodes_and_cost(before, cost_before), *_nodes_and_cost(later, cost_after)])
    return block([verdict], facts(pairs, style), table(columns, rows[:_MOST], style), _obstacles(repack, style))


def _nodes_and_cost(nodes: int, cost: int) -> tuple[str, str]:
    return (f"{nodes:,}", money(cost)) if nodes else ("–", "–")


def _obstacles(repack: Repack, style: Style) -> list[str]:
    lines = []
    if repack.unplaced:
        lines += wrapped(f"Without a place: {listed(repack.unplaced)}", style, hang=2)
    if repack.kept:
        lines += wrapped(f"Left alone: {listed((f'{node} ({why})' for node, why in repack.kept), 3)}", style, hang=2)
    if repack.bare:
        lines += wrapped(
            f"{count(len(repack.bare), 'pod')} without an owner would not start again: {listed(repack.bare, 3)}", style, hang=2
        )
    lines += wrapped("An estimate: moving pods interrupts them, and this prices no interruption.", style)
    return lines


def violations_text(violations: Sequence[Violation], style: Style = PLAIN) -> str:
    """A judge's findings, or that there are none."""
    if not violations:
        return block([style.paint("The plan is valid", Ink.GOOD) + ": no rule is broken, and its figures are right"])
    columns = [Column("RULE"), Column("SUBJECT", shrink=True), Column("WHAT IS WRONG", shrink=True)]
    rows = [[str(one.code), one.subject, one.message] for one in violations]
    title = style.paint(f"The plan is invalid: {count(len(violations), 'violation')}", Ink.BAD)
    return block([title], table(columns, rows, Style(None, style.colour)))
