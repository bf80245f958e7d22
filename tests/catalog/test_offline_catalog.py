"""The offline catalog: what it holds, what it says of itself, and that a wrong row would be seen."""

from __future__ import annotations

import csv
import io
from collections import Counter
from datetime import date
from pathlib import Path

import pytest

from cloud import catalog
from cloud.data import build
from packer.errors import UsageError
from packer.model import ARCH, CAPACITY_TYPE, CPU, GPU, GPU_MODEL, INSTANCE_TYPE, MEMORY, PODS, REGION, ZONE, Offering
from packer.parse import read_catalog

MIB = 1 << 20
COUNTS = {
    ("aws", "us-east-1"): 10_576,
    ("aws", "us-west-2"): 8_170,
    ("aws", "eu-west-1"): 5_690,
    ("gcp", "us-central1"): 5_006,
    ("gcp", "europe-west1"): 2_776,
    ("azure", "eastus"): 1_293,
    ("azure", "westeurope"): 1_335,
    ("aws-fargate", "us-east-1"): 370,
}


def offering(provider: str, region: str, name: str, capacity_type: str = "on-demand") -> Offering:
    found = catalog.load(provider, regions=[region], capacity_types=[capacity_type])[0]
    return next(o for o in found if o.key.instance_type == name)


@pytest.mark.parametrize(("provider", "region", "name", "price"), [
    ("aws", "us-east-1", "m5.large", 96_000),
    ("aws", "us-east-1", "g4dn.xlarge", 526_000),
    ("aws", "us-east-1", "g4dn.2xlarge", 752_000),
    ("aws", "us-east-1", "g4dn.4xlarge", 1_204_000),
    ("gcp", "us-central1", "a2-highgpu-1g", 3_673_385),
    ("azure", "eastus", "Standard_A1_v2", 43_000),
    ("aws-fargate", "us-east-1", "fargate-0.25-0.5", 12_343),
])  # fmt: skip
def test_known_list_prices(provider: str, region: str, name: str, price: int) -> None:
    """Prices that anyone can look up: a shifted column would change them."""
    assert offering(provider, region, name).price_microusd_per_hour == price


@pytest.mark.parametrize(("provider", "region"), sorted(COUNTS))
def test_every_region_loads_in_full(provider: str, region: str) -> None:
    """Type × zone × capacity type, each once, each for sale, each with room for a pod and the labels that a node will carry."""
    offerings, _ = catalog.load(provider, regions=[region])
    assert len(offerings) == COUNTS[provider, region]
    assert len({o.key for o in offerings}) == len(offerings)
    assert [o.key for o in offerings] == sorted(o.key for o in offerings)
    for o in offerings:
        assert o.price_microusd_per_hour > 0
        assert min(o.allocatable[CPU], o.allocatable[PODS]) > 0
        assert o.allocatable[MEMORY] >= 0
        assert (o.labels[INSTANCE_TYPE], o.labels[REGION], o.labels[CAPACITY_TYPE]) == (o.key.instance_type, region, o.key.capacity_type)
        assert o.labels.get(ZONE, "") == o.key.zone
        assert o.labels[ARCH] in ("amd64", "arm64")


def test_the_default_is_every_cloud_but_fargate() -> None:
    """Fargate's shapes hold one pod and no daemons: only who names them wants them."""
    providers = Counter(o.key.provider for o in catalog.load()[0])
    assert set(providers) == {"aws", "gcp", "azure"}
    assert set(catalog.providers()) == {"aws", "gcp", "azure", "aws-fargate"}


def test_regions_and_capacity_types_choose() -> None:
    """What is chosen, and nothing else."""
    offerings, _ = catalog.load(["aws", "gcp"], regions=["us-west-2", "us-central1"], capacity_types=["spot"])
    assert {(o.key.provider, o.key.region) for o in offerings} == {("aws", "us-west-2"), ("gcp", "us-central1")}
    assert {o.key.capacity_type for o in offerings} == {"spot"}


