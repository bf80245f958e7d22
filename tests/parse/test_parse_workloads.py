"""Workloads stand for the pods that they still lack, gangs for what they still need."""

from __future__ import annotations

from typing import Any

import pytest

from packer.model import Gang
from tests.parse.build import Body, container, node, obj, only_pod, owner, pod, problem, skipped

SMALL = {"containers": [container(cpu="1")]}


def template(labels: Body | None = None, **spec: Any) -> Body:
    return {"metadata": {"labels": labels or {"app": "web"}}, "spec": {**SMALL, **spec}}


def workload(kind: str, name: str = "web", uid: str = "", meta: Body | None = None, **spec: Any) -> Body:
    group = {"Job": "batch/v1", "ReplicationController": "v1", "JobSet": "jobset.x-k8s.io/v1alpha2"}.get(kind, "apps/v1")
    group = "ray.io/v1" if kind.startswith("Ray") else group
    return obj(group, kind, name, namespace="default", meta={"uid": uid, **(meta or {})}, spec={"template": template(), **spec})


def names(*items: Body) -> list[str]:
    return sorted(one.name for one in problem(*items).pods)


@pytest.mark.parametrize("kind", ["Deployment", "ReplicaSet", "StatefulSet", "ReplicationController"])
def test_replicas_that_nobody_made_yet(kind: str) -> None:
    """One unless told; named by counting, so that the same input has the same pods."""
    assert names(workload(kind, replicas=3)) == ["web-0", "web-1", "web-2"]
    assert names(workload(kind)) == ["web-0"]
    assert names(workload(kind, replicas=0)) == []
    assert names(workload(kind, replicas=2, meta={"deletionTimestamp": "2030-01-01T00:00:00Z"})) == []


def family(uid: bool = True) -> list[Body]:
    """A Deployment of 3, its ReplicaSet and two of its pods, as ``kubectl get all`` prints them."""
    deployment = workload("Deployment", uid="d-1" if uid else "", replicas=3)
    replica_set = workload(
        "ReplicaSet", "web-5f", uid="r-1" if uid else "", meta=owner("Deployment", "web", "d-1" if uid else ""), replicas=3
    )
    pods = [
        pod(f"web-5f-{letter}", meta=owner("ReplicaSet", "web-5f", "r-1" if uid else ""), nodeName=at)
        for letter, at in (("a", None), ("b", "n-1"))
    ]
    return [deployment, replica_set, *pods, node()]


@pytest.mark.parametrize("uid", [True, False])
def test_get_all_counts_each_pod_once(uid: bool) -> None:
    """3 replicas, 2 pods there (one running): one is missing, whatever else the listing repeats."""
    assert names(*family(uid)) == ["web-0", "web-5f-a"]


def test_a_deployment_beside_its_pods_but_without_its_replica_set() -> None:
    """``kubectl get deploy,pods``: the ReplicaSet's name is the Deployment's and the hash that its pods carry."""
    there = pod("web-5f-a", meta={**owner("ReplicaSet", "web-5f", "r-1"), "labels": {"pod-template-hash": "5f"}})
    assert names(workload("Deployment", uid="d-1", replicas=2), there) == ["web-0", "web-5f-a"]


def test_other_deployments_pods_are_not_counted() -> None:
    """Same name in another namespace, same name with another uid."""
    other = pod("x", namespace="blue", meta=owner("ReplicaSet", "web-5f", "r-1"))
    stale = pod("y", meta=owner("Deployment", "web", "d-0"))
    assert names(workload("Deployment", uid="d-1", replicas=1), other, stale) == ["web-0", "x", "y"]


def test_finished_and_leaving_pods_are_replaced() -> None:
    """controller.FilterActivePods: neither counts as a replica."""
    done = pod("a", meta=owner("ReplicaSet", "web"), status={"phase": "Failed"})
    leaving = pod("b", meta={**owner("ReplicaSet", "web"), "deletionTimestamp": "2030-01-01T00:00:00Z"})
    assert names(workload("ReplicaSet", replicas=2), done, leaving) == ["web-0", "web-1"]


def test_made_pods_never_take_a_name_that_is_taken() -> None:
    """namespace/name is how a plan speaks of a pod."""
    found = problem(workload("Deployment", replicas=1), workload("ReplicaSet", replicas=1), pod("web-0"))
    assert sorted(one.name for one in found.pods) == ["web-0", "web-1", "web-2"]


