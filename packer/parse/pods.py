"""Pods: from what the API server holds to the model's PodSpec and Pod, one PodSpec object for all that are equal."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from packer.errors import InputError, QuantityError
from packer.model import Gang, Owner, Pod, PodSpec
from packer.parse import schema
from packer.parse.contract import Wishes, asks_to_stay, spec_keys, wishes
from packer.parse.gpus import GpuModels
from packer.parse.objects import RawPod
from packer.parse.requests import effective_requests, host_ports, sum_requests
from packer.parse.terms import affinity_terms, equalities, label_keys, node_terms, preferred_terms, spread, tolerations, weighted_terms
from packer.parse.volumes import VolumeIndex, VolumeNeeds

BUILT_IN_PRIORITIES = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}


@dataclass(frozen=True, slots=True)
class Context:
    """What pods refer to: namespaces with their labels, priority classes, volumes, and the GPU models that can be had."""

    namespaces: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    priorities: Mapping[str, int] = field(default_factory=dict)
    default_priority: int = 0
    volumes: VolumeIndex = field(default_factory=VolumeIndex)
    models: GpuModels = field(default_factory=GpuModels)


class Parsed(NamedTuple):
    """A pod and what is wrong with it. ``unsupported`` and ``volume_problem`` say why it can be planned nowhere ("" if it can)."""

    pod: Pod
    unsupported: str = ""
    volume_problem: str = ""
    attached: tuple[tuple[str, str], ...] = ()


class PodReader:
    """Parses pods against one context. Equal specs give the same PodSpec object, whatever their text."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._specs: dict[Any, PodSpec] = {}
        self._base: dict[Any, tuple[PodSpec, str]] = {}
        self._alive: list[object] = []  # what the keys of _base name by id must not go away

    def pod(self, raw: RawPod, gang: Gang | None = None) -> Parsed:
        """The pod as the model has it. Raises InputError, which names the pod and the path, for what the API server would refuse."""
        try:
            spec, unsupported = self._spec(raw)
            needs = self._needs(raw)
        except InputError as error:
            raise type(error)(error.what, where=f"Pod {raw.key}: {error.where}", mend=error.mend) from error
        if needs != VolumeNeeds():
            spec = self._with_volumes(spec, needs)
        pod = Pod(
            namespace=raw.namespace,
            name=raw.name,
            uid=raw.uid,
            spec=spec,
            labels=raw.labels,
            priority=self.priority(raw.spec),
            gang=gang,
            owner=controller_of(raw),
            created_at=raw.created_at,
            terminating=bool(raw.deleted_at),
            do_not_disrupt=asks_to_stay(raw.labels, raw.annotations),
        )
        return Parsed(pod, unsupported, needs.problem, needs.attached)

    def priority(self, spec: schema.PodSpecPart) -> int:
        """spec.priority, which admission sets, else the class's value, else the cluster's default."""
        if spec.priority is not None:
            return spec.priority
        name = spec.priority_class_name or ""
        if name in BUILT_IN_PRIORITIES:
            return BUILT_IN_PRIORITIES[name]
        return self._context.priorities.get(name, self._context.default_priority if not name else 0)

    def unknown_class(self, spec: schema.PodSpecPart) -> bool:
        """Whether the pod names a priority class that nobody defined."""
        name = spec.priority_class_name or ""
        return bool(name) and spec.priority is None and name not in BUILT_IN_PRIORITIES and name not in self._context.priorities

    def intern(self, spec: PodSpec) -> PodSpec:
        """The one object that stands for all equal specs."""
        return self._specs.setdefault(content(spec), spec)

    def _spec(self, raw: RawPod) -> tuple[PodSpec, str]:
        own = spec_keys(raw.labels, raw.annotations)
        keyed = tuple(raw.labels.get(key) for key in label_keys(raw.spec))
        namespace = raw.namespace if raw.spec.affinity else ""
        key = (id(raw.spec), id(raw.resize), namespace, keyed, own)
        found = self._base.get(key)
        if found is None:
            wish, unsupported = _read_wishes(own, self._context.models)
            spec, refused = parse_spec(raw, wish, self._context)
            found = self._base[key] = (self.intern(spec), refused or unsupported)
            self._alive += [raw.spec, raw.resize]
        return found

    def _needs(self, raw: RawPod) -> VolumeNeeds:
        return self._context.volumes.needs(raw.namespace, raw.name, raw.spec.volumes) if raw.spec.volumes else VolumeNeeds()

    def _with_volumes(self, spec: PodSpec, needs: VolumeNeeds) -> PodSpec:
        requests = sum_requests((spec.requests, *({resource: 1} for resource, _ in needs.attached)))
        return self.intern(
            dataclasses.replace(
                spec,
                requests=dict(sorted(requests.items())),
                volume_terms=needs.terms,
                exclusive_claims=needs.exclusive,
            )
        )


