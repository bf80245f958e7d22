"""Catalog files: tables (CSV) and lists of offerings (YAML or JSON, the form of a case file's ``catalog``).

A row without a usable price is left out with a notice that names it; anything else that is wrong is an InputError with the line.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from packer.errors import EnvironmentProblem, InputError
from packer.model import (
    CAPACITY_TYPE,
    GPU,
    GPU_COUNT,
    GPU_MEMORY,
    GPU_MODEL,
    INSTANCE_TYPE,
    PROVIDER,
    REGION,
    ZONE,
    Notice,
    Offering,
    OfferingKey,
)
from packer.parse import schema
from packer.parse.machines import (
    INTERRUPTIONS_PPM,
    UNKNOWN_BAND,
    PriceError,
    is_burstable,
    is_fractional,
    offerings_of,
    shape_of,
    usable_price,
)
from packer.parse.nodes import allocatable
from packer.parse.objects import Source, as_utf8, json_documents
from packer.parse.terms import taints
from packer.parse.yamlform import yaml_documents
from packer.quantity import MEBI, floor_units

COLUMNS = (
    "provider", "region", "zone", "instance_type", "capacity_type", "price_usd_per_hour", "vcpu", "memory_mib", "arch", "gpu_model",
    "gpu_count", "gpu_memory_mib", "max_pods", "local_ssd_gib", "accel_resource", "alloc_cpu_m", "alloc_mem_mib", "network_mbps",
    "interruption", "price_basis",
)  # fmt: skip
_REQUIRED = ("provider", "region", "instance_type", "capacity_type", "price_usd_per_hour", "vcpu", "memory_mib", "arch")
_EMPTY = dict.fromkeys(COLUMNS, "")
Found = tuple[tuple[Offering, ...], tuple[Notice, ...]]


class _Row(msgspec.Struct):
    """One offering of a list. ``price`` is dollars an hour and may be anything: a bad one must not stop the others."""

    instance_type: str
    resources: schema.Quantities
    price: Any = None
    zone: str | None = None
    capacity_type: str | None = None
    provider: str | None = None
    region: str | None = None
    labels: schema.Strings | None = None
    taints: list[schema.TaintPart] | None = None
    available_count: int | None = None
    gpu_model: str | None = None
    gpu_memory: schema.Quantity | None = None
    interruption: str | None = None
    burstable: bool | None = None
    fractional_gpu: bool | None = None


def read_catalog(source: str | Path | bytes | Source) -> Found:
    """Offerings of a catalog: a path, or the text itself (bytes, or a string of several lines or in brackets), CSV, YAML or JSON.

    Raises InputError for text that is no catalog, EnvironmentProblem for a file that cannot be read.
    """
    text = _source(source)
    data = as_utf8(text)
    first = data.lstrip()[:2000].split(b"\n", 1)[0]
    if not first:
        raise InputError("it is empty", where=text.name, mend="give offerings as CSV, YAML or JSON")
    if b"instance_type" in first and b"," in first and not first.lstrip().startswith((b"{", b"[", b"-")):
        return read_table(_text(data, text.name), text.name)
    documents = json_documents(data, text.name) if first[:1] in b"[{" else yaml_documents(data, text.name)
    rows = [row for document in documents for row in _rows_of(document, text.name)]
    offerings, notices = read_rows(rows, text.name)
    kept, duplicates = without_duplicates(offerings)
    return kept, (*notices, *duplicates)


def read_table(text: str, name: str = "catalog") -> Found:
    """Offerings of CSV in the columns of COLUMNS; others are ignored, most may be missing or empty."""
    lines = csv.reader(text.splitlines())
    columns = [column.strip() for column in next(lines, [])]
    missing = [column for column in _REQUIRED if column not in columns]
    if missing:
        raise InputError(f"no column {', '.join(missing)}", where=f"{name}, line 1", mend=f"the columns are {', '.join(COLUMNS)}")
    rows: list[tuple[int, dict[str, str]]] = []
    for line in lines:
        if line:
            if len(line) != len(columns):
                raise InputError(
                    f"{len(line)} fields, the header has {len(columns)}",
                    where=f"{name}, line {lines.line_num}",
                    mend="quote fields that hold commas",
                )
            rows.append((lines.line_num, {**_EMPTY, **dict(zip(columns, line, strict=True))}))
    zones = _region_zones(row for _, row in rows)
    found: list[Offering] = []
    notices = [
        Notice("ZoneUnknown", f"{provider} {region}: no zones known, so its offerings carry no zone label")
        for (provider, region), known in sorted(zones.items())
        if not known
    ]
    for number, row in rows:
        row["zone"] = row["zone"] or zones[row["provider"], row["region"]]
        try:
            found += offerings_of(row)
        except PriceError as error:
            place = (row["provider"], row["region"], row["instance_type"], row["capacity_type"])
            notices.append(_unusable(place, row["price_usd_per_hour"], error))
        except InputError as error:
            raise InputError(error.what, where=f"{name}, line {number}: {error.where}", mend=error.mend) from error
    kept, duplicates = without_duplicates(found)
    return kept, (*notices, *duplicates)


def read_rows(rows: Iterable[Mapping[str, Any]], name: str = "catalog") -> Found:
    """Offerings of a list's rows, duplicates included. Unknown keys are ignored with a notice."""
    found, notices = [], []
    for index, row in enumerate(rows):
        where = f"{name}[{index}] ({row.get('instance_type', 'no instance_type')})"
        unknown = sorted(set(row) - set(_Row.__struct_fields__))
        if unknown:
            notices.append(Notice("CatalogKeyIgnored", f"{where}: {', '.join(map(str, unknown))}: not a key of an offering"))
        try:
            parsed = msgspec.convert(row, _Row)
            found += _offerings(parsed)
        except msgspec.ValidationError as error:
            raise InputError(str(error).replace("`", "").replace("$.", ""), where=where, mend="see docs/input.md") from error
        except PriceError as error:
            place = (parsed.provider, parsed.region, parsed.zone, parsed.instance_type, parsed.capacity_type)
            notices.append(_unusable(place, parsed.price, error))
        except InputError as error:
            raise type(error)(error.what, where=f"{where}: {error.where}", mend=error.mend) from error
    return tuple(found), tuple(notices)


