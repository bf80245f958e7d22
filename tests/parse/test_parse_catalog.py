"""Catalogs: two forms, bad rows named and left out, labels and allocatable as a real node of the type will have them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from packer.errors import EnvironmentProblem, InputError
from packer.model import (
    CAPACITY_TYPE,
    CATEGORY,
    FAMILY,
    GENERATION,
    GPU_COUNT,
    GPU_MEMORY,
    GPU_MODEL,
    INSTANCE_TYPE,
    PROVIDER,
    REGION,
    ZONE,
    Effect,
    Offering,
    OfferingKey,
    Taint,
)
from packer.parse import load, read_catalog
from packer.parse.catalog import COLUMNS
from packer.parse.machines import INTERRUPTIONS_PPM, aks_reserved, gke_accelerator, gke_reserved, is_burstable, is_fractional, shape_of
from tests.parse.build import Body, offer

MIB = 1 << 20
ROW = {
    "provider": "aws",
    "region": "r-1",
    "zone": "r-1a|r-1b",
    "instance_type": "g4dn.xlarge",
    "capacity_type": "on-demand",
    "price_usd_per_hour": "0.526",
    "vcpu": "4",
    "memory_mib": "16384",
    "arch": "amd64",
    "gpu_model": "nvidia-t4",
    "gpu_count": "1",
    "gpu_memory_mib": "16384",
    "max_pods": "29",
    "local_ssd_gib": "125",
    "accel_resource": "nvidia.com/gpu",
    "alloc_cpu_m": "3920",
    "alloc_mem_mib": "14482",
    "network_mbps": "5000",
}
PLAIN = {"gpu_model": "", "gpu_count": "", "gpu_memory_mib": "", "accel_resource": "", "alloc_cpu_m": "", "alloc_mem_mib": ""}


def table(*rows: Body, columns: tuple[str, ...] = COLUMNS) -> str:
    lines = [",".join(columns), *(",".join(str({**ROW, **row}.get(column, "")) for column in columns) for row in rows)]
    return "\n".join(lines) + "\n"


def offerings(*rows: Body) -> list[Offering]:
    return list(read_catalog(table(*rows))[0])


def reasons(text: str) -> list[str]:
    return [notice.reason for notice in read_catalog(text)[1]]


# --- tables -------------------------------------------------------------------------------------------------------------------


def test_a_row_is_an_offering_in_each_of_its_zones() -> None:
    """Type × zone × capacity type; the table's allocatable is taken as it is."""
    one, two = offerings({})
    assert one.key == OfferingKey("aws", "r-1", "r-1a", "g4dn.xlarge", "on-demand")
    assert two.key.zone == "r-1b"
    assert one.price_microusd_per_hour == 526_000
    assert {name: one.allocatable[name] for name in ("cpu", "memory", "pods", "nvidia.com/gpu")} == {
        "cpu": 3920,
        "memory": 14_482 * MIB,
        "pods": 29,
        "nvidia.com/gpu": 1,
    }
    assert (one.interruptions_per_hour_ppm, one.available_count, one.taints) == (0, None, ())


def test_labels_are_those_that_a_node_of_the_type_will_have() -> None:
    """Ours, Kubernetes' and Karpenter's: users' selectors of any of them must find it."""
    labels = offerings({"capacity_type": "spot", "interruption": "<5%"})[0].labels
    wanted = {
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        INSTANCE_TYPE: "g4dn.xlarge",
        ZONE: "r-1a",
        REGION: "r-1",
        "failure-domain.beta.kubernetes.io/zone": "r-1a",
        "beta.kubernetes.io/os": "linux",
        PROVIDER: "aws",
        CAPACITY_TYPE: "spot",
        FAMILY: "g4dn",
        CATEGORY: "g",
        GENERATION: "4",
        GPU_MODEL: "nvidia-t4",
        GPU_MEMORY: "16384",
        GPU_COUNT: "1",
        "karpenter.sh/capacity-type": "spot",
        "karpenter.k8s.aws/instance-family": "g4dn",
        "karpenter.k8s.aws/instance-gpu-name": "t4",
        "karpenter.k8s.aws/instance-gpu-manufacturer": "nvidia",
        "karpenter.k8s.aws/instance-gpu-memory": "16384",
        "karpenter.k8s.aws/instance-local-nvme": "125",
        "karpenter.k8s.aws/instance-cpu-manufacturer": "intel",
        "karpenter.k8s.aws/instance-size": "xlarge",
    }
    assert {key: labels.get(key) for key in wanted} == wanted
    assert "kubernetes.io/hostname" not in labels


