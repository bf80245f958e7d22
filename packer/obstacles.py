"""What stands between one pod and one place, each obstacle apart and with its numbers, and how to say many of them in few words.

An obstacle is finer than a rule's ``Reason``: it names its subject (which resource, which label, which taint), so that obstacles of
thousands of offerings group, and so that ``packer.explain`` can think of the change that would remove each.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from packer.model import ATTACHABLE_PREFIX, PODS, HostPort, Labels, Operator, PodSpec, Requirement, Resources, Taint, Why
from packer.rules import matches, ports_clash, requirement_text, term_holds, untolerated
from packer.words import listed, pair

_CODES = {
    "cpu": Why.INSUFFICIENT_CPU,
    "memory": Why.INSUFFICIENT_MEMORY,
    "pods": Why.INSUFFICIENT_PODS,
    "ephemeral-storage": Why.INSUFFICIENT_STORAGE,
}
_ORDER = {code: rank for rank, code in enumerate(Why)}


@dataclass(frozen=True, slots=True)
class Obstacle:
    """One thing that keeps a pod off one place. ``have`` and ``want`` are a shortage's numbers; ``found`` is what a label has instead."""

    code: Why
    subject: str
    text: str
    have: int = 0
    want: int = 0
    found: str = ""


@dataclass(frozen=True, slots=True)
class Group:
    """Places that share their most telling obstacle. ``message`` has the best number or all the values found among them."""

    code: Why
    subject: str
    message: str
    places: int


def shortages(requests: Resources, free: Resources) -> list[Obstacle]:
    """Every resource that does not suffice (NodeResourcesFit), the pod's own slot included."""
    found = []
    if free.get(PODS, 0) < 1:
        found.append(Obstacle(Why.INSUFFICIENT_PODS, PODS, "", free.get(PODS, 0), 1))
    for name, want in requests.items():
        have = free.get(name, 0)
        if want > have and want > 0 and name != PODS and (name in free or not name.startswith(ATTACHABLE_PREFIX)):
            found.append(Obstacle(_CODES.get(name, Why.INSUFFICIENT_RESOURCE), name, "", max(have, 0), want))
    return found


def label_obstacles(spec: PodSpec, labels: Labels, node_name: str | None) -> list[Obstacle]:
    """Every selector expression, the required terms and each volume that refuse these labels (NodeAffinity, VolumeBinding, VolumeZone)."""
    found = [
        Obstacle(Why.NODE_SELECTOR, requirement_text(req), f"needs {wanted(req)}", found=labels.get(req.key, "no such label"))
        for req in spec.selector
        if not matches(req, labels)
    ]
    if spec.node_terms is not None and not any(term_holds(term, labels, node_name) for term in spec.node_terms):
        found.append(_terms_obstacle(spec, labels))
    for i, terms in enumerate(spec.volume_terms):
        if not any(term_holds(term, labels, node_name) for term in terms):
            text = " or ".join(" and ".join(wanted(req) for req in (*term.expressions, *term.fields)) for term in terms)
            found.append(Obstacle(Why.VOLUME_TOPOLOGY, f"volume {i}", f"a volume is tied to {text or 'no node at all'}"))
    return found


def _terms_obstacle(spec: PodSpec, labels: Labels) -> Obstacle:
    terms = spec.node_terms or ()
    if len(terms) == 1:
        failing = [req for req in terms[0].expressions if not matches(req, labels)]
        if failing:
            text = " and ".join(wanted(req) for req in failing)
            found = labels.get(failing[0].key, "no such label") if len(failing) == 1 else ""
            return Obstacle(Why.NODE_AFFINITY, text, f"required node affinity: {text}", found=found)
    texts = (" and ".join(wanted(req) for req in (*term.expressions, *term.fields)) or "an empty term" for term in terms)
    return Obstacle(Why.NODE_AFFINITY, "terms", f"required node affinity: {' or '.join(texts) or 'no term, which matches nothing'}")


def taint_obstacles(spec: PodSpec, taints: Sequence[Taint]) -> list[Obstacle]:
    """Every NoSchedule and NoExecute taint that the pod does not tolerate (TaintToleration, NodeUnschedulable)."""
    return [Obstacle(Why.TAINT, taint_text(taint), f"taint {taint_text(taint)} is not tolerated") for taint in untolerated(spec, taints)]


def port_obstacles(wanted: Iterable[HostPort], taken: Iterable[HostPort], by: str) -> list[Obstacle]:
    """Every host port of the pod that something there holds already (NodePorts)."""
    occupied = tuple(taken)
    return [
        Obstacle(Why.HOST_PORT, port_text(port), f"host port {port_text(port)} is taken by {by}")
        for port in wanted
        if any(ports_clash(port, other) for other in occupied)
    ]


def wanted(req: Requirement) -> str:
    """A requirement as a person reads it: "zone=a" for a single value, else as Kubernetes writes it."""
    if req.operator is Operator.IN and len(req.values) == 1:
        return f"{req.key}={req.values[0]}"
    return requirement_text(req)


def taint_text(taint: Taint) -> str:
    return f"{taint.key}{'=' + taint.value if taint.value else ''}:{taint.effect}"


def port_text(port: HostPort) -> str:
    address = f"{port.ip}:" if port.ip and port.ip != "0.0.0.0" else ""
    return f"{address}{port.port}/{port.protocol or 'TCP'}"


def requirement_keys(spec: PodSpec) -> frozenset[str]:
    """Every label key that the pod's selector, terms and volumes look at."""
    keys = {req.key for req in spec.selector}
    every = (*(spec.node_terms or ()), *(term for terms in spec.volume_terms for term in terms))
    return frozenset(keys | {req.key for term in every for req in term.expressions})


def grouped(places: Iterable[tuple[Sequence[Obstacle], int]]) -> list[Group]:
    """The fewest telling words for many places: ``places`` are (obstacles, how many such places), all with at least one obstacle.

    Greedy set cover: the obstacle that rules out most places speaks for all of them, then the one that rules out most of the rest.
    So a zone that nobody offers is said once, not hidden behind 1,700 machines that are too small besides.
    """
    left = [(tuple(obstacles), number) for obstacles, number in places if obstacles]
    groups = []
    while left:
        weight: Counter[tuple[Why, str]] = Counter()
        for obstacles, number in left:
            for obstacle in {(one.code, one.subject) for one in obstacles}:
                weight[obstacle] += number
        best = min(weight, key=lambda one: (-weight[one], _ORDER[one[0]], one[1]))
        covered = [(one, number) for obstacles, number in left for one in obstacles if (one.code, one.subject) == best]
        groups.append(Group(best[0], best[1], message_of(covered), weight[best]))
        left = [(obstacles, number) for obstacles, number in left if all((one.code, one.subject) != best for one in obstacles)]
    return groups


def message_of(alike: Sequence[tuple[Obstacle, int]]) -> str:
    """One message for obstacles of one code and subject: the most that any place has of what is short, or what labels say instead."""
    first = alike[0][0]
    if first.want:
        most, least = max(one.have for one, _ in alike), min(one.have for one, _ in alike)
        have, want = pair(first.subject, most, first.want)
        return f"{first.subject} {have if most == least else f'at most {have}'} of {want}"
    found: Counter[str] = Counter()
    for one, number in alike:
        found[one.found] += number
    values = [value for value, _ in sorted(found.items(), key=lambda item: (-item[1], item[0])) if value]
    if not values:
        return first.text
    return f"{first.text}, found {listed(values) if len(values) <= 3 else f'{len(values):,} others'}"
