"""The GPU trace's reader, on a few rows of its form; the trace itself is given by path and stays outside."""

from __future__ import annotations

from pathlib import Path

import pytest

from cloud import catalog
from packer.errors import InputError
from packer.model import CPU, GPU, GPU_MODEL, MEMORY
from perf import alibaba

ROWS = """name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec
whole,12000,16384,2,1000,
share,6000,12288,1,460,T4
either,1000,1024,1,1000,A10|T4
unknown,1000,1024,1,1000,T4|V100M32
cpu,500,256,0,0,
"""
MIB = 1 << 20
ON_DEMAND = catalog.load("aws", regions=["us-east-1"], capacity_types=["on-demand"])[0]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "openb_pod_list_test.csv"
    file.write_text(ROWS)
    return file


def test_gpus_are_counted_in_thousandths(path: Path) -> None:
    """Two whole devices are 2000, a share is its part of 1000, none is no request at all."""
    requests = {pod.name: dict(pod.spec.requests) for pod in alibaba.pods(path)}
    assert requests["whole"] == {CPU: 12_000, MEMORY: 16_384 * MIB, GPU: 2000}
    assert requests["share"][GPU] == 460
    assert GPU not in requests["cpu"]


def test_models_follow_the_printed_table_and_an_unmapped_one_means_any(path: Path) -> None:
    """V100s are of generation 3, which is out: who accepts one accepts any."""
    wanted = {pod.name: [r.values for r in pod.spec.selector if r.key == GPU_MODEL] for pod in alibaba.pods(path)}
    assert wanted == {"whole": [], "share": [("nvidia-t4",)], "either": [("nvidia-a10g", "nvidia-t4")], "unknown": [], "cpu": []}
    assert "V100M32  any" in alibaba.model_table()


def test_both_readings_have_the_same_machines_and_differ_in_devices(path: Path) -> None:
    """(A) pools a node's thousandths, (B) keeps a share on one device."""
    pooled, devices = alibaba.load(path, ON_DEMAND), alibaba.load(path, ON_DEMAND, devices=True)
    assert pooled.device_share is None
    assert devices.device_share == (GPU, 1000)
    assert pooled.offerings == devices.offerings
    types = {o.key.instance_type: o for o in pooled.offerings}
    assert types["g5.12xlarge"].allocatable[GPU] == 4000
    assert {"c5.large", "p4d.24xlarge"} <= set(types)
    assert not {"g6f.large", "p3dn.24xlarge", "inf2.xlarge", "c5.metal", "t3.large"} & set(types)
    assert len(pooled.daemons) == 4


def test_another_table_is_refused(tmp_path: Path) -> None:
    """A node list given by mistake says so."""
    wrong = tmp_path / "openb_node_list.csv"
    wrong.write_text("sn,cpu_milli,memory_mib,gpu,model\nn-0,1,1,0,\n")
    with pytest.raises(InputError, match="openb_pod_list"):
        alibaba.pods(wrong)