@pytest.mark.parametrize(
    ("change", "labels"),
    [
        ({"provider": "gcp", "instance_type": "n1-standard-4"}, {"cloud.google.com/gke-accelerator": "nvidia-tesla-t4", FAMILY: "n1"}),
        ({"provider": "gcp", "capacity_type": "spot"}, {"cloud.google.com/gke-spot": "true", "cloud.google.com/gke-provisioning": "spot"}),
        ({"provider": "azure", "instance_type": "Standard_NC4as_T4_v3"}, {"karpenter.azure.com/sku-gpu-name": "T4", CATEGORY: "N"}),
        ({"provider": "azure", "capacity_type": "spot"}, {"kubernetes.azure.com/scalesetpriority": "spot"}),
        (
            {"gpu_model": "aws-inferentia2", "accel_resource": "aws.amazon.com/neuron"},
            {"karpenter.k8s.aws/instance-accelerator-name": "inferentia2"},
        ),
        (
            {"provider": "aws-fargate", "instance_type": "fargate-1-2", **PLAIN},
            {"eks.amazonaws.com/compute-type": "fargate", FAMILY: "fargate"},
        ),
    ],
)
def test_each_provider_has_its_own_keys(change: Body, labels: Body) -> None:
    """As GKE, AKS, EKS and the Karpenter of each set them."""
    found = offerings(change)[0].labels
    assert {key: found.get(key) for key in labels} == labels


@pytest.mark.parametrize(
    ("provider", "name", "shape"),
    [
        ("aws", "m5.large", ("m5", "m", "5", "large")),
        ("aws", "u7i-12tb.224xlarge", ("u7i-12tb", "u", "7", "224xlarge")),
        ("aws", "u-6tb1.56xlarge", ("u-6tb1", "u", "1", "56xlarge")),
        ("aws", "p6-b200.48xlarge", ("p6-b200", "p", "6", "48xlarge")),
        ("aws", "c7i-flex.large", ("c7i-flex", "c", "7", "large")),
        ("aws", "x2iedn.metal", ("x2iedn", "x", "2", "metal")),
        ("gcp", "n2-standard-4", ("n2", "n", "2", "standard-4")),
        ("gcp", "c4a-highmem-8-lssd", ("c4a", "c", "4", "highmem-8-lssd")),
        ("azure", "Standard_D4s_v5", ("Dsv5", "D", "5", "D4s")),
        ("azure", "Standard_NC24ads_A100_v4", ("NCadsA100v4", "N", "4", "NC24ads")),
        ("azure", "Standard_E4-2as_v4", ("Easv4", "E", "4", "E4-2as")),
        ("azure", "Standard_GS1", ("GSv1", "G", "1", "GS1")),
        ("", "made-up", ("made-up", "made", "", "")),
    ],
)
def test_names_tell_family_category_and_generation(provider: str, name: str, shape: tuple[str, str, str, str]) -> None:
    """What policies and Karpenter's labels go by."""
    assert tuple(shape_of(provider, name)) == shape


