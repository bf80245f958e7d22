"""Objects that make pods, as far as the packer reads them: Kubernetes' own workloads, JobSet and Ray's (ray.io/v1)."""

from __future__ import annotations

from packer.parse.schema import ClaimTemplate, Condition, Metadata, Part, PodSpecPart, ResourceRequirements, Strings


class Template(Part):
    metadata: Metadata | None = None
    spec: PodSpecPart | None = None


class Ordinals(Part):
    start: int | None = None


class WorkloadSpec(Part):
    """Deployment, ReplicaSet, StatefulSet, DaemonSet and ReplicationController."""

    replicas: int | None = None
    template: Template | None = None
    ordinals: Ordinals | None = None
    volume_claim_templates: list[ClaimTemplate] | None = None


class WorkloadObject(Part):
    metadata: Metadata | None = None
    spec: WorkloadSpec | None = None


class JobSpec(Part):
    parallelism: int | None = None
    completions: int | None = None
    suspend: bool | None = None
    template: Template | None = None


class JobStatus(Part):
    succeeded: int | None = None
    conditions: list[Condition] | None = None


class JobObject(Part):
    metadata: Metadata | None = None
    spec: JobSpec | None = None
    status: JobStatus | None = None


class JobTemplate(Part):
    metadata: Metadata | None = None
    spec: JobSpec | None = None


class ReplicatedJob(Part):
    name: str = ""
    replicas: int | None = None
    template: JobTemplate | None = None


class JobSetSpec(Part):
    replicated_jobs: list[ReplicatedJob] | None = None
    suspend: bool | None = None


class JobSetObject(Part):
    metadata: Metadata | None = None
    spec: JobSetSpec | None = None
    status: JobStatus | None = None


class RayGroup(Part):
    """The head group (without a name) or a worker group."""

    group_name: str | None = None
    replicas: int | None = None
    min_replicas: int | None = None
    max_replicas: int | None = None
    num_of_hosts: int | None = None
    suspend: bool | None = None
    template: Template | None = None


class AutoscalerOptions(Part):
    resources: ResourceRequirements | None = None


class RayClusterSpec(Part):
    enable_in_tree_autoscaling: bool | None = None
    autoscaler_options: AutoscalerOptions | None = None
    head_group_spec: RayGroup | None = None
    worker_group_specs: list[RayGroup] | None = None
    suspend: bool | None = None


class RayClusterObject(Part):
    metadata: Metadata | None = None
    spec: RayClusterSpec | None = None


class RaySpec(Part):
    """RayJob (rayClusterSpec) and RayService (rayClusterConfig)."""

    ray_cluster_spec: RayClusterSpec | None = None
    ray_cluster_config: RayClusterSpec | None = None
    cluster_selector: Strings | None = None
    suspend: bool | None = None


class RayStatus(Part):
    job_deployment_status: str | None = None


class RayObject(Part):
    metadata: Metadata | None = None
    spec: RaySpec | None = None
    status: RayStatus | None = None
