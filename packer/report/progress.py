"""The report's view of the search: cost against bound over the stages, drawn and as a table."""

from __future__ import annotations

from packer.model import Plan, Stage
from packer.report.charts import Frame, stage_plot
from packer.report.markup import Html, el
from packer.report.sections import section
from packer.words import an_hour, count, money, percent_up

_WIDE, _NARROW = Frame(880, 300), Frame(360, 260, left=66, right=10)


def progress(plan: Plan) -> Html:
    """Cost against bound over the stages: a step plot by work and by time, and the same as a table."""
    stages = plan.stages
    if not stages:
        return Html("")
    first, last = stages[0], stages[-1]
    description = (
        f"Cost of the best plan after each of {count(len(stages), 'stage')}: "
        f"from {an_hour(first.cost_microusd_per_hour)} after {first.name} to {an_hour(last.cost_microusd_per_hour)} after {last.name}"
    )
    if last.bound_microusd_per_hour is not None:
        description += f"; the proven lower bound ends at {an_hour(last.bound_microusd_per_hour)}"
    timed = any(stage.seconds > 0 for stage in stages)
    plots = [_plots(stages, False, description, hidden=timed)]
    buttons = Html("")
    if timed:
        plots.append(_plots(stages, True, description))
        buttons = el(
            "div",
            el("button", "By time", type="button", class_="button", aria_pressed="true", data_axis="time"),
            el("button", "By work", type="button", class_="button", aria_pressed="false", data_axis="work"),
            class_="switch",
            role="group",
            aria_label="Horizontal axis",
            hidden=True,
        )
    keys = el(
        "ul",
        el(
            "li",
            el("svg", el("path", d="M0,6H24", class_="cost-line"), viewBox="0 0 24 12", class_="key", aria_hidden="true"),
            "cost of the best plan (solid)",
        ),
        el(
            "li",
            el("svg", el("path", d="M0,6H24", class_="bound-line"), viewBox="0 0 24 12", class_="key", aria_hidden="true"),
            "proven lower bound (dashed)",
        ),
        class_="legend",
    )
    lead = "Where the lines meet, the plan is proven to be the cheapest."
    if any(stage.unplaced > last.unplaced for stage in stages):
        lead += " Open marks are plans that placed fewer pods."
    return section("search", "Cost against bound", buttons, el("figure", *plots, keys), _stage_table(stages), lead=lead)


def _plots(stages: tuple[Stage, ...], by_time: bool, description: str, *, hidden: bool = False) -> Html:
    wide = el("div", stage_plot(stages, by_time, _WIDE, description), class_="wide-only")
    narrow = el("div", stage_plot(stages, by_time, _NARROW, description), class_="narrow-only")
    return el("div", wide, narrow, data_plot="time" if by_time else "work", hidden=hidden)


def _stage_table(stages: tuple[Stage, ...]) -> Html:
    head = el(
        "tr",
        *(
            el("th", name, scope="col", class_=None if name == "Stage" else "num")
            for name in ("Stage", "Cost", "Bound", "Gap", "Unplaced", "Work", "Seconds")
        ),
    )
    rows = []
    for stage in stages:
        bound = stage.bound_microusd_per_hour
        gap = "–" if not bound else percent_up(max(stage.cost_microusd_per_hour - bound, 0), bound)
        cells = (
            money(stage.cost_microusd_per_hour),
            "–" if bound is None else money(bound),
            gap,
            f"{stage.unplaced:,}",
            f"{stage.work:,}",
            f"{stage.seconds:.3f}",
        )
        rows.append(el("tr", el("th", stage.name, scope="row"), *(el("td", cell, class_="num") for cell in cells)))
    table = el(
        "table", el("caption", "Cost in $/h and bound after each stage", class_="hidden-text"), el("thead", head), el("tbody", *rows)
    )
    scroll = el("div", table, class_="scroll", tabindex=0, role="region", aria_label="Stages as a table")
    return el("details", el("summary", "The stages as a table"), scroll)
