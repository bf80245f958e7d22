"""First fit decreasing on one best type, as Cluster Autoscaler estimates a scale-up (binpacking estimator, price expander).

Each round looks at all pods that wait: for every type it packs those that could run there, largest first, each on the first node with
room (estimator/binpacking_estimator.go: pods by the sum of their cpu and memory shares); the type with the least price for what its
nodes would carry wins (expander/price: node price over pod price) and takes its pods, under all of kube-scheduler's rules. What it could
not take waits for the next round, as for the autoscaler's next loop.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field, fields, replace

import numpy as np

from packer.model import CPU, GPU, MEMORY, PODS, Offering, OfferingKey, Pod, PodSpec, Problem, Resources, Why
from packer.rules import NodeView, State, new_view, static_reasons
from perf.peers.run import PeerRun, offered, peer_plan

CPU_USD, MEMORY_GB_USD, GPU_USD = 0.033174, 0.004446, 0.700
"""What the price expander takes a pod's cpu, GB of memory and GPU to be worth an hour (cloudprovider/gce, gce_price_info.go)."""

PASSING = frozenset((Why.TOPOLOGY_SPREAD, Why.POD_AFFINITY))
"""Refusals that later pods can lift. After any other, a node that only fills up never takes such a pod again."""


@dataclass(frozen=True, slots=True)
class _Type:
    """A type and capacity type: its offerings, cheapest first, and a fresh node of each less its daemons."""

    name: str
    offerings: tuple[Offering, ...]
    views: tuple[NodeView, ...]


def run(problem: Problem) -> PeerRun:
    """Pack the waiting pods: each onto the first node that takes it, else onto a new one, of one type after the other."""
    started, busy = time.perf_counter(), time.process_time()
    packing = _Packing(problem)
    types = _types(problem)
    while packing.left:
        best = _best_type(types, packing)
        if best is None:
            break
        takers = [pod for pod in packing.left.values() if packing.could_run(pod, best)]
        if not packing.first_fit(_decreasing(takers, best.views[0].free), best):
            types.remove(best)
    packing.first_fit(packing.left.values())
    seconds, cpu_seconds = time.perf_counter() - started, time.process_time() - busy
    bought: dict[str, list[str]] = {name: [] for name in packing.launched}
    placements = []
    for pod, node in packing.placed.items():
        if node in bought:
            bought[node].append(pod)
        else:
            placements.append((pod, node))
    launches = [(packing.launched[name].key, tuple(pods)) for name, pods in bought.items()]
    return PeerRun(peer_plan(problem, launches, dict.fromkeys(packing.left, "no type takes it"), placements), seconds, cpu_seconds)


class _Packing:
    """The cluster as it fills up, and the pods that still wait."""

    def __init__(self, problem: Problem) -> None:
        specs: dict[object, PodSpec] = {}
        pods = [replace(pod, spec=specs.setdefault(_content(pod.spec), pod.spec)) for pod in problem.pods]
        self.state = State(problem.nodes, problem.daemons, device_share=problem.device_share, pods=pods)
        self.left = {pod.key: pod for pod in pods}
        self.placed: dict[str, str] = {}
        self.launched: dict[str, Offering] = {}
        self._alone: dict[tuple[str, int], bool] = {}
        self._nodes = sorted(self.state.nodes)
        self._spare: dict[OfferingKey, str] = {}
        self._count = 0
        self._candidates: dict[object, _Candidates] = defaultdict(_Candidates)

    def could_run(self, pod: Pod, on: _Type) -> bool:
        """Would a fresh node of the type take the pod, were there no other pods?"""
        key = (on.name, id(pod.spec))
        if key not in self._alone:
            self._alone[key] = any(not static_reasons(pod, view) for view in on.views)
        return self._alone[key]

    def first_fit(self, pods: Iterable[Pod], best: _Type | None = None) -> int:
        """Each pod onto the first node that takes it, else onto a new one of ``best``; how many found a place."""
        count = 0
        for offering in best.offerings if best else ():
            self._stand_by(offering)
        for pod in list(pods):
            node = self._first(pod) or (self._open(pod, best) if best else None)
            if node:
                self.state.place(pod, node)
                self.placed[pod.key] = node
                del self.left[pod.key]
                count += 1
        return count

    def _first(self, pod: Pod) -> str | None:
        candidates = self._candidates[self.state.same_kind(pod)]
        candidates.nodes += self._nodes[candidates.seen :]
        candidates.seen = len(self._nodes)
        hopeless = []
        found = None
        for name in candidates.nodes:
            free = self.state.nodes[name].free
            if any(amount > free.get(r, 0) for r, amount in pod.spec.requests.items()):
                hopeless.append(name)
                continue
            reasons = self.state.why_not(pod, name)
            if not reasons:
                found = name
                break
            if any(reason.code not in PASSING for reason in reasons):
                hopeless.append(name)
        if hopeless:
            gone = set(hopeless)
            candidates.nodes = [name for name in candidates.nodes if name not in gone]
        return found

    def _open(self, pod: Pod, best: _Type) -> str | None:
        """A new node in the first zone, by price, whose node would take the pod."""
        for offering in best.offerings:
            name = self._stand_by(offering)
            if not self.state.why_not(pod, name):
                del self._spare[offering.key]
                self.launched[name] = offering
                self._nodes.append(name)
                self._stand_by(offering)
                return name
        return None

    def _stand_by(self, offering: Offering) -> str:
        """One empty node of each offering stands by, like the autoscaler's template nodes: its zone is there from the start.

        It is a host without pods, so hostname spread gives each node maxSkew pods at most, as Karpenter has it too.
        """
        name = self._spare.get(offering.key)
        if name is None:
            self._count += 1
            name = self._spare[offering.key] = f"new-{self._count:05d}"
            self.state.launch(name, offering)
        return name