def test_families_that_are_out_by_default() -> None:
    """Cpu by credits, shared cores, and slices of GPUs that tables call one."""
    burstable = [("aws", "t3.micro"), ("aws", "t4g.large"), ("gcp", "e2-medium"), ("gcp", "f1-micro"), ("azure", "Standard_B2als_v2")]
    assert all(is_burstable(*one) for one in burstable)
    steady = [("aws", "trn1.2xlarge"), ("gcp", "t2d-standard-1"), ("gcp", "e2-standard-2"), ("azure", "Standard_D4s_v5"), ("", "t3.micro")]
    assert not any(is_burstable(*one) for one in steady)
    assert is_fractional("g6f", "nvidia-l4", 1)
    assert is_fractional("NVadsA10v5", "nvidia-a10-vgpu", 1)
    assert is_fractional("NV", "nvidia-rtx-pro-6000", 0)
    assert not is_fractional("g6", "nvidia-l4", 1)


@pytest.mark.parametrize(
    ("vcpu", "memory_mib", "kept"),
    [
        (1, 1024, (60, 256 + 100)),
        (2, 8192, (70, 1024 + 820 + 100)),
        (4, 16_384, (80, 1024 + 820 + 819 + 100)),
        (32, 131_072, (150, 1024 + 820 + 819 + 6882 + 100)),
        (1, 614, (60, 255 + 100)),
    ],
)
def test_gke_keeps_what_it_publishes(vcpu: int, memory_mib: int, kept: tuple[int, int]) -> None:
    """6 % of a core and falling; a quarter of the first 4 GiB and falling; 100 MiB for eviction."""
    cpu, memory = gke_reserved(vcpu, memory_mib)
    assert cpu == kept[0]
    assert abs(memory - kept[1]) <= 1  # the steps above are rounded one by one


@pytest.mark.parametrize(("vcpu", "cpu"), [(1, 60), (2, 100), (4, 140), (8, 180), (16, 260), (32, 420), (64, 740)])
def test_aks_keeps_what_it_publishes(vcpu: int, cpu: int) -> None:
    """The table of cores; the lesser of 20 MB a pod plus 50 MB and a quarter of the memory; 100 MiB for eviction."""
    assert aks_reserved(vcpu, 65_536, 110) == (cpu, 2250 + 100)
    assert aks_reserved(vcpu, 4096, 110) == (cpu, 1024 + 100)


def test_missing_allocatable_follows_the_providers_formula() -> None:
    """A fresh node never offers all that the machine has."""
    gcp = offerings({"provider": "gcp", "instance_type": "n2-standard-2", "vcpu": "2", "memory_mib": "8192", "max_pods": "110", **PLAIN})[0]
    assert gcp.allocatable["cpu"] == 1930
    assert gcp.allocatable["memory"] == (8192 - gke_reserved(2, 8192)[1]) * MIB
    fargate = offerings({"instance_type": "fargate-0.25-0.5", "vcpu": "0.25", "memory_mib": "512", "max_pods": "1", **PLAIN})[0]
    assert (fargate.allocatable["cpu"], fargate.allocatable["memory"], fargate.allocatable["pods"]) == (250, 256 * MIB, 1)
    shared = offerings({"provider": "gcp", "instance_type": "e2-medium", "vcpu": "2", "memory_mib": "4096", **PLAIN})[0]
    assert (shared.allocatable["cpu"], shared.burstable) == (940, True)


def test_spot_is_interrupted_at_the_rate_of_its_band() -> None:
    """Rates rise with the bands; a spot machine of unknown frequency counts as the middle one; on-demand is never interrupted."""
    rates = [offerings({"capacity_type": "spot", "interruption": band})[0].interruptions_per_hour_ppm for band in INTERRUPTIONS_PPM]
    assert rates == sorted(rates) == list(INTERRUPTIONS_PPM.values())
    assert offerings({"capacity_type": "spot"})[0].interruptions_per_hour_ppm == INTERRUPTIONS_PPM["10-15%"]
    assert offerings({"interruption": ">20%"})[0].interruptions_per_hour_ppm == 0


