"""Bins of items -> nodes with pods: the way back from arrays to a Plan's launches and placements."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from packer.arrays import Bins, Ints
from packer.dense import Dense
from packer.model import Launch, OfferingKey, Placement, Pod
from packer.plan import launch_names


@dataclass(frozen=True, slots=True)
class Assignment:
    """Which pods share which machine: new ones by offering index, existing ones by node index; and who is left."""

    launches: tuple[tuple[int, tuple[Pod, ...]], ...]
    placements: tuple[tuple[Pod, int], ...]
    unplaced: tuple[Pod, ...]


def decode(dense: Dense, bins: Bins) -> Assignment:
    """Hand out pods, in canonical order, to the bins of a plan. Bins of one kind are alike, so who gets which pod is mere bookkeeping."""
    queues = [list(reversed(c.pods)) for c in dense.classes]
    used: dict[int, int] = {}
    launches, placements = [], []
    offerings = len(dense.offerings)
    for row in canonical_rows(bins):
        kind = dense.bins[int(bins.kind[row])]
        parts = _parts(dense, bins.pattern[row])
        for _ in range(int(bins.times[row])):
            pods = tuple(sorted((queues[c].pop() for c, n in parts for _ in range(n)), key=lambda pod: (pod.namespace, pod.name)))
            if kind.existing:
                group = int(dense.packing.stock_group[bins.kind[row]])
                host = kind.hosts[used.get(group, 0)]
                used[group] = used.get(group, 0) + 1
                placements += [(pod, host - offerings) for pod in pods]
            else:
                launches.append((kind.hosts[0], pods))
    unplaced = sorted((pod for queue in queues for pod in queue), key=lambda pod: (pod.namespace, pod.name, pod.uid))
    placements.sort(key=lambda entry: (entry[0].namespace, entry[0].name))
    return Assignment(tuple(launches), tuple(placements), tuple(unplaced))


def canonical_rows(bins: Bins) -> list[int]:
    """Row numbers in the order of (kind, pattern), fullest patterns first."""
    return sorted(range(len(bins.kind)), key=lambda row: (int(bins.kind[row]), tuple(-bins.pattern[row])))


def _parts(dense: Dense, pattern: Ints) -> list[tuple[int, int]]:
    """(class, pods) of one bin."""
    found: dict[int, int] = {}
    for i in np.nonzero(pattern)[0]:
        for c, n in dense.items[i].parts:
            found[c] = found.get(c, 0) + n * int(pattern[i])
    return sorted(found.items())


def launches_of(dense: Dense, assignment: Assignment) -> tuple[Launch, ...]:
    """Launches with names and prices, by (offering, pods)."""
    raw: list[tuple[OfferingKey, tuple[str, ...], int]] = []
    for index, pods in assignment.launches:
        offering = dense.offerings[index]
        raw.append((offering.key, tuple(pod.key for pod in pods), offering.price_microusd_per_hour))
    raw.sort()
    names = launch_names((key, pods) for key, pods, _ in raw)
    return tuple(Launch(name, key, price, pods) for name, (key, pods, price) in zip(names, raw, strict=True))


def placements_of(dense: Dense, assignment: Assignment) -> tuple[Placement, ...]:
    """Placements on nodes that exist, by pod."""
    return tuple(Placement(pod.key, dense.nodes[node].name) for pod, node in assignment.placements)