def test_made_pods_are_like_the_template() -> None:
    """Labels, contract and spec of the template, the workload as owner; a revision's pods share a hash for matchLabelKeys."""
    labels = {"app": "web", "bayplan.io/capacity-type": "spot"}
    constraint = {"maxSkew": 1, "topologyKey": "k", "labelSelector": {}, "matchLabelKeys": ["pod-template-hash"]}
    body = workload(
        "Deployment",
        uid="d-1",
        replicas=2,
        template=template(labels, topologySpreadConstraints=[constraint], priorityClassName="system-node-critical"),
    )
    one, two = problem(body).pods
    assert one.spec is two.spec
    assert one.spec.requests == {"cpu": 1000}
    assert one.owner is not None
    assert (one.owner.kind, one.owner.name, one.priority) == ("Deployment", "web", 2_000_001_000)
    assert one.labels["app"] == "web"
    (selector,) = (constraint.selector for constraint in one.spec.spread)
    assert selector is not None
    assert selector.requirements[0].values == (one.labels["pod-template-hash"],)


def test_made_pods_can_be_skipped_like_others() -> None:
    """A template with a foreign gate makes gated pods."""
    found = problem(workload("Deployment", template=template(schedulingGates=[{"name": "x"}])))
    assert skipped(found) == {"default/web-0": "Gated"}


def test_a_stateful_set_lacks_ordinals() -> None:
    """web-1 is missing, not any second pod; ordinals may start elsewhere."""
    there = [pod(f"web-{i}", meta=owner("StatefulSet", "web")) for i in (0, 2)]
    found = problem(workload("StatefulSet", replicas=3), *there)
    made = next(one for one in found.pods if one.name == "web-1")
    assert made.labels["apps.kubernetes.io/pod-index"] == "1"
    assert names(workload("StatefulSet", replicas=2, ordinals={"start": 5})) == ["web-5", "web-6"]


def test_a_stateful_set_claims_storage_for_its_pods() -> None:
    """A claim that exists decides the zone; one that will be made with its pod keeps nobody waiting."""
    zone = "topology.kubernetes.io/zone"
    body = workload("StatefulSet", replicas=2, volumeClaimTemplates=[{"metadata": {"name": "data"}, "spec": {"storageClassName": "std"}}])
    claim = obj("v1", "PersistentVolumeClaim", "data-web-0", namespace="default", spec={"volumeName": "vol"})
    volume = obj("v1", "PersistentVolume", "vol", meta={"labels": {zone: "z-b"}}, spec={})
    found = {one.name: one.spec.volume_terms for one in problem(body, claim, volume).pods}
    assert found["web-1"] == ()
    assert any(requirement.values == ("z-b",) for term in found["web-0"][0] for requirement in term.expressions)


JOBS = [
    ({}, [], 1),
    ({"parallelism": 3}, [], 3),
    ({"parallelism": 3, "completions": 5}, [], 3),
    ({"parallelism": 3, "completions": 2}, [], 2),
    ({"parallelism": 3, "completions": 4}, ["Succeeded", "Succeeded", "Running"], 1),
    ({"parallelism": 2, "completions": 2}, ["Succeeded", "Succeeded"], 0),
    ({"parallelism": 2}, ["Succeeded"], 0),
    ({"parallelism": 1, "completions": 1}, ["Failed"], 1),
    ({"parallelism": 3, "suspend": True}, [], 0),
]


@pytest.mark.parametrize(("spec", "phases", "missing"), JOBS)
def test_a_job_lacks_what_it_would_start_at_once(spec: Body, phases: list[str], missing: int) -> None:
    """Parallelism, bounded by the completions that are left; a work queue starts nothing after its first success."""
    there = [pod(f"p{i}", meta=owner("Job", "web"), status={"phase": phase}) for i, phase in enumerate(phases)]
    made = [one for one in names(workload("Job", **spec), *there) if one.startswith("web-")]
    assert len(made) == missing


def test_a_job_that_is_over_makes_nothing() -> None:
    """Its status counts for completions whose pods are gone."""
    assert names({**workload("Job"), "status": {"conditions": [{"type": "Failed", "status": "True"}]}}) == []
    assert names({**workload("Job", parallelism=5, completions=6), "status": {"succeeded": 4}}) == ["web-0", "web-1"]


def test_a_cron_job_counts_for_nothing_and_its_job_for_itself() -> None:
    """When it fires, there will be a Job."""
    cron = obj("batch/v1", "CronJob", "tick", namespace="default", spec={"jobTemplate": {"spec": {"template": template()}}})
    assert names(cron) == []
    assert names(cron, workload("Job", "tick-1", meta=owner("CronJob", "tick"))) == ["tick-1-0"]


