"""Kubernetes objects as far as the packer reads them (k8s.io/api, camelCase keys), for msgspec to decode and to encode.

A field that is missing here is never looked at: that keeps decoding fast and is what ``packer scrub`` strips. ``null`` means
absent, as it does to the API server, so every field is optional. Quantities may be numbers, as YAML likes to have them.
"""

from __future__ import annotations

import msgspec

Quantity = str | int | float
Quantities = dict[str, Quantity]
Strings = dict[str, str]


class Part(msgspec.Struct, rename="camel", omit_defaults=True, gc=False):
    """Base of all parts: absent fields are left out when a part is written."""


class OwnerReference(Part):
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool | None = None


class Metadata(Part):
    name: str | None = None
    namespace: str | None = None
    uid: str | None = None
    generate_name: str | None = None
    labels: Strings | None = None
    annotations: Strings | None = None
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    resource_version: str | None = None
    owner_references: list[OwnerReference] | None = None


class Expression(Part):
    """NodeSelectorRequirement and LabelSelectorRequirement."""

    key: str = ""
    operator: str = ""
    values: list[str] | None = None


class LabelSelector(Part):
    match_labels: Strings | None = None
    match_expressions: list[Expression] | None = None


class NodeSelectorTerm(Part):
    match_expressions: list[Expression] | None = None
    match_fields: list[Expression] | None = None


class NodeSelector(Part):
    node_selector_terms: list[NodeSelectorTerm] | None = None


class PreferredTerm(Part):
    weight: int = 0
    preference: NodeSelectorTerm | None = None


class NodeAffinity(Part):
    required: NodeSelector | None = msgspec.field(name="requiredDuringSchedulingIgnoredDuringExecution", default=None)
    preferred: list[PreferredTerm] | None = msgspec.field(name="preferredDuringSchedulingIgnoredDuringExecution", default=None)


class AffinityTerm(Part):
    topology_key: str = ""
    label_selector: LabelSelector | None = None
    namespaces: list[str] | None = None
    namespace_selector: LabelSelector | None = None
    match_label_keys: list[str] | None = None
    mismatch_label_keys: list[str] | None = None


class WeightedAffinityTerm(Part):
    weight: int = 0
    pod_affinity_term: AffinityTerm | None = None


class InterPodAffinity(Part):
    required: list[AffinityTerm] | None = msgspec.field(name="requiredDuringSchedulingIgnoredDuringExecution", default=None)
    preferred: list[WeightedAffinityTerm] | None = msgspec.field(name="preferredDuringSchedulingIgnoredDuringExecution", default=None)


class Affinity(Part):
    node_affinity: NodeAffinity | None = None
    pod_affinity: InterPodAffinity | None = None
    pod_anti_affinity: InterPodAffinity | None = None


class TopologySpread(Part):
    topology_key: str = ""
    max_skew: int = 1
    when_unsatisfiable: str | None = None
    label_selector: LabelSelector | None = None
    min_domains: int | None = None
    node_affinity_policy: str | None = None
    node_taints_policy: str | None = None
    match_label_keys: list[str] | None = None


class TolerationPart(Part):
    key: str | None = None
    operator: str | None = None
    value: str | None = None
    effect: str | None = None


class TaintPart(Part):
    key: str = ""
    value: str | None = None
    effect: str = ""


class Claim(Part):
    """An entry of resources.claims or of spec.resourceClaims (dynamic resource allocation)."""

    name: str = ""


class ResourceRequirements(Part):
    requests: Quantities | None = None
    limits: Quantities | None = None
    claims: list[Claim] | None = None


class Port(Part):
    host_port: int | None = None
    container_port: int | None = None
    protocol: str | None = None
    host_ip: str | None = msgspec.field(name="hostIP", default=None)


class Container(Part):
    name: str | None = None
    resources: ResourceRequirements | None = None
    ports: list[Port] | None = None
    restart_policy: str | None = None


class ClaimVolume(Part):
    claim_name: str = ""


class ClaimSpec(Part):
    volume_name: str | None = None
    storage_class_name: str | None = None
    access_modes: list[str] | None = None
    volume_mode: str | None = None
    selector: LabelSelector | None = None
    resources: ResourceRequirements | None = None


class ClaimTemplate(Part):
    metadata: Metadata | None = None
    spec: ClaimSpec | None = None


class EphemeralVolume(Part):
    volume_claim_template: ClaimTemplate | None = None


class Volume(Part):
    name: str = ""
    persistent_volume_claim: ClaimVolume | None = None
    ephemeral: EphemeralVolume | None = None


