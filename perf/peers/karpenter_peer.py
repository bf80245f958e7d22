"""Karpenter's own scheduler on our problems, through the Go program in ``karpenter/``.

One node pool, an empty cluster, one worker (its default), a fresh scheduler for each repeat, the same allocatable as ours.
"""

from __future__ import annotations

import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import orjson

from packer.errors import EnvironmentProblem, UsageError
from packer.model import Offering, OfferingKey, Pod, Problem
from perf.objects import pod_object, quantities
from perf.peers.gobuild import binary
from perf.peers.run import PeerRun, offered, peer_plan

MODULE = Path(__file__).parent / "karpenter"
VERSION = "1.14.1"


def run(problem: Problem, *, repeats: int = 1, timeout_s: float = 0.0) -> tuple[PeerRun, ...]:
    """Pack ``problem.pods`` ``repeats`` times. ``timeout_s`` stops one Solve and keeps what it had (0 = never; its own limit is 60).

    Errors: :class:`UsageError` for what one node pool on an empty cluster cannot express (existing nodes, taints that differ);
    :class:`EnvironmentProblem` when the program cannot be built or fails.
    """
    request = to_request(problem)
    request |= {"repeats": repeats, "timeoutSeconds": timeout_s}
    program = binary(MODULE, "karpenter-peer")
    done = subprocess.run([str(program)], input=orjson.dumps(request), stdout=subprocess.PIPE, stderr=None, check=False)
    if done.returncode != 0:
        raise EnvironmentProblem(f"the Karpenter peer ended with exit code {done.returncode}; its message is above")
    keys = _keys(offered(problem))
    return tuple(_peer_run(problem, keys, item) for item in orjson.loads(done.stdout)["repeats"])


def to_request(problem: Problem) -> dict[str, Any]:
    """The problem as the Go program reads it."""
    offerings = offered(problem)
    taints = {o.taints for o in offerings}
    if problem.nodes or len(taints) > 1 or problem.device_share:
        raise UsageError("Karpenter is compared on an empty cluster with one node pool: no existing nodes, equal taints, whole devices")
    pods = [pod_object(pod) for pod in problem.pods]
    daemons = [pod_object(Pod(d.namespace, d.name, f"{d.namespace}/{d.name}", d.spec, d.labels)) for d in problem.daemons]
    return {
        "instanceTypes": _instance_types(offerings),
        "taints": [{"key": t.key, "value": t.value, "effect": t.effect.value} for t in next(iter(taints), ())],
        "pods": pods,
        "daemons": daemons,
    }


def _instance_types(offerings: tuple[Offering, ...]) -> list[dict[str, Any]]:
    by_type: dict[str, list[Offering]] = defaultdict(list)
    for o in offerings:
        by_type[o.key.instance_type].append(o)
    out = []
    for name, group in sorted(by_type.items()):
        if any(dict(o.allocatable) != dict(group[0].allocatable) for o in group):
            raise UsageError(f"{name} has offerings of different size: Karpenter's instance types have one")
        offers = [
            {
                "zone": o.key.zone,
                "capacityType": o.key.capacity_type,
                "price": o.price_microusd_per_hour / 1e6,
                "available": o.available_count != 0,
                "labels": dict(o.labels),
            }
            for o in sorted(group, key=lambda o: o.key)
        ]
        out.append({"name": name, "allocatable": quantities(group[0].allocatable), "offerings": offers})
    return out


def _keys(offerings: tuple[Offering, ...]) -> dict[tuple[str, str, str], OfferingKey]:
    return {(o.key.instance_type, o.key.zone, o.key.capacity_type): o.key for o in offerings}


def _peer_run(problem: Problem, keys: dict[tuple[str, str, str], OfferingKey], item: dict[str, Any]) -> PeerRun:
    bought = [(keys[(c["instanceType"], c["zone"], c["capacityType"])], tuple(c["pods"])) for c in item["claims"]]
    placed = {pod for _, pods in bought for pod in pods}
    left = {pod.key: item["errors"].get(pod.key, "not reached in time") for pod in problem.pods if pod.key not in placed}
    if item["timedOut"]:
        print(f"Karpenter ran out of its time with {len(left)} pods left", file=sys.stderr)
    return PeerRun(peer_plan(problem, bought, left), item["seconds"], item["processorSeconds"], item["timedOut"])