def test_a_job_set_stands_for_the_jobs_it_has_not_made() -> None:
    """A Job that exists stands for itself."""
    part = {"name": "workers", "replicas": 2, "template": {"spec": {"parallelism": 2, "completions": 2, "template": template()}}}
    body = workload("JobSet", "train", replicatedJobs=[part])
    assert names(body) == ["train-workers-0-0", "train-workers-0-1", "train-workers-1-0", "train-workers-1-1"]
    child = workload("Job", "train-workers-0", meta=owner("JobSet", "train"), parallelism=1)
    assert names(body, child) == ["train-workers-0-0", "train-workers-1-0", "train-workers-1-1"]


# --- Ray ----------------------------------------------------------------------------------------------------------------------


def ray(**more: Any) -> Body:
    workers = {"groupName": "small", "replicas": 2, "minReplicas": 0, "maxReplicas": 5, "numOfHosts": 1, "template": template()}
    return {"headGroupSpec": {"template": template()}, "workerGroupSpecs": [{**workers, **more}]}


def ray_object(kind: str, name: str = "r", meta: Body | None = None, status: Body | None = None, **spec: Any) -> Body:
    return obj("ray.io/v1", kind, name, namespace="default", meta=meta, spec=spec, status=status or {})


def test_a_ray_cluster_is_a_head_and_its_workers() -> None:
    """Replicas times hosts, held between the group's bounds; KubeRay's labels for selectors."""
    assert names(ray_object("RayCluster", **ray())) == ["r-head-0", "r-small-worker-0", "r-small-worker-1"]
    assert len(names(ray_object("RayCluster", **ray(numOfHosts=4)))) == 9
    assert len(names(ray_object("RayCluster", **ray(replicas=9)))) == 6
    assert len(names(ray_object("RayCluster", **ray(replicas=0, minReplicas=3)))) == 4
    assert names(ray_object("RayCluster", suspend=True, **ray())) == []
    worker = next(one for one in problem(ray_object("RayCluster", **ray())).pods if one.name == "r-small-worker-0")
    assert (worker.labels["ray.io/cluster"], worker.labels["ray.io/group"]) == ("r", "small")


def test_ray_pods_that_run_count_for_their_group() -> None:
    """A worker of one group does not stand for another's, nor for the head."""
    there = pod("x", meta={**owner("RayCluster", "r"), "labels": {"ray.io/group": "small", "ray.io/node-type": "worker"}})
    assert names(ray_object("RayCluster", **ray()), there) == ["r-head-0", "r-small-worker-0", "x"]


def test_the_autoscaler_beside_the_head_takes_room() -> None:
    """KubeRay adds a container of half a cpu when enableInTreeAutoscaling is set."""
    found = problem(ray_object("RayCluster", enableInTreeAutoscaling=True, **ray(replicas=0)))
    assert found.pods[0].spec.requests == {"cpu": 1500, "memory": 512 << 20}


@pytest.mark.parametrize("kind", ["RayJob", "RayService"])
def test_a_ray_job_stands_for_a_cluster_until_it_has_one(kind: str) -> None:
    """Then the cluster stands for itself, and its pods for it."""
    body = ray_object(kind, "job", **{"rayClusterSpec" if kind == "RayJob" else "rayClusterConfig": ray()})
    assert len(names(body)) == 3
    cluster = ray_object("RayCluster", "job-x", meta=owner(kind, "job"), **ray())
    there = pod("h", meta={**owner("RayCluster", "job-x"), "labels": {"ray.io/node-type": "head"}})
    assert names(body, cluster, there) == ["h", "job-x-small-worker-0", "job-x-small-worker-1"]
    assert names({**body, "status": {"jobDeploymentStatus": "Complete"}}) == []


# --- daemons ------------------------------------------------------------------------------------------------------------------


def test_a_daemon_set_is_a_daemon_with_the_controllers_tolerations() -> None:
    """It runs on cordoned and pressed nodes; on existing nodes its pods are there already."""
    (found,) = problem(workload("DaemonSet", "agent", template=template({"ds": "agent"}, hostNetwork=True))).daemons
    assert (found.namespace, found.name, found.labels, found.spec.requests) == ("default", "agent", {"ds": "agent"}, {"cpu": 1000})
    tolerated = {(one.key.removeprefix("node.kubernetes.io/"), one.effect) for one in found.spec.tolerations}
    assert tolerated == {
        ("not-ready", "NoExecute"),
        ("unreachable", "NoExecute"),
        ("disk-pressure", "NoSchedule"),
        ("memory-pressure", "NoSchedule"),
        ("pid-pressure", "NoSchedule"),
        ("unschedulable", "NoSchedule"),
        ("network-unavailable", "NoSchedule"),
    }


