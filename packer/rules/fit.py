"""What a node has room for: resources, host ports, shares of devices.

Sources: kube-scheduler's NodeResourcesFit (fitsRequest: every shortage, not the first), NodePorts (HostPortInfo.CheckConflict) and
NodeVolumeLimits. Shares of devices are the packer's own rule (Problem.device_share); kube-scheduler would only sum them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from packer.model import ATTACHABLE_PREFIX, CPU, MEMORY, PODS, STORAGE, HostPort, Reason, Resources, Why

_CODES = {CPU: Why.INSUFFICIENT_CPU, MEMORY: Why.INSUFFICIENT_MEMORY, PODS: Why.INSUFFICIENT_PODS, STORAGE: Why.INSUFFICIENT_STORAGE}
ANY_ADDRESS = "0.0.0.0"


def fits(requests: Resources, free: Resources) -> tuple[Reason, ...]:
    """All shortages of a pod with ``requests`` (and one pod slot) on a node with ``free`` left, with requested and free amounts.

    A resource that the node does not list counts as 0, except attachable-volumes-*, which is unlimited then. A node that is over-committed
    in one resource refuses only pods that ask for it.
    """
    shortages = []
    if free.get(PODS, 0) < 1:
        shortages.append(shortage(PODS, 1, free.get(PODS, 0)))
    for name in requests:
        wanted = requests[name]
        if wanted > 0 and name != PODS and wanted > free.get(name, 0) and (name in free or not name.startswith(ATTACHABLE_PREFIX)):
            shortages.append(shortage(name, wanted, free.get(name, 0)))
    return tuple(shortages)


def shortage(resource: str, wanted: int, free: int) -> Reason:
    """``nvidia.com/gpu: requested 2, free 0`` in the model's units (cpu in millicores, memory and storage in bytes)."""
    code = _CODES.get(resource, Why.INSUFFICIENT_RESOURCE)
    return Reason(code, f"{resource}: requested {_amount(resource, wanted)}, free {_amount(resource, free)}")


def _amount(resource: str, value: int) -> str:
    return f"{value}m" if resource == CPU else str(value)


def ports_clash(first: HostPort, second: HostPort) -> bool:
    """Same protocol and port, and the same address or a wildcard on either side. Port 0 is no host port."""
    if first.port != second.port or first.port <= 0 or (first.protocol or "TCP") != (second.protocol or "TCP"):
        return False
    mine, other = first.ip or ANY_ADDRESS, second.ip or ANY_ADDRESS
    return mine == other or ANY_ADDRESS in (mine, other)


def port_reason(wanted: Iterable[HostPort], taken: Iterable[HostPort]) -> Reason | None:
    """The first of the wanted ports that is taken (NodePorts)."""
    occupied = tuple(taken)
    for port in wanted:
        if any(ports_clash(port, other) for other in occupied):
            return Reason(Why.HOST_PORT, f"host port {port.ip or ANY_ADDRESS}:{port.port}/{port.protocol or 'TCP'} is taken")
    return None


def devices_suffice(requests: Iterable[int], devices: int, size: int) -> bool:
    """Whether whole-device and shared requests can be put on ``devices`` devices of ``size`` each. Exact (bin packing with memory).

    A request up to ``size`` sits on one device; a larger one must be a multiple of ``size`` and takes whole devices.
    """
    shares = []
    for request in requests:
        if request <= size:
            shares.append(request)
        elif request % size:
            return False
        else:
            devices -= request // size
    shares = sorted((share for share in shares if share > 0), reverse=True)
    if devices < 0 or sum(shares) > devices * size:
        return False
    return _pack(shares, 0, (size,) * devices, set())


def _pack(shares: Sequence[int], index: int, room: tuple[int, ...], failed: set[tuple[int, tuple[int, ...]]]) -> bool:
    """Puts shares[index:] into devices with ``room``, the fullest that fits first; ``failed`` remembers dead ends, room being sorted."""
    if index == len(shares):
        return True
    if (index, room) in failed:
        return False
    share, tried = shares[index], -1
    for position, left in enumerate(room):
        if left < share or left == tried:
            continue
        tried = left
        rest = tuple(sorted((*room[:position], left - share, *room[position + 1 :])))
        if _pack(shares, index + 1, rest, failed):
            return True
        if left == share:
            break  # a perfect fit of the largest share that is left is never worse than another place
    failed.add((index, room))
    return False
