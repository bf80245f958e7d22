"""The report's sections in words: headline, cards, who was left out and why, what was skipped, warnings, glossary."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from packer.compare import Saving
from packer.model import Plan, Problem
from packer.render.plan import alike, reason_text
from packer.report.markup import Html, el, join
from packer.summary import Summary
from packer.words import a_month, an_hour, bound_an_hour, count, gap_words, listed, percent_up

ANCHORS = (
    ("summary", "Summary"),
    ("unplaced", "Unplaced"),
    ("fill", "Fill"),
    ("cost", "Cost"),
    ("search", "Search"),
    ("nodes", "Nodes"),
    ("skipped", "Skipped"),
    ("warnings", "Warnings"),
)
_MOST_UNPLACED = 200
_MOST_NAMES = 200


def section(anchor: str, title: str, *children: str, lead: str = "") -> Html:
    """A landmark with a heading and an optional sentence under it."""
    parts = [el("h2", title, id=f"{anchor}-title")]
    if lead:
        parts.append(el("p", lead, class_="lead"))
    return el("section", *parts, *children, id=anchor, aria_labelledby=f"{anchor}-title")


def headline(summary: Summary) -> Html:
    """The plan in one sentence, as the page's title."""
    asked = summary.pods_placed + summary.pods_unplaced
    if not asked:
        title = "No pod waits for a place"
    elif summary.pods_unplaced:
        title = f"{summary.pods_placed:,} of {count(asked, 'pod')} placed"
    else:
        title = f"All {count(asked, 'pod')} placed" if asked > 1 else "The pod is placed"
    where = []
    if summary.new_nodes:
        where.append(
            f"{count(summary.new_nodes, 'new node')} of {count(len({use.offering.instance_type for use in summary.types}), 'type')}"
        )
    if summary.existing_used:
        where.append(count(summary.existing_used, "existing node"))
    sentence = f"On {' and '.join(where)}." if where else "Nothing has to be bought."
    return el("div", el("h1", title), el("p", sentence, class_="lead"), class_="intro")


def cards(summary: Summary, plan: Plan, saving: Saving | None) -> Html:
    """The figures that matter, as a list of cards."""
    cost, objective, bound = summary.cost_microusd_per_hour, summary.objective_microusd_per_hour, summary.lower_bound_microusd_per_hour
    items = [
        _card("Cost", an_hour(cost), a_month(cost) + (f"; objective {an_hour(objective)}" if objective != cost else "")),
        _card("Quality", *_quality(objective, bound)),
    ]
    saved = saving or _search_saving(plan)
    if saved is not None and saved.cost_before > 0:
        word = "Saving" if saved.saved >= 0 else "Added cost"
        share = percent_up(abs(saved.saved), saved.cost_before) if saved.saved < 0 else _percent_down(saved.saved, saved.cost_before)
        items.append(_card(word, share, f"{an_hour(abs(saved.saved))} against {saved.against}, {an_hour(saved.cost_before)}"))
    left = f"{summary.pods_unplaced:,} unplaced" if summary.pods_unplaced else "none unplaced"
    skipped = f", {summary.pods_skipped:,} skipped" if summary.pods_skipped else ""
    items.append(_card("Pods", f"{summary.pods_placed:,} placed", left + skipped, warn=summary.pods_unplaced > 0))
    return section("summary", "Summary", el("ul", *items, class_="cards"))


def _card(name: str, value: str, note: str, *, warn: bool = False) -> Html:
    return el("li", el("h3", name), el("p", value, class_="value"), el("p", note, class_="note"), class_="card warn" if warn else "card")


def _quality(objective: int, bound: int) -> tuple[str, str]:
    if objective == bound:
        return "Optimal", f"{gap_words(objective, bound)}: {an_hour(bound)}"
    if bound <= 0:
        return "Unknown", gap_words(objective, bound)
    return (
        f"≤ {percent_up(objective - bound, bound)} over",
        f"{gap_words(objective, bound)}; no plan of as many pods can be below {bound_an_hour(objective, bound)}",
    )


def _percent_down(part: int, whole: int) -> str:
    tenths = part * 1000 // whole
    return f"{tenths // 10}.{tenths % 10} %"


