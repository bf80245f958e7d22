"""Problems and plans for the views, built by hand from the model: nothing here parses or solves."""

from __future__ import annotations

from dataclasses import dataclass

from packer.model import (
    CAPACITY_TYPE,
    INSTANCE_TYPE,
    ZONE,
    Daemon,
    GroupedReason,
    Launch,
    Node,
    Notice,
    Offering,
    OfferingKey,
    Owner,
    Placement,
    Plan,
    Pod,
    PodSpec,
    Problem,
    Skipped,
    SkipReason,
    Stage,
    Status,
    Unplaced,
    Why,
)

GI = 1 << 30


def make_offering(
    instance_type: str, price: int, cpu: int, memory_gi: int, *, zone: str = "z-a", capacity: str = "on-demand", **rest: object
) -> Offering:
    """An offering of a made-up provider; ``price`` in micro-dollars, ``cpu`` in millicores; ``gpus`` and any field may be added."""
    gpus = int(rest.pop("gpus", 0))  # type: ignore[call-overload]
    allocatable = {"cpu": cpu, "memory": memory_gi * GI, "pods": 110} | ({"nvidia.com/gpu": gpus} if gpus else {})
    key = OfferingKey("sim", "r1", zone, instance_type, capacity)
    labels = {INSTANCE_TYPE: instance_type, ZONE: zone, CAPACITY_TYPE: capacity} | dict(rest.pop("labels", {}))  # type: ignore[call-overload]
    return Offering(key, price, allocatable, labels, **rest)  # type: ignore[arg-type]


def make_pod(name: str, cpu: int, memory_gi: int, *, owner: str = "", namespace: str = "default", **rest: object) -> Pod:
    """A pod of its own spec; ``spec`` fields go to PodSpec, the rest to Pod."""
    fields = {key: rest.pop(key) for key in list(rest) if key in PodSpec.__dataclass_fields__ and key != "requests"}
    requests = {"cpu": cpu, "memory": memory_gi * GI, **dict(rest.pop("requests", {}))}  # type: ignore[call-overload]
    made = Owner("ReplicaSet", owner, f"uid-{owner}") if owner else None
    return Pod(namespace, name, f"uid-{name}", PodSpec(requests, **fields), owner=made, **rest)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class Sample:
    problem: Problem
    plan: Plan


