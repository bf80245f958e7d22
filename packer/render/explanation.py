"""An explanation as text: where the pod goes, what its node is full of, what else was possible, and what would change the answer."""

from __future__ import annotations

from packer.explain.values import Explanation, Filling, Lever, NodeStory, Outcome, PodFacts, Priced, Remedy, Survey
from packer.render.plan import reason_text
from packer.render.text import PLAIN, Column, Ink, Style, block, clean, facts, heading, table, wrapped
from packer.words import added, amount, an_hour, count, listed, percent, place_name, resource_order, short

_LEVERS = {Lever.POD: "the pod", Lever.POLICY: "the policy", Lever.CATALOG: "the catalog", Lever.MIXED: "together"}


def explanation_text(explanation: Explanation, style: Style = PLAIN) -> str:
    """The whole answer, most important first."""
    if explanation.skipped is not None:
        return block(_headline(explanation, style), wrapped(explanation.skipped.message, style) if explanation.skipped.message else [])
    return block(
        _headline(explanation, style),
        _pod_lines(explanation.facts, style),
        _remedy_lines(explanation, style) if explanation.outcome is Outcome.UNPLACED else [],
        _node_lines(explanation.node, explanation.outcome, style) if explanation.node else [],
        _choice_lines(explanation, explanation.node, style) if explanation.node else [],
        _survey_lines("Offerings", "offering", explanation.offerings, style),
        _survey_lines("Existing nodes", "node", explanation.nodes, style),
    )


def _headline(explanation: Explanation, style: Style) -> list[str]:
    node, outcome = explanation.node, "unplaced"
    if explanation.skipped is not None:
        outcome = f"skipped: {explanation.skipped.reason.value}"
    elif node is not None and explanation.outcome is Outcome.NEW_NODE and node.offering is not None:
        outcome = f"goes to new node {node.name}: {place_name(node.offering)}, {an_hour(node.price_microusd_per_hour or 0)}"
    elif node is not None:
        outcome = f"goes to existing node {node.name}, which costs nothing more"
    pod = clean(explanation.pod)
    first, *rest = wrapped(f"{pod}  {outcome}", style, indent=0, hang=2)
    if outcome == "unplaced":
        first = first.replace(outcome, style.paint(outcome, Ink.BAD))
    return [first.replace(pod, heading(pod, style), 1), *rest]


def _pod_lines(pod: PodFacts | None, style: Style) -> list[str]:
    if pod is None:
        return []
    asks = ", ".join(f"{short(name)} {amount(name, pod.requests[name])}" for name in resource_order(pod.requests)) or "nothing"
    pairs = [("Asks for", asks), ("Needs", "; ".join(pod.constraints)), ("Gang", pod.gang)]
    pairs.append(("Priority", str(pod.priority) if pod.priority else ""))
    pairs.append(("Policy rule", pod.rule if pod.rule != "default" else ""))
    return facts(pairs, style)


def _node_lines(node: NodeStory, outcome: Outcome, style: Style) -> list[str]:
    """What fills the node, resource by resource; the fullest one is what decides its size."""
    columns = [
        Column("FILLED WITH"),
        Column("THIS POD", right=True),
        Column("ALL PODS", right=True),
        Column("DAEMONS" if outcome is Outcome.NEW_NODE else "RUNNING", right=True, drop=1),
        Column("ALLOCATABLE", right=True),
        Column("USED", right=True),
    ]
    rows = [_filling_row(one) for one in node.fillings]
    lines = table(columns, rows, style)
    tightest = fullest(node)
    if tightest is not None:
        share = percent(tightest.allocatable - tightest.free, tightest.allocatable)
        text = f"Fullest in {short(tightest.resource)}: {share} used, {amount(tightest.resource, max(tightest.free, 0))} free"
        lines += wrapped(f"{text}; {count(len(node.pods), 'pod')} of this plan there", style)
    return lines


def _filling_row(one: Filling) -> list[str]:
    shown = (amount(one.resource, value) for value in (one.own, one.planned, one.overhead, one.allocatable))
    return [short(one.resource), *shown, percent(one.allocatable - one.free, one.allocatable)]


