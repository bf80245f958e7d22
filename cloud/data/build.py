"""Turn collected price and shape tables into the compact snapshot that ships with the program.

    python -m cloud.data.build FOLDER

``FOLDER`` holds aws.csv, gcp.csv, azure.csv and aws_fargate_us-east-1.csv: one row per region, type and capacity type, with the columns
that ``packer.parse.catalog`` reads. Written beside this file, in a fixed order and free of anything that changes between two runs:

``PROVIDER.types.csv``
    one line per instance type: its specification, the same in every region.
``PROVIDER.REGION.csv``
    one line per type offered there: zones (their suffixes joined, empty = unknown), on-demand and spot price in micro-dollars an hour,
    a letter for where each price comes from (``bases`` in provenance.json), and the interruption band (index into ``bands``).
"""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from pathlib import Path

Row = Mapping[str, str]

HERE = Path(__file__).parent
SOURCES = {"aws": "aws.csv", "gcp": "gcp.csv", "azure": "azure.csv", "aws-fargate": "aws_fargate_us-east-1.csv"}
TYPE_COLUMNS = (
    "instance_type", "vcpu", "memory_mib", "arch", "gpu_model", "gpu_count", "gpu_memory_mib", "accel_resource",
    "max_pods", "local_ssd_gib", "network_mbps", "alloc_cpu_m", "alloc_mem_mib",
)  # fmt: skip
PRICE_COLUMNS = ("instance_type", "zones", "on_demand", "on_demand_basis", "spot", "spot_basis", "band")
FARGATE_POD_OVERHEAD_MIB = 256


def build(folder: Path, out: Path = HERE) -> list[Path]:
    """Write every table from the CSV files in ``folder``; return the paths written, sorted."""
    facts = json.loads((out / "provenance.json").read_text(encoding="utf-8"))
    written: list[Path] = []
    for provider, name in SOURCES.items():
        with (folder / name).open(encoding="utf-8", newline="") as stream:
            rows = [_normal(row, provider) for row in csv.DictReader(stream)]
        written.append(_write(out / f"{provider}.types.csv", TYPE_COLUMNS, _types(rows)))
        for region in sorted({row["region"] for row in rows}):
            here = [row for row in rows if row["region"] == region]
            written.append(_write(out / f"{provider}.{region}.csv", PRICE_COLUMNS, _prices(here, facts["providers"][provider])))
    return sorted(written)


def _normal(row: Row, provider: str) -> dict[str, str]:
    """One source row with every column present. A Fargate shape is a machine that holds one pod and keeps 256 MiB for itself."""
    row = {key: value or "" for key, value in row.items()}
    if provider == "aws-fargate":
        memory = int(row["memory_mib"])
        row |= {
            "alloc_cpu_m": str(int(Decimal(row["vcpu"]) * 1000)),
            "alloc_mem_mib": str(memory - FARGATE_POD_OVERHEAD_MIB),
            "price_basis": "fargate-rate",
        }
    return row


def _types(rows: Iterable[Row]) -> list[Sequence[str]]:
    types: dict[str, tuple[str, ...]] = {}
    for row in rows:
        spec = tuple(row.get(column, "") for column in TYPE_COLUMNS)
        if types.setdefault(row["instance_type"], spec) != spec:
            raise SystemExit(f"{row['instance_type']}: specification differs between rows: {types[row['instance_type']]} and {spec}")
    return [types[name] for name in sorted(types)]


def _prices(rows: Iterable[Row], facts: Mapping[str, Mapping[str, Mapping[str, str]]]) -> list[Sequence[str]]:
    letters = {basis["source_text"]: letter for letter, basis in facts["bases"].items()}
    bands = facts["bands"]
    lines: dict[str, dict[str, str]] = {}
    for row in rows:
        line = lines.setdefault(row["instance_type"], {"instance_type": row["instance_type"]})
        kind = "spot" if row["capacity_type"] == "spot" else "on_demand"
        price = int((Decimal(row["price_usd_per_hour"]) * 1_000_000).to_integral_value("ROUND_HALF_UP"))
        line["zones"] = "".join(zone.removeprefix(row["region"]).removeprefix("-") for zone in row.get("zone", "").split("|") if zone)
        line[kind], line[f"{kind}_basis"] = str(price), letters[row["price_basis"]]
        if row.get("interruption"):
            line["band"] = str([*bands].index(row["interruption"]))
    return [[lines[name].get(column, "") for column in PRICE_COLUMNS] for name in sorted(lines)]


def _write(path: Path, header: Sequence[str], lines: Iterable[Sequence[str]]) -> Path:
    path.write_text("".join(",".join(line) + "\n" for line in (header, *lines)), encoding="utf-8")
    return path


if __name__ == "__main__":
    sys.stdout.writelines(f"{made.name}\n" for made in build(Path(sys.argv[1])))
