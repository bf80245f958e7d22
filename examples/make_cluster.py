"""Writes cluster.json: what `kubectl get nodes,pods,deployments,… -A -o json` prints for an invented cluster in AWS us-east-1.

Twenty-five nodes that grew over the years run some 230 pods at less than half of their room; some forty pods wait. No randomness: the
same file every time. One line an object, so that a change shows as what it is.

usage: python examples/make_cluster.py [FILE]
"""

from __future__ import annotations

import hashlib
import json
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Json = dict[str, Any]
REGION = "us-east-1"
NVIDIA = "nvidia.com/gpu"

# instance type: vCPU, memory MiB, pod slots, allocatable millicores, allocatable MiB, GPUs (EKS, AL2023)
TYPES = {
    "m5.xlarge": (4, 16384, 58, 3920, 14162, 0),
    "m5.2xlarge": (8, 32768, 58, 7910, 29317, 0),
    "m5.4xlarge": (16, 65536, 234, 15890, 57691, 0),
    "c5.2xlarge": (8, 16384, 58, 7910, 14162, 0),
    "c5.4xlarge": (16, 32768, 234, 15890, 27381, 0),
    "r5.xlarge": (4, 32768, 58, 3920, 29317, 0),
    "r5.2xlarge": (8, 65536, 58, 7910, 59627, 0),
    "g4dn.xlarge": (4, 16384, 29, 3920, 14481, 1),
    "g4dn.2xlarge": (8, 32768, 29, 7910, 29636, 1),
}
FLEET = (
    ("m5.2xlarge", "abcabcabc"), ("m5.4xlarge", "abc"), ("m5.xlarge", "ab"), ("c5.2xlarge", "ab"), ("c5.4xlarge", "abc"),
    ("r5.xlarge", "c"), ("r5.2xlarge", "abc"), ("g4dn.xlarge", "a"), ("g4dn.2xlarge", "b"),
)  # fmt: skip
DAEMONS = (
    ("kube-system", "aws-node", 50, 64),
    ("kube-system", "kube-proxy", 100, 96),
    ("platform", "node-exporter", 50, 64),
    ("platform", "fluent-bit", 100, 192),
)
PRIORITIES = {"business-critical": 100_000, "default": 0, "batch": -1_000}


@dataclass(frozen=True)
class Workload:
    """A controller and how many of its pods run and wait. cpu in millicores, memory in MiB, on nodes whose type starts with ``on``."""

    namespace: str
    name: str
    cpu: int
    memory: int
    running: int
    waiting: int = 0
    kind: str = "Deployment"
    priority: str = "default"
    on: str = ""
    gpus: int = 0
    labels: Json = field(default_factory=dict)
    spec: Json = field(default_factory=dict)
    disrupt: str = ""
    """minAvailable of a PodDisruptionBudget."""


def spread(app: str, key: str, *, hard: bool = True) -> Json:
    when = "DoNotSchedule" if hard else "ScheduleAnyway"
    rule = {"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": when, "labelSelector": {"matchLabels": {"app": app}}}
    return {"topologySpreadConstraints": [rule]}


def apart(app: str) -> Json:
    term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": app}}}
    return {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}


ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
GPU_TOLERATION = {"tolerations": [{"key": NVIDIA, "operator": "Exists", "effect": "NoSchedule"}]}
WORKLOADS = (
    Workload("shop", "storefront", 500, 1024, 18, priority="business-critical", spec=spread("storefront", ZONE), disrupt="80%"),
    Workload("shop", "checkout", 1000, 2048, 9, 9, priority="business-critical", spec=spread("checkout", ZONE), disrupt="4"),
    Workload("shop", "cart", 250, 512, 15, priority="business-critical", spec=spread("cart", ZONE, hard=False), disrupt="50%"),
    Workload("shop", "search", 1500, 6144, 8, 4, spec=spread("search", HOST, hard=False)),
    Workload("shop", "recommend", 750, 3072, 12),
    Workload("shop", "images", 2000, 1536, 9, 4, on="c5"),
    Workload("shop", "emails", 100, 256, 4),
    Workload("data", "cache", 1000, 12288, 3, 2, kind="StatefulSet", spec=apart("cache"), disrupt="2"),
    Workload("data", "queue", 1000, 4096, 3, kind="StatefulSet", spec=apart("queue"), disrupt="2"),
    Workload("data", "warehouse", 2000, 24576, 3, kind="StatefulSet", on="r5"),
    Workload("data", "etl", 1500, 4096, 9),
    Workload("data", "nightly-join", 3000, 28672, 0, 6, kind="Job", priority="batch"),
    Workload("ml", "embedder", 3000, 10240, 2, 2, on="g4dn", gpus=1, spec=GPU_TOLERATION),
    Workload("ml", "resnet", 3500, 13312, 0, 4, kind="Job", priority="batch", gpus=1, spec=GPU_TOLERATION,
             labels={"bayplan.io/gang": "resnet", "bayplan.io/gang-size": "4"}),
    Workload("ml", "features", 1000, 3072, 7),
    Workload("platform", "ingress", 500, 512, 4, priority="business-critical", spec=spread("ingress", HOST), disrupt="2"),
    Workload("platform", "prometheus", 1000, 8192, 2, kind="StatefulSet", spec=apart("prometheus")),
    Workload("platform", "grafana", 200, 512, 1),
    Workload("platform", "runners", 3500, 6144, 5, 8, priority="batch"),
    Workload("kube-system", "coredns", 100, 170, 3, spec=apart("coredns"), disrupt="2"),
    Workload("reports", "render", 6000, 4096, 0, 4, kind="Job", priority="batch"),
)  # fmt: skip


