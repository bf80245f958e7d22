"""What a pod takes of its node: k8s.io/component-helpers/resource PodRequests, as kube-scheduler calls it, and host ports.

Sums are exact; only the total of a pod is rounded, up (Quantity.MilliValue for cpu, Quantity.Value for the rest).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction

from packer.model import CPU, MEMORY, HostPort
from packer.parse.schema import Container, ContainerStatus, PodSpecPart, PodStatus, Quantities, ResourceRequirements
from packer.quantity import parse_manifest, saturate

Amounts = dict[str, Fraction]


def effective_requests(spec: PodSpecPart, resize: PodStatus | None = None) -> tuple[dict[str, int], str]:
    """Integer requests without zeros, and what the API server would refuse about them ("" if nothing).

    Raises QuantityError, which names the path inside the pod.
    """
    total = _aggregate(spec, resize)
    total.update(_pod_level(spec, resize, total))
    _add(total, _amounts(spec.overhead, "spec.overhead"))
    problem = next(filter(None, (_refused(name, amount) for name, amount in sorted(total.items()))), "")
    rounded = {name: _rounded_up(name, amount) for name, amount in sorted(total.items())}
    return {name: amount for name, amount in rounded.items() if amount > 0}, problem


def host_ports(spec: PodSpecPart) -> tuple[HostPort, ...]:
    """Ports on the host, of containers and of sidecars (kube-scheduler, util.GetHostPorts); a pod on the host's network has all its
    ports there (API defaulting).
    """
    holders = [*(spec.containers or ()), *(one for one in spec.init_containers or () if _is_sidecar(one))]
    found = set()
    for port in (port for holder in holders for port in holder.ports or ()):
        number = port.host_port or (port.container_port if spec.host_network else 0)
        if number and number > 0:
            found.add(HostPort(port.host_ip or "0.0.0.0", port.protocol or "TCP", number))
    return tuple(sorted(found))


def is_extended(name: str) -> bool:
    """v1helper.IsExtendedResourceName: a qualified name outside kubernetes.io. Such resources come in whole numbers only."""
    return "/" in name and "kubernetes.io/" not in name and not name.startswith("requests.")


def _aggregate(spec: PodSpecPart, resize: PodStatus | None) -> Amounts:
    """AggregateContainerRequests (KEP-753): containers and sidecars run together; an init container runs beside the sidecars
    that were started before it.
    """
    statuses = _statuses(resize)
    infeasible = resize is not None and _infeasible(resize)
    total: Amounts = {}
    sidecars: Amounts = {}
    at_start: Amounts = {}
    for index, container in enumerate(spec.containers or ()):
        _add(total, _container(container, f"spec.containers[{index}]", statuses, infeasible))
    for index, container in enumerate(spec.init_containers or ()):
        running = statuses if _is_sidecar(container) else {}  # only what runs on can be resized
        own = _container(container, f"spec.initContainers[{index}]", running, infeasible)
        if _is_sidecar(container):
            _add(total, own)
            _add(sidecars, own)
            _raise_to(at_start, sidecars)
        else:
            _add(own, sidecars)
            _raise_to(at_start, own)
    _raise_to(total, at_start)
    return total


def _container(container: Container, where: str, statuses: Mapping[str, ContainerStatus], infeasible: bool) -> Amounts:
    """Requests with limits as their defaults; under in-place resize the greatest of what is wished, actual and allocated
    (determineContainerReqs), without the wish when it was found infeasible.
    """
    wished = _requirements(container.resources, where)
    status = statuses.get(container.name or "")
    if status is None or status.resources is None:
        return wished
    actual = _amounts(status.resources.requests, f"status of {container.name}: resources.requests")
    _raise_to(actual, _amounts(status.allocated_resources, f"status of {container.name}: allocatedResources"))
    if not infeasible:
        _raise_to(actual, wished)
    return actual


def _requirements(resources: ResourceRequirements | None, where: str) -> Amounts:
    if resources is None:
        return {}
    amounts = _amounts(resources.limits, f"{where}.resources.limits") if resources.limits else {}
    amounts.update(_amounts(resources.requests, f"{where}.resources.requests"))
    return amounts


def _pod_level(spec: PodSpecPart, resize: PodStatus | None, aggregate: Amounts) -> Amounts:
    """Pod-level requests replace the containers' sum (KEP-2837). Defaults: with limits set, the containers' own sum for cpu and
    memory, else the limit.
    """
    if spec.resources is None:
        return {}
    found = _amounts(spec.resources.requests, "spec.resources.requests")
    limits = _amounts(spec.resources.limits, "spec.resources.limits")
    if limits:
        for name in (CPU, MEMORY):
            if name in aggregate:
                found.setdefault(name, aggregate[name])
        for name, amount in limits.items():
            found.setdefault(name, amount)
    found = {name: amount for name, amount in found.items() if name in (CPU, MEMORY) or name.startswith("hugepages-")}
    if resize is None or resize.resources is None:
        return found
    actual = _amounts(resize.resources.requests, "status.resources.requests")
    _raise_to(actual, _amounts(resize.allocated_resources, "status.allocatedResources"))
    if not _infeasible(resize):
        _raise_to(actual, found)
    return {name: actual.get(name, Fraction(0)) for name in found}


def _statuses(resize: PodStatus | None) -> dict[str, ContainerStatus]:
    if resize is None:
        return {}
    return {status.name: status for status in (*(resize.container_statuses or ()), *(resize.init_container_statuses or ()))}


def _infeasible(status: PodStatus) -> bool:
    pending = next((item for item in status.conditions or () if item.type == "PodResizePending"), None)
    return pending.reason == "Infeasible" if pending else status.resize == "Infeasible"


def _is_sidecar(container: Container) -> bool:
    return container.restart_policy == "Always"


def _amounts(quantities: Quantities | None, where: str) -> Amounts:
    return {name: parse_manifest(text, where=f"{where}.{name}") for name, text in (quantities or {}).items()}


def _add(total: Amounts, more: Mapping[str, Fraction]) -> None:
    for name, amount in more.items():
        total[name] = total.get(name, Fraction(0)) + amount


def _raise_to(total: Amounts, floor: Mapping[str, Fraction]) -> None:
    for name, amount in floor.items():
        if amount > total.get(name, Fraction(0)) or name not in total:
            total[name] = amount


def _refused(name: str, amount: Fraction) -> str:
    if amount < 0:
        return f"{name}: a request must not be negative, got {float(amount):g}"
    if is_extended(name) and amount.denominator != 1:
        return f"{name}: an extended resource must be a whole number, got {float(amount):g}"
    return ""


def _rounded_up(name: str, amount: Fraction) -> int:
    return saturate(-(-amount * (1000 if name == CPU else 1) // 1))


def sum_requests(parts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """The sum of integer requests."""
    total: dict[str, int] = {}
    for part in parts:
        for name, amount in part.items():
            total[name] = total.get(name, 0) + amount
    return total