def without_duplicates(offerings: Iterable[Offering]) -> Found:
    """Of offerings with one key the cheapest stays, with a notice unless they are equal. Sorted by key."""
    found: dict[OfferingKey, Offering] = {}
    doubled: dict[OfferingKey, int] = {}
    for offering in offerings:
        other = found.setdefault(offering.key, offering)
        if other is not offering and other != offering:
            found[offering.key] = min(other, offering, key=lambda one: (one.price_microusd_per_hour, _content(one)))
            doubled[offering.key] = doubled.get(offering.key, 1) + 1
    notices = tuple(
        Notice("DuplicateOffering", f"{key} is listed {count} times in different forms: the cheapest stays")
        for key, count in sorted(doubled.items())
    )
    return tuple(found[key] for key in sorted(found, key=_place)), notices


def _offerings(row: _Row) -> list[Offering]:
    capacity_type, provider, region = row.capacity_type or "on-demand", row.provider or "", row.region or ""
    price = usable_price(row.price, capacity_type)
    given = allocatable(row.resources)
    labels = {INSTANCE_TYPE: row.instance_type, CAPACITY_TYPE: capacity_type}
    facts = ((PROVIDER, provider), (REGION, region), (GPU_MODEL, row.gpu_model or ""), (GPU_COUNT, str(given.get(GPU) or "")))
    labels.update((key, value) for key, value in facts if value)
    if row.gpu_memory is not None:
        labels[GPU_MEMORY] = str(floor_units(row.gpu_memory, where="gpu_memory") // MEBI)
    if row.available_count is not None and row.available_count < 0:
        raise InputError("it is negative", where="available_count", mend="give 0 or more, or leave it out for no limit")
    family, band = shape_of(provider, row.instance_type).family, row.interruption or UNKNOWN_BAND
    if band not in INTERRUPTIONS_PPM:
        raise InputError(f"{band!r} is not a band", where="interruption", mend=f"use one of {', '.join(INTERRUPTIONS_PPM)}")
    model, devices = row.gpu_model or "", given.get(GPU, 1)
    zones = (row.zone or "").split("|")
    return [
        Offering(
            key=OfferingKey(provider, region, zone, row.instance_type, capacity_type),
            price_microusd_per_hour=price,
            allocatable=given,
            labels={**labels, **({ZONE: zone} if zone else {}), **(row.labels or {})},
            taints=taints(row.taints, "taints"),
            available_count=row.available_count,
            interruptions_per_hour_ppm=INTERRUPTIONS_PPM[band] if capacity_type == "spot" else 0,
            burstable=is_burstable(provider, row.instance_type) if row.burstable is None else row.burstable,
            fractional_gpu=is_fractional(family, model, devices) if row.fractional_gpu is None else row.fractional_gpu,
        )
        for zone in zones
    ]


def _unusable(place: Iterable[str | None], price: object, error: InputError) -> Notice:
    told = "missing" if price in (None, "") else price
    return Notice(
        "PriceUnusable", f"{'/'.join(part for part in place if part)}: its price is unusable, so the row is left out: {told} ({error.what})"
    )


def _region_zones(rows: Iterable[Mapping[str, str]]) -> dict[tuple[str, str], str]:
    """All zones that any row of a region names: what an empty field stands for."""
    found: dict[tuple[str, str], set[str]] = {}
    for row in rows:
        known = found.setdefault((row["provider"], row["region"]), set())
        known.update(zone for zone in row["zone"].split("|") if zone)
    return {key: "|".join(sorted(known)) for key, known in found.items()}


def _rows_of(document: Any, name: str) -> Sequence[Mapping[str, Any]]:
    if isinstance(document, memoryview):
        document = msgspec.json.decode(document)
    if isinstance(document, dict):
        document = document.get("catalog", document.get("input", {}).get("catalog") if isinstance(document.get("input"), dict) else None)
    if not isinstance(document, list) or not all(isinstance(row, dict) for row in document):
        raise InputError("not a catalog", where=name, mend="give a list of offerings, or a mapping with the key catalog")
    return document


def _source(source: str | Path | bytes | Source) -> Source:
    if isinstance(source, Source):
        return source
    if isinstance(source, bytes):
        return Source("catalog", source)
    if isinstance(source, str) and ("\n" in source or source.lstrip()[:1] in ("", "[", "{")):
        return Source("catalog", source.encode())
    try:
        return Source(str(source), Path(source).read_bytes())
    except OSError as error:
        raise EnvironmentProblem(f"catalog {source}: cannot be read ({error.strerror}); check the path") from error


def _text(data: bytes, name: str) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise InputError(f"not UTF-8 ({error.reason} at byte {error.start})", where=name, mend="give text in UTF-8") from error


def _place(key: OfferingKey) -> tuple[str, str, str, str, str]:
    """The key's own order, as a tuple that sorts faster."""
    return key.provider, key.region, key.zone, key.instance_type, key.capacity_type


def _content(offering: Offering) -> str:
    return repr((sorted(offering.allocatable.items()), sorted(offering.labels.items()), offering.taints, offering.available_count))