def fullest(node: NodeStory) -> Filling | None:
    """The resource with the least room left, by share; the first in reading order on ties."""
    asked = [one for one in node.fillings if one.planned and one.allocatable > 0]
    return max(
        asked, key=lambda one: ((one.allocatable - one.free) * 1_000_000 // one.allocatable, -node.fillings.index(one)), default=None
    )


def _choice_lines(explanation: Explanation, node: NodeStory, style: Style) -> list[str]:
    """Why this type: the runner-up, the neighbours in price, and what the pod itself adds."""
    pairs = []
    if node.runner_up is not None:
        extra = node.runner_up.added_microusd_per_hour
        note = "; cheaper, but the search did not find it" if extra < 0 else ""
        pairs.append(("Runner-up", f"{_offer(node.runner_up)}, {added(extra)} for the same pods{note}"))
    elif explanation.outcome is Outcome.NEW_NODE:
        pairs.append(("Runner-up", "none: no other offering could hold these pods"))
    if node.next_cheaper is not None:
        missing = "; ".join(node.next_cheaper.lacks) or "it would do, but stock or limits forbid it"
        pairs.append(("Next cheaper", f"{_offer(node.next_cheaper)}, {added(node.next_cheaper.added_microusd_per_hour)}: {missing}"))
    elif explanation.outcome is Outcome.NEW_NODE:
        pairs.append(("Next cheaper", "none: this is the cheapest type on offer"))
    if node.next_dearer is not None and node.next_dearer != node.runner_up:
        pairs.append(("Next dearer", f"{_offer(node.next_dearer)}, {added(node.next_dearer.added_microusd_per_hour)}"))
    if node.without_pod is not None:
        saved = node.without_pod
        pairs.append(("Without the pod", f"{_offer(saved)} would hold the rest, {added(saved.added_microusd_per_hour)}"))
    elif len(node.pods) > 1 and explanation.outcome is Outcome.NEW_NODE:
        pairs.append(("Without the pod", "the node would be needed all the same, at the same price"))
    if node.other_nodes:
        pairs.append(("Would also fit", f"{listed(node.other_nodes, 3)}, at no added cost"))
    if (node.alone is not None and len(node.pods) > 1) or (node.alone is not None and explanation.outcome is Outcome.EXISTING_NODE):
        pairs.append(("On its own", f"{_offer(node.alone)}, {added(node.alone.added_microusd_per_hour)}"))
    return [heading("Why this node", style), *facts(pairs, style)] if pairs else []


def _offer(one: Priced) -> str:
    return f"{place_name(one.offering)} at {an_hour(one.price_microusd_per_hour)}"


def _remedy_lines(explanation: Explanation, style: Style) -> list[str]:
    if not explanation.nearest:
        text = "No single place comes near: the reasons below say what is missing."
        if not explanation.offerings.excluded and explanation.offerings.possible:
            text = "The rules would take it as things are; the plan left it out for others, or the search's budget was too small."
        return [heading("What would place it", style), *wrapped(text, style)]
    lines = [heading("What would place it", style)]
    for remedy in explanation.nearest:
        lines += wrapped(_remedy_text(remedy), style, hang=2)
    for note in explanation.notes:
        lines += wrapped(f"Note: {note}.", style)
    return lines


def _remedy_text(remedy: Remedy) -> str:
    extra, change = remedy.added_microusd_per_hour, f"Change {_LEVERS[remedy.lever]}: {', and '.join(remedy.changes)}."
    if extra is None:
        return f"{change} Then it goes there, at that machine's price."
    return f"{change} Then it goes to {remedy.where}, {added(extra) if extra else 'at no added cost'}."


def _survey_lines(title: str, noun: str, survey: Survey, style: Style) -> list[str]:
    if not survey.total:
        return [f"{heading(title, style)}  none in the input"] if noun == "offering" else []
    lines = [f"{heading(title, style)}  {survey.possible:,} of {survey.total:,} would do"]
    if survey.cheapest:
        kinds = ((" ".join(filter(None, (one.offering.instance_type, one.offering.capacity_type))), one) for one in survey.cheapest[:3])
        cheapest = ", ".join(f"{kind} {an_hour(one.added_microusd_per_hour)}" for kind, one in kinds)
        lines += wrapped(f"cheapest: {cheapest}", style, hang=2)
    if survey.names:
        lines += wrapped(f"with room after the plan: {listed(survey.names, 3)}", style, hang=2)
    for reason in survey.excluded:
        lines += wrapped(reason_text(reason), style, hang=2)
    return lines