class Gate(Part):
    name: str = ""


class SchedulingGroup(Part):
    pod_group_name: str | None = None


class PodSpecPart(Part):
    node_name: str | None = None
    containers: list[Container] | None = None
    init_containers: list[Container] | None = None
    node_selector: Strings | None = None
    affinity: Affinity | None = None
    tolerations: list[TolerationPart] | None = None
    topology_spread_constraints: list[TopologySpread] | None = None
    volumes: list[Volume] | None = None
    overhead: Quantities | None = None
    resources: ResourceRequirements | None = None
    resource_claims: list[Claim] | None = None
    priority: int | None = None
    priority_class_name: str | None = None
    scheduler_name: str | None = None
    scheduling_gates: list[Gate] | None = None
    scheduling_group: SchedulingGroup | None = None
    host_network: bool | None = None


class Condition(Part):
    type: str = ""
    status: str = ""
    reason: str | None = None


class ContainerStatus(Part):
    name: str = ""
    resources: ResourceRequirements | None = None
    allocated_resources: Quantities | None = None


class PodStatus(Part):
    phase: str | None = None
    nominated_node_name: str | None = None
    start_time: str | None = None
    resize: str | None = None
    conditions: list[Condition] | None = None
    container_statuses: list[ContainerStatus] | None = None
    init_container_statuses: list[ContainerStatus] | None = None
    resources: ResourceRequirements | None = None
    allocated_resources: Quantities | None = None


class PodObject(Part):
    metadata: Metadata | None = None
    spec: PodSpecPart | None = None
    status: PodStatus | None = None


class NodeSpec(Part):
    taints: list[TaintPart] | None = None
    unschedulable: bool | None = None
    provider_id: str | None = msgspec.field(name="providerID", default=None)


class NodeStatus(Part):
    allocatable: Quantities | None = None
    capacity: Quantities | None = None
    conditions: list[Condition] | None = None


class NodeObject(Part):
    metadata: Metadata | None = None
    spec: NodeSpec | None = None
    status: NodeStatus | None = None


class Phase(Part):
    phase: str | None = None


class ClaimObject(Part):
    """A PersistentVolumeClaim."""

    metadata: Metadata | None = None
    spec: ClaimSpec | None = None
    status: Phase | None = None


class CsiSource(Part):
    driver: str = ""
    volume_handle: str | None = None


class ClaimRef(Part):
    namespace: str | None = None
    name: str | None = None
    uid: str | None = None


class VolumeNodeAffinity(Part):
    required: NodeSelector | None = None


class VolumeSpec(Part):
    capacity: Quantities | None = None
    access_modes: list[str] | None = None
    volume_mode: str | None = None
    storage_class_name: str | None = None
    claim_ref: ClaimRef | None = None
    csi: CsiSource | None = None
    node_affinity: VolumeNodeAffinity | None = None


class VolumeObject(Part):
    """A PersistentVolume."""

    metadata: Metadata | None = None
    spec: VolumeSpec | None = None
    status: Phase | None = None


class TopologyExpression(Part):
    key: str = ""
    values: list[str] | None = None


class TopologyTerm(Part):
    match_label_expressions: list[TopologyExpression] | None = None


class StorageClassObject(Part):
    metadata: Metadata | None = None
    provisioner: str | None = None
    volume_binding_mode: str | None = None
    allowed_topologies: list[TopologyTerm] | None = None


class Count(Part):
    count: int | None = None


class CsiDriver(Part):
    name: str = ""
    allocatable: Count | None = None


class CsiNodeSpec(Part):
    drivers: list[CsiDriver] | None = None


class CsiNodeObject(Part):
    metadata: Metadata | None = None
    spec: CsiNodeSpec | None = None


class NamespaceObject(Part):
    metadata: Metadata | None = None


class PriorityClassObject(Part):
    metadata: Metadata | None = None
    value: int | None = None
    global_default: bool | None = None


class GangPolicy(Part):
    min_count: int | None = None


class SchedulingPolicy(Part):
    gang: GangPolicy | None = None


class GroupSpec(Part):
    """``minMember`` of scheduler-plugins and Volcano, ``schedulingPolicy`` of scheduling.k8s.io."""

    min_member: int | None = None
    scheduling_policy: SchedulingPolicy | None = None


class GroupObject(Part):
    """A PodGroup of scheduler-plugins, of Volcano, or of Kubernetes itself."""

    metadata: Metadata | None = None
    spec: GroupSpec | None = None
