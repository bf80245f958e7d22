"""What the offline catalog offers but nobody should get unasked: machines that can be taken away, processors that images may not know.

Both take part when the nodes that exist are such, when the policy speaks of them, or when pods ask; then only for pods that ask.
A catalog of one's own is taken as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from packer.model import ARCH, CAPACITY_TYPE, Node, Operator, Pod, PodSpec, Problem, Requirement

SPOT = "spot"
COMMON_ARCH = "amd64"


@dataclass(frozen=True, slots=True)
class _Trait:
    """One property of machines: the labels that tell it, and in which of them a pod can ask for what."""

    key: str
    others: tuple[str, ...]
    """What other tools call it."""
    flag: str


_SPOT = _Trait(
    CAPACITY_TYPE,
    (
        "karpenter.sh/capacity-type",
        "eks.amazonaws.com/capacityType",
        "cloud.google.com/gke-spot",
        "cloud.google.com/gke-provisioning",
        "kubernetes.azure.com/scalesetpriority",
    ),
    "--spot yes",
)
_ARCH = _Trait(ARCH, ("beta.kubernetes.io/arch",), "--arch any")


def cautious(problem: Problem, spot: str, arch: str, say: Callable[[str], None]) -> Problem:
    """``problem`` without what nobody asked for. ``spot``: auto, yes or no; ``arch``: auto, any or one architecture."""
    offered = {offering.key.capacity_type for offering in problem.offerings}
    if spot != "yes":
        allowed = offered - {SPOT} | (set() if spot == "no" else {SPOT} & _in_use(problem, CAPACITY_TYPE))
        problem = _narrowed(problem, _SPOT, allowed, ask=spot == "auto", say=say)
    if arch != "any":
        allowed = {arch} if arch != "auto" else _in_use(problem, ARCH) or {COMMON_ARCH}
        problem = _narrowed(problem, _ARCH, allowed, ask=arch == "auto", say=say)
    return problem


def _narrowed(problem: Problem, trait: _Trait, allowed: set[str], *, ask: bool, say: Callable[[str], None]) -> Problem:
    """Offerings with the allowed values only; all of them when the policy decides; for the pods that ask when ``ask``."""
    values = {offering.labels.get(trait.key, "") for offering in problem.offerings}
    left_out = sorted(values - allowed - {""})
    if not left_out or (ask and _policy_speaks(problem, trait.key)):
        return problem
    keys = {trait.key, *trait.others}
    if ask and any(_asks(spec, keys, set(left_out)) for spec in _specs(problem)):
        say(f"{', '.join(left_out)} machines for the pods that ask for them; {trait.flag} gives them to all")
        wanted = Requirement(trait.key, Operator.IN, tuple(sorted(allowed)))
        return _with_specs(problem, lambda spec: spec if _speaks(spec, keys) else replace(spec, selector=(*spec.selector, wanted)))
    say(f"no {', '.join(left_out)} machines; {trait.flag} adds them")
    kept = tuple(offering for offering in problem.offerings if offering.labels.get(trait.key, "") not in left_out)
    return replace(problem, offerings=kept)


def _in_use(problem: Problem, key: str) -> set[str]:
    return {node.labels[key] for node in problem.nodes if key in node.labels}


def _policy_speaks(problem: Problem, key: str) -> bool:
    return any(need.key == key for rule in problem.policy.rules for option in rule.alternatives for need in option.requirements)


def _requirements(spec: PodSpec) -> Iterable[Requirement]:
    yield from spec.selector
    for term in spec.node_terms or ():
        yield from term.expressions


def _speaks(spec: PodSpec, keys: set[str]) -> bool:
    return any(need.key in keys for need in _requirements(spec))


def _asks(spec: PodSpec, keys: set[str], values: set[str]) -> bool:
    """Whether a pod could only, or would also, go to machines with one of ``values``."""
    return any(
        need.key in keys and need.operator is Operator.IN and {_plain(value) for value in need.values} & values
        for need in _requirements(spec)
    )


def _plain(value: str) -> str:
    """A label's value in our words: EKS shouts SPOT, and GKE says that it is true."""
    return SPOT if value == "true" else value.lower().replace("_", "-")


def _specs(problem: Problem) -> Iterable[PodSpec]:
    pods = [*problem.pods, *(pod for node in problem.nodes for pod in node.pods)]
    return {id(pod.spec): pod.spec for pod in pods}.values()


def _with_specs(problem: Problem, change: Callable[[PodSpec], PodSpec]) -> Problem:
    """The problem with every spec changed; pods that share one still do."""
    changed = {id(spec): change(spec) for spec in _specs(problem)}

    def pods(found: tuple[Pod, ...]) -> tuple[Pod, ...]:
        return tuple(replace(pod, spec=changed[id(pod.spec)]) for pod in found)

    def node(found: Node) -> Node:
        return replace(found, pods=pods(found.pods))

    return replace(problem, pods=pods(problem.pods), nodes=tuple(map(node, problem.nodes)))