def rich_sample() -> Sample:
    """Three equal web nodes, a mixed node, a GPU node, an existing node, two kinds of unplaced pods, a gated pod, a warning."""
    daemon = Daemon("kube-system", "agent", PodSpec({"cpu": 100, "memory": GI // 4}))
    offerings = (
        make_offering("m7.large", 100_800, 1930, 7),
        make_offering("m7.large", 100_800, 1930, 7, zone="z-b"),
        make_offering("m7.xlarge", 201_600, 3920, 14),
        make_offering("m7.2xlarge", 403_200, 7910, 29),
        make_offering("m7.2xlarge", 161_280, 7910, 29, capacity="spot"),
        make_offering("g6.xlarge", 804_800, 3920, 14, gpus=1),
    )
    web_spec = PodSpec({"cpu": 900, "memory": 3 * GI})
    web = [Pod("shop", f"web-7d9f6c5b4-{i:05d}", f"w{i}", web_spec, owner=Owner("ReplicaSet", "web-7d9f6c5b4", "w")) for i in range(12)]
    others = [
        make_pod("db-0", 1500, 6, owner="db", namespace="shop"),
        make_pod("cache-0", 500, 3, owner="cache", namespace="shop"),
        make_pod("mail-0", 300, 1, owner="mail", namespace="shop"),
        make_pod("train-0", 3000, 10, owner="train", namespace="ml", requests={"nvidia.com/gpu": 1}),
        make_pod("small-0", 200, 1, namespace="ops"),
    ]
    big = [make_pod(f"huge-{i}", 9000, 4, owner="huge", namespace="batch") for i in range(3)]
    eight = make_pod("eight-gpus", 4000, 8, namespace="ml", requests={"nvidia.com/gpu": 8})
    agent = Pod("kube-system", "agent-x", "a", daemon.spec, owner=Owner("DaemonSet", "agent", "a"))
    node = Node(
        "standing-1",
        {INSTANCE_TYPE: "m7.large", ZONE: "z-a", CAPACITY_TYPE: "on-demand", "kubernetes.io/hostname": "standing-1"},
        (),
        {"cpu": 1930, "memory": 7 * GI, "pods": 110},
        {"cpu": 1830, "memory": 7 * GI - GI // 4, "pods": 109},
        (agent,),
        offering=offerings[0].key,
        price_microusd_per_hour=100_800,
    )
    xlarge, gpu = offerings[2].key, offerings[5].key
    launches = (
        *(Launch(f"m7-xlarge-{i:012x}", xlarge, 201_600, tuple(pod.key for pod in web[i * 4 : i * 4 + 4])) for i in range(3)),
        Launch("m7-xlarge-mixed0000000", xlarge, 201_600, ("shop/cache-0", "shop/db-0", "shop/mail-0")),
        Launch("g6-xlarge-0000000000aa", gpu, 804_800, ("ml/train-0",)),
    )
    cost = 4 * 201_600 + 804_800
    reasons = (
        GroupedReason(Why.INSUFFICIENT_CPU, "cpu at most 7810m of 9", 6),
        GroupedReason(Why.INSUFFICIENT_CPU, "cpu 1830m of 9", 0, 1),
    )
    plan = Plan(
        status=Status.FEASIBLE,
        launches=launches,
        placements=(Placement("ops/small-0", "standing-1"),),
        unplaced=(
            *(Unplaced(pod.key, reasons) for pod in big),
            Unplaced(eight.key, (GroupedReason(Why.INSUFFICIENT_RESOURCE, "nvidia.com/gpu at most 1 of 8", 6),)),
        ),
        skipped=(Skipped("ml/waits", SkipReason.GATED, "scheduling gate example.com/hold"),),
        notices=(Notice("PriceUnusable", "m9.large in z-a: price 0 is refused"),),
        cost_microusd_per_hour=cost,
        objective_microusd_per_hour=cost,
        lower_bound_microusd_per_hour=cost - 9_000,
        stages=(
            Stage("greedy", 1_900_000, 1, 0.004, None, 4),
            Stage("assignment", 1_751_000, 40, 0.06, 1_480_000, 4),
            Stage("columns", 1_640_000, 600, 0.31, 1_600_000, 4),
            Stage("search", cost, 8_000, 2.4, cost - 9_000, 4),
        ),
    )
    problem = Problem((*web, *others, *big, eight), (node,), offerings, (daemon,))
    return Sample(problem, plan)


def large_sample(pods: int = 100_000, per_node: int = 20, classes: int = 100) -> Sample:
    """Many pods on equal and unequal nodes, for size and speed: ``pods`` of ``classes`` workloads, ``per_node`` on each node."""
    offering = make_offering("m7.4xlarge", 806_400, 15_890, 58)
    specs = [PodSpec({"cpu": 300 + 10 * i, "memory": GI}) for i in range(classes)]
    made = []
    for i in range(pods):
        kind = (i // per_node) % classes if i % per_node < per_node - 2 else (i * 7) % classes
        owner = Owner("ReplicaSet", f"service-{kind:03d}-5d8f7c9b6", f"u{kind}")
        made.append(Pod("production", f"service-{kind:03d}-5d8f7c9b6-{i:06d}", f"p{i}", specs[kind], owner=owner))
    launches = tuple(
        Launch(f"m7-4xlarge-{i:012x}", offering.key, 806_400, tuple(pod.key for pod in made[i : i + per_node]))
        for i in range(0, pods, per_node)
    )
    cost = 806_400 * len(launches)
    stages = (Stage("greedy", cost + 5_000_000, 1, 0.01), Stage("columns", cost, 500, 2.0, cost - 900_000))
    plan = Plan(Status.FEASIBLE, launches, (), (), (), (), cost, cost, cost - 900_000, stages)
    return Sample(Problem(tuple(made), (), (offering,)), plan)
