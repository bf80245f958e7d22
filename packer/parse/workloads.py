"""Workloads stand for the pods they will make: only for those that no pod in the input is already (transitively).

A Deployment answers for its ReplicaSets, a RayCluster for the RayJob or RayService that made it, a Job for its JobSet's place.
Names are counted, not drawn, so that the same input gives the same pods.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, cast

import msgspec

from packer.parse import schema, workload_schema
from packer.parse.contract import kept_annotations
from packer.parse.objects import RawInput, RawPod, Workload, claimed

HASH_LABEL = "pod-template-hash"
_RAY_ORIGIN, _RAY_ORIGIN_NAME = "ray.io/originated-from-crd", "ray.io/originated-from-cr-name"
_AUTOSCALER = schema.ResourceRequirements(requests={"cpu": "500m", "memory": "512Mi"})
"""What KubeRay's autoscaler container asks for beside the head when nothing else is set (autoscalerOptions.resources)."""

Key = tuple[str, str, str]


@dataclass(slots=True)
class Demand:
    """``missing`` pods of one template. ``names`` are tried in order; those that exist already are passed over."""

    owner: schema.OwnerReference
    namespace: str
    template: workload_schema.Template
    missing: int
    names: Iterator[str]
    labels: dict[str, str] = field(default_factory=dict)
    claims: list[schema.ClaimTemplate] = field(default_factory=list)


@dataclass(slots=True)
class Synthesised:
    """Pods that workloads will make, and the claims that come with them, by ``namespace/name``."""

    pods: list[RawPod] = field(default_factory=list)
    claims: dict[str, schema.ClaimSpec] = field(default_factory=dict)


def synthesise(raw: RawInput) -> Synthesised:
    """The pods that the workloads of the input still lack."""
    family = _Family(raw)
    made = Synthesised()
    taken = {pod.key for pod in raw.pods}
    for workload in sorted(raw.workloads, key=_key):
        if _meta(workload).deletion_timestamp or family.answered_for(workload):
            continue
        for demand in _DEMANDS[workload.kind](workload, family):
            _make(demand, taken, made)
    return made


class _Family:
    """Who owns whom among the objects of the input: by uid, else by kind, namespace and name."""

    def __init__(self, raw: RawInput) -> None:
        self.workloads = {_key(workload): workload for workload in raw.workloads}
        self._by_uid = {_meta(workload).uid: _key(workload) for workload in raw.workloads if _meta(workload).uid}
        self._children: dict[Key, list[Workload]] = {}
        self._pods: dict[Key, list[RawPod]] = {}
        for workload in raw.workloads:
            for parent in self._ancestors(_meta(workload).owner_references or (), _namespace(workload)):
                self._children.setdefault(parent, []).append(workload)
        for pod in raw.pods:
            for ancestor in dict.fromkeys((*self._ancestors(pod.owners, pod.namespace), *unseen_owners(pod))):
                self._pods.setdefault(ancestor, []).append(pod)

    def active(self, workload: Workload) -> list[RawPod]:
        """Pods below the workload that count as its replicas (controller.FilterActivePods: not finished, not being deleted)."""
        return [pod for pod in self.all_pods(workload) if not pod.finished and not pod.deleted_at]

    def all_pods(self, workload: Workload) -> list[RawPod]:
        return self._pods.get(_key(workload), [])

    def children(self, workload: Workload, kind: str) -> list[Workload]:
        return [child for child in self._children.get(_key(workload), ()) if child.kind == kind]

    def answered_for(self, workload: Workload) -> bool:
        """A ReplicaSet whose Deployment is in the input: the Deployment knows how many there are to be."""
        owners = self._ancestors(_meta(workload).owner_references or (), _namespace(workload))
        return workload.kind == "ReplicaSet" and any(key[0] == "Deployment" for key in owners)

    def _ancestors(self, owners: Iterable[schema.OwnerReference], namespace: str) -> list[Key]:
        """All workloads above, nearest first; a cycle ends the search."""
        found: list[Key] = []
        waiting = list(owners)
        while waiting:
            owner = waiting.pop(0)
            key = self._by_uid.get(owner.uid) if owner.uid else None
            key = key or (owner.kind, namespace, owner.name)
            workload = self.workloads.get(key)
            if key in found or (workload and owner.uid and _meta(workload).uid not in (None, "", owner.uid)):
                continue
            found.append(key)
            waiting += (_meta(workload).owner_references or ()) if workload else ()
        return found