@pytest.mark.parametrize(("provider", "regions", "told"), [("ibm", None, "aws-fargate"), ("aws", ["mars-1"], "us-east-1")])
def test_what_the_catalog_lacks_is_named_with_what_it_has(provider: str, regions: list[str] | None, told: str) -> None:
    """An empty answer would look like a region where nothing can be bought."""
    with pytest.raises(UsageError, match=told):
        catalog.load(provider, regions=regions)


def test_unknown_zones_are_all_zones_or_none() -> None:
    """GCP names zones of older types only: the others are in every zone. Azure names none: no zone label, and a warning says so."""
    newest = {o.key.zone for o in catalog.load("gcp", regions=["europe-west1"])[0] if o.key.instance_type == "c4d-standard-8"}
    assert newest == {"europe-west1-b", "europe-west1-c", "europe-west1-d"}
    offerings, notices = catalog.load("azure", regions=["eastus"])
    assert not any(ZONE in o.labels for o in offerings)
    assert [notice.reason for notice in notices] == ["ZoneUnknown"]


def test_spot_has_a_price_of_its_own_and_a_rate_of_interruptions() -> None:
    """Spot risk is restart cost times interruptions: a band without a rate would make spot look safe."""
    spot, lasting = offering("aws", "us-east-1", "m5.large", "spot"), offering("aws", "us-east-1", "m5.large")
    assert spot.price_microusd_per_hour == 32_640
    assert spot.interruptions_per_hour_ppm > 0
    assert lasting.interruptions_per_hour_ppm == 0


def test_gpus_count_as_devices_and_carry_their_model() -> None:
    """A pod asks for nvidia.com/gpu and, by label, for a model."""
    big = offering("aws", "us-east-1", "p4d.24xlarge")
    assert big.allocatable[GPU] == 8
    assert big.labels[GPU_MODEL] == "nvidia-a100"
    assert offering("aws", "us-east-1", "g6f.large").fractional_gpu
    assert offering("azure", "eastus", "Standard_NV6ads_A10_v5").fractional_gpu
    assert GPU not in offering("aws", "us-east-1", "inf2.xlarge").allocatable


@pytest.mark.parametrize(("provider", "region", "name"), [
    ("aws", "us-east-1", "t3.large"), ("gcp", "us-central1", "e2-small"), ("azure", "eastus", "Standard_B2ms"),
])  # fmt: skip
def test_burstable_families_are_marked(provider: str, region: str, name: str) -> None:
    """They win on price and mislead: a policy must let them in."""
    assert offering(provider, region, name).burstable
    assert not offering("aws", "us-east-1", "trn1.2xlarge").burstable


