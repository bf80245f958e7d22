"""How fast a dump of a large cluster is read, and in how much memory.

    python -m perf.dump --megabytes 200

Writes such a dump to a temporary folder as ``kubectl get pods -A -o json`` would print it (managed fields, env, status and all), reads it
in a fresh process, and says whether it kept the promise: at most 5 s and twice the size of the file.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from packer.parse import build_problem, read_objects

LIMIT_S = 5.0
LIMIT_SIZES = 2.0
MB = 1_000_000
APPS = 400


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m perf.dump", description="Time and memory of reading a large dump.")
    parser.add_argument("--megabytes", type=int, default=200, help="size of the dump (default 200)")
    parser.add_argument("--read", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.read:
        print(json.dumps(measure(options.read)))
        return 0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "pods.json"
        pods = write(path, options.megabytes * MB)
        size = path.stat().st_size
        output = subprocess.run([sys.executable, "-m", "perf.dump", "--read", str(path)], check=True, capture_output=True, text=True).stdout
    told = json.loads(output)
    print(
        f"{size / MB:.0f} MB, {pods} pods: read in {told['seconds']:.2f} s ({told['cpu_s']:.2f} s of cpu), "
        f"peak {told['peak_bytes'] / MB:.0f} MB = {told['peak_bytes'] / size:.2f} × its size"
    )
    kept = told["seconds"] <= LIMIT_S and told["peak_bytes"] <= LIMIT_SIZES * size and told["pods"] == pods
    print("kept" if kept else f"NOT kept: at most {LIMIT_S:g} s and {LIMIT_SIZES:g} × its size")
    return 0 if kept else 1


def measure(path: Path) -> dict[str, Any]:
    """Read and make a problem of it in this process; the peak is the whole process's, interpreter and all."""
    began, cpu = time.perf_counter(), time.process_time()
    raw = read_objects([path])
    problem = build_problem(raw)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    return {
        "seconds": time.perf_counter() - began,
        "cpu_s": time.process_time() - cpu,
        "peak_bytes": peak,
        "pods": len(raw.pods),
        "waiting": len(problem.pods),
    }


def write(path: Path, size: int, seed: int = 1) -> int:
    """A List of pods of about ``size`` bytes, indented as kubectl does; returns how many."""
    rng = random.Random(seed)
    count = 0
    with path.open("w", encoding="utf-8") as file:
        file.write('{\n    "apiVersion": "v1",\n    "items": [\n')
        while file.tell() < size:
            text = json.dumps(_pod(count, rng), indent=4).replace("\n", "\n        ")
            file.write(f"{',' if count else ''}\n        {text}")
            count += 1
        file.write('\n    ],\n    "kind": "List",\n    "metadata": {\n        "resourceVersion": ""\n    }\n}\n')
    return count


def _pod(index: int, rng: random.Random) -> dict[str, Any]:
    app = int(rng.random() * APPS)
    name, namespace, template_hash = f"app-{app}", f"team-{app % 40}", f"{app * 7919 + 10**6:x}"
    bound = index % 50 != 0
    requests = {"cpu": f"{100 * (1 + app % 9)}m", "memory": f"{256 * (1 + app % 7)}Mi"}
    resources = {"limits": {"memory": requests["memory"]}, "requests": requests}
    token = f"kube-api-access-{index:05x}"
    env = [{"name": f"SETTING_{number}", "value": f"value of setting {number} of {name}"} for number in range(12)]
    fields: dict[str, Any] = {
        "f:spec": {"f:containers": {'k:{"name":"main"}': {f'k:{{"name":"{one["name"]}"}}': {".": {}, "f:value": {}} for one in env}}}
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "x" * 600},
            "creationTimestamp": f"2026-01-01T00:{index // 60 % 60:02}:{index % 60:02}Z",
            "generateName": f"{name}-{template_hash}-",
            "labels": {"app": name, "pod-template-hash": template_hash},
            "managedFields": [{"apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": fields, "manager": "kube-controller-manager"}],
            "name": f"{name}-{template_hash}-{index:05x}",
            "namespace": namespace,
            "ownerReferences": [
                {"apiVersion": "apps/v1", "controller": True, "kind": "ReplicaSet", "name": f"{name}-{template_hash}", "uid": f"{app:032x}"}
            ],
            "resourceVersion": str(index + 1000),
            "uid": f"{index:032x}",
        },
        "spec": {
            "containers": [
                {"env": env, "image": "registry.example/app:1", "name": "main", "resources": resources},
                {"image": "registry.example/proxy:1", "name": "proxy", "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}}},
            ],
            **({"nodeName": f"node-{index % 2000}"} if bound else {}),
            "schedulerName": "default-scheduler",
            "tolerations": [
                {"effect": "NoExecute", "key": f"node.kubernetes.io/{key}", "operator": "Exists", "tolerationSeconds": 300}
                for key in ("not-ready", "unreachable")
            ],
            "topologySpreadConstraints": [
                {"labelSelector": {"matchLabels": {"app": name}}, "maxSkew": 1, "topologyKey": "topology.kubernetes.io/zone"}
            ],
            "volumes": [{"name": token, "projected": {"sources": [{"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}}]}}],
        },
        "status": {
            "phase": "Running" if bound else "Pending",
            "conditions": [{"status": "True" if bound else "False", "type": kind} for kind in ("Initialized", "Ready", "PodScheduled")],
            "containerStatuses": [
                {
                    "allocatedResources": requests,
                    "containerID": f"containerd://{index:064x}",
                    "imageID": f"sha256:{index:064x}",
                    "name": "main",
                    "resources": resources,
                    "state": {"running": {"startedAt": "2026-01-01T00:00:00Z"}},
                }
            ],
            "startTime": "2026-01-01T00:00:00Z",
        },
    }


if __name__ == "__main__":
    sys.exit(main())
