"""The peers: what they are given, what is made of their answers, and (with Go) what Karpenter really does on small examples."""

from __future__ import annotations

from pathlib import Path

import pytest

from packer.check import check_plan
from packer.errors import EnvironmentProblem, UsageError
from packer.model import CPU, HOSTNAME, INSTANCE_TYPE, MEMORY, PODS, ZONE, Node, Offering, OfferingKey, Pod, PodSpec, Problem
from packer.solve import solve
from perf import generators
from perf.objects import pod_object
from perf.peers import ffd, gobuild, karpenter_peer
from perf.peers.run import PeerRun, peer_plan

GIB = 1 << 30


def offering(name: str, cpu: int, price: float, *, zone: str = "a", capacity: str = "on-demand", burstable: bool = False) -> Offering:
    labels = {INSTANCE_TYPE: name, ZONE: zone}
    allocatable = {CPU: cpu * 1000, MEMORY: 4 * cpu * GIB, PODS: 110}
    return Offering(OfferingKey("", "", zone, name, capacity), round(price * 1e6), allocatable, labels, burstable=burstable)


def pods(count: int, cpu: float) -> tuple[Pod, ...]:
    spec = PodSpec({CPU: round(cpu * 1000), MEMORY: GIB})
    return tuple(Pod("default", f"p{cpu:g}-{i}", f"p{cpu:g}-{i}", spec) for i in range(count))


def test_first_fit_decreasing_buys_one_type_while_that_takes_all() -> None:
    """Four pods of 3 cpu and four of 1 share four nodes of 4: the large ones first, the small ones into what is left."""
    run = ffd.run(Problem(pods(4, 1) + pods(4, 3), (), (offering("c4", 4, 0.2), offering("c8", 8, 0.5))))
    assert [launch.offering.instance_type for launch in run.plan.launches] == ["c4"] * 4
    assert run.plan.cost_microusd_per_hour == 800_000
    assert not run.plan.unplaced


def test_first_fit_decreasing_fills_nodes_that_stand_before_it_buys() -> None:
    """An autoscaler is asked only for pods that found no room."""
    node = Node("n", {HOSTNAME: "n"}, (), {CPU: 2000, MEMORY: 8 * GIB, PODS: 110}, {CPU: 2000, MEMORY: 8 * GIB, PODS: 110})
    run = ffd.run(Problem(pods(3, 1), (node,), (offering("c1", 1, 0.1),)))
    assert len(run.plan.placements) == 2
    assert len(run.plan.launches) == 1


def test_first_fit_decreasing_leaves_what_no_type_takes() -> None:
    """A pod larger than every machine stays, with a reason, and the rest is placed."""
    run = ffd.run(Problem(pods(1, 9) + pods(1, 1), (), (offering("c4", 4, 0.2),)))
    assert [entry.pod for entry in run.plan.unplaced] == ["default/p9-0"]


def test_first_fit_decreasing_keeps_the_rules_between_pods() -> None:
    """Spread, affinity and anti-affinity of Karpenter's own mix: the judge finds nothing."""
    zones = [offering(name, cpu, price, zone=zone) for zone in "abc" for name, cpu, price in (("c8", 8, 0.4), ("c16", 16, 0.8))]
    problem = generators.problem(generators.diverse(60, 1), zones)
    run = ffd.run(problem)
    assert not run.plan.unplaced
    assert check_plan(problem, run.plan) == ()


def test_a_peer_is_not_shown_what_our_policy_leaves_out() -> None:
    """Burstable types would flatter nobody: both sides choose from the same machines."""
    problem = Problem(pods(1, 1), (), (offering("t3", 2, 0.01, burstable=True), offering("c2", 2, 0.1)))
    assert [t["name"] for t in karpenter_peer.to_request(problem)["instanceTypes"]] == ["c2"]
    assert ffd.run(problem).plan.launches[0].offering.instance_type == "c2"


def test_karpenter_gets_one_type_with_an_offering_for_each_zone_and_capacity_type() -> None:
    """Its instance types hold their offerings; ours are flat."""
    offers = tuple(offering("c2", 2, 0.1, zone=zone, capacity=kind) for zone in "ab" for kind in ("on-demand", "spot"))
    (kind,) = karpenter_peer.to_request(Problem(pods(1, 1), (), offers))["instanceTypes"]
    assert [(o["zone"], o["capacityType"]) for o in kind["offerings"]] == [
        ("a", "on-demand"),
        ("a", "spot"),
        ("b", "on-demand"),
        ("b", "spot"),
    ]
    assert kind["allocatable"] == {"cpu": "2000m", "memory": str(8 * GIB), "pods": "110"}