def test_allocatable_is_published_or_computed() -> None:
    """AWS per type; GKE 3920m of 4 cpu and 13.3 GiB of 16 by its formula; AKS likewise; Fargate less the 256 MiB that EKS adds."""
    assert offering("aws", "us-east-1", "m5.large").allocatable[CPU] == 1930
    gke = offering("gcp", "us-central1", "n2-standard-4").allocatable
    assert gke[CPU] == 3920
    assert gke[MEMORY] // MIB == 16384 - 1024 - 819 - 820 - 100
    aks = offering("azure", "eastus", "Standard_D4s_v5").allocatable
    assert aks[CPU] == 3860
    fargate = offering("aws-fargate", "us-east-1", "fargate-0.5-1").allocatable
    assert (fargate[CPU], fargate[MEMORY] // MIB, fargate[PODS]) == (500, 768, 1)


def test_provenance_and_age_are_known_for_every_price() -> None:
    """A price without a date is a rumour; an estimate must say so."""
    snapshot = catalog.snapshot("aws")
    assert snapshot.age_days(date(2026, 7, 25)) == 5
    assert snapshot.sources
    assert snapshot.licence
    assert catalog.price_source("aws", "us-east-1", "m5.large", "on-demand").kind == "list"
    assert catalog.price_source("aws", "us-east-1", "m5.large", "spot").kind == "estimate"
    for provider in catalog.providers():
        for region in catalog.snapshot(provider).regions:
            for o in catalog.load(provider, regions=[region])[0]:
                source = catalog.price_source(provider, region, o.key.instance_type, o.key.capacity_type)
                assert date.fromisoformat(source.date) <= date(2026, 12, 31)
                assert source.kind in ("list", "estimate")


def test_a_provider_has_a_region_to_stand_for_it() -> None:
    """`packer solve` without flags plans for aws us-east-1."""
    assert catalog.default_region("aws") == "us-east-1"
    for provider in catalog.providers():
        assert catalog.default_region(provider) in catalog.snapshot(provider).regions


def test_the_tables_stay_small() -> None:
    """They travel in every wheel and every clone."""
    assert sum(path.stat().st_size for path in catalog.DATA.iterdir() if path.is_file()) < 600_000


def as_csv(provider: str) -> str:
    """The whole snapshot of a provider in the public CSV form."""
    rows = [row for region in catalog.snapshot(provider).regions for row in catalog.rows(provider, region)]
    out = io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def test_the_snapshot_written_as_a_catalog_file_reads_back_the_same() -> None:
    """`--catalog` with our own rows is our own catalog: one reader serves both."""
    assert read_catalog(as_csv("gcp"))[0] == catalog.load("gcp")[0]


HEADER = (
    "provider,region,zone,instance_type,capacity_type,price_usd_per_hour,vcpu,memory_mib,arch,gpu_model,gpu_count,gpu_memory_mib,max_pods,"
    "local_ssd_gib,accel_resource,alloc_cpu_m,alloc_mem_mib,network_mbps,interruption,price_basis"
)
AWS = """
aws,us-east-1,us-east-1a|us-east-1c,x9.large,on-demand,0.0964998,2,8192,amd64,,,,29,,,1930,6903,750,,karpenter 2026-07-20
aws,us-east-1,us-east-1a|us-east-1c,x9.large,spot,0.03,2,8192,amd64,,,,29,,,1930,6903,750,15-20%,on-demand*(1-advisor savings 2025-07)
aws,us-east-1,us-east-1a,g9.large,on-demand,1.5,2,8192,arm64,nvidia-x,1,16384,29,100,nvidia.com/gpu,1930,6903,,,karpenter 2026-07-20
"""
FARGATE = "provider,region,instance_type,capacity_type,vcpu,memory_mib,arch,max_pods,price_usd_per_hour\n"
FARGATE_ROW = "aws,us-east-1,fargate-0.25-0.5,on-demand,0.25,512,amd64,1,0.012343\n"


def test_the_tables_are_built_from_price_lists(tmp_path: Path) -> None:
    """Types once, prices by region, micro-dollars rounded half up, zones by their suffix, sorted; the same rows give the same bytes."""
    source, out = tmp_path / "source", tmp_path / "out"
    source.mkdir()
    out.mkdir()
    (out / "provenance.json").write_bytes((catalog.DATA / "provenance.json").read_bytes())
    (source / "aws.csv").write_text(HEADER + AWS)
    (source / "gcp.csv").write_text(HEADER + "\n")
    (source / "azure.csv").write_text(HEADER + "\n")
    (source / "aws_fargate_us-east-1.csv").write_text(FARGATE + FARGATE_ROW)
    build.build(source, out)
    first = {path.name: path.read_text() for path in sorted(out.glob("*.csv"))}
    assert first["aws.us-east-1.csv"].splitlines() == [
        "instance_type,zones,on_demand,on_demand_basis,spot,spot_basis,band",
        "g9.large,a,1500000,k,,,",
        "x9.large,ac,96500,k,30000,a,3",
    ]
    assert first["aws.types.csv"].splitlines()[1] == "g9.large,2,8192,arm64,nvidia-x,1,16384,nvidia.com/gpu,29,100,,1930,6903"
    assert first["aws-fargate.types.csv"].splitlines()[1].endswith(",250,256")
    build.build(source, out)
    assert {path.name: path.read_text() for path in sorted(out.glob("*.csv"))} == first
