"""Spot machines and other processors take part only where somebody asks for them, and then only for those who ask."""

from __future__ import annotations

import pytest

from packer.cli.caution import cautious
from packer.model import (
    ARCH,
    CAPACITY_TYPE,
    Alternative,
    Node,
    NodeTerm,
    Offering,
    OfferingKey,
    Operator,
    Pod,
    PodSpec,
    Policy,
    PolicyRule,
    Problem,
    Requirement,
)


def offering(capacity_type: str, arch: str) -> Offering:
    key = OfferingKey("aws", "r", "z", f"t-{arch}", capacity_type)
    return Offering(key, 1, {}, {CAPACITY_TYPE: capacity_type, ARCH: arch})


OFFERED = tuple(offering(capacity_type, arch) for capacity_type in ("on-demand", "spot") for arch in ("amd64", "arm64"))
SPOT, ARM = Requirement(CAPACITY_TYPE, Operator.IN, ("spot",)), Requirement(ARCH, Operator.IN, ("arm64",))
NO_SPOT = Requirement(CAPACITY_TYPE, Operator.NOT_IN, ("spot",))

GKE_SPOT = Requirement("cloud.google.com/gke-spot", Operator.IN, ("true",))
EKS_SPOT = Requirement("eks.amazonaws.com/capacityType", Operator.IN, ("SPOT",))


def pod(*selector: Requirement, terms: tuple[NodeTerm, ...] | None = None) -> Pod:
    return Pod("d", "p", "", PodSpec({}, selector=selector, node_terms=terms))


def policy(*needs: Requirement) -> Policy:
    return Policy((PolicyRule("r", (Alternative("a", needs),)),))


def offered(problem: Problem, spot: str = "auto", arch: str = "auto") -> set[str]:
    left = cautious(problem, spot, arch, lambda _: None).offerings
    return {f"{item.key.capacity_type} {item.labels[ARCH]}" for item in left}


ALL = {"on-demand amd64", "on-demand arm64", "spot amd64", "spot arm64"}


@pytest.mark.parametrize(
    ("problem", "spot", "arch", "left"),
    [
        (Problem((pod(),), (), OFFERED), "auto", "auto", {"on-demand amd64"}),
        (Problem((pod(),), (), OFFERED), "yes", "auto", {"on-demand amd64", "spot amd64"}),
        (Problem((pod(),), (), OFFERED), "auto", "any", {"on-demand amd64", "on-demand arm64"}),
        (Problem((pod(),), (), OFFERED), "auto", "arm64", {"on-demand arm64"}),
        (Problem((pod(),), (), OFFERED), "yes", "any", ALL),
        (Problem((pod(),), (), OFFERED, policy=policy(SPOT)), "auto", "auto", {"on-demand amd64", "spot amd64"}),
        (Problem((pod(),), (), OFFERED, policy=policy(SPOT)), "no", "auto", {"on-demand amd64"}),
        (Problem((pod(),), (), OFFERED, policy=policy(ARM)), "auto", "auto", {"on-demand amd64", "on-demand arm64"}),
        (Problem((pod(SPOT),), (), OFFERED), "auto", "auto", {"on-demand amd64", "spot amd64"}),
        (Problem((pod(SPOT),), (), OFFERED), "no", "auto", {"on-demand amd64"}),
        (Problem((pod(NO_SPOT),), (), OFFERED), "auto", "auto", {"on-demand amd64"}),
        (Problem((pod(terms=(NodeTerm((SPOT,)), NodeTerm((ARM,)))),), (), OFFERED), "auto", "auto", ALL),
        (Problem((pod(GKE_SPOT),), (), OFFERED), "auto", "arm64", {"on-demand arm64", "spot arm64"}),
        (Problem((pod(EKS_SPOT),), (), OFFERED), "auto", "any", ALL),
    ],
)  # fmt: skip
def test_what_nobody_asked_for_is_left_out(problem: Problem, spot: str, arch: str, left: set[str]) -> None:
    """A plan of interruptible machines, or for images that do not exist, saves nothing."""
    assert offered(problem, spot, arch) == left


def test_what_the_nodes_are_needs_no_asking() -> None:
    """A cluster that runs on spot and arm machines has thought of both."""
    here = Node("n", {CAPACITY_TYPE: "spot", ARCH: "arm64"}, (), {}, {})
    assert offered(Problem((pod(),), (here,), OFFERED)) == {"on-demand arm64", "spot arm64"}


def test_only_those_who_ask_get_it() -> None:
    """One pod that can run on arm says nothing about its neighbours' images."""
    asks, silent, running = pod(ARM), pod(), pod()
    here = Node("n", {ARCH: "amd64"}, (), {}, {}, (running,))
    found = cautious(Problem((asks, silent), (here,), OFFERED), "no", "auto", lambda _: None)
    amd64 = Requirement(ARCH, Operator.IN, ("amd64",))
    assert [one.spec.selector for one in (*found.pods, *found.nodes[0].pods)] == [(ARM,), (amd64,), (amd64,)]


def test_pods_that_shared_a_spec_still_do() -> None:
    """Classes of pods are found by it, and memory depends on it."""
    spec = PodSpec({})
    found = cautious(Problem((pod(ARM), Pod("d", "a", "", spec), Pod("d", "b", "", spec)), (), OFFERED), "no", "auto", lambda _: None)
    assert found.pods[1].spec is found.pods[2].spec


def test_what_was_left_out_is_said_with_the_flag_that_adds_it() -> None:
    """Nobody should wonder why the cheapest machine is not in the plan."""
    said: list[str] = []
    cautious(Problem((pod(),), (), OFFERED), "auto", "auto", said.append)
    assert said == ["no spot machines; --spot yes adds them", "no arm64 machines; --arch any adds them"]