def test_daemons_are_read_off_their_pods_where_the_dump_has_no_daemon_sets() -> None:
    """``kubectl get pods,nodes``: new nodes will run them all the same. The pin to the old node is not theirs."""
    pin = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchFields": []}]}}}
    pods = [
        pod(f"agent-{i}", meta=owner("DaemonSet", "agent"), nodeName="n-1", affinity=pin, nodeSelector={"kubernetes.io/os": "linux"})
        for i in range(2)
    ]
    found = problem(*pods, node())
    (daemon,) = found.daemons
    assert (daemon.name, daemon.spec.node_terms, len(daemon.spec.selector)) == ("agent", None, 1)
    assert [one.reason for one in found.notices] == ["DaemonSetsInferred"]
    with_set = problem(*pods, node(), workload("DaemonSet", "agent"))
    assert ([one.spec.selector for one in with_set.daemons], with_set.notices) == ([()], ())


# --- gangs --------------------------------------------------------------------------------------------------------------------


def group(least: int, api: str = "scheduling.x-k8s.io/v1alpha1") -> Body:
    return obj(api, "PodGroup", "g", namespace="default", spec={"minMember": least})


@pytest.mark.parametrize(
    ("labels", "annotations", "api"),
    [
        ({"scheduling.x-k8s.io/pod-group": "g"}, {}, "scheduling.x-k8s.io/v1alpha1"),
        ({"pod-group.scheduling.sigs.k8s.io": "g"}, {}, "scheduling.sigs.k8s.io/v1alpha1"),
        ({}, {"scheduling.k8s.io/group-name": "g"}, "scheduling.volcano.sh/v1beta1"),
    ],
)
def test_pod_groups_of_others_are_gangs(labels: Body, annotations: Body, api: str) -> None:
    """The minimum is minMember, however many pods there are."""
    found = problem(*(pod(f"p{i}", meta={"labels": labels, "annotations": annotations}) for i in range(4)), group(3, api))
    assert {one.gang for one in found.pods} == {Gang("default/g", 3)}


def test_kubernetes_own_pod_groups_are_gangs() -> None:
    """spec.schedulingGroup and the group's gang policy (scheduling.k8s.io)."""
    body = obj("scheduling.k8s.io/v1alpha2", "PodGroup", "g", namespace="default", spec={"schedulingPolicy": {"gang": {"minCount": 2}}})
    assert only_pod(pod("p", schedulingGroup={"podGroupName": "g"}), body).gang == Gang("default/g", 2)


def member(name: str, size: str = "3", **spec: Any) -> Body:
    meta = spec.pop("meta", {})
    status = spec.pop("status", {})
    return pod(name, meta={"labels": {"bayplan.io/gang": "g", "bayplan.io/gang-size": size}, **meta}, status=status, **spec)


@pytest.mark.parametrize(
    ("others", "minimum"),
    [
        ([], 3),
        ([member("r", nodeName="n-1")], 2),
        ([member("r", nodeName="n-1"), member("s", nodeName="n-1"), member("t", nodeName="n-1"), member("u", nodeName="n-1")], 0),
        ([member("r", nodeName="n-1", meta={"labels": {"bayplan.io/gang": "g"}, "deletionTimestamp": "2030-01-01T00:00:00Z"})], 3),
        ([member("r", nodeName="n-1", status={"phase": "Failed"})], 3),
        ([member("r", status={"nominatedNodeName": "n-1"})], 2),
    ],
    ids=["none runs", "one runs", "more run than needed", "one leaves", "one failed", "one is promised a node"],
)
def test_a_gang_lacks_its_size_less_what_runs(others: list[Body], minimum: int) -> None:
    """Never below zero: a gang that is complete asks for nothing more."""
    found = problem(member("p"), *others, node())
    assert next(one.gang for one in found.pods if one.name == "p") == Gang("default/g", minimum)


def test_a_group_that_nobody_describes_is_told_of() -> None:
    """Guessing a size would hold pods back for ever, or start half a gang."""
    found = problem(pod("p", meta={"labels": {"scheduling.x-k8s.io/pod-group": "g"}}))
    assert (found.pods[0].gang, [one.reason for one in found.notices]) == (None, ["GangUnknown"])


def test_a_gang_size_that_is_no_number_stops_its_pod() -> None:
    """As any wish that cannot be read."""
    assert skipped(problem(member("p", size="many"))) == {"default/p": "Unsupported"}


def test_kueues_groups_count_what_has_finished_too() -> None:
    """Its total includes members that are done."""
    meta = {"labels": {"kueue.x-k8s.io/pod-group-name": "g"}, "annotations": {"kueue.x-k8s.io/pod-group-total-count": "3"}}
    found = problem(pod("a", meta=meta), pod("b", meta=meta), pod("c", meta=meta, status={"phase": "Succeeded"}))
    assert {one.gang for one in found.pods} == {Gang("default/g", 2)}


def test_a_lone_pod_has_no_gang() -> None:
    """No label, no gang."""
    assert only_pod(pod("p")).gang is None
