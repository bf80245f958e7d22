"""The report's view of how pods fill each node by resource: a card for each kind of equal nodes, stacked bars in it."""

from __future__ import annotations

from collections.abc import Iterable

from packer.model import PODS
from packer.report.charts import SEGMENT_STYLES, Segment, legend, stacked_bar
from packer.report.markup import Html, el
from packer.report.sections import section
from packer.summary import NodeGroup, NodeUse, Share, Summary
from packer.words import amount, an_hour, count, listed, percent, short

MOST_CARDS = 24
MOST_EXISTING = 6
"""Cards of nodes that stand already: they cost nothing, and seldom two are equal."""


def fill(summary: Summary) -> Html:
    """How pods fill each node by resource: a card for each kind of equal nodes, with one stacked bar a resource."""
    if not summary.groups:
        return Html("")
    new = [group for group in summary.groups if not group.first.existing]
    standing = sorted((group for group in summary.groups if group.first.existing), key=lambda group: (-group.pods, group.first.name))
    shown = [*new[: MOST_CARDS - min(len(standing), MOST_EXISTING)], *standing[:MOST_EXISTING]]
    items = [_fill_card(group, summary.resources) for group in shown]
    rest = [group for group in summary.groups if group not in shown]
    more = Html("")
    if rest:
        nodes = sum(len(group.nodes) for group in rest)
        more = el(
            "p",
            f"{count(nodes, 'more node')} in {count(len(rest), 'other group')}: all of them are in the ",
            el("a", "table of nodes", href="#nodes"),
            ".",
            class_="note",
        )
    lead = (
        "Equal nodes share a card. Each bar is one node’s allocatable amount; "
        "parts stand in the order of the list under it, the empty part is free."
    )
    return section("fill", "How full the nodes are", _overall(summary), el("ul", *items, class_="grid"), more, lead=lead)


def _overall(summary: Summary) -> Html:
    """All new nodes together, one bar a resource."""
    if summary.new_nodes < 2:
        return Html("")
    rows = []
    for name in summary.resources:
        whole, used = summary.totals.get(name, 0), summary.totals_used.get(name, 0)
        if whole:
            words = f"{amount(name, used)} of {amount(name, whole)}"
            bar = stacked_bar(
                [Segment(used, "seg0", f"used: {amount(name, used)}")], whole, f"{short(name)}: {percent(used, whole)} used, {words}"
            )
            rows.append(_bar_row(name, bar, percent(used, whole), words))
    return el("div", el("h3", "All new nodes together"), *rows, class_="panel overall")


def _fill_card(group: NodeGroup, resources: Iterable[str]) -> Html:
    node = group.first
    times = f"{len(group.nodes):,} × " if len(group.nodes) > 1 else ""
    kind = node.instance_type or node.name
    price = "stands already" if node.existing else f"{an_hour(group.price_microusd_per_hour)}{' together' if len(group.nodes) > 1 else ''}"
    place = " · ".join(part for part in (node.zone, node.capacity_type, price) if part)
    names = listed((one.name for one in group.nodes), 2)
    drawn, hidden = node.shares[: SEGMENT_STYLES - 1], node.shares[SEGMENT_STYLES - 1 :]
    if len(hidden) == 1:
        drawn, hidden = node.shares[:SEGMENT_STYLES], ()
    rows = []
    for name in resources:
        whole = node.allocatable.get(name, 0)
        if whole > 0:
            segments = _segments(node, name, drawn, hidden)
            words = f"{amount(name, node.used(name))} of {amount(name, whole)}"
            label = f"{short(name)}: {percent(node.used(name), whole)} used, {words}. " + ", ".join(segment.title for segment in segments)
            rows.append(_bar_row(name, stacked_bar(segments, whole, label), percent(node.used(name), whole), words))
    items = [("over", _overhead_words(node))] if node.overhead.get(PODS, 0) or any(node.overhead.values()) else []
    items += [(f"seg{i}", _share_words(share)) for i, share in enumerate(drawn)]
    if hidden:
        items.append(
            (f"seg{SEGMENT_STYLES - 1}", f"{count(len(hidden), 'other workload')}, {count(sum(share.pods for share in hidden), 'pod')}")
        )
    head = el("div", el("h3", times, kind), el("p", place, class_="note"), class_="card-head")
    return el("li", head, *rows, legend(items), el("p", names, class_="names"), class_="panel fill")


def _bar_row(name: str, bar: Html, share: str, words: str) -> Html:
    return el(
        "div",
        el("span", short(name), class_="res"),
        bar,
        el("span", share, class_="pct"),
        el("span", words, class_="abs"),
        class_="bar-row",
    )


def _segments(node: NodeUse, resource: str, drawn: Iterable[Share], hidden: Iterable[Share]) -> list[Segment]:
    over = node.overhead.get(resource, 0)
    segments = [Segment(over, "over", f"{_overhead_words(node)}: {amount(resource, over)}")] if over > 0 else []
    for i, share in enumerate(drawn):
        value = share.requests.get(resource, 0)
        if value:
            segments.append(Segment(value, f"seg{i}", f"{_share_words(share)}: {amount(resource, value)}"))
    rest = sum(share.requests.get(resource, 0) for share in hidden)
    if rest:
        segments.append(Segment(rest, f"seg{SEGMENT_STYLES - 1}", f"other workloads: {amount(resource, rest)}"))
    return segments


def _overhead_words(node: NodeUse) -> str:
    return "runs there already" if node.existing else "daemons"


def _share_words(share: Share) -> str:
    return share.workload if share.pods == 1 else f"{share.workload} × {share.pods:,}"