def parse_spec(raw: RawPod, wish: Wishes, context: Context) -> tuple[PodSpec, str]:
    """A PodSpec without its volumes, and what the API server would refuse about its requests."""
    spec, affinity = raw.spec, raw.spec.affinity or schema.Affinity()
    requests, refused = effective_requests(spec, raw.resize)
    if spec.resource_claims:
        refused = "dynamic resource allocation (spec.resourceClaims) is not supported"
    nodes = affinity.node_affinity or schema.NodeAffinity()
    near = affinity.pod_affinity or schema.InterPodAffinity()
    far = affinity.pod_anti_affinity or schema.InterPodAffinity()
    own = (raw.namespace, raw.labels, context.namespaces)
    required, preferred = "requiredDuringSchedulingIgnoredDuringExecution", "preferredDuringSchedulingIgnoredDuringExecution"
    parsed = PodSpec(
        requests=requests,
        selector=tuple(sorted({*equalities(spec.node_selector), *wish.selector})),
        node_terms=node_terms(nodes.required, f"spec.affinity.nodeAffinity.{required}"),
        tolerations=tolerations(spec.tolerations),
        host_ports=host_ports(spec),
        spread=spread(spec.topology_spread_constraints, raw.labels),
        affinity=affinity_terms(near.required, *own, f"spec.affinity.podAffinity.{required}"),
        anti_affinity=affinity_terms(far.required, *own, f"spec.affinity.podAntiAffinity.{required}"),
        preferred_terms=preferred_terms(nodes.preferred, f"spec.affinity.nodeAffinity.{preferred}"),
        preferred_affinity=weighted_terms(near.preferred, *own, f"spec.affinity.podAffinity.{preferred}"),
        preferred_anti_affinity=weighted_terms(far.preferred, *own, f"spec.affinity.podAntiAffinity.{preferred}"),
        max_price_microusd_per_hour=wish.max_price_microusd_per_hour,
        expected_duration_s=wish.expected_duration_s,
        restart_cost_s=wish.restart_cost_s,
    )
    return parsed, refused


def content(spec: PodSpec) -> tuple[object, ...]:
    """All of a spec, hashable: specs with equal content are the same spec."""
    return (
        tuple(sorted(spec.requests.items())),
        spec.selector,
        spec.node_terms,
        spec.volume_terms,
        spec.tolerations,
        spec.host_ports,
        spec.spread,
        spec.affinity,
        spec.anti_affinity,
        spec.preferred_terms,
        spec.preferred_affinity,
        spec.preferred_anti_affinity,
        spec.max_price_microusd_per_hour,
        spec.expected_duration_s,
        spec.restart_cost_s,
        spec.exclusive_claims,
    )


def controller_of(raw: RawPod) -> Owner | None:
    """The owner that controls the pod; without a controller flag, the first owner."""
    if not raw.owners:
        return None
    owner = next((one for one in raw.owners if one.controller), raw.owners[0])
    return Owner(owner.kind, owner.name, owner.uid)


def _read_wishes(values: tuple[str | None, ...], models: GpuModels) -> tuple[Wishes, str]:
    """A contract value that cannot be read stops its pod, not the plan of all others."""
    try:
        return (wishes(values, models) if any(values) else Wishes()), ""
    except QuantityError as error:
        return Wishes(), str(error)