@dataclass
class Machine:
    """A node and what is free on it."""

    name: str
    kind: str
    zone: str
    cpu: int
    memory: int
    gpus: int
    slots: int
    apps: list[str] = field(default_factory=list)

    def takes(self, work: Workload) -> bool:
        fits = self.cpu >= work.cpu and self.memory >= work.memory and self.gpus >= work.gpus and self.slots > 0
        alone = "podAntiAffinity" not in str(work.spec) or work.name not in self.apps
        return fits and alone and self.kind.startswith(work.on) and (self.kind.startswith("g4dn") <= bool(work.gpus))

    def room(self) -> int:
        """Free thousandths of what is scarcer, cpu or memory."""
        _, _, _, cpu, memory, _ = TYPES[self.kind]
        return min(self.cpu * 1000 // cpu, self.memory * 1000 // memory)

    def put(self, work: Workload) -> None:
        self.cpu, self.memory, self.gpus, self.slots = self.cpu - work.cpu, self.memory - work.memory, self.gpus - work.gpus, self.slots - 1
        self.apps.append(work.name)


def uid(*parts: object) -> str:
    """A stable uid."""
    text = hashlib.sha256("/".join(map(str, parts)).encode()).hexdigest()
    return f"{text[:8]}-{text[8:12]}-4{text[13:16]}-a{text[17:20]}-{text[20:32]}"


def suffix(*parts: object) -> str:
    """Five letters of the alphabet that Kubernetes draws generated names from."""
    alphabet = "bcdfghjklmnpqrstvwxz2456789"
    return "".join(alphabet[byte % len(alphabet)] for byte in hashlib.sha256("/".join(map(str, parts)).encode()).digest()[:5])


def meta(namespace: str, name: str, **more: Any) -> Json:
    head = {"name": name, "namespace": namespace} if namespace else {"name": name}
    return {**head, "uid": uid(namespace, name), "creationTimestamp": "2026-03-02T08:00:00Z", **more}


def owner(kind: str, name: str, version: str, namespace: str) -> list[Json]:
    return [{"apiVersion": version, "kind": kind, "name": name, "uid": uid(namespace, name), "controller": True}]


def machines() -> list[Machine]:
    made: list[Machine] = []
    for kind, zones in FLEET:
        _, _, slots, cpu, memory, gpus = TYPES[kind]
        for zone in zones:
            number = len(made) + 10
            made.append(Machine(f"ip-10-0-{number}-{number * 7 % 250}.ec2.internal", kind, f"{REGION}{zone}", cpu, memory, gpus, slots))
    return made


def node(machine: Machine) -> Json:
    vcpus, mib, slots, cpu, memory, gpus = TYPES[machine.kind]
    labels = {
        "beta.kubernetes.io/instance-type": machine.kind,
        "eks.amazonaws.com/capacityType": "ON_DEMAND",
        "eks.amazonaws.com/nodegroup": machine.kind.split(".")[0] + "-general",
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/hostname": machine.name,
        "kubernetes.io/os": "linux",
        "node.kubernetes.io/instance-type": machine.kind,
        "topology.kubernetes.io/region": REGION,
        ZONE: machine.zone,
    }
    extra = {NVIDIA: str(gpus)} if gpus else {}
    if gpus:
        labels["nvidia.com/gpu.product"] = "Tesla-T4"
    spec: Json = {"providerID": f"aws:///{machine.zone}/i-{uid(machine.name).replace('-', '')[:17]}"}
    if gpus:
        spec["taints"] = [{"key": NVIDIA, "value": "present", "effect": "NoSchedule"}]
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": meta("", machine.name, labels=labels),
        "spec": spec,
        "status": {
            "capacity": {"cpu": str(vcpus), "memory": f"{mib}Mi", "ephemeral-storage": "104845292Ki", "pods": str(slots), **extra},
            "allocatable": {"cpu": f"{cpu}m", "memory": f"{memory}Mi", "ephemeral-storage": "95551679124", "pods": str(slots), **extra},
            "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}],
            "nodeInfo": {
                "kubeletVersion": "v1.33.4-eks-1",
                "osImage": "Amazon Linux 2023",
                "architecture": "amd64",
                "operatingSystem": "linux",
            },
        },
    }


