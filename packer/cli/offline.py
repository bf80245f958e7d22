"""The offline catalog for where a cluster is: provider and region from flags, else from its nodes, else the defaults."""

from __future__ import annotations

import importlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

from packer.commands import OFFLINE_CATALOG
from packer.config import Effective
from packer.model import Notice, Offering
from packer.parse.nodelabels import provider_of
from packer.parse.objects import RawInput
from packer.parse.schema import NodeObject

DEFAULT_PROVIDER = "aws"
REGION_LABELS = ("topology.kubernetes.io/region", "failure-domain.beta.kubernetes.io/region")


class Place(NamedTuple):
    """A provider's region, and how it was found: ``flag``, ``nodes`` or ``default``."""

    provider: str
    region: str
    found_by: str


def offline_catalog(
    raw: RawInput, settings: Mapping[str, Effective], say: Callable[[str], None]
) -> tuple[tuple[Offering, ...], tuple[Notice, ...]]:
    """Offerings of the cluster's region, said on standard error with their age. Raises UsageError for places that the catalog lacks."""
    # By name: the packer does not depend on the cloud package.
    cloud: Any = importlib.import_module(OFFLINE_CATALOG)
    place = _place(raw, str(settings["provider"].value), str(settings["region"].value), cloud, say)
    offerings, notices = cloud.load(place.provider, regions=[place.region])
    snapshot = cloud.snapshot(place.provider)
    age = snapshot.age_days(datetime.now(UTC).date())
    how = {"flag": "", "nodes": ", as the nodes' labels say", "default": " by default; --provider and --region choose"}[place.found_by]
    say(f"catalog: {place.provider} {place.region}{how}; offline prices of {snapshot.prices_of}, {age} days old")
    return offerings, notices


def _place(raw: RawInput, provider: str, region: str, cloud: Any, say: Callable[[str], None]) -> Place:
    """Flags first; what they leave open is what most nodes say; then the defaults."""
    on_offer = {(name, place) for name in cloud.providers() for place in cloud.snapshot(name).regions}
    seen = Counter(_seen(node, on_offer) for node in raw.nodes)
    votes = {place: seen[place] for place in seen if _agrees(place[0], provider) and _agrees(place[1], region)}
    known = {place: count for place, count in votes.items() if place in on_offer}
    if provider and region:
        return Place(provider, region, "flag")
    if known:
        return Place(*min(known, key=lambda place: (-known[place], place)), "nodes")
    unknown = sorted({" ".join(place) for place in votes if all(place)})
    if unknown:
        say(f"the offline catalog lacks {', '.join(unknown)}, where the nodes are; give prices with --catalog, or a --region to stand in")
    provider = provider or next((name for name, place in sorted(on_offer) if place == region), DEFAULT_PROVIDER)
    return Place(provider, region or cloud.default_region(provider), "default")


def _seen(node: NodeObject, on_offer: Iterable[tuple[str, str]]) -> tuple[str, str]:
    """(provider, region) as far as a node tells; a region that only one provider has tells that too."""
    labels = (node.metadata.labels if node.metadata else None) or {}
    region = next((labels[key] for key in REGION_LABELS if labels.get(key)), "")
    provider = provider_of(labels, (node.spec.provider_id if node.spec else None) or "")
    return provider or next((name for name, place in sorted(on_offer) if place == region), ""), region


def _agrees(told: str, wanted: str) -> bool:
    return not wanted or told == wanted