def _content(spec: PodSpec) -> object:
    """Equal for equal specs."""
    return tuple(
        tuple(sorted(value.items())) if name == "requests" else value
        for name, value in ((f.name, getattr(spec, f.name)) for f in fields(spec))
    )


@dataclass(slots=True)
class _Candidates:
    """Nodes that may still take pods of a kind; ``seen`` of all nodes were looked at."""

    nodes: list[str] = field(default_factory=list)
    seen: int = 0


def _types(problem: Problem) -> list[_Type]:
    by_name: dict[str, list[Offering]] = defaultdict(list)
    for o in offered(problem):
        by_name[f"{o.key.instance_type}/{o.key.capacity_type}"].append(o)
    out = []
    for name, group in sorted(by_name.items()):
        group.sort(key=lambda o: (o.price_microusd_per_hour, o.key))
        out.append(_Type(name, tuple(group), tuple(new_view(o, problem.daemons) for o in group)))
    return out


def _best_type(types: list[_Type], packing: _Packing) -> _Type | None:
    """The least ratio of node price to pod price, of the types that some pod could use; ties by cost, then name."""
    waiting: dict[object, list[Pod]] = defaultdict(list)
    for pod in packing.left.values():
        waiting[_content(replace(pod.spec, spread=(), affinity=(), anti_affinity=()))].append(pod)
    ranked = []
    for candidate in types:
        groups = [(pods[0].spec, len(pods)) for pods in waiting.values() if packing.could_run(pods[0], candidate)]
        if groups:
            worth = sum(_worth(spec) * count for spec, count in groups)
            cost = candidate.offerings[0].price_microusd_per_hour / 1e6 * _estimate(candidate.views[0].free, groups)
            ranked.append((cost / max(worth, 1e-9), cost, candidate.name, candidate))
    return min(ranked, key=lambda entry: entry[:3])[3] if ranked else None


def _worth(spec: PodSpec) -> float:
    asked = spec.requests
    return asked.get(CPU, 0) / 1000 * CPU_USD + asked.get(MEMORY, 0) / 1e9 * MEMORY_GB_USD + asked.get(GPU, 0) * GPU_USD


def _share(spec: PodSpec, room: Resources) -> float:
    return sum(spec.requests.get(r, 0) / room[r] for r in (CPU, MEMORY) if room.get(r, 0) > 0)


def _decreasing(pods: Iterable[Pod], room: Resources) -> list[Pod]:
    return sorted(pods, key=lambda pod: (-_share(pod.spec, room), pod.key))


def _estimate(room: Resources, groups: list[tuple[PodSpec, int]]) -> int:
    """Nodes that first fit decreasing needs by resources alone: equal pods go onto open nodes in their order all at once."""
    names = sorted({PODS, *(r for spec, _ in groups for r in spec.requests)})
    cap = np.array([room.get(r, 0) for r in names], np.int64)
    free = np.zeros((0, len(names)), np.int64)
    for spec, count in sorted(groups, key=lambda group: -_share(group[0], room)):
        need = np.array([1 if r == PODS else spec.requests.get(r, 0) for r in names], np.int64)
        asks = need > 0
        each = (free[:, asks] // need[asks]).min(axis=1)
        take = np.minimum(each, np.maximum(count - (np.cumsum(each) - each), 0))
        free -= take[:, None] * need
        rest = count - int(take.sum())
        per = int((cap[asks] // need[asks]).min())
        if rest and per:
            new = np.tile(cap - per * need, (-(-rest // per), 1))
            new[-1] += (len(new) * per - rest) * need
            free = np.concatenate([free, new])
    return len(free)
