"""A recorded decision is exactly what the solver saw, shared specs included, and nothing that the solver did not see."""

from __future__ import annotations

import gzip

import pytest

from packer import record
from packer.errors import InputError
from packer.model import (
    Alternative,
    Daemon,
    Effect,
    Gang,
    HostPort,
    Limits,
    Node,
    NodeTerm,
    Notice,
    Offering,
    OfferingKey,
    Operator,
    Owner,
    Plan,
    Pod,
    PodAffinityTerm,
    PodSpec,
    Policy,
    PolicyRule,
    Problem,
    Requirement,
    Selector,
    Skipped,
    SkipReason,
    SpreadConstraint,
    Status,
    Taint,
    Toleration,
)

KEY = OfferingKey("aws", "us-east-1", "us-east-1a", "m5.large", "on-demand")
SELECTOR = Selector((Requirement("app", Operator.IN, ("a", "b")),))
SPEC = PodSpec(
    requests={"cpu": 1, "memory": (1 << 53) + 1},
    selector=(Requirement("x", Operator.EXISTS),),
    node_terms=(NodeTerm((Requirement("z", Operator.GT, ("1",)),), (Requirement("metadata.name", Operator.IN, ("n",)),)), NodeTerm()),
    volume_terms=((NodeTerm(),),),
    tolerations=(Toleration("k", "Exists"),),
    host_ports=(HostPort("0.0.0.0", "TCP", 80),),
    spread=(SpreadConstraint("zone", 1, None), SpreadConstraint("zone", 1, Selector(), hard=False)),
    affinity=(PodAffinityTerm("zone", SELECTOR, ("default",)),),
    preferred_terms=((3, NodeTerm()),),
    max_price_microusd_per_hour=5,
    exclusive_claims=("a/b",),
)
POD = Pod("default", "p", "u", SPEC, {"app": "a"}, -3, Gang("g", 2), Owner("Job", "j", "ju"), "2026-01-01T00:00:00Z", True)
PROBLEM = Problem(
    pods=(POD, Pod("default", "q", "v", SPEC)),
    nodes=(Node("n", {"a": "b"}, (Taint("t", "", Effect.NO_EXECUTE),), {"cpu": 2}, {"cpu": -1}, (POD,), False, KEY, 7, 60),),
    offerings=(Offering(KEY, 100, {"cpu": 2}, {"a": "b"}, (), 3, 12, True, True),),
    daemons=(Daemon("kube-system", "d", SPEC),),
    policy=Policy((PolicyRule("r", (Alternative("a", limits=Limits(1, 2, {"cpu": 3})),), SELECTOR, ("ns",), 1, 2),), Limits(9), 1, 2, 3),
    skipped=(Skipped("a/b", SkipReason.GATED, "m"),),
    notices=(Notice("PriceUnusable", "m"),),
    device_share=("nvidia.com/gpu", 1000),
)
PLAN = Plan(Status.INFEASIBLE, (), (), (), (), (), 0, 0, 0)
DECISION = record.Decision(PROBLEM, {"budget": 8, "deadline": 0.0, "seed": 0}, PLAN, "1")


def test_a_record_gives_back_the_problem_the_settings_and_the_plan() -> None:
    """Whatever a record lost, a replay would silently plan without."""
    assert record.load(record.dump(DECISION)) == DECISION


def test_pods_share_specs_in_a_record_as_in_memory() -> None:
    """A hundred thousand pods of a hundred specs would fill memory otherwise."""
    back = record.load(record.dump(DECISION)).problem
    assert back.pods[0].spec is back.pods[1].spec is back.nodes[0].pods[0].spec is back.daemons[0].spec


def test_the_same_decision_gives_the_same_bytes() -> None:
    """Records can be compared and stored by content."""
    assert record.dump(DECISION) == record.dump(record.load(record.dump(DECISION)))


@pytest.mark.parametrize(
    "data",
    [b"", b"{}", gzip.compress(b""), gzip.compress(b"[]"), gzip.compress(b"{"), gzip.compress(b'{"kind":"Plan"}'),
     record.dump(DECISION)[:-20],
     gzip.compress(gzip.decompress(record.dump(DECISION)).replace(b'"cpu":1,', b'"cpu":"1",')),
     gzip.compress(gzip.decompress(record.dump(DECISION)).replace(b'"spec":0', b'"spec":7'))],
)  # fmt: skip
def test_what_is_no_record_is_refused_with_the_mend(data: bytes) -> None:
    """People will give it a plan, a dump, or half a download."""
    with pytest.raises(InputError, match="--record"):
        record.load(data)
