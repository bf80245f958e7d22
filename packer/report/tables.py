"""The report's tables: cost by type, and every node, which a reader can search and sort."""

from __future__ import annotations

from collections.abc import Iterator

from packer.report.charts import share_bar
from packer.report.markup import Html, el
from packer.report.sections import section
from packer.summary import NodeGroup, Summary
from packer.words import amount, count, listed, money, percent, short

_MOST_NAME_BYTES = 5_000_000
"""Pod names beyond this many bytes stay out of the page, so that 100,000 pods give a file of less than 10 MB."""


def cost_by_type(summary: Summary) -> Html:
    """What each offering costs, dearest first, with its share of the whole."""
    if not summary.types:
        return Html("")
    resources = [name for name in summary.resources if name != "pods"]
    heads = [("Type", ""), ("Zone", ""), ("Capacity", ""), ("Nodes", "num"), ("$/h each", "num"), ("$/h", "num"), ("Share of cost", "")]
    heads += [(short(name), "num") for name in resources] + [("Pods", "num")]
    cost = summary.cost_microusd_per_hour
    rows = []
    for use in summary.types:
        key = use.offering
        share = el(
            "td",
            el("span", percent(use.cost_microusd_per_hour, cost), class_="pct"),
            share_bar(use.cost_microusd_per_hour, cost),
            class_="with-bar",
        )
        fills = (percent(use.used.get(name, 0), use.allocatable.get(name, 0)) for name in resources)
        rows.append(
            el(
                "tr",
                el("th", key.instance_type, scope="row"),
                el("td", key.zone or key.region or "–"),
                el("td", key.capacity_type or "–"),
                *(
                    el("td", cell, class_="num")
                    for cell in (f"{use.nodes:,}", money(use.price_microusd_per_hour), money(use.cost_microusd_per_hour))
                ),
                share,
                *(el("td", cell, class_="num") for cell in (*fills, f"{use.pods:,}")),
            )
        )
    total = (
        money(cost),
        percent(cost, cost),
        *(percent(summary.totals_used.get(n, 0), summary.totals.get(n, 0)) for n in resources),
        f"{summary.pods_new:,}",
    )
    foot = el(
        "tr",
        el("th", "Together", scope="row", colspan=3),
        el("td", f"{summary.new_nodes:,}", class_="num"),
        el("td"),
        *(el("td", cell, class_="num") for cell in total),
    )
    head = el("thead", el("tr", *(el("th", name, scope="col", class_=kind or None) for name, kind in heads)))
    table = el(
        "table",
        el("caption", "New nodes and their cost by offering; fill is the part of allocatable that is used", class_="hidden-text"),
        head,
        el("tbody", *rows),
        el("tfoot", foot),
    )
    return section("cost", "Cost by type", el("div", table, class_="scroll", tabindex=0, role="region", aria_labelledby="cost-title"))


def every_node(summary: Summary) -> Html:
    """Every node, equal ones in one row, each with its pods; searched by anything in it and sorted by any column."""
    if not summary.groups:
        return Html("")
    resources = list(summary.resources)
    named = sum(len(pod) + 2 for node in summary.nodes for pod in node.pods) <= _MOST_NAME_BYTES
    heads = [
        ("Nodes", "num"),
        ("Type", ""),
        ("Zone", ""),
        ("Capacity", ""),
        ("$/h", "num"),
        *((short(name), "num") for name in resources),
        ("Holds", ""),
    ]
    head = el("tr", *(el("th", name, scope="col", class_=kind or None, data_sort="number" if kind else "text") for name, kind in heads))
    rows = [el("tr", *_cells(group, resources, named)) for group in summary.groups]
    search = el(
        "div",
        el(
            "label",
            "Search nodes, types, zones, workloads and pods" if named else "Search nodes, types, zones and workloads",
            for_="search-nodes",
        ),
        el("input", type="search", id="search-nodes", autocomplete="off", spellcheck="false", aria_controls="node-table"),
        el("p", count(len(rows), "row"), id="search-count", role="status", class_="note"),
        class_="search",
        hidden=True,
    )
    table = el(
        "table",
        el("caption", "Nodes with fill by resource and what they hold", class_="hidden-text"),
        el("thead", head),
        el("tbody", *rows),
        id="node-table",
    )
    more = el("button", "Show all", type="button", class_="button", id="more-nodes", hidden=True)
    note = Html("") if named else el("p", "Pod names are left out for size; packer solve -o json has them.", class_="note")
    return section(
        "nodes",
        "Every node",
        search,
        el("div", table, class_="scroll", tabindex=0, role="region", aria_labelledby="nodes-title"),
        more,
        note,
    )


def _cells(group: NodeGroup, resources: list[str], named: bool) -> Iterator[Html]:
    node = group.first
    yield el("td", f"{len(group.nodes):,}", class_="num", data_value=len(group.nodes))
    yield el("th", node.instance_type or "–", scope="row")
    yield el("td", node.zone or "–")
    yield el("td", node.capacity_type or ("existing" if node.existing else "–"))
    yield el(
        "td", "existing" if node.existing else money(group.price_microusd_per_hour), class_="num", data_value=group.price_microusd_per_hour
    )
    for name in resources:
        used, whole = node.used(name), node.allocatable.get(name, 0)
        words = f"{amount(name, used)} of {amount(name, whole)}"
        cell = [percent(used, whole), el("span", words, class_="abs")] if whole else ["–"]
        yield el("td", *cell, class_="num", data_value=used * 1000 // whole if whole else -1)
    holds = listed((share.workload if share.pods == 1 else f"{share.workload} × {share.pods:,}" for share in node.shares), 3)
    lines = [el("li", el("strong", one.name), *([": ", ", ".join(one.pods)] if named else [])) for one in group.nodes]
    summary = f"{count(len(group.nodes), 'node')}, {count(group.pods, 'pod')}" if named else count(len(group.nodes), "node")
    yield el("td", holds, el("details", el("summary", summary), el("ul", *lines, class_="names")), class_="holds")