def unseen_owners(pod: RawPod) -> Iterator[Key]:
    """Owners of owners that the input lacks, as far as names and labels tell: a dump may have Deployments and Pods only."""
    for owner in pod.owners:
        suffix = "-" + pod.labels.get(HASH_LABEL, "")
        if owner.kind == "ReplicaSet" and suffix != "-" and owner.name.endswith(suffix):
            yield ("Deployment", pod.namespace, owner.name.removesuffix(suffix))
    if pod.labels.get(_RAY_ORIGIN) and pod.labels.get(_RAY_ORIGIN_NAME):
        yield (pod.labels[_RAY_ORIGIN], pod.namespace, pod.labels[_RAY_ORIGIN_NAME])


def _replicas(workload: Workload, family: _Family) -> Iterator[Demand]:
    """Deployment, ReplicaSet, ReplicationController: replicas (1 unless told) less the pods there are."""
    spec = cast(workload_schema.WorkloadSpec, workload.body.spec or workload_schema.WorkloadSpec())
    if spec.template:
        wanted = 1 if spec.replicas is None else spec.replicas
        labels = {HASH_LABEL: _template_hash(workload, spec.template, family)} if workload.kind == "Deployment" else {}
        yield _demand(workload, spec.template, wanted - len(family.active(workload)), _counted(_name(workload)), labels)


def _stateful_set(workload: Workload, family: _Family) -> Iterator[Demand]:
    """Ordinals from spec.ordinals.start on; an ordinal whose pod exists in any state is not made again."""
    spec = cast(workload_schema.WorkloadSpec, workload.body.spec or workload_schema.WorkloadSpec())
    if not spec.template:
        return
    start = (spec.ordinals.start if spec.ordinals else None) or 0
    existing = {pod.name for pod in family.all_pods(workload)}
    for ordinal in range(start, start + (1 if spec.replicas is None else spec.replicas)):
        name = f"{_name(workload)}-{ordinal}"
        if name not in existing:
            labels = {"statefulset.kubernetes.io/pod-name": name, "apps.kubernetes.io/pod-index": str(ordinal)}
            demand = _demand(workload, spec.template, 1, iter((name,)), labels)
            demand.claims = spec.volume_claim_templates or []
            yield demand


def _job(workload: Workload, family: _Family) -> Iterator[Demand]:
    """What the Job would still start at once: parallelism, bounded by completions that are left."""
    body = cast(workload_schema.JobObject, workload.body)
    spec = body.spec or workload_schema.JobSpec()
    if not spec.template or spec.suspend or _is_over(body.status):
        return
    pods = family.all_pods(workload)
    succeeded = max((body.status.succeeded if body.status else None) or 0, sum(pod.phase == "Succeeded" for pod in pods))
    parallel = 1 if spec.parallelism is None else spec.parallelism
    if spec.completions is None:  # a work queue: no new pods once one has succeeded; without parallelism a single run
        wanted = 0 if succeeded else parallel
    else:
        wanted = min(parallel, spec.completions - succeeded)
    labels = {"job-name": _name(workload), "batch.kubernetes.io/job-name": _name(workload)}
    yield _demand(workload, spec.template, wanted - len(family.active(workload)), _counted(_name(workload)), labels)