def _search_saving(plan: Plan) -> Saving | None:
    comparable = [stage for stage in plan.stages if plan.stages and stage.unplaced == plan.stages[-1].unplaced]
    if len(comparable) < 2:
        return None
    return Saving("the first plan found", comparable[0].cost_microusd_per_hour, comparable[-1].cost_microusd_per_hour)


def unplaced(problem: Problem, plan: Plan) -> Html:
    """Who was left out and why, by workload."""
    if not plan.unplaced:
        return Html("")
    groups = alike(problem, plan.unplaced)
    items = [_unplaced_item(name, keys, [reason_text(reason) for reason in reasons]) for name, keys, reasons in groups[:_MOST_UNPLACED]]
    if len(groups) > _MOST_UNPLACED:
        items.append(
            el(
                "li",
                f"and {sum(len(keys) for _, keys, _ in groups[_MOST_UNPLACED:]):,} more pods of {len(groups) - _MOST_UNPLACED:,} workloads",
            )
        )
    hint = el("p", "What would place a pod: ", el("code", f"packer explain {groups[0][1][0]} -f INPUT"), class_="note")
    return section(
        "unplaced",
        f"Unplaced: {count(len(plan.unplaced), 'pod')}",
        el("ul", *items, class_="stack"),
        hint,
        lead="Each reason says how many offerings or existing nodes it rules out.",
    )


def _unplaced_item(workload: str, keys: list[str], reasons: Iterable[str]) -> Html:
    title = keys[0] if len(keys) == 1 else f"{workload}: {count(len(keys), 'pod')}"
    names = el("details", el("summary", "Names"), el("p", listed(keys, _MOST_NAMES), class_="names")) if len(keys) > 1 else Html("")
    return el("li", el("h3", title), el("ul", *(el("li", reason) for reason in reasons), class_="reasons"), names, class_="panel warn")


def skipped(plan: Plan) -> Html:
    """Pods that were no question for the packer."""
    if not plan.skipped:
        return Html("")
    groups: dict[tuple[str, str], list[str]] = defaultdict(list)
    for one in plan.skipped:
        groups[one.reason.value, one.message].append(one.pod)
    items = []
    for (reason, message), keys in sorted(groups.items(), key=lambda item: (-len(item[1]), item[0]))[:_MOST_UNPLACED]:
        names = el("p", listed(sorted(keys), _MOST_NAMES), class_="names")
        shown = names if len(keys) <= 5 else el("details", el("summary", "Names"), names)
        items.append(el("li", el("h3", f"{reason}: {count(len(keys), 'pod')}"), el("p", message) if message else "", shown, class_="panel"))
    return section(
        "skipped",
        f"Skipped: {count(len(plan.skipped), 'pod')}",
        el("ul", *items, class_="stack"),
        lead="These pods were not for the packer to place.",
    )


def warnings(plan: Plan) -> Html:
    """What was odd in the input."""
    if not plan.notices:
        return Html("")
    shown = plan.notices[:_MOST_UNPLACED]
    items = [el("li", el("strong", notice.reason), " ", notice.message) for notice in shown]
    if len(plan.notices) > len(shown):
        items.append(el("li", f"and {len(plan.notices) - len(shown):,} more: packer solve -o json has them all"))
    return section("warnings", f"Warnings: {len(plan.notices):,}", el("ul", *items, class_="panel plain"))


_TERMS = (
    ("Offering", "An instance type in a zone with a capacity type (on-demand, spot), at a price."),
    (
        "Lower bound",
        (
            "A proven amount: no plan that places as many pods on these offerings has a lower objective. "
            "The gap is how far this plan can be from the least at most."
        ),
    ),
    (
        "Objective",
        (
            "The cost plus node fees, penalties of the policy and the risk of spot interruptions, as the policy weighs them. "
            "Without a policy it is the cost."
        ),
    ),
    ("Daemons", "Pods of DaemonSets that run on every new node which they match; their share is taken off first."),
    ("Unplaced", "Pods for which no offering and no existing node had a place."),
    ("Skipped", "Pods that the packer leaves alone: gated, ignored, of another scheduler, or already on their way to a node."),
)


def glossary() -> Html:
    """The words that the report uses."""
    items = [part for term, meaning in _TERMS for part in (el("dt", term), el("dd", meaning))]
    return el(
        "section", el("details", el("summary", "What the words mean"), el("dl", join(items))), class_="glossary", aria_label="Glossary"
    )