def test_an_empty_zone_is_every_zone_of_the_region_or_none() -> None:
    """Sources name no zones for newer types; where none is known at all, no label is made up."""
    rows = [{"zone": "r-1a|r-1c", "instance_type": "m5.large"}, {"zone": "", "instance_type": "m6.large"}]
    assert {one.key.zone for one in offerings(*rows) if one.key.instance_type == "m6.large"} == {"r-1a", "r-1c"}
    (lone,) = offerings({"zone": ""})
    assert ZONE not in lone.labels
    assert reasons(table({"zone": ""})) == ["ZoneUnknown"]
    assert reasons(table(*rows)) == []


@pytest.mark.parametrize("price", ["0", "0.0", "", "nan", "inf", "-0.1", "n/a", "1e999", "0.0000001"])
def test_a_row_without_a_usable_price_is_left_out_and_named(price: str) -> None:
    """A minimiser would buy the one machine that is not for sale."""
    found, notices = read_catalog(table({"price_usd_per_hour": price}, {"instance_type": "m5.large"}))
    assert {one.key.instance_type for one in found} == {"m5.large"}
    assert [notice.reason for notice in notices] == ["PriceUnusable"]
    assert "g4dn.xlarge" in notices[0].message


def test_prepaid_capacity_may_be_free() -> None:
    """Zero is only meaningful for reserved."""
    assert [one.price_microusd_per_hour for one in offerings({"price_usd_per_hour": "0", "capacity_type": "reserved"})] == [0, 0]


def test_of_duplicates_the_cheaper_stays() -> None:
    """Whichever comes first, with a warning; the same row twice is no contradiction."""
    rows = [{"price_usd_per_hour": "0.3", "zone": "z"}, {"price_usd_per_hour": "0.2", "zone": "z"}]
    for order in (rows, rows[::-1]):
        found, notices = read_catalog(table(*order))
        assert [one.price_microusd_per_hour for one in found] == [200_000]
        assert [notice.reason for notice in notices] == ["DuplicateOffering"]
        assert "g4dn.xlarge" in notices[0].message
    assert reasons(table(rows[0], rows[0])) == []


def test_order_has_no_say() -> None:
    """The same offerings in the same order from any order of rows."""
    rows = [{"instance_type": f"m{i}.large"} for i in range(5, 9)]
    assert offerings(*rows) == offerings(*rows[::-1])


@pytest.mark.parametrize(
    ("text", "pattern"),
    [
        (table({"gpu_count": "one"}), r"line 2: gpu_count: 'one'"),
        (table({"vcpu": "four"}), r"line 2: .*'four'"),
        (table({}, columns=("provider", "instance_type", "vcpu")), r"line 1: no column region"),
        (table({}) + "a,b\n", r"line 3: 2 fields"),
        ("hello\nworld\n", "not|expected"),
        ("- instance_type: a\n  resources: 5\n", r"\[0\] \(a\): .*resources"),
        ("- instance_type: a\n  resources: {cpu: x}\n  price: 1\n", r"\[0\] \(a\): .*cpu: 'x'"),
        ("- resources: {cpu: 1}\n", r"\[0\] \(no instance_type\)"),
        ("- instance_type: a\n  price: 1\n  resources: {}\n  available_count: -1\n", "available_count: it is negative"),
        ("- instance_type: a\n  price: 1\n  resources: {}\n  taints: [{key: a, effect: No}]\n", r"taints\[0\]"),
        ("- instance_type: a\n  price: 1\n  resources: {}\n  capacity_type: spot\n  interruption: often\n", "interruption: 'often'"),
        ("{}", "not a catalog"),
        ("[1]", "not a catalog"),
        ("\n", "it is empty"),
    ],
)
def test_what_is_wrong_is_named_with_its_row(text: str, pattern: str) -> None:
    """Only prices are forgiven."""
    with pytest.raises(InputError, match=pattern):
        read_catalog(text)


# --- lists --------------------------------------------------------------------------------------------------------------------

FULL = {
    "instance_type": "c4",
    "zone": "z-a",
    "capacity_type": "spot",
    "price": 0.1,
    "resources": {"cpu": "4", "memory": "16Gi", "pods": "30", "nvidia.com/gpu": 1},
    "labels": {"kubernetes.io/arch": "amd64", "pool": "blue"},
    "taints": [{"key": "gpu", "value": "yes", "effect": "NoSchedule"}],
    "available_count": 2,
}