def _job_set(workload: Workload, family: _Family) -> Iterator[Demand]:
    """Its Jobs that are not in the input yet, each as a Job (jobset.x-k8s.io: ``<set>-<job>-<index>``)."""
    body = cast(workload_schema.JobSetObject, workload.body)
    spec = body.spec or workload_schema.JobSetSpec()
    if spec.suspend or _is_over(body.status):
        return
    for part in spec.replicated_jobs or ():
        for index in range(1 if part.replicas is None else part.replicas):
            name = f"{_name(workload)}-{part.name}-{index}"
            if ("Job", _namespace(workload), name) in family.workloads or part.template is None:
                continue
            meta = schema.Metadata(name=name, namespace=_namespace(workload))
            for demand in _job(Workload("Job", workload_schema.JobObject(meta, part.template.spec)), family):
                demand.owner = _reference(workload)
                demand.labels |= {
                    "jobset.sigs.k8s.io/jobset-name": _name(workload),
                    "jobset.sigs.k8s.io/replicatedjob-name": part.name,
                    "jobset.sigs.k8s.io/job-index": str(index),
                }
                yield demand


def _ray_cluster(workload: Workload, family: _Family) -> Iterator[Demand]:
    """One head, and each worker group's replicas × hosts, less the pods of that group."""
    yield from _ray_pods(workload, _name(workload), workload.body.spec or workload_schema.RayClusterSpec(), family.active(workload))


def _ray_parent(workload: Workload, family: _Family) -> Iterator[Demand]:
    """A RayJob or RayService stands for a cluster until it has one; the cluster then stands for itself."""
    body = cast(workload_schema.RayObject, workload.body)
    spec, status = body.spec or workload_schema.RaySpec(), (body.status.job_deployment_status if body.status else None) or ""
    cluster = spec.ray_cluster_spec or spec.ray_cluster_config
    if cluster and not (spec.suspend or spec.cluster_selector or status in _RAY_JOB_OVER or family.children(workload, "RayCluster")):
        yield from _ray_pods(workload, _name(workload), cluster, family.active(workload))


_RAY_JOB_OVER = ("Complete", "Failed", "Suspended", "Suspending")


def _ray_pods(workload: Workload, cluster: str, spec: workload_schema.RayClusterSpec, active: list[RawPod]) -> Iterator[Demand]:
    if spec.suspend:
        return
    groups = [("headgroup", "head", spec.head_group_spec, 1)] if spec.head_group_spec else []
    groups += [(group.group_name or "", "worker", group, _ray_workers(group)) for group in spec.worker_group_specs or ()]
    for name, node_type, group, wanted in groups:
        if group.template is None:
            continue
        labels = {"ray.io/cluster": cluster, "ray.io/group": name, "ray.io/node-type": node_type}
        there = sum(_in_ray_group(pod, name, node_type) for pod in active)
        template = _with_autoscaler(group.template, spec) if node_type == "head" else group.template
        base = f"{cluster}-head" if node_type == "head" else f"{cluster}-{name}-worker"
        yield _demand(workload, template, wanted - there, _counted(base), labels)


def _in_ray_group(pod: RawPod, name: str, node_type: str) -> bool:
    if node_type == "head":
        return pod.labels.get("ray.io/node-type") == "head"
    return pod.labels.get("ray.io/group") == name and pod.labels.get("ray.io/node-type", "worker") == "worker"


def _ray_workers(group: workload_schema.RayGroup) -> int:
    """Replicas held between the group's bounds, times the hosts of a replica."""
    if group.suspend:
        return 0
    least = group.min_replicas or 0
    replicas = max(least, least if group.replicas is None else group.replicas)
    if group.max_replicas is not None:
        replicas = min(replicas, group.max_replicas)
    return replicas * (group.num_of_hosts or 1)


def _with_autoscaler(template: workload_schema.Template, spec: workload_schema.RayClusterSpec) -> workload_schema.Template:
    if not spec.enable_in_tree_autoscaling:
        return template
    options = spec.autoscaler_options or workload_schema.AutoscalerOptions()
    beside = schema.Container(name="autoscaler", resources=options.resources or _AUTOSCALER)
    pod = template.spec or schema.PodSpecPart()
    return workload_schema.Template(template.metadata, msgspec.structs.replace(pod, containers=[*(pod.containers or ()), beside]))


