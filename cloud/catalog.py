"""The offline catalog: what can be rented, where and for how much, as of the snapshot in ``cloud/data``.

``load()`` answers in offerings; ``snapshot(provider)`` in where the figures come from and how old they are. Zones that a source does not
name are all zones of the region; a region without known zones (Azure) gives offerings without a zone, with a notice.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from packer.errors import UsageError
from packer.model import Notice, Offering
from packer.parse.machines import offerings_of

DATA = Path(__file__).parent / "data"
DEFAULT_PROVIDERS = ("aws", "gcp", "azure")
"""Fargate's shapes are machines for one pod each, without daemons: they take part only when ``aws-fargate`` is named."""
DEFAULT_REGION = {"aws": "us-east-1", "gcp": "us-central1", "azure": "eastus", "aws-fargate": "us-east-1"}


class Price(NamedTuple):
    """Where one price comes from: ``kind`` is list or estimate, ``date`` that of the source, ``text`` what it is."""

    kind: str
    date: str
    text: str


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Provenance of one provider's tables. Dates are ISO; empty = the snapshot has no such figure."""

    provider: str
    title: str
    licence: str
    sources: tuple[str, ...]
    prices_of: str
    specifications_of: str
    spot_of: str
    allocatable: str
    max_pods: str
    estimates: str
    regions: tuple[str, ...]

    def age_days(self, today: date) -> int:
        """Days since the list prices were true."""
        return (today - date.fromisoformat(self.prices_of)).days


def providers() -> tuple[str, ...]:
    return tuple(_provenance())


def snapshot(provider: str) -> Snapshot:
    """Errors: :class:`UsageError` for a provider that the catalog lacks."""
    facts = _facts(provider)
    dates = facts["dates"]
    return Snapshot(
        provider,
        facts["title"],
        facts["licence"],
        tuple(facts["sources"]),
        dates["prices"],
        dates["specifications"],
        dates["spot"],
        facts["allocatable"],
        facts["max_pods"],
        facts["estimates"],
        tuple(sorted(facts["zones"])),
    )


def default_region(provider: str) -> str:
    """The region that stands for a provider when none is named: the one whose prices are the most exact."""
    _facts(provider)
    return DEFAULT_REGION[provider]


def load(
    provider: str | Collection[str] | None = None,
    *,
    regions: Collection[str] | None = None,
    capacity_types: Collection[str] | None = None,
) -> tuple[tuple[Offering, ...], tuple[Notice, ...]]:
    """Offerings of the given providers (None: all but Fargate), regions (None: all) and capacity types (None: all), in canonical order.

    Errors: :class:`UsageError` for a provider, or a region that none of the providers has; it names those that there are.
    """
    chosen = DEFAULT_PROVIDERS if provider is None else (provider,) if isinstance(provider, str) else tuple(sorted(set(provider)))
    known = {region for name in chosen for region in _facts(name)["zones"]}
    if regions is not None and (unknown := sorted(set(regions) - known)):
        raise UsageError(
            f"the offline catalog has no region {', '.join(unknown)} of {', '.join(chosen)}; it has {', '.join(sorted(known))}"
        )
    found: list[Offering] = []
    notices: list[Notice] = []
    for name in chosen:
        for region in sorted(_facts(name)["zones"]):
            if regions is None or region in regions:
                if not _facts(name)["zones"][region]:
                    notices.append(Notice("ZoneUnknown", f"{name} {region}: no zones known, so its offerings carry no zone label"))
                for row in rows(name, region):
                    if capacity_types is None or row["capacity_type"] in capacity_types:
                        found += offerings_of(row)
    found.sort(key=lambda offering: offering.key)
    return tuple(found), tuple(notices)


def rows(provider: str, region: str) -> Iterator[dict[str, str]]:
    """The snapshot as rows of the public CSV form, one a type and capacity type, zones joined by ``|``."""
    facts = _facts(provider)
    zones, separator = facts["zones"][region], facts["zone_separator"]
    bands, bases = facts["bands"], facts["bases"]
    types = _types(provider)
    for line in _table(f"{provider}.{region}.csv"):
        here = "|".join(f"{region}{separator}{letter}" for letter in line["zones"] or zones)
        common = {**types[line["instance_type"]], "provider": provider, "region": region, "zone": here}
        for kind, capacity_type in (("on_demand", "on-demand"), ("spot", "spot")):
            if line[kind]:
                micro = line[kind].rjust(7, "0")
                band = bands[int(line["band"])] if kind == "spot" and line["band"] else ""
                yield common | {
                    "capacity_type": capacity_type,
                    "price_usd_per_hour": f"{micro[:-6]}.{micro[-6:]}",
                    "interruption": band,
                    "price_basis": bases[line[f"{kind}_basis"]]["text"],
                }


def price_source(provider: str, region: str, instance_type: str, capacity_type: str) -> Price:
    """Where the snapshot's price of a type comes from. Errors: KeyError if it has none."""
    column = "spot_basis" if capacity_type == "spot" else "on_demand_basis"
    letter = _bases(provider, region)[instance_type][column]
    basis = _facts(provider)["bases"][letter]
    return Price(basis["kind"], basis["date"], basis["text"])


@cache
def _bases(provider: str, region: str) -> dict[str, dict[str, str]]:
    return {line["instance_type"]: line for line in _table(f"{provider}.{region}.csv")}


@cache
def _types(provider: str) -> dict[str, dict[str, str]]:
    return {line["instance_type"]: line for line in _table(f"{provider}.types.csv")}


def _table(name: str) -> Iterator[dict[str, str]]:
    header, *lines = (DATA / name).read_text(encoding="utf-8").splitlines()
    columns = header.split(",")
    for line in lines:
        yield dict(zip(columns, line.split(","), strict=True))


@cache
def _provenance() -> Mapping[str, Any]:
    providers: Mapping[str, Any] = json.loads((DATA / "provenance.json").read_text(encoding="utf-8"))["providers"]
    return providers


def _facts(provider: str) -> Mapping[str, Any]:
    try:
        facts: Mapping[str, Any] = _provenance()[provider]
    except KeyError:
        raise UsageError(f"the offline catalog has no provider {provider}; it has {', '.join(_provenance())}") from None
    return facts
