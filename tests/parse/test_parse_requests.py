"""Effective requests and host ports: component-helpers PodRequests, worked by hand."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from packer.model import HostPort
from tests.parse.build import Body, container, only_pod, pod, problem, skipped

MIB = 1 << 20


def requests(**spec: Any) -> dict[str, int]:
    return dict(only_pod(pod("p", **spec)).spec.requests)


def test_an_init_container_runs_beside_the_sidecars_started_before_it() -> None:
    """KEP-753: setup alone 2; migrate 3 beside proxy 0.5; at run time 1 + 0.5. Memory peaks at run time."""
    found = requests(
        containers=[container(cpu="1", memory="2Gi")],
        initContainers=[
            container("setup", cpu="2", memory="1Gi"),
            {**container("proxy", cpu="500m", memory="256Mi"), "restartPolicy": "Always"},
            container("migrate", cpu="3", memory="512Mi"),
        ],
    )
    assert found == {"cpu": 3500, "memory": 2304 * MIB}


def test_limits_stand_for_missing_requests() -> None:
    """API defaulting, key by key; a request below its limit stays."""
    body = {"name": "m", "resources": {"limits": {"cpu": "3", "memory": "6Gi", "nvidia.com/gpu": "1"}, "requests": {"memory": "1Gi"}}}
    assert requests(containers=[body]) == {"cpu": 3000, "memory": 1024 * MIB, "nvidia.com/gpu": 1}


def test_overhead_is_added_last() -> None:
    """A sandbox costs its overhead beside whatever the containers take."""
    found = requests(containers=[container(cpu="1")], initContainers=[container("i", cpu="2")], overhead={"cpu": "250m", "memory": "64Mi"})
    assert found == {"cpu": 2250, "memory": 64 * MIB}


def test_only_the_total_is_rounded() -> None:
    """Three thirds of a millicore are one, not three."""
    assert requests(containers=[container(f"c{i}", cpu="333334n") for i in range(3)]) == {"cpu": 2}


def test_zero_requests_are_dropped() -> None:
    """NodeResourcesFit skips them, so a node need not list the resource."""
    zero = {"nvidia_com__gpu": "0", "hugepages-2Mi": 0}
    assert requests(containers=[container(cpu="1", **zero)]) == {"cpu": 1000}
    assert requests(containers=[{"name": "m", "resources": {}}]) == {}
    assert requests(containers=[{"name": "m"}]) == {}


def test_pod_level_requests_replace_the_sum() -> None:
    """KEP-2837: cpu, memory and hugepages; other resources still come from the containers."""
    found = requests(
        containers=[container(cpu="1", memory="1Gi", nvidia_com__gpu="1")], resources={"requests": {"cpu": "500m", "example.com/x": "9"}}
    )
    assert found == {"cpu": 500, "memory": 1024 * MIB, "nvidia.com/gpu": 1}


def test_pod_level_limits_default_to_the_containers_sum_or_to_themselves() -> None:
    """defaultPodRequests: what containers ask for wins over the pod's limit; what none asks for is the limit."""
    found = requests(containers=[container(cpu="1")], resources={"limits": {"cpu": "4", "memory": "2Gi"}})
    assert found == {"cpu": 1000, "memory": 2048 * MIB}


def resized(wish: str, actual: str, allocated: str, condition: str = "") -> dict[str, int]:
    status: Body = {
        "containerStatuses": [{"name": "main", "resources": {"requests": {"cpu": actual}}, "allocatedResources": {"cpu": allocated}}],
        "conditions": [{"type": "PodResizePending", "status": "True", "reason": condition}] if condition else [],
    }
    return dict(only_pod(pod("p", containers=[container(cpu=wish)], status=status)).spec.requests)


@pytest.mark.parametrize(
    ("wish", "actual", "allocated", "condition", "cpu"),
    [
        ("2", "1", "1", "", 2000),
        ("1", "2", "1", "", 2000),
        ("1", "1", "3", "", 3000),
        ("4", "1", "2", "Infeasible", 2000),
        ("4", "1", "2", "Deferred", 4000),
    ],
)
def test_in_place_resize_counts_the_greatest(wish: str, actual: str, allocated: str, condition: str, cpu: int) -> None:
    """determineContainerReqs: growing pods hold what they want, shrinking ones what they have; an infeasible wish is void."""
    assert resized(wish, actual, allocated, condition) == {"cpu": cpu}