_DEMANDS: dict[str, Callable[[Workload, _Family], Iterator[Demand]]] = {
    "Deployment": _replicas,
    "ReplicaSet": _replicas,
    "ReplicationController": _replicas,
    "StatefulSet": _stateful_set,
    "Job": _job,
    "JobSet": _job_set,
    "RayCluster": _ray_cluster,
    "RayJob": _ray_parent,
    "RayService": _ray_parent,
}


def _make(demand: Demand, taken: set[str], made: Synthesised) -> None:
    for _ in range(demand.missing):
        name = next((name for name in demand.names if f"{demand.namespace}/{name}" not in taken), None)
        if name is None:
            return
        taken.add(f"{demand.namespace}/{name}")
        made.pods.append(_pod(demand, name))
        for template in demand.claims:
            claim = f"{(template.metadata.name if template.metadata else None) or ''}-{name}"
            made.claims[f"{demand.namespace}/{claim}"] = template.spec or schema.ClaimSpec()


def _pod(demand: Demand, name: str) -> RawPod:
    meta, spec = demand.template.metadata or schema.Metadata(), demand.template.spec or schema.PodSpecPart()
    if demand.claims:
        own = [(template.metadata.name if template.metadata else None) or "" for template in demand.claims]
        mounted = [schema.Volume(volume, schema.ClaimVolume(f"{volume}-{name}")) for volume in own]
        spec = msgspec.structs.replace(spec, volumes=[*(one for one in spec.volumes or () if one.name not in own), *mounted])
    return RawPod(
        namespace=demand.namespace,
        name=name,
        uid="",
        spec=spec,
        labels={**(meta.labels or {}), **demand.labels},
        annotations=kept_annotations(meta.annotations or {}) or {},
        owners=(demand.owner,),
        node_name=spec.node_name or "",
    )


def _template_hash(workload: Workload, template: workload_schema.Template, family: _Family) -> str:
    """The hash of the ReplicaSet that has this template, else one of our own: all pods of a revision share it (matchLabelKeys)."""
    spec = msgspec.json.encode(_bare(template).spec)
    for child in family.children(workload, "ReplicaSet"):
        own = child.body.spec.template if child.body.spec else None
        if own and own.metadata and HASH_LABEL in (own.metadata.labels or {}) and msgspec.json.encode(_bare(own).spec) == spec:
            return cast(str, own.metadata.labels[HASH_LABEL])
    return hashlib.sha256(spec).hexdigest()[:10]


def _demand(workload: Workload, template: workload_schema.Template, missing: int, names: Iterator[str], labels: dict[str, str]) -> Demand:
    return Demand(_reference(workload), _namespace(workload), _bare(template), max(0, missing), names, labels)


def _bare(template: workload_schema.Template) -> workload_schema.Template:
    """The template without volumes that do not matter."""
    spec = template.spec or schema.PodSpecPart()
    return workload_schema.Template(template.metadata, msgspec.structs.replace(spec, volumes=claimed(spec.volumes)))


def _counted(base: str) -> Iterator[str]:
    number = 0
    while True:
        yield f"{base}-{number}"
        number += 1


def _is_over(status: workload_schema.JobStatus | None) -> bool:
    over = ("Complete", "Completed", "Failed", "FailureTarget", "SuccessCriteriaMet")
    return any(one.type in over and one.status == "True" for one in (status.conditions if status else None) or ())


def _reference(workload: Workload) -> schema.OwnerReference:
    return schema.OwnerReference(workload.kind, _name(workload), _meta(workload).uid or "", True)


def _meta(workload: Workload) -> schema.Metadata:
    return cast(schema.Metadata, workload.body.metadata)


def _name(workload: Workload) -> str:
    return _meta(workload).name or ""


def _namespace(workload: Workload) -> str:
    return _meta(workload).namespace or "default"


def _key(workload: Workload) -> Any:
    return (workload.kind, _namespace(workload), _name(workload))
