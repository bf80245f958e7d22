"""The values that everything else speaks of. Frozen, integer, free of I/O.

Units: cpu in millicores, memory and storage in bytes, devices and pods in counts, money in micro-dollars an hour,
time in seconds. Requests are rounded up and allocatable is rounded down where they are parsed; nothing here rounds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

Resources = Mapping[str, int]
Labels = Mapping[str, str]

CPU, MEMORY, PODS, STORAGE, GPU = "cpu", "memory", "pods", "ephemeral-storage", "nvidia.com/gpu"
ATTACHABLE_PREFIX = "attachable-volumes-"
"""Resources with this prefix are unlimited on a node that does not list them (kube-scheduler, NodeVolumeLimits)."""

HOSTNAME = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"
REGION = "topology.kubernetes.io/region"
INSTANCE_TYPE = "node.kubernetes.io/instance-type"
OS, ARCH = "kubernetes.io/os", "kubernetes.io/arch"
PREFIX = "bayplan.io/"
PROVIDER = PREFIX + "provider"
CAPACITY_TYPE = PREFIX + "capacity-type"
FAMILY = PREFIX + "instance-family"
GENERATION = PREFIX + "instance-generation"
CATEGORY = PREFIX + "instance-category"
GPU_MODEL = PREFIX + "gpu-model"
GPU_MEMORY = PREFIX + "gpu-memory"
"""As a node label: MiB of one device, an integer."""
GPU_COUNT = PREFIX + "gpu-count"
FARGATE = ("eks.amazonaws.com/compute-type", "fargate")
"""The label of nodes that are one pod each: DaemonSets never run there."""
UNSCHEDULABLE_TAINT = "node.kubernetes.io/unschedulable"


class Operator(StrEnum):
    """Operators of NodeSelectorRequirement and LabelSelectorRequirement (k8s.io/api/core/v1)."""

    IN = "In"
    NOT_IN = "NotIn"
    EXISTS = "Exists"
    DOES_NOT_EXIST = "DoesNotExist"
    GT = "Gt"
    LT = "Lt"


class Effect(StrEnum):
    """Taint effects. PreferNoSchedule never filters."""

    NO_SCHEDULE = "NoSchedule"
    PREFER_NO_SCHEDULE = "PreferNoSchedule"
    NO_EXECUTE = "NoExecute"


@dataclass(frozen=True, slots=True, order=True)
class Requirement:
    """One expression on a label: ``key operator values``. Values are sorted by the parser."""

    key: str
    operator: Operator
    values: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, order=True)
class NodeTerm:
    """One NodeSelectorTerm: expressions on labels and fields (``metadata.name``), all of which must hold. Empty matches nothing."""

    expressions: tuple[Requirement, ...] = ()
    fields: tuple[Requirement, ...] = ()


@dataclass(frozen=True, slots=True, order=True)
class Selector:
    """A LabelSelector as a conjunction. ``None`` in place of a Selector matches nothing; an empty one matches everything."""

    requirements: tuple[Requirement, ...] = ()


@dataclass(frozen=True, slots=True, order=True)
class Taint:
    key: str
    value: str
    effect: Effect


@dataclass(frozen=True, slots=True, order=True)
class Toleration:
    """``operator`` is Equal or Exists; empty key needs Exists and tolerates all keys; empty effect tolerates all effects."""

    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""


@dataclass(frozen=True, slots=True, order=True)
class HostPort:
    """A port on the host. ``ip`` "0.0.0.0" clashes with every address (kube-scheduler, NodePorts)."""

    ip: str
    protocol: str
    port: int


@dataclass(frozen=True, slots=True)
class SpreadConstraint:
    """A TopologySpreadConstraint. matchLabelKeys are already folded into ``selector`` (values of the pod's own labels)."""

    topology_key: str
    max_skew: int
    selector: Selector | None
    hard: bool = True
    min_domains: int = 1
    honor_node_affinity: bool = True
    honor_node_taints: bool = False


@dataclass(frozen=True, slots=True)
class PodAffinityTerm:
    """A PodAffinityTerm. ``namespaces`` is already resolved (own namespace by default, namespaceSelector evaluated).

    ``all_namespaces`` stands for an empty namespaceSelector. match/mismatchLabelKeys are folded into ``selector``.
    """

    topology_key: str
    selector: Selector | None
    namespaces: tuple[str, ...] = ()
    all_namespaces: bool = False


@dataclass(frozen=True, slots=True)
class PodSpec:
    """All that decides where a pod may run, shared (the same object) by pods that were parsed from equal specs.

    ``requests`` are effective requests by kube-scheduler's arithmetic, zero entries dropped, ``pods`` not included (always 1).
    ``selector`` is spec.nodeSelector plus requirements of bound volumes and of the label contract, all ANDed;
    ``node_terms`` are the required nodeSelectorTerms, ORed; ``None`` means no required terms, ``()`` matches nothing.
    ``volume_terms`` holds, for each volume that restricts nodes, its ORed terms; all volumes must match.
    """

    requests: Resources
    selector: tuple[Requirement, ...] = ()
    node_terms: tuple[NodeTerm, ...] | None = None
    volume_terms: tuple[tuple[NodeTerm, ...], ...] = ()
    tolerations: tuple[Toleration, ...] = ()
    host_ports: tuple[HostPort, ...] = ()
    spread: tuple[SpreadConstraint, ...] = ()
    affinity: tuple[PodAffinityTerm, ...] = ()
    anti_affinity: tuple[PodAffinityTerm, ...] = ()
    preferred_terms: tuple[tuple[int, NodeTerm], ...] = ()
    preferred_affinity: tuple[tuple[int, PodAffinityTerm], ...] = ()
    preferred_anti_affinity: tuple[tuple[int, PodAffinityTerm], ...] = ()
    max_price_microusd_per_hour: int | None = None
    expected_duration_s: int | None = None
    restart_cost_s: int | None = None
    exclusive_claims: tuple[str, ...] = ()
    """ReadWriteOncePod claims ("namespace/name"): at most one pod in the cluster may use each."""


@dataclass(frozen=True, slots=True)
class Gang:
    """Pods that start together or not at all. ``minimum`` is what is still missing: minMember less running members."""

    name: str
    minimum: int


@dataclass(frozen=True, slots=True)
class Owner:
    kind: str
    name: str
    uid: str


@dataclass(frozen=True, slots=True)
class Pod:
    """A pod to place, or one that runs (then it hangs on its Node). ``name`` is unique in its namespace."""

    namespace: str
    name: str
    uid: str
    spec: PodSpec
    labels: Labels = field(default_factory=dict)
    priority: int = 0
    gang: Gang | None = None
    owner: Owner | None = None
    created_at: str = ""
    terminating: bool = False
    do_not_disrupt: bool = False
    """The pod asks not to be moved, in our words or in those of Karpenter or cluster-autoscaler."""

    @property
    def key(self) -> str:
        """``namespace/name``, as the plan prints it."""
        return f"{self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True)
class Node:
    """A node that exists. ``pods`` are all that hold capacity on it: bound, terminating, static and nominated pods.

    ``taints`` contain UNSCHEDULABLE_TAINT (NoSchedule) if the node is cordoned. ``free`` = allocatable less requests of ``pods``
    (may be negative). ``price_microusd_per_hour`` is known if the node's offering is in the catalog. ``nominated`` counts in ``pods``.
    """

    name: str
    labels: Labels
    taints: tuple[Taint, ...]
    allocatable: Resources
    free: Resources
    pods: tuple[Pod, ...] = ()
    ready: bool = True
    offering: OfferingKey | None = None
    price_microusd_per_hour: int | None = None
    ends_in_s: int | None = None
    """Seconds until the last running pod of known duration ends; None when unknown (the horizon)."""


@dataclass(frozen=True, slots=True, order=True)
class OfferingKey:
    provider: str
    region: str
    zone: str
    instance_type: str
    capacity_type: str

    def __str__(self) -> str:
        return "/".join(part for part in (self.provider, self.region, self.zone, self.instance_type, self.capacity_type) if part)


@dataclass(frozen=True, slots=True)
class Offering:
    """A machine that can be had: type × zone × capacity type. ``allocatable`` is a fresh node's, before daemons. Labels include all
    synthesised ones except HOSTNAME, which every new node has with a value of its own.

    ``available_count`` None = unlimited. ``interruptions_per_hour_ppm``: expected interruptions an hour, in millionths.
    """

    key: OfferingKey
    price_microusd_per_hour: int
    allocatable: Resources
    labels: Labels
    taints: tuple[Taint, ...] = ()
    available_count: int | None = None
    interruptions_per_hour_ppm: int = 0
    burstable: bool = False
    fractional_gpu: bool = False


@dataclass(frozen=True, slots=True)
class Daemon:
    """A DaemonSet: one pod of ``spec`` on every new node whose labels and taints it accepts (tolerations of daemons included)."""

    namespace: str
    name: str
    spec: PodSpec
    labels: Labels = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Limits:
    """Upper bounds over what runs and what is bought. None = no limit. ``resources`` bounds the sum of allocatable."""

    cost_microusd_per_hour: int | None = None
    nodes: int | None = None
    resources: Resources = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Alternative:
    """One way to serve a rule's pods: offerings that meet ``requirements``, at a penalty per pod, within limits.

    A node counts against ``limits`` when at least one of its pods was placed under this alternative.
    """

    name: str
    requirements: tuple[Requirement, ...] = ()
    max_price_microusd_per_hour: int | None = None
    penalty_microusd_per_hour: int = 0
    limits: Limits = Limits()
    allow_burstable: bool = False
    allow_fractional_gpu: bool = False


@dataclass(frozen=True, slots=True)
class PolicyRule:
    """Which pods (all given conditions hold), and their alternatives (a union)."""

    name: str
    alternatives: tuple[Alternative, ...]
    selector: Selector = Selector()
    namespaces: tuple[str, ...] = ()
    priority_at_least: int | None = None
    priority_at_most: int | None = None


DEFAULT_RULE = PolicyRule(name="default", alternatives=(Alternative(name="any"),))
"""What a pod gets that no rule matches: every offering, less burstable and fractional-GPU families."""


@dataclass(frozen=True, slots=True)
class Policy:
    """Ordered rules: the first that matches a pod decides. ``limits`` hold for the whole cluster.

    ``horizon_s`` is the horizon of durations; ``default_restart_cost_s`` is the work lost by an interruption where a pod says nothing.
    """

    rules: tuple[PolicyRule, ...] = ()
    limits: Limits = Limits()
    node_fee_microusd_per_hour: int = 0
    default_restart_cost_s: int = 0
    horizon_s: int = 24 * 3600


class SkipReason(StrEnum):
    GATED = "Gated"
    NOMINATED = "Nominated"
    OTHER_SCHEDULER = "OtherScheduler"
    TERMINATING = "Terminating"
    IGNORED = "Ignored"
    FINISHED = "Finished"
    DAEMON_SET = "DaemonSet"
    STATIC = "Static"
    VOLUME = "Volume"
    UNSUPPORTED = "Unsupported"
    RUNNING = "Running"
    """Never in a plan: bound pods are part of their nodes, not of the input's waiting pods."""


@dataclass(frozen=True, slots=True)
class Skipped:
    pod: str
    reason: SkipReason
    message: str


@dataclass(frozen=True, slots=True)
class Notice:
    """A warning about the input. ``reason`` is CamelCase (PriceUnusable, DuplicateOffering, ZoneUnknown, …)."""

    reason: str
    message: str


class Why(StrEnum):
    """Why a pod cannot be placed somewhere. One code a rule; the text beside it has the numbers."""

    INSUFFICIENT_CPU = "InsufficientCpu"
    INSUFFICIENT_MEMORY = "InsufficientMemory"
    INSUFFICIENT_PODS = "InsufficientPods"
    INSUFFICIENT_STORAGE = "InsufficientEphemeralStorage"
    INSUFFICIENT_RESOURCE = "InsufficientResource"
    NODE_SELECTOR = "NodeSelector"
    NODE_AFFINITY = "NodeAffinity"
    VOLUME_TOPOLOGY = "VolumeTopology"
    TAINT = "UntoleratedTaint"
    HOST_PORT = "HostPortConflict"
    TOPOLOGY_SPREAD = "TopologySpread"
    POD_AFFINITY = "PodAffinity"
    POD_ANTI_AFFINITY = "PodAntiAffinity"
    EXCLUSIVE_CLAIM = "ExclusiveClaim"
    POLICY = "Policy"
    MAX_PRICE = "MaxHourlyCost"
    STOCK = "OutOfStock"
    LIMIT = "LimitReached"
    GANG = "GangIncomplete"
    NOTHING_OFFERED = "NoOfferings"
    DEVICE = "DeviceShare"


@dataclass(frozen=True, slots=True)
class Reason:
    """Why not here: code, and a message with the numbers that never contains a time or a price that moves."""

    code: Why
    message: str


@dataclass(frozen=True, slots=True)
class GroupedReason:
    """A reason and how many offerings it rules out (``offerings``) or existing nodes (``nodes``)."""

    code: Why
    message: str
    offerings: int = 0
    nodes: int = 0


@dataclass(frozen=True, slots=True)
class Problem:
    """The whole input of one solve, validated. Order of the tuples carries no meaning: the solver sorts canonically."""

    pods: tuple[Pod, ...]
    nodes: tuple[Node, ...]
    offerings: tuple[Offering, ...]
    daemons: tuple[Daemon, ...] = ()
    policy: Policy = Policy()
    skipped: tuple[Skipped, ...] = ()
    notices: tuple[Notice, ...] = ()
    device_share: tuple[str, int] | None = None
    """(resource, size of one device) when that resource is shared in parts of devices: a request up to the size sits on one device,
    a larger one must be a multiple of the size and takes whole devices. None: resources are pooled, as kube-scheduler sums them."""


class Status(StrEnum):
    OPTIMAL = "optimal"
    FEASIBLE = "feasible"
    INFEASIBLE = "infeasible"


@dataclass(frozen=True, slots=True)
class Launch:
    """A machine to buy and the pods planned onto it. ``name`` is a hash of (offering, pods, ordinal)."""

    name: str
    offering: OfferingKey
    price_microusd_per_hour: int
    pods: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Placement:
    pod: str
    node: str


@dataclass(frozen=True, slots=True)
class Unplaced:
    pod: str
    reasons: tuple[GroupedReason, ...]


@dataclass(frozen=True, slots=True)
class Stage:
    """What one stage of the solver had reached. ``work`` is deterministic; ``seconds`` is not and stays out of the digest."""

    name: str
    cost_microusd_per_hour: int
    work: int
    seconds: float = 0.0
    bound_microusd_per_hour: int | None = None
    unplaced: int = 0


@dataclass(frozen=True, slots=True)
class Plan:
    """Where every pod goes, what that costs, and how good it is proven to be."""

    status: Status
    launches: tuple[Launch, ...]
    placements: tuple[Placement, ...]
    unplaced: tuple[Unplaced, ...]
    skipped: tuple[Skipped, ...]
    notices: tuple[Notice, ...]
    cost_microusd_per_hour: int
    objective_microusd_per_hour: int
    lower_bound_microusd_per_hour: int
    stages: tuple[Stage, ...] = ()
    truncated: bool = False
    seed: int = 0
