"""A plan as text: the table of `packer solve`, and the wide one that names every node."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from packer.model import GroupedReason, Notice, Plan, Problem, Skipped, Status, Unplaced
from packer.render.text import PLAIN, Column, Ink, Style, block, clean, facts, heading, table, wrapped
from packer.summary import NodeGroup, Share, Summary, TypeUse, summarize, workload_of
from packer.words import a_month, amount, an_hour, bound_an_hour, count, gap_words, listed, money, percent, short

_MOST_WORKLOADS = 3


def plan_table(problem: Problem, plan: Plan, style: Style = PLAIN, *, wide: bool = False) -> str:
    """What to buy, what it costs, how good that is, and who is left out. ``wide`` names every node and its pods."""
    summary = summarize(problem, plan)
    return block(
        _headline(summary, style),
        _group_table(summary, style) if wide else _type_table(summary, style),
        _existing_table(summary, style, most=None if wide else 10),
        money_lines(summary, style),
        unplaced_lines(problem, plan.unplaced, style, most=None if wide else 10),
        skipped_lines(plan.skipped, style, most=None if wide else 5),
        notice_lines(plan.notices, style, most=None if wide else 10),
    )


def _headline(summary: Summary, style: Style) -> list[str]:
    asked = summary.pods_placed + summary.pods_unplaced
    placed = f"{summary.pods_placed:,} of {count(asked, 'pod')} placed"
    ink = Ink.GOOD if not summary.pods_unplaced else Ink.BAD if summary.status is Status.INFEASIBLE else Ink.WARN
    parts = [placed]
    if summary.new_nodes:
        parts.append(f"{count(summary.new_nodes, 'new node')} for {an_hour(summary.cost_microusd_per_hour)}")
    else:
        parts.append("nothing to buy")
    if summary.existing_used:
        parts.append(f"{count(summary.pods_existing, 'pod')} on {count(summary.existing_used, 'existing node')}")
    if summary.pods_skipped:
        parts.append(f"{summary.pods_skipped:,} skipped")
    first, *rest = wrapped(f"Plan  {', '.join(parts)}", style, indent=0, hang=6)
    return [first.replace(placed, style.paint(placed, ink), 1).replace("Plan", heading("Plan", style), 1), *rest]


def fill_columns(summary: Summary, wide: bool) -> list[str]:
    """The resources worth a column: those asked for; pod slots only in the wide table."""
    return [name for name in summary.resources if wide or name != "pods"]


def _type_table(summary: Summary, style: Style) -> list[str]:
    resources = fill_columns(summary, wide=False)
    columns = [
        Column("NODES", right=True),
        Column("TYPE", shrink=True),
        Column("ZONE", drop=3),
        Column("CAPACITY", drop=4),
        Column("$/H EACH", right=True, drop=5),
        Column("$/H", right=True),
        *(Column(short(name).upper(), right=True, drop=2) for name in resources),
        Column("PODS", right=True),
    ]
    rows = [_type_row(use, resources) for use in summary.types]
    if len(rows) > 1:
        fills = [percent(summary.totals_used.get(name, 0), summary.totals.get(name, 0)) for name in resources]
        rows.append(
            [f"{summary.new_nodes:,}", "together", "", "", "", money(summary.cost_microusd_per_hour), *fills, f"{summary.pods_new:,}"]
        )
    return table(columns, rows, style)


def _type_row(use: TypeUse, resources: Iterable[str]) -> list[str]:
    fills = [percent(use.used.get(name, 0), use.allocatable.get(name, 0)) for name in resources]
    key = use.offering
    each, together = money(use.price_microusd_per_hour), money(use.cost_microusd_per_hour)
    return [f"{use.nodes:,}", key.instance_type, key.zone or key.region, key.capacity_type, each, together, *fills, f"{use.pods:,}"]


def _group_table(summary: Summary, style: Style) -> list[str]:
    """Every new node, equal ones in one row, with what each holds."""
    resources = fill_columns(summary, wide=True)
    columns = [
        Column("NODES", right=True),
        Column("TYPE", shrink=True),
        Column("ZONE", drop=3),
        Column("CAPACITY", drop=4),
        Column("$/H", right=True),
        *(Column(short(name).upper(), right=True, drop=2) for name in resources),
        Column("HOLDS (EACH)", shrink=True, drop=1),
        Column("NAMES", shrink=True, drop=6),
    ]
    rows = [_group_row(group, resources, style) for group in summary.groups if not group.first.existing]
    return table(columns, rows, style)


def _group_row(group: NodeGroup, resources: Iterable[str], style: Style) -> list[str]:
    node = group.first
    fills = [
        f"{amount(name, node.used(name))}/{amount(name, node.allocatable[name])}" if node.allocatable.get(name) else "–"
        for name in resources
    ]
    key = node.offering
    place = (node.zone or (key.region if key else "")) if key else node.zone
    names = listed((one.name for one in group.nodes), most=1 if style.width else len(group.nodes))
    return [
        f"{len(group.nodes):,}",
        node.instance_type,
        place,
        node.capacity_type,
        money(group.price_microusd_per_hour),
        *fills,
        held(node.shares),
        names,
    ]


def held(shares: tuple[Share, ...], most: int = _MOST_WORKLOADS) -> str:
    """ "web × 8, db": what a node holds, by workload."""
    return listed((share.workload if share.pods == 1 else f"{share.workload} × {share.pods}" for share in shares), most)


def _existing_table(summary: Summary, style: Style, most: int | None) -> list[str]:
    resources = fill_columns(summary, wide=False)
    columns = [
        Column("EXISTING NODE", shrink=True),
        Column("TYPE", drop=3, shrink=True),
        Column("ZONE", drop=4),
        *(Column(short(name).upper(), right=True, drop=2) for name in resources),
        Column("NEW PODS", right=True),
    ]
    nodes = sorted((node for node in summary.nodes if node.existing), key=lambda node: (-len(node.pods), node.name))
    rows = []
    for node in nodes[:most]:
        fills = [percent(node.used(name), node.allocatable.get(name, 0)) for name in resources]
        rows.append([node.name, node.instance_type, node.zone, *fills, f"{len(node.pods):,}"])
    lines = table(columns, rows, style)
    if most is not None and len(nodes) > most:
        lines.append(f"  and {len(nodes) - most:,} more: packer solve -f … -o wide")
    return lines


def money_lines(summary: Summary, style: Style = PLAIN) -> list[str]:
    """Cost, objective where it differs, the bound and the gap in words."""
    cost, objective, bound = summary.cost_microusd_per_hour, summary.objective_microusd_per_hour, summary.lower_bound_microusd_per_hour
    pairs = [("Cost", f"{an_hour(cost)} ({a_month(cost)})" if cost else "nothing: no machine has to be bought")]
    if objective != cost:
        pairs.append(("Objective", f"{an_hour(objective)}: cost with fees, penalties, spot risk and durations as the policy weighs them"))
    if objective or bound:
        least = "costs less" if objective == cost else "has a lower objective"
        pairs.append(("Bound", f"{bound_an_hour(objective, bound)}: no plan that places as many pods {least}"))
        pairs.append(("Quality", gap_words(objective, bound)))
    if summary.truncated:
        pairs.append(("Truncated", "a deadline cut the search; the same input may give another plan next time"))
    return facts(pairs, style)


def reason_text(reason: GroupedReason) -> str:
    """ "612 offerings: nvidia.com/gpu 0 of 1"."""
    who = []
    if reason.offerings:
        who.append(count(reason.offerings, "offering"))
    if reason.nodes:
        who.append(count(reason.nodes, "existing node"))
    return f"{' and '.join(who)}: {reason.message}" if who else reason.message


def alike(problem: Problem, unplaced: Iterable[Unplaced]) -> list[tuple[str, list[str], tuple[GroupedReason, ...]]]:
    """Unplaced pods of one workload with the same reasons, together: (workload, pods, reasons), most pods first."""
    pods = {pod.key: pod for pod in problem.pods}
    groups: dict[tuple[str, tuple[GroupedReason, ...]], list[str]] = defaultdict(list)
    for one in unplaced:
        groups[workload_of(pods.get(one.pod), one.pod), one.reasons].append(one.pod)
    return sorted(
        ((name, sorted(keys), reasons) for (name, reasons), keys in groups.items()), key=lambda group: (-len(group[1]), group[1][0])
    )


def unplaced_lines(problem: Problem, unplaced: tuple[Unplaced, ...], style: Style = PLAIN, *, most: int | None = None) -> list[str]:
    """Who was left out and why, by workload; ends with the command that says more."""
    groups = alike(problem, unplaced)
    if not groups:
        return []
    lines = [heading(f"Unplaced: {count(len(unplaced), 'pod')}", style)]
    for _, keys, reasons in groups[:most]:
        others = f" and {len(keys) - 1:,} more like it" if len(keys) > 1 else ""
        lines.append(f"  {style.paint(clean(keys[0]), Ink.BAD)}{others}")
        for reason in reasons:
            lines.extend(wrapped(reason_text(reason), style, indent=4, hang=2))
    if most is not None and len(groups) > most:
        lines.append(f"  and {sum(len(keys) for _, keys, _ in groups[most:]):,} more pods: packer solve -f … -o wide")
    lines.append(f"  What would place it: packer explain {clean(groups[0][1][0])} -f …")
    return lines


def skipped_lines(skipped: tuple[Skipped, ...], style: Style = PLAIN, *, most: int | None = None) -> list[str]:
    """Pods that were no question for the packer, by reason."""
    if not skipped:
        return []
    groups: dict[tuple[str, str], list[str]] = defaultdict(list)
    for one in skipped:
        groups[one.reason.value, one.message if most is None else ""].append(one.pod)
    lines = [heading(f"Skipped: {count(len(skipped), 'pod')}", style)]
    for (reason, message), keys in sorted(groups.items(), key=lambda item: (-len(item[1]), item[0])):
        text = f"{len(keys):,} {reason}: {listed(sorted(keys), most=3 if most else len(keys))}"
        lines.extend(wrapped(f"{text} ({message})" if message else text, style, hang=2))
    return lines


def notice_lines(notices: tuple[Notice, ...], style: Style = PLAIN, *, most: int | None = None) -> list[str]:
    """Warnings about the input."""
    if not notices:
        return []
    lines = [heading(f"Warnings: {len(notices):,}", style)]
    for notice in notices[:most]:
        lines.extend(wrapped(f"{notice.reason}: {notice.message}", style, hang=2))
    if most is not None and len(notices) > most:
        lines.append(f"  and {len(notices) - most:,} more: packer solve -f … -o wide")
    return lines
