"""``packer catalog``: what is on offer, one type in full, and what changed between two catalogs."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any, TypeVar

import click

from cloud import catalog as offline
from cloud.listing import ORDERS, Difference, Filter, Line, difference, in_order, joined, price_per_cpu
from packer.cli.options import output_options
from packer.cli.output import print_data, print_table, say
from packer.cli.sources import read_file
from packer.errors import UsageError
from packer.model import ARCH, CPU, GPU_COUNT, GPU_MEMORY, GPU_MODEL, MEMORY, PODS, Notice, Offering
from packer.parse import read_catalog
from packer.quantity import ceil_milli, ceil_units, format_bytes, format_milli, format_usd, parse_usd

Source = Callable[[Offering], dict[str, str] | None]
"""Where a price comes from, if that is known."""

OFFLINE = "offline"
CLOSE_NAMES = 5

Command = TypeVar("Command", bound=Callable[..., Any])


def _which_catalog(command: Command) -> Command:
    """--provider and --region choose from the offline catalog, --catalog replaces it."""
    for option in (
        click.option("--catalog", "file", metavar="FILE", help="A catalog of your own, CSV or YAML. Default: the offline one."),
        click.option("--region", help="Region of the offline catalog. Default: the provider's first choice, us-east-1 on AWS."),
        click.option("--provider", help="aws, gcp, azure or aws-fargate. Default aws."),
    ):
        command = option(command)
    return command


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
def catalog() -> None:
    """List, show and compare the machines on offer.

    Prices of the offline catalog are a snapshot: each list says of which day. Spot prices are estimates.
    """


@catalog.command("list")
@_which_catalog
@click.option("--family", "families", multiple=True, help="Instance family, such as m7g. Repeatable.")
@click.option("--capacity-type", "capacity_types", multiple=True, help="on-demand, spot or reserved. Repeatable.")
@click.option("--zone", "zones", multiple=True, help="Zone. Repeatable.")
@click.option("--gpu", default="", help='GPU model, such as t4 or a100, or "any".')
@click.option("--arch", default="", help="amd64 or arm64.")
@click.option("--min-cpu", default="0", metavar="QUANTITY", help="Least allocatable cpu, such as 4 or 3500m.")
@click.option("--min-memory", default="0", metavar="QUANTITY", help="Least allocatable memory, such as 16Gi.")
@click.option("--min-gpus", type=int, default=0, help="Least number of GPUs.")
@click.option("--max-price", metavar="USD", help="Highest price an hour.")
@click.option("--sort", "order", type=click.Choice(list(ORDERS)), default="price", help="Order of the list. Default price.")
@click.option("--limit", type=click.IntRange(min=0), default=0, help="Print so many lines only; 0 = all. Default 0.")
@output_options("table", "wide", "json", "yaml")
def list_command(
    file: str | None,
    region: str | None,
    provider: str | None,
    families: tuple[str, ...],
    capacity_types: tuple[str, ...],
    zones: tuple[str, ...],
    gpu: str,
    arch: str,
    min_cpu: str,
    min_memory: str,
    min_gpus: int,
    max_price: str | None,
    order: str,
    limit: int,
    output: str | None,
) -> int:
    """List machines, cheapest first. Zones in which a type costs the same share a line."""
    wanted = Filter(
        families,
        capacity_types,
        zones,
        gpu,
        arch,
        ceil_milli(min_cpu, where="--min-cpu"),
        ceil_units(min_memory, where="--min-memory"),
        min_gpus,
        parse_usd(max_price, where="--max-price") if max_price else None,
    )
    offerings, source = _load(file, region, provider)
    lines = in_order(joined(filter(wanted.accepts, offerings)), order)
    shown = lines[:limit] if limit else lines
    if output in ("json", "yaml"):
        print_data([_line_data(line, source) for line in shown], output)
    else:
        wide = output == "wide"
        print_table(_WIDE if wide else _PLAIN, [_row(line, source if wide else None) for line in shown])
    if len(shown) < len(lines):
        say(f"and {len(lines) - len(shown)} more; --limit 0 shows all")
    if not lines:
        say("no machine passes these filters")
    return 0


@catalog.command("show")
@click.argument("instance_type", metavar="TYPE")
@_which_catalog
@output_options("table", "json", "yaml")
def show_command(instance_type: str, file: str | None, region: str | None, provider: str | None, output: str | None) -> int:
    """Show one type in full: every zone and capacity type, what pods can use, labels, and where the price comes from."""
    offerings, source = _load(file, region, provider)
    found = [offering for offering in offerings if offering.key.instance_type == instance_type]
    if not found:
        names = sorted({offering.key.instance_type for offering in offerings})
        close = difflib.get_close_matches(instance_type, names, CLOSE_NAMES)
        raise UsageError(f"no type {instance_type}" + (f"; close to it: {', '.join(close)}" if close else "; see `packer catalog list`"))
    data = _type_data(found, source)
    if output in ("json", "yaml"):
        print_data(data, output)
    else:
        _print_type(data)
    return 0


@catalog.command("diff")
@click.argument("old", metavar="A")
@click.argument("new", metavar="B")
@output_options("table", "json", "yaml")
def diff_command(old: str, new: str, output: str | None) -> int:
    """Compare two catalogs: what B adds, lacks, and prices otherwise than A.

    A and B are files, or "offline", "offline:PROVIDER", "offline:PROVIDER/REGION". Exit code 1 means that they differ.
    """
    found = difference(_named(old), _named(new))
    if output in ("json", "yaml"):
        print_data(_difference_data(found), output)
    else:
        _print_difference(found)
    return 1 if found else 0


# Reading --------------------------------------------------------------------------------------------------------------------------


def _load(file: str | None, region: str | None, provider: str | None) -> tuple[tuple[Offering, ...], Source]:
    """The offerings of a file, or of the offline catalog, and where their prices come from.

    The snapshot's age, or what is wrong with the file, goes to standard error.
    """
    if file:
        if region or provider:
            raise UsageError("--region and --provider choose from the offline catalog; leave them out with --catalog")
        return _file(file), _unknown
    chosen = provider or "aws"
    offerings, notices = offline.load(chosen, regions=[region or offline.default_region(chosen)])
    found = offline.snapshot(chosen)
    age = found.age_days(datetime.now(UTC).date())
    say(f"{found.title}: prices of {found.prices_of} ({age} days old); estimates: {found.estimates}")
    _warn(notices)
    return offerings, _offline_source


def _named(name: str) -> tuple[Offering, ...]:
    if name != OFFLINE and not name.startswith(OFFLINE + ":"):
        return _file(name)
    provider, _, region = name.removeprefix(OFFLINE).removeprefix(":").partition("/")
    return offline.load(provider or None, regions=[region] if region else None)[0]


def _file(name: str) -> tuple[Offering, ...]:
    offerings, notices = read_catalog(read_file(name, "catalog").decode())
    _warn(notices)
    return offerings


def _warn(notices: Sequence[Notice]) -> None:
    for notice in notices:
        say(f"{notice.reason}: {notice.message}")


# Printing -------------------------------------------------------------------------------------------------------------------------

_PLAIN = ("type", "capacity", "price/h", "cpu", "memory", "gpu", "arch", "zones")
_WIDE = (*_PLAIN, "price/cpu", "pods", "provider", "region", "interruptions/h", "price is")


def _row(line: Line, source: Source | None) -> tuple[str, ...]:
    offering, key = line.offering, line.offering.key
    cells = (
        key.instance_type,
        key.capacity_type,
        format_usd(line.price),
        format_milli(offering.allocatable.get(CPU, 0)),
        format_bytes(offering.allocatable.get(MEMORY, 0)),
        _gpu(offering),
        offering.labels.get(ARCH, ""),
        ",".join(zone.removeprefix(key.region).removeprefix("-") for zone in line.zones),
    )
    if source is None:
        return cells
    told = source(offering)
    return (
        *cells,
        format_usd(price_per_cpu(line)),
        str(offering.allocatable.get(PODS, 0)),
        key.provider,
        key.region,
        f"{offering.interruptions_per_hour_ppm / 1e6:.6f}" if offering.interruptions_per_hour_ppm else "",
        f"{told['kind']} {told['date']}" if told else "",
    )


def _gpu(offering: Offering) -> str:
    count, model = offering.labels.get(GPU_COUNT, ""), offering.labels.get(GPU_MODEL, "")
    memory = offering.labels.get(GPU_MEMORY, "")
    return f"{count}x {model}" + (f" {memory}Mi" if memory else "") if model else ""


def _line_data(line: Line, source: Source) -> dict[str, Any]:
    offering, key = line.offering, line.offering.key
    data: dict[str, Any] = {
        "provider": key.provider,
        "region": key.region,
        "zones": list(line.zones),
        "instanceType": key.instance_type,
        "capacityType": key.capacity_type,
        "pricePerHour": format_usd(line.price),
        "allocatable": _resources(offering),
        "interruptionsPerHourPpm": offering.interruptions_per_hour_ppm,
        "burstable": offering.burstable,
        "fractionalGpu": offering.fractional_gpu,
    }
    if offering.available_count is not None:
        data["availableCount"] = offering.available_count
    if told := source(offering):
        data["price"] = told
    return data


def _resources(offering: Offering) -> dict[str, str]:
    written = {CPU: format_milli}
    plain = {name: str(amount) for name, amount in offering.allocatable.items()}
    plain |= {name: format_bytes(offering.allocatable[name]) for name in (MEMORY, "ephemeral-storage") if name in plain}
    return plain | {name: form(offering.allocatable[name]) for name, form in written.items() if name in plain}


def _unknown(_: Offering) -> None:
    return None


def _offline_source(offering: Offering) -> dict[str, str]:
    key = offering.key
    return offline.price_source(key.provider, key.region, key.instance_type, key.capacity_type)._asdict()


def _type_data(found: Sequence[Offering], source: Source) -> dict[str, Any]:
    """One type: what holds for all its offerings, then a line each."""
    first = found[0]
    labels = {key: value for key, value in first.labels.items() if all(o.labels.get(key) == value for o in found)}
    return {
        "instanceType": first.key.instance_type,
        "provider": first.key.provider,
        "allocatable": _resources(first),
        "taints": [f"{t.key}={t.value}:{t.effect}" for t in first.taints],
        "labels": dict(sorted(labels.items())),
        "burstable": first.burstable,
        "fractionalGpu": first.fractional_gpu,
        "offerings": [
            {name: value for name, value in _line_data(line, source).items() if name not in ("provider", "instanceType", "allocatable")}
            for line in joined(found)
        ],
    }


def _print_type(data: dict[str, Any]) -> None:
    click.echo(f"{data['instanceType']} ({data['provider'] or 'own catalog'})")
    for name in ("allocatable", "labels"):
        click.echo(f"\n{name}:")
        for key, value in data[name].items():
            click.echo(f"  {key}: {value}")
    if data["taints"]:
        click.echo("\ntaints: " + ", ".join(data["taints"]))
    out_by_default = [word for word, flag in (("burstable", data["burstable"]), ("a fraction of a GPU", data["fractionalGpu"])) if flag]
    if out_by_default:
        click.echo(f"\n{' and '.join(out_by_default)}: bought only if a policy allows it")
    click.echo()
    rows = []
    for line in data["offerings"]:
        price = line.get("price", {})
        told = f"{price['text']}, {price['date']}" + (" (estimate)" if price["kind"] == "estimate" else "") if price else ""
        rows.append((line["capacityType"], line["pricePerHour"], line["region"], ", ".join(line["zones"]), told))
    print_table(("capacity", "price/h", "region", "zones", "price is"), rows)


def _difference_data(found: Difference) -> dict[str, Any]:
    return {
        "added": [_line_data(line, _unknown) for line in found.added],
        "removed": [_line_data(line, _unknown) for line in found.removed],
        "moves": [
            {
                **_line_data(move.line, _unknown),
                "oldPricePerHour": format_usd(move.old_microusd),
                "changePercent": f"{move.change / 10:+.1f}",
            }
            for move in found.moves
        ],
    }


def _print_difference(found: Difference) -> None:
    rows = [("+", _place(line), "", format_usd(line.price), "") for line in found.added]
    rows += [("-", _place(line), format_usd(line.price), "", "") for line in found.removed]
    rows += [
        ("~", _place(move.line), format_usd(move.old_microusd), format_usd(move.line.price), f"{move.change / 10:+.1f} %")
        for move in found.moves
    ]
    if rows:
        print_table(("", "offering", "was", "is", "change"), rows)
    say(f"{len(found.added)} added, {len(found.removed)} removed, {len(found.moves)} priced otherwise")


def _place(line: Line) -> str:
    key = line.offering.key
    return "/".join(part for part in (key.provider, key.region, ",".join(line.zones), key.instance_type, key.capacity_type) if part)