def test_only_what_runs_on_can_be_resized() -> None:
    """An ordinary init container's status is history; a sidecar's counts."""
    init = [container("once", cpu="1"), {**container("on", cpu="1"), "restartPolicy": "Always"}]
    told = [{"name": name, "resources": {"requests": {"cpu": "5"}}} for name in ("once", "on")]
    found = only_pod(pod("p", containers=[container(cpu="1")], initContainers=init, status={"initContainerStatuses": told}))
    assert found.spec.requests == {"cpu": 6000}


def test_pod_level_resize_counts_the_greatest() -> None:
    """The same rule one level up, for the resources that the pod sets itself."""
    status = {"resources": {"requests": {"cpu": "3"}}, "allocatedResources": {"memory": "1Gi"}}
    found = only_pod(pod("p", containers=[container(cpu="1", memory="2Gi")], resources={"requests": {"cpu": "2"}}, status=status))
    assert found.spec.requests == {"cpu": 3000, "memory": 2048 * MIB}


@pytest.mark.parametrize("amount", ["0.5", "500m", 0.5, "-1"])
def test_extended_resources_come_whole(amount: str | float) -> None:
    """The API server refuses half a GPU; one such pod must not stop the plan of the others."""
    found = problem(pod("half", containers=[container(nvidia_com__gpu=amount)]), pod("fine"))
    assert skipped(found) == {"default/half": "Unsupported"}
    assert "nvidia.com/gpu" in found.skipped[0].message
    assert [one.name for one in found.pods] == ["fine"]


def test_hugepages_and_storage_are_resources_like_others() -> None:
    """All that a node lists can be asked for."""
    body = {"name": "m", "resources": {"requests": {"hugepages-2Mi": "64Mi", "ephemeral-storage": "1G", "memory": "100m"}}}
    assert requests(containers=[body]) == {"ephemeral-storage": 10**9, "hugepages-2Mi": 64 * MIB, "memory": 1}


@given(
    st.lists(st.integers(0, 5), min_size=1, max_size=3),
    st.lists(st.tuples(st.integers(0, 5), st.booleans()), max_size=4),
)
def test_init_arithmetic_is_the_peak_over_time(main: list[int], init: list[tuple[int, bool]]) -> None:
    """Against a replay of the pod's life: each init container in turn, then all containers, sidecars running on."""
    peak, running = 0, 0
    for cpu, sidecar in init:
        peak = max(peak, running + cpu)
        running += cpu if sidecar else 0
    peak = max(peak, running + sum(main))
    found = requests(
        containers=[container(f"c{i}", cpu=cpu) for i, cpu in enumerate(main)],
        initContainers=[
            {**container(f"i{i}", cpu=cpu), **({"restartPolicy": "Always"} if sidecar else {})} for i, (cpu, sidecar) in enumerate(init)
        ],
    )
    assert found.get("cpu", 0) == 1000 * peak


def ports(**spec: Any) -> tuple[HostPort, ...]:
    return only_pod(pod("p", **spec)).spec.host_ports


def with_port(**port: Any) -> Body:
    return {"name": "m", "ports": [port]}


def test_host_ports_have_kubernetes_defaults() -> None:
    """TCP on every address unless told otherwise; a container port alone is nothing on the host."""
    assert ports(containers=[with_port(containerPort=80), with_port(containerPort=80, hostPort=9100)]) == (
        HostPort("0.0.0.0", "TCP", 9100),
    )
    assert ports(containers=[with_port(hostPort=53, protocol="UDP", hostIP="10.0.0.1")]) == (HostPort("10.0.0.1", "UDP", 53),)


def test_on_the_hosts_network_every_port_is_the_hosts() -> None:
    """API defaulting sets hostPort to containerPort."""
    assert ports(hostNetwork=True, containers=[with_port(containerPort=8080)]) == (HostPort("0.0.0.0", "TCP", 8080),)


def test_sidecars_hold_ports_and_ordinary_init_containers_do_not() -> None:
    """kube-scheduler's GetHostPorts visits restartable init containers."""
    init = [{**with_port(hostPort=1), "name": "once"}, {**with_port(hostPort=2), "name": "on", "restartPolicy": "Always"}]
    assert ports(initContainers=init) == (HostPort("0.0.0.0", "TCP", 2),)
