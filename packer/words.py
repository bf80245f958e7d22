"""How numbers and counts read to people: amounts with their resource's unit, money, percentages, plurals.

Integer arithmetic only, so that the same plan reads the same everywhere.
"""

from __future__ import annotations

from collections.abc import Iterable

from packer.model import CPU, MEMORY, PODS, STORAGE, OfferingKey

HOURS_A_MONTH = 730
"""What the clouds' own price pages use for a month."""

_BINARY = (("Ti", 1 << 40), ("Gi", 1 << 30), ("Mi", 1 << 20), ("Ki", 1 << 10))
_SHORT_NAMES = {STORAGE: "storage", "nvidia.com/gpu": "gpu"}


def amount(resource: str, value: int) -> str:
    """``value`` of a resource as people read it: cpu "7910m" and "16.6" cores, memory "14.5Gi", devices and pods plain.

    Rounded down to a tenth, cores from ten on and bytes of the largest binary unit that fits.
    """
    if resource == CPU:
        if value % 1000 == 0:
            return f"{value // 1000:,}"
        return f"{value}m" if value < 10_000 else f"{value // 1000:,}.{value // 100 % 10}"
    if resource in (MEMORY, STORAGE) or resource.startswith("hugepages-"):
        return bytes_text(value)
    return f"{value:,}"


def bytes_text(value: int) -> str:
    """Bytes in the largest binary unit not above them, at most one decimal, never rounded up."""
    if value < 0:
        return "-" + bytes_text(-value)
    for suffix, size in _BINARY:
        if value >= size:
            whole, tenth = divmod(value * 10 // size, 10)
            return f"{whole}.{tenth}{suffix}" if tenth else f"{whole}{suffix}"
    return str(value)


def exact_amount(resource: str, value: int) -> str:
    """As ``amount``, but never rounded: for numbers that a person will copy into a manifest."""
    if resource in (MEMORY, STORAGE) or resource.startswith("hugepages-"):
        for suffix, size in _BINARY:
            if value >= size and value % size == 0:
                return f"{value // size}{suffix}"
        return str(value)
    if resource == CPU:
        return f"{value}m" if value % 1000 else str(value // 1000)
    return str(value)


def pair(resource: str, low: int, high: int) -> tuple[str, str]:
    """Two amounts of one resource in the same unit, precise enough to tell them apart: ("7910m", "9000m"), never ("9", "7910m")."""
    if resource == CPU and (low % 1000 or high % 1000):
        return f"{low}m", f"{high}m"
    texts = amount(resource, low), amount(resource, high)
    return texts if texts[0] != texts[1] or low == high else (exact_amount(resource, low), exact_amount(resource, high))


def exact_pair(resource: str, low: int, high: int) -> tuple[str, str]:
    """As ``pair``, but never rounded."""
    return pair(resource, low, high) if resource == CPU else (exact_amount(resource, low), exact_amount(resource, high))


def place_name(key: OfferingKey) -> str:
    """An offering as people say it: "m7.xlarge in z-a, spot"."""
    place = key.zone or key.region
    return f"{key.instance_type}{f' in {place}' if place else ''}{f', {key.capacity_type}' if key.capacity_type else ''}"


def short(resource: str) -> str:
    """A resource's name as a column heading."""
    return _SHORT_NAMES.get(resource, resource)


def money(micro: int) -> str:
    """Micro-dollars as dollars: four decimals below 100 dollars, else two, rounded half up; a thousands separator."""
    sign, micro = ("-", -micro) if micro < 0 else ("", micro)
    decimals = 4 if micro < 100_000_000 else 2
    scale = 10 ** (6 - decimals)
    whole, part = divmod((micro + scale // 2) // scale, 10**decimals)
    return f"{sign}${whole:,}.{part:0{decimals}d}"


def an_hour(micro: int) -> str:
    return f"{money(micro)}/h"


def bound_an_hour(objective: int, bound: int) -> str:
    """The bound like other amounts, but never rounded up to the objective: what is not proven is not printed as if it were."""
    text = an_hour(bound)
    return text if objective == bound or text != an_hour(objective) else f"${bound // 1_000_000}.{bound % 1_000_000:06d}/h"


def a_month(micro: int) -> str:
    """What an hourly price comes to in a month of 730 hours, in whole dollars (cents below ten)."""
    month = micro * HOURS_A_MONTH
    if abs(month) < 10_000_000:
        cents = (abs(month) + 5_000) // 10_000
        return f"{'-' if month < 0 else ''}${cents // 100}.{cents % 100:02d}/month"
    return f"{'-' if month < 0 else ''}${(abs(month) + 500_000) // 1_000_000:,}/month"


def added(micro: int) -> str:
    """A difference in money with its sign: "+$0.0200/h"."""
    return f"{'-' if micro < 0 else '+'}{an_hour(abs(micro))}"


def percent(part: int, whole: int) -> str:
    """``part`` of ``whole`` in whole percent, rounded down, so that 100 % always means full; "–" of nothing."""
    return f"{part * 100 // whole} %" if whole > 0 else "–"


def percent_up(part: int, whole: int) -> str:
    """A gap in percent, rounded up so that it never flatters: two decimals below 0.1 %, else one."""
    if whole <= 0:
        return "–"
    decimals = 2 if part * 1000 < whole else 1
    units = -(-part * 100 * 10**decimals // whole)
    return f"{units // 10**decimals}.{units % 10**decimals:0{decimals}d} %"


def count(number: int, noun: str, plural: str = "") -> str:
    """``number`` with its noun: "1 pod", "1,200 pods"."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def listed(items: Iterable[str], most: int = 5) -> str:
    """Items with commas, the rest as a count: "a, b and 3 more"."""
    known = list(items)
    if len(known) <= most:
        return ", ".join(known)
    return f"{', '.join(known[:most])} and {len(known) - most:,} more"


def gap_words(objective: int, bound: int) -> str:
    """How far a plan can be from the least possible cost, in plain words (both in micro-dollars an hour)."""
    if objective == bound:
        return "the least possible, proven"
    if bound <= 0:
        return "no useful lower bound was proven"
    return f"within {percent_up(objective - bound, bound)} of the least possible"


def resource_order(names: Iterable[str]) -> list[str]:
    """Resources in the order in which people look at them: cpu, memory, devices, storage, pod slots."""
    rank = {CPU: 0, MEMORY: 1, STORAGE: 3, PODS: 4}
    return sorted(set(names), key=lambda name: (rank.get(name, 2), name))