def test_karpenter_is_not_asked_what_one_node_pool_cannot_say() -> None:
    """Existing nodes would be compared with something else than they are."""
    node = Node("n", {}, (), {}, {})
    with pytest.raises(UsageError, match="empty cluster"):
        karpenter_peer.to_request(Problem((), (node,), ()))


def test_runs_that_buy_the_same_for_the_same_pods_have_one_fingerprint() -> None:
    """Order of machines and of pods means nothing; another machine does."""
    problem = Problem(pods(2, 1), (), (offering("c2", 2, 0.1), offering("c1", 1, 0.1)))
    small, large = (o.key for o in sorted(problem.offerings, key=lambda o: o.key))
    first, second = problem.pods[0].key, problem.pods[1].key
    runs = [
        PeerRun(peer_plan(problem, bought, {}), 0.0, 0.0)
        for bought in ([(large, (first, second))], [(large, (second, first))], [(small, (first,)), (small, (second,))])
    ]
    assert runs[0].fingerprint == runs[1].fingerprint != runs[2].fingerprint


def test_a_missing_go_is_named_with_the_version_that_is_wanted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Who has no Go must learn what to install."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(EnvironmentProblem, match="needs Go"):
        gobuild.binary(karpenter_peer.MODULE, "karpenter-peer")


def test_a_change_of_the_program_is_another_binary(tmp_path: Path) -> None:
    """The cache is keyed on sources and sums: a stale program would judge by old rules."""
    for name in ("main.go", "go.mod", "go.sum"):
        (tmp_path / name).write_text("one", encoding="utf-8")
    before = gobuild.key(tmp_path)
    (tmp_path / "main.go").write_text("two", encoding="utf-8")
    assert gobuild.key(tmp_path) != before


@pytest.mark.needs("go")
def test_karpenter_grows_a_node_where_another_would_be_cheap() -> None:
    """Five pods of 1 cpu; a machine of 4 costs 1, one of 1 costs 0.1, one of 8 costs 20: it packs before it looks at prices."""
    problem = Problem(pods(5, 1), (), (offering("c1", 1, 0.1), offering("c4", 4, 1.0), offering("c8", 8, 20.0)))
    (theirs,) = karpenter_peer.run(problem)
    assert check_plan(problem, theirs.plan) == ()
    assert theirs.plan.cost_microusd_per_hour == 20_000_000
    assert solve(problem).plan.cost_microusd_per_hour == 500_000


@pytest.mark.needs("go")
def test_karpenter_loses_spot_when_the_larger_type_lacks_it() -> None:
    """Three pods of 1 cpu: two fit the cheap spot machine, and a third pushes all of them onto the on-demand one."""
    problem = Problem(pods(3, 1), (), (offering("c2", 2, 0.12, capacity="spot"), offering("c4", 4, 0.8)))
    (theirs,) = karpenter_peer.run(problem)
    assert theirs.plan.cost_microusd_per_hour == 800_000
    assert solve(problem).plan.cost_microusd_per_hour == 240_000


@pytest.mark.needs("go")
def test_karpenters_own_mix_is_placed_whole_and_reported_whole() -> None:
    """Every pod is in one machine or has an error, and what the machines cost is what their offerings cost."""
    zones = [offering(name, cpu, price, zone=zone) for zone in "abc" for name, cpu, price in (("c8", 8, 0.4), ("c16", 16, 0.8))]
    problem = generators.problem(generators.diverse(60, 1), zones)
    for run in karpenter_peer.run(problem, repeats=2):
        placed = [pod for launch in run.plan.launches for pod in launch.pods]
        assert sorted([*placed, *(entry.pod for entry in run.plan.unplaced)]) == sorted(pod.key for pod in problem.pods)
        assert run.plan.cost_microusd_per_hour == sum(launch.price_microusd_per_hour for launch in run.plan.launches)
        assert run.seconds > 0


def test_pods_are_given_to_karpenter_as_the_api_server_holds_them() -> None:
    """Quantities are exact and the phase is Pending, which its scheduler looks at."""
    body = pod_object(pods(1, 0.25)[0])
    assert body["spec"]["containers"][0]["resources"]["requests"][CPU] == "250m"
    assert body["status"]["phase"] == "Pending"
