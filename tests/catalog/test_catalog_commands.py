"""`packer catalog`: lists that answer a question, one type in full, and what changed between two price lists."""

from __future__ import annotations

import json
import re
import shlex
import textwrap
from pathlib import Path

import pytest

from cloud import catalog as offline
from packer.cli import main
from packer.parse import read_catalog

HEADER = "provider,region,zone,instance_type,capacity_type,price_usd_per_hour,vcpu,memory_mib,arch,max_pods\n"
OLD = HEADER + "aws,r-1,r-1a|r-1b,x9.large,on-demand,0.10,2,8192,amd64,30\naws,r-1,r-1a,x9.xlarge,on-demand,0.20,4,16384,amd64,60\n"
NEW = HEADER + "aws,r-1,r-1a|r-1b,x9.large,on-demand,0.11,2,8192,amd64,30\naws,r-1,r-1a,x9.huge,spot,0.90,64,99999,amd64,60\n"


def run(capsys: pytest.CaptureFixture[str], *args: str) -> tuple[int, str, str]:
    code = main(["catalog", *args])
    out, err = capsys.readouterr()
    return code, out, err


def names(out: str) -> list[str]:
    return [line.split()[0] for line in out.splitlines()[1:]]


def test_a_list_is_cheapest_first_and_says_how_old_its_prices_are(capsys: pytest.CaptureFixture[str]) -> None:
    """stdout is data, stderr says of which day it is."""
    code, out, err = run(capsys, "list", "--gpu", "t4", "--capacity-type", "on-demand", "--limit", "2")
    assert code == 0
    assert names(out) == ["g4dn.xlarge", "g4dn.2xlarge"]
    assert "0.526000" in out
    assert "prices of 2026-07-20" in err
    assert "days old" in err
    assert "more; --limit 0" in err


def test_filters_join(capsys: pytest.CaptureFixture[str]) -> None:
    """Each narrows what the others leave."""
    _, out, _ = run(
        capsys, "list", "--family", "m7g", "--family", "m7a", "--arch", "arm64", "--min-cpu", "3500m", "--min-memory", "12Gi",
        "--max-price", "0.2", "--capacity-type", "on-demand", "--zone", "us-east-1a",
    )  # fmt: skip
    assert names(out) == ["m7g.xlarge"]


def test_other_orders_and_providers(capsys: pytest.CaptureFixture[str]) -> None:
    """The largest first; another cloud's list price."""
    _, out, _ = run(capsys, "list", "--provider", "gcp", "--sort", "cpu", "--limit", "1", "--capacity-type", "on-demand", "-o", "json")
    (line,) = json.loads(out)
    assert line["instanceType"] == "m4-hypermem-128" or int(line["allocatable"]["cpu"].removesuffix("m")) > 300_000
    assert line["price"]["date"] == "2026-08-03"


def test_one_type_shows_zones_room_labels_and_the_source_of_its_prices(capsys: pytest.CaptureFixture[str]) -> None:
    """All that decides whether a pod can have it, and whether its price can be believed."""
    code, out, _ = run(capsys, "show", "g5.xlarge", "-o", "json")
    assert code == 0
    shown = json.loads(out)
    assert shown["allocatable"]["nvidia.com/gpu"] == "1"
    assert shown["labels"]["bayplan.io/gpu-model"] == "nvidia-a10g"
    assert {(o["capacityType"], o["price"]["kind"]) for o in shown["offerings"]} == {("on-demand", "list"), ("spot", "estimate")}
    assert all("us-east-1a" in o["zones"] for o in shown["offerings"])
    _, table, _ = run(capsys, "show", "t3.large")
    assert "bought only if a policy allows it" in table


def test_a_wrong_name_gets_close_ones(capsys: pytest.CaptureFixture[str]) -> None:
    """A typing error should cost one look."""
    code, _, err = run(capsys, "show", "m5.lrge")
    assert code == 2
    assert "m5.large" in err


def test_a_difference_lists_what_came_went_and_moved(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 1 says that there is one, as for compare; zones that moved together share a line."""
    old, new = tmp_path / "old.csv", tmp_path / "new.csv"
    old.write_text(OLD)
    new.write_text(NEW)
    code, out, err = run(capsys, "diff", str(old), str(new))
    assert code == 1
    assert [line.split() for line in out.splitlines()[1:]] == [
        ["+", "aws/r-1/r-1a/x9.huge/spot", "0.900000"],
        ["-", "aws/r-1/r-1a/x9.xlarge/on-demand", "0.200000"],
        ["~", "aws/r-1/r-1a,r-1b/x9.large/on-demand", "0.100000", "0.110000", "+10.0", "%"],
    ]
    assert "1 added, 1 removed, 1 priced otherwise" in err
    code, out, _ = run(capsys, "diff", str(old), str(new), "-o", "json")
    assert json.loads(out)["moves"][0]["changePercent"] == "+10.0"


def test_a_catalog_equals_itself(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No difference, no output, exit code 0; the offline catalog can stand on either side."""
    assert run(capsys, "diff", "offline:azure/eastus", "offline:azure/eastus")[:2] == (0, "")
    path = tmp_path / "own.csv"
    path.write_text(OLD)
    code, _, err = run(capsys, "diff", "offline:azure/eastus", str(path))
    assert code == 1
    assert "3 added, 1293 removed" in err or "2 added, 1293 removed" in err


def test_a_catalog_of_ones_own_has_no_offline_sources(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its prices are the user's; the flags that choose from the offline catalog make no sense with it."""
    path = tmp_path / "own.csv"
    path.write_text(OLD)
    _, out, err = run(capsys, "list", "--catalog", str(path), "-o", "json")
    assert [line["instanceType"] for line in json.loads(out)] == ["x9.large", "x9.xlarge"]
    assert "price" not in json.loads(out)[0]
    assert "days old" not in err
    code, _, err = run(capsys, "list", "--catalog", str(path), "--region", "r-1")
    assert code == 2
    assert "--catalog" in err


DOCUMENT = (Path(__file__).parents[2] / "docs" / "catalog.md").read_text()
EXAMPLES = re.findall(r"^    (packer catalog (?:list|show) .+)$", DOCUMENT, re.MULTILINE)


@pytest.mark.parametrize("line", EXAMPLES)
def test_the_documented_commands_work(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Each prints something."""
    code, out, _ = run(capsys, *shlex.split(line)[2:])
    assert code == 0
    assert len(out.splitlines()) > 1


def test_the_documented_forms_of_a_catalog_are_read() -> None:
    """The same machine as CSV and as YAML; only YAML can say how many there are."""
    blocks = re.findall(r"\n\n((?:    .+\n)+)", DOCUMENT)
    table, rows = (next(textwrap.dedent(b) for b in blocks if word in b) for word in ("provider,region", "- instance_type"))
    (first, second), notices = read_catalog(table)
    assert (first.key.zone, second.key.zone, notices) == ("dc-1a", "dc-1b", ())
    ((own,), notices) = read_catalog(rows)
    assert not notices
    assert own.price_microusd_per_hour == first.price_microusd_per_hour == 400_000
    assert own.available_count == 12
    assert own.labels["rack"] == "r7"


def test_the_documented_counts_are_the_snapshots() -> None:
    """A new snapshot must not leave the page behind."""
    for provider in offline.providers():
        facts = offline.snapshot(provider)
        types = {row["instance_type"] for region in facts.regions for row in offline.rows(provider, region)}
        line = next(line for line in DOCUMENT.splitlines() if line.startswith(f"| `{provider}`"))
        assert f"{len(types):,}" in line
        assert facts.prices_of in line
        assert all(region in line for region in facts.regions)
