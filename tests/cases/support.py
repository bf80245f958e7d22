"""Cases: small inputs with their right answers, written short and spelled out here as the Kubernetes objects that a user would give.

A case file has ``about``, ``source`` (public reports), perhaps ``rule``, then ``pods`` (waiting), ``running``, ``nodes``, ``daemons``,
``objects`` (verbatim), ``offers``, ``policy`` and ``expect``. Unknown keys are errors, so that no expectation is lost by a typing error.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import yaml

HERE = Path(__file__).parent
ZONE, HOSTNAME, TYPE = "topology.kubernetes.io/zone", "kubernetes.io/hostname", "node.kubernetes.io/instance-type"

CASE_KEYS = {"about", "source", "rule", "pods", "running", "nodes", "daemons", "objects", "offers", "policy", "expect"}
POD_KEYS = {
    "name", "copies", "cpu", "mem", "gpu", "requests", "labels", "node", "phase", "status", "meta", "spec", "ports", "affinity", "spread",
    "claim",
}  # fmt: skip
NODE_KEYS = {"name", "cpu", "mem", "pods", "gpu", "zone", "arch", "labels", "taints", "spec", "ready", "capacity"}
OFFER_KEYS = {"type", "zone", "price", "cpu", "mem", "pods", "gpu", "arch", "labels", "taints", "count", "capacity"}
EXPECT_KEYS = {
    "placed", "unplaced", "skipped", "placed_count", "must_place", "bought", "node_count", "cost", "together", "apart", "types", "zones",
    "nodes", "not_on", "zone_counts", "capacity", "requests", "mentions", "warned",
}  # fmt: skip

Object = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Case:
    """``objects`` are Kubernetes objects, ``offers`` rows of the YAML catalog, ``expect`` the right answer."""

    name: str
    objects: tuple[Object, ...]
    offers: tuple[Object, ...]
    policy: str
    expect: Mapping[str, Any]
    pod_names: frozenset[str]

    def shuffled(self, seed: int) -> Case:
        """The same input in another order: reversed for seed 0, else shuffled."""
        objects, offers = list(self.objects), list(self.offers)
        if seed == 0:
            objects.reverse()
            offers.reverse()
        else:
            random.Random(seed).shuffle(objects)
            random.Random(seed).shuffle(offers)
        return Case(self.name, tuple(objects), tuple(offers), self.policy, self.expect, self.pod_names)

    def document(self) -> Object:
        """One document that the command line takes by ``-f``: a List of the objects, and the catalog beside it."""
        return {"apiVersion": "v1", "kind": "List", "items": list(self.objects)}


def load_cases(folder: str) -> Iterator[Case]:
    for path in sorted((HERE / folder).glob("*.yaml")):
        yield read_case(path.stem, yaml.safe_load(path.read_text(encoding="utf-8")))


def read_case(name: str, raw: Object) -> Case:
    _known(name, raw, CASE_KEYS)
    _known(f"{name}: expect", raw["expect"], EXPECT_KEYS)
    waiting = [pod for entry in raw.get("pods", ()) for pod in _pods(entry)]
    running = [pod for entry in raw.get("running", ()) for pod in _pods(entry)]
    return Case(
        name,
        (
            *map(_node, raw.get("nodes", ())),
            *raw.get("objects", ()),
            *map(_daemon, raw.get("daemons", ())),
            *running,
            *waiting,
        ),
        tuple(map(_offer, raw.get("offers", ()))),
        yaml.safe_dump(raw["policy"]) if "policy" in raw else "",
        raw["expect"],
        frozenset(pod["metadata"]["name"] for pod in waiting),
    )


# Short forms spelled out ----------------------------------------------------------------------------------------------------------


def _pods(entry: Object) -> Iterator[Object]:
    _known(entry["name"], entry, POD_KEYS)
    copies = entry.get("copies")
    for i in range(copies or 1):
        name = f"{entry['name']}-{i}" if copies else entry["name"]
        metadata = {"name": name, "namespace": "default", "labels": dict(entry.get("labels", {})), **entry.get("meta", {})}
        spec = _pod_spec(entry)
        if "node" in entry:
            spec["nodeName"] = entry["node"]
        status = entry.get("status", {"phase": entry.get("phase", "Running" if "node" in entry else "Pending")})
        yield {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": status}


def _pod_spec(entry: Object) -> Object:
    requests = {key: entry[short] for short, key in (("cpu", "cpu"), ("mem", "memory"), ("gpu", "nvidia.com/gpu")) if short in entry}
    requests = {key: str(value) for key, value in requests.items()} | entry.get("requests", {})
    extended = {key: value for key, value in requests.items() if key not in ("cpu", "memory")}
    container: Object = {"name": "main", "image": "registry.example/app:1", "resources": {"requests": requests, "limits": extended}}
    if "ports" in entry:
        container["ports"] = [{"containerPort": port["hostPort"], **port} for port in entry["ports"]]
    spec: Object = {"containers": [container], **entry.get("spec", {})}
    if "affinity" in entry:
        spec["affinity"] = _affinity(entry["affinity"])
    if "spread" in entry:
        spec["topologySpreadConstraints"] = [_spread(dict(constraint)) for constraint in entry["spread"]]
    if "claim" in entry:
        spec["volumes"] = [{"name": "data", "persistentVolumeClaim": {"claimName": entry["claim"]}}]
    return spec


def _affinity(short: Object) -> Object:
    """``node``: required terms, each a list of [key, operator, value…]; ``with`` and ``apart``: required pod terms {key, labels}."""
    _known("affinity", short, {"node", "with", "apart"})
    out: Object = {}
    if "node" in short:
        terms: list[Object] = [
            {"matchExpressions": [{"key": key, "operator": operator, "values": values} for key, operator, *values in term]} if term else {}
            for term in short["node"]
        ]
        out["nodeAffinity"] = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    for name, key in (("with", "podAffinity"), ("apart", "podAntiAffinity")):
        if name in short:
            terms = [{"topologyKey": t["key"], "labelSelector": {"matchLabels": t["labels"]}} for t in short[name]]
            out[key] = {"requiredDuringSchedulingIgnoredDuringExecution": terms}
    return out


def _spread(short: Object) -> Object:
    """{key, app, …}: a hard constraint of maxSkew 1 over pods of that app, unless the rest says otherwise."""
    key, app = short.pop("key"), short.pop("app")
    selector = {"matchLabels": {"app": app}}
    return {"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": selector, **short}


def _daemon(entry: Object) -> Object:
    _known(entry["name"], entry, POD_KEYS)
    labels = {"daemon": entry["name"]}
    template = {"metadata": {"labels": labels}, "spec": _pod_spec(entry)}
    spec = {"selector": {"matchLabels": labels}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": entry["name"], "namespace": "kube-system"}, "spec": spec}


def _machine(entry: Object, pods: int) -> Object:
    resources = {"cpu": str(entry["cpu"]), "memory": entry["mem"], "pods": str(entry.get("pods", pods))}
    return resources | ({"nvidia.com/gpu": str(entry["gpu"])} if "gpu" in entry else {})


def _labels(entry: Object) -> Object:
    return {"kubernetes.io/os": "linux", "kubernetes.io/arch": entry.get("arch", "amd64"), **entry.get("labels", {})}


def _node(entry: Object) -> Object:
    _known(entry["name"], entry, NODE_KEYS)
    labels = {HOSTNAME: entry["name"], **_labels(entry)} | ({ZONE: entry["zone"]} if "zone" in entry else {})
    allocatable = _machine(entry, 110)
    status = {
        "allocatable": allocatable,
        "capacity": entry.get("capacity", allocatable),
        "conditions": [{"type": "Ready", "status": "True" if entry.get("ready", True) else "False"}],
    }
    spec = {**entry.get("spec", {})} | ({"taints": entry["taints"]} if "taints" in entry else {})
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": entry["name"], "labels": labels}, "spec": spec, "status": status}


def _offer(entry: Object) -> Object:
    _known(entry["type"], entry, OFFER_KEYS)
    row = {
        "instance_type": entry["type"],
        "zone": entry.get("zone", "z-a"),
        "capacity_type": entry.get("capacity", "on-demand"),
        "price": entry["price"],
        "resources": _machine(entry, 30),
        "labels": _labels(entry),
    }
    return row | {key: entry[short] for short, key in (("taints", "taints"), ("count", "available_count")) if short in entry}


def _known(where: str, given: Object, known: set[str]) -> None:
    if unknown := set(given) - known:
        raise ValueError(f"{where}: unknown keys {sorted(unknown)}")


# Judging a plan -------------------------------------------------------------------------------------------------------------------


def verdict(case: Case, plan: Object) -> list[str]:
    """Every way in which a plan (the CLI's JSON) differs from what the case expects; empty when it is right."""
    want, wrong = case.expect, []
    objects = {(o["kind"], o["metadata"]["name"]): o for o in case.objects}
    launch_of = {_short(pod): (i, launch) for i, launch in enumerate(plan["launches"]) for pod in launch["pods"]}
    node_of = {pod: f"launch {i}" for pod, (i, _) in launch_of.items()} | {_short(p["pod"]): p["node"] for p in plan["placements"]}
    unplaced = {_short(u["pod"]) for u in plan["unplaced"]}
    skipped = {_short(s["pod"]) for s in plan["skipped"]}

    def same(what: str, got: object, expected: object) -> None:
        if got != expected:
            wrong.append(f"{what}: {got}, expected {expected}")

    def node_label(pod: str, key: str) -> str | None:
        node = objects.get(("Node", node_of.get(pod, "")), {"metadata": {}})
        return node["metadata"].get("labels", {}).get(key)  # type: ignore[no-any-return]

    def zone(pod: str) -> str | None:
        return launch_of[pod][1]["zone"] if pod in launch_of else node_label(pod, ZONE)

    seen = Counter([*launch_of, *(_short(p["pod"]) for p in plan["placements"]), *unplaced, *skipped])
    same("pods that are not in exactly one list", {p for p in case.pod_names if seen[p] != 1}, set())
    if "placed" in want:
        same("placed", sorted(node_of), sorted(want["placed"]))
    if "placed_count" in want:
        same("placed", len(node_of), want["placed_count"])
    if "unplaced" in want:
        same("unplaced", sorted(unplaced), sorted(want["unplaced"]))
    same("missing", set(want.get("must_place", ())) - set(node_of), set())
    same("not skipped", set(want.get("skipped", ())) - skipped, set())
    if "bought" in want:
        same("bought", dict(Counter(launch["instanceType"] for launch in plan["launches"])), want["bought"])
    if "capacity" in want:
        same("capacity types", dict(Counter(launch["capacityType"] for launch in plan["launches"])), want["capacity"])
    if "node_count" in want:
        same("nodes bought", len(plan["launches"]), want["node_count"])
    same("cost", Decimal(plan["costPerHour"]), Decimal(str(want["cost"])))
    for group in want.get("together", ()):
        same(f"nodes of {group}", len({node_of.get(pod) for pod in group}), 1)
    for first, second in want.get("apart", ()):
        same(f"{first} and {second} share a node", node_of.get(first) == node_of.get(second), False)
    for pod, kind in want.get("types", {}).items():
        same(f"type of {pod}", launch_of[pod][1]["instanceType"] if pod in launch_of else node_label(pod, TYPE), kind)
    for pod, expected in want.get("zones", {}).items():
        same(f"zone of {pod}", zone(pod), expected)
    for pod, node in want.get("nodes", {}).items():
        same(f"node of {pod}", node_of.get(pod), node)
    for pod, nodes in want.get("not_on", {}).items():
        same(f"{pod} on a node it must not have", node_of.get(pod) in nodes, False)
    for app, counts in want.get("zone_counts", {}).items():
        members = [p for p in node_of if objects["Pod", p]["metadata"]["labels"].get("app") == app]
        same(f"zones of {app}", dict(Counter(map(zone, members))), counts)
    text = str(plan["unplaced"]).lower()
    same("words that the reasons lack", [word for word in want.get("mentions", ()) if word.lower() not in text], [])
    text = str(plan["warnings"])
    same("offerings that no warning names", [name for name in want.get("warned", ()) if name not in text], [])
    if Decimal(plan["lowerBoundPerHour"]) > Decimal(plan["objectivePerHour"]):
        wrong.append(f"bound {plan['lowerBoundPerHour']} above objective {plan['objectivePerHour']}")
    return wrong


def _short(pod: str) -> str:
    return pod.rpartition("/")[2]