@pytest.mark.parametrize("form", ["yaml", "json", "one line of json", "catalog key", "case file", "path"])
def test_a_list_in_every_form(form: str, tmp_path: Path) -> None:
    """The YAML list of cases, JSON, a mapping with ``catalog``, a whole case file."""
    path = tmp_path / "offers.yaml"
    path.write_text(yaml.safe_dump([FULL]))
    sources: dict[str, str | Path] = {
        "yaml": yaml.safe_dump([FULL]),
        "json": json.dumps([FULL], indent=1),
        "one line of json": json.dumps([FULL]),
        "catalog key": yaml.safe_dump({"catalog": [FULL]}),
        "case file": yaml.safe_dump({"input": {"catalog": [FULL]}}),
        "path": path,
    }
    (found,), notices = read_catalog(sources[form])
    assert notices == ()
    assert found.key == OfferingKey("", "", "z-a", "c4", "spot")
    assert found.allocatable == {"cpu": 4000, "memory": 16 << 30, "nvidia.com/gpu": 1, "pods": 30}
    assert found.labels == {
        INSTANCE_TYPE: "c4",
        ZONE: "z-a",
        CAPACITY_TYPE: "spot",
        GPU_COUNT: "1",
        "kubernetes.io/arch": "amd64",
        "pool": "blue",
    }
    assert found.taints == (Taint("gpu", "yes", Effect.NO_SCHEDULE),)
    assert (found.available_count, found.price_microusd_per_hour) == (2, 100_000)


def test_a_list_without_a_zone_has_no_zone_label() -> None:
    """Unlike a table, a list means what it says."""
    (found,), notices = read_catalog(yaml.safe_dump([{**FULL, "zone": ""}]))
    assert (ZONE in found.labels, notices) == (False, ())


@pytest.mark.parametrize("price", [0, 0.0, None, -1.0, float("nan"), float("inf"), "n/a", True, [1]])
def test_a_list_names_its_bad_prices_too(price: object) -> None:
    """Feeds carry zeros for capacity blocks and previews, NaN for bugs."""
    found, notices = read_catalog(yaml.safe_dump([{**FULL, "instance_type": "odd", "price": price}, FULL]))
    assert [one.key.instance_type for one in found] == ["c4"]
    assert [(notice.reason, notice.message.split("/")[1]) for notice in notices] == [("PriceUnusable", "odd")]


def test_a_key_that_is_none_is_told_of() -> None:
    """``availble_count`` would otherwise mean unlimited."""
    _, notices = read_catalog(yaml.safe_dump([{**FULL, "availble_count": 1}]))
    assert [notice.reason for notice in notices] == ["CatalogKeyIgnored"]
    assert "availble_count" in notices[0].message


def test_a_cases_catalog_and_a_given_one_add_up() -> None:
    """Notices of both reach the problem."""
    own = json.dumps({"input": {"pods": [], "catalog": [offer("c4"), offer("bad", price=None)]}}).encode()
    found = load([own], catalog=json.dumps([offer("c8"), offer("c4", price=0.2)]))
    assert [(one.key.instance_type, one.price_microusd_per_hour) for one in found.offerings] == [("c4", 100_000), ("c8", 100_000)]
    assert [notice.reason for notice in found.notices] == ["DuplicateOffering", "PriceUnusable"]


def test_a_file_that_is_not_there() -> None:
    """The environment's fault."""
    with pytest.raises(EnvironmentProblem, match="nowhere"):
        read_catalog("nowhere.csv")


def test_gke_still_calls_some_models_tesla() -> None:
    """Selectors on cloud.google.com/gke-accelerator use its names."""
    assert [gke_accelerator(name) for name in ("nvidia-t4", "nvidia-a100-40gb", "nvidia-l4")] == [
        "nvidia-tesla-t4",
        "nvidia-tesla-a100",
        "nvidia-l4",
    ]
