"""What an explanation says, as values; `packer.render` makes it text, ``to_json`` JSON."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from packer.model import GroupedReason, OfferingKey, Resources, Skipped
from packer.plan import usd


class Outcome(StrEnum):
    NEW_NODE = "new-node"
    EXISTING_NODE = "existing-node"
    UNPLACED = "unplaced"
    SKIPPED = "skipped"


class Lever(StrEnum):
    """Who would make a change: the pod's owner, the author of the policy, whoever decides what is on offer."""

    POD = "pod"
    POLICY = "policy"
    CATALOG = "catalog"
    MIXED = "mixed"


@dataclass(frozen=True, slots=True)
class Priced:
    """An offering and what it would add, in micro-dollars an hour of the objective (price, fees, penalties, spot risk)."""

    offering: OfferingKey
    price_microusd_per_hour: int
    added_microusd_per_hour: int
    lacks: tuple[str, ...] = ()
    """What it lacks for the node's contents, with numbers; empty when it would do."""


@dataclass(frozen=True, slots=True)
class Survey:
    """All offerings, or all existing nodes, for one pod: how many would do, a few of those, and why not the others."""

    total: int
    possible: int
    cheapest: tuple[Priced, ...] = ()
    names: tuple[str, ...] = ()
    excluded: tuple[GroupedReason, ...] = ()


@dataclass(frozen=True, slots=True)
class Filling:
    """One resource of the pod's node: allocatable, what daemons or running pods hold, all planned pods, and this pod."""

    resource: str
    allocatable: int
    overhead: int
    planned: int
    own: int

    @property
    def free(self) -> int:
        return self.allocatable - self.overhead - self.planned


@dataclass(frozen=True, slots=True)
class NodeStory:
    """The node that the pod goes to, why it is of its type, and what the alternatives cost."""

    name: str
    offering: OfferingKey | None
    price_microusd_per_hour: int | None
    pods: tuple[str, ...]
    fillings: tuple[Filling, ...]
    runner_up: Priced | None = None
    """The best other offering that could hold all that is on this node."""
    next_cheaper: Priced | None = None
    """The nearest type that costs less, and what it lacks for this node's contents."""
    next_dearer: Priced | None = None
    """The nearest other type that costs more and would hold the contents."""
    without_pod: Priced | None = None
    """What would hold the rest if this pod went away; its added cost is negative where that saves something."""
    other_nodes: tuple[str, ...] = ()
    """Other nodes of the finished plan that would take this pod at no added cost."""
    alone: Priced | None = None
    """The cheapest new node for this pod alone."""


@dataclass(frozen=True, slots=True)
class Remedy:
    """Changes that together would place the pod, verified by running the rules on the changed input."""

    lever: Lever
    changes: tuple[str, ...]
    where: str
    """The offering or node that would take it."""
    added_microusd_per_hour: int | None
    """None where the change makes a machine that nobody has priced."""


@dataclass(frozen=True, slots=True)
class PodFacts:
    """What the pod asks for, in words."""

    requests: Resources
    constraints: tuple[str, ...]
    priority: int
    gang: str
    rule: str


@dataclass(frozen=True, slots=True)
class Explanation:
    pod: str
    outcome: Outcome
    facts: PodFacts | None
    offerings: Survey = Survey(0, 0)
    nodes: Survey = Survey(0, 0)
    node: NodeStory | None = None
    nearest: tuple[Remedy, ...] = ()
    """The least change first; empty when no single place comes near enough."""
    skipped: Skipped | None = None
    notes: tuple[str, ...] = field(default=())


def to_json(explanation: Explanation) -> dict[str, Any]:
    """The explanation as JSON, in the plan format's style: camel case, money as text in dollars, resources as integers."""
    out: dict[str, Any] = {
        "apiVersion": "bayplan.io/v1alpha1",
        "kind": "Explanation",
        "pod": explanation.pod,
        "outcome": explanation.outcome.value,
    }
    if explanation.facts is not None:
        facts = explanation.facts
        out["requests"] = dict(sorted(facts.requests.items()))
        out["constraints"] = list(facts.constraints)
        out["priority"], out["rule"] = facts.priority, facts.rule
        if facts.gang:
            out["gang"] = facts.gang
    if explanation.skipped is not None:
        out["skipped"] = {"reason": explanation.skipped.reason.value, "message": explanation.skipped.message}
        return out
    out["offerings"], out["nodes"] = _survey_json(explanation.offerings), _survey_json(explanation.nodes)
    if explanation.node is not None:
        out["node"] = _story_json(explanation.node)
    if explanation.outcome is Outcome.UNPLACED:
        out["nearest"] = [
            {
                "lever": r.lever.value,
                "changes": list(r.changes),
                "where": r.where,
                "addedPerHour": None if r.added_microusd_per_hour is None else usd(r.added_microusd_per_hour),
            }
            for r in explanation.nearest
        ]
    if explanation.notes:
        out["notes"] = list(explanation.notes)
    return out


def _survey_json(survey: Survey) -> dict[str, Any]:
    out: dict[str, Any] = {"total": survey.total, "possible": survey.possible}
    if survey.cheapest:
        out["cheapest"] = [_priced_json(one) for one in survey.cheapest]
    if survey.names:
        out["names"] = list(survey.names)
    out["excluded"] = [
        {"reason": reason.code.value, "message": reason.message, "number": reason.offerings or reason.nodes} for reason in survey.excluded
    ]
    return out


def _priced_json(one: Priced) -> dict[str, Any]:
    key = one.offering
    out: dict[str, Any] = {
        "provider": key.provider,
        "region": key.region,
        "zone": key.zone,
        "instanceType": key.instance_type,
        "capacityType": key.capacity_type,
        "pricePerHour": usd(one.price_microusd_per_hour),
        "addedPerHour": usd(one.added_microusd_per_hour),
    }
    if one.lacks:
        out["lacks"] = list(one.lacks)
    return out


def _story_json(story: NodeStory) -> dict[str, Any]:
    out: dict[str, Any] = {"name": story.name, "pods": list(story.pods)}
    if story.offering is not None:
        out["offering"] = str(story.offering)
    if story.price_microusd_per_hour is not None:
        out["pricePerHour"] = usd(story.price_microusd_per_hour)
    out["fill"] = [
        {"resource": f.resource, "allocatable": f.allocatable, "overhead": f.overhead, "planned": f.planned, "own": f.own, "free": f.free}
        for f in story.fillings
    ]
    named = {
        "runnerUp": story.runner_up,
        "nextCheaper": story.next_cheaper,
        "nextDearer": story.next_dearer,
        "withoutPod": story.without_pod,
        "alone": story.alone,
    }
    out.update({name: _priced_json(one) for name, one in named.items() if one is not None})
    if story.other_nodes:
        out["otherNodes"] = list(story.other_nodes)
    return out