def container(name: str, cpu: int, memory: int, gpus: int) -> Json:
    requests: Json = {"cpu": f"{cpu}m", "memory": f"{memory}Mi"}
    limits: Json = {"memory": f"{memory}Mi"}
    if gpus:
        requests[NVIDIA] = limits[NVIDIA] = str(gpus)
    secret = [{"name": "API_TOKEN", "value": "not-a-real-token"}]
    return {"name": name, "image": f"registry.example/{name}:1", "env": secret, "resources": {"requests": requests, "limits": limits}}


def template(work: Workload) -> Json:
    labels = {"app": work.name, **work.labels}
    spec = {"containers": [container(work.name, work.cpu, work.memory, work.gpus)], **work.spec}
    if work.priority != "default":
        spec["priorityClassName"] = work.priority
    if work.kind == "Job":
        spec["restartPolicy"] = "Never"
    return {"metadata": {"labels": labels}, "spec": spec}


def pod(work: Workload, number: int, machine: Machine | None) -> Json:
    """A pod as the API server stores it: generated name, owner, resolved priority, and its place or why it has none."""
    body = template(work)
    name, kind, owner_name, version = f"{work.name}-{number}", work.kind, work.name, "apps/v1"
    if work.kind == "Deployment":
        kind, owner_name = "ReplicaSet", f"{work.name}-{uid(work.name)[:8]}"
        name = f"{owner_name}-{suffix(work.name, number)}"
    elif work.kind == "Job":
        version, name = "batch/v1", f"{work.name}-{number}-{suffix(work.name, number)}"
    metadata = meta(
        work.namespace, name, labels=body["metadata"]["labels"], ownerReferences=owner(kind, owner_name, version, work.namespace)
    )
    spec = {**body["spec"], "priority": PRIORITIES[work.priority], "schedulerName": "default-scheduler"}
    if work.name == "warehouse":
        spec["volumes"] = [{"name": "data", "persistentVolumeClaim": {"claimName": f"data-warehouse-{number}"}}]
    if machine is not None:
        spec["nodeName"] = machine.name
        status: Json = {"phase": "Running", "conditions": [{"type": "PodScheduled", "status": "True"}, {"type": "Ready", "status": "True"}]}
    else:
        status = {"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": status}


def controllers(work: Workload) -> list[Json]:
    replicas = work.running + work.waiting
    selector = {"matchLabels": {"app": work.name}}
    if work.kind == "Job":
        spec = {"parallelism": replicas, "completions": replicas, "template": template(work)}
        return [{"apiVersion": "batch/v1", "kind": "Job", "metadata": meta(work.namespace, work.name), "spec": spec}]
    spec = {"replicas": replicas, "selector": selector, "template": template(work)}
    made = [
        {"apiVersion": "apps/v1", "kind": work.kind, "metadata": meta(work.namespace, work.name, labels={"app": work.name}), "spec": spec}
    ]
    if work.kind == "Deployment":
        name = f"{work.name}-{uid(work.name)[:8]}"
        reference = owner("Deployment", work.name, "apps/v1", work.namespace)
        made.append(
            {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": meta(work.namespace, name, ownerReferences=reference), "spec": spec}
        )
    if work.disrupt:
        least: int | str = int(work.disrupt) if work.disrupt.isdigit() else work.disrupt
        budget = {"minAvailable": least, "selector": selector}
        made.append(
            {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": meta(work.namespace, f"{work.name}-pdb"), "spec": budget}
        )
    return made


def daemon_sets(fleet: list[Machine]) -> list[Json]:
    """The DaemonSets and their pods, which take their share of every machine first."""
    made = []
    device_plugin = ("kube-system", "nvidia-device-plugin", 50, 64)
    for namespace, name, cpu, memory in (*DAEMONS, device_plugin):
        gpu_only = name == device_plugin[1]
        everywhere = [{"key": NVIDIA, "operator": "Exists"}] if gpu_only else [{"operator": "Exists"}]
        spec: Json = {
            "containers": [container(name, cpu, memory, 0)],
            "tolerations": everywhere,
            "priorityClassName": "system-node-critical",
        }
        if gpu_only:
            requirement = {"key": "bayplan.io/gpu-count", "operator": "Exists"}
            product = {"key": "nvidia.com/gpu.product", "operator": "Exists"}
            terms = {"nodeSelectorTerms": [{"matchExpressions": [requirement]}, {"matchExpressions": [product]}]}
            spec["affinity"] = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
        body = {"selector": {"matchLabels": {"app": name}}, "template": {"metadata": {"labels": {"app": name}}, "spec": spec}}
        made.append({"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": meta(namespace, name), "spec": body})
        for machine in fleet:
            if gpu_only and not TYPES[machine.kind][5]:
                continue
            metadata = meta(
                namespace,
                f"{name}-{suffix(name, machine.name)}",
                labels={"app": name},
                ownerReferences=owner("DaemonSet", name, "apps/v1", namespace),
            )
            bound = {**spec, "nodeName": machine.name, "priority": 2_000_001_000}
            made.append({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": bound, "status": {"phase": "Running"}})
            machine.put(Workload(namespace, name, cpu, memory, 1))
    return made


def volumes(work: Workload, number: int, zone: str) -> list[Json]:
    """A bound claim and its volume, which ties its pod to a zone."""
    claim, volume = f"data-{work.name}-{number}", f"pv-{work.name}-{number}"
    match = {"nodeSelectorTerms": [{"matchExpressions": [{"key": ZONE, "operator": "In", "values": [zone]}]}]}
    storage = {"accessModes": ["ReadWriteOnce"], "storageClassName": "gp3"}
    reference = {"namespace": work.namespace, "name": claim}
    return [
        {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": meta("", volume),
         "spec": {**storage, "capacity": {"storage": "200Gi"}, "claimRef": reference, "nodeAffinity": {"required": match},
                  "csi": {"driver": "ebs.csi.aws.com", "volumeHandle": f"vol-{uid(volume)[:8]}"}}, "status": {"phase": "Bound"}},
        {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": meta(work.namespace, claim),
         "spec": {**storage, "volumeName": volume, "resources": {"requests": {"storage": "200Gi"}}}, "status": {"phase": "Bound"}},
    ]  # fmt: skip


def odd_pods() -> list[Json]:
    """One pod that asks for a machine that nobody sells, and one that a gate still holds."""
    typo = Workload(
        "reports",
        "quarterly-export",
        1000,
        2048,
        0,
        1,
        kind="Job",
        spec={"nodeSelector": {"node.kubernetes.io/instance-type": "m5.3xlarge"}},
    )
    gated = Workload("ml", "sweep", 2000, 8192, 0, 1, kind="Job", spec={"schedulingGates": [{"name": "kueue.x-k8s.io/admission"}]})
    return [*controllers(typo), pod(typo, 0, None), *controllers(gated), pod(gated, 0, None)]


def place(work: Workload, number: int, fleet: list[Machine]) -> Machine:
    """Where a pod of old landed: zone by zone, on the machine with the most room, as kube-scheduler's default scoring does."""
    zone = f"{REGION}{'abc'[number % 3]}"
    able = [machine for machine in fleet if machine.takes(work)]
    chosen = [machine for machine in able if machine.zone == zone] or able
    return max(chosen, key=lambda machine: (-machine.apps.count(work.name), machine.room(), machine.name))


def cluster() -> Json:
    """The whole dump, a List."""
    fleet = machines()
    namespaces = sorted({work.namespace for work in WORKLOADS} | {"reports"})
    items: list[Json] = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": {"kubernetes.io/metadata.name": name}}}
        for name in namespaces
    ]
    items += [{"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}, "value": value}
              for name, value in PRIORITIES.items() if name != "default"]  # fmt: skip
    items.append({"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "gp3"}, "provisioner": "ebs.csi.aws.com",
                  "volumeBindingMode": "WaitForFirstConsumer"})  # fmt: skip
    items += [node(machine) for machine in fleet]
    items += daemon_sets(fleet)
    for work in WORKLOADS:
        items += controllers(work)
        for number in range(work.running):
            machine = place(work, number, fleet)
            machine.put(work)
            if work.name == "warehouse":
                items += volumes(work, number, machine.zone)
            items.append(pod(work, number, machine))
        items += [pod(work, number, None) for number in range(work.running, work.running + work.waiting)]
    return {"apiVersion": "v1", "kind": "List", "items": items + odd_pods()}


def text(dump: Json) -> str:
    lines = ",\n".join(json.dumps(item, separators=(",", ":")) for item in dump["items"])
    return f'{{"apiVersion":"v1","kind":"List","items":[\n{lines}\n]}}\n'


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).with_name("cluster.json")
    target.write_text(text(cluster()), encoding="utf-8")
