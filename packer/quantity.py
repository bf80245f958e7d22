"""Kubernetes quantities, money and durations: text to exact numbers and back.

The grammar is apimachinery's resource.ParseQuantity: a signed decimal number, then one suffix out of ``n u m "" k M G T P E``,
``Ki Mi Gi Ti Pi Ei``, or ``e``/``E`` with a signed integer (a bare ``E`` is exa). Values finer than a nano are rounded away
from zero and values beyond ±(2^63 - 1) are capped, as its documentation promises. No binary float takes part.
"""

from __future__ import annotations

import re
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Final

from packer.errors import QuantityError

INT64_MAX: Final = 2**63 - 1
MEBI: Final = 1 << 20
MICRO: Final = 1_000_000

Text = str | int | float

_QUANTITY = re.compile(r"([+-]?)([0-9]*)(?:\.([0-9]*))?(?:([numkMGTPE]|[KMGTPE]i)|[eE]([+-]?[0-9]+))?")
_DECIMAL_EXPONENT = {"n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY_EXPONENT = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_NANO = Fraction(1, 10**9)
_FAR = 60
"""Digits and exponents past this many cannot change the outcome: the value is capped, or is less than a nano."""

_USD = re.compile(r"\$?([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?)")
_DURATION = re.compile(r"([0-9]+\.?[0-9]*|\.[0-9]+)(ms|s|m|h|d)")
_SECONDS = {"ms": Fraction(1, 1000), "s": Fraction(1), "m": Fraction(60), "h": Fraction(3600), "d": Fraction(86400)}
_PLAIN_SECONDS = re.compile(r"[0-9]+(?:\.[0-9]+)?")
_SCALES = (("Ei", 1 << 60), ("Pi", 1 << 50), ("Ti", 1 << 40), ("Gi", 1 << 30), ("Mi", 1 << 20), ("Ki", 1 << 10))


def parse_quantity(text: Text, *, where: str = "") -> Fraction:
    """The exact value of a quantity. Numbers, as YAML and JSON may write them, count as their shortest decimal form.

    Raises QuantityError, which holds the offending text and ``where``, for everything the API server refuses, NaN and ``""`` too.
    """
    value = _value(text if isinstance(text, str) else _number_text(text))
    if value is None:
        raise QuantityError(
            f"{text!r} is not a quantity",
            where=where,
            mend="write a number with at most one suffix, such as 500m, 2, 1.5Gi, 128M or 1e3",
        )
    return value


def parse_manifest(text: Text, *, where: str = "") -> Fraction:
    """As parse_quantity, but blanks around the text are dropped, as decoding a manifest does."""
    return parse_quantity(text.strip(" \t\r\n") if isinstance(text, str) else text, where=where)


def ceil_units(text: Text, *, where: str = "") -> int:
    """Whole units, rounded up and held within int64 (Quantity.Value): bytes, devices, pods of a request."""
    return saturate(-(-parse_manifest(text, where=where) // 1))


def ceil_milli(text: Text, *, where: str = "") -> int:
    """Thousandths, rounded up and held within int64 (Quantity.MilliValue): millicores of a request."""
    return saturate(-(-parse_manifest(text, where=where) * 1000 // 1))


def floor_units(text: Text, *, where: str = "") -> int:
    """Whole units, rounded down: what a node can surely give."""
    return saturate(parse_manifest(text, where=where) // 1)


def floor_milli(text: Text, *, where: str = "") -> int:
    """Thousandths, rounded down: millicores that a node can surely give."""
    return saturate(parse_manifest(text, where=where) * 1000 // 1)


def saturate(value: int) -> int:
    """The nearest int64 with a mirror image."""
    return max(-INT64_MAX, min(INT64_MAX, int(value)))


def format_bytes(count: int) -> str:
    """Bytes with the largest binary suffix that leaves a whole number: 1610612736 is ``1536Mi``."""
    for suffix, scale in _SCALES:
        if count and count % scale == 0:
            return f"{count // scale}{suffix}"
    return str(count)


def format_milli(count: int) -> str:
    """Millicores as Kubernetes prints them: 1500 is ``1500m``, 2000 is ``2``."""
    return str(count // 1000) if count % 1000 == 0 else f"{count}m"


def parse_usd(text: Text | Decimal, *, where: str = "") -> int:
    """Dollars to micro-dollars, half rounded up, exactly. A leading ``$`` is allowed.

    Raises QuantityError for text, NaN, infinities, negative amounts and amounts beyond int64.
    """
    match = _USD.fullmatch(str(text).strip(" ")) if not isinstance(text, bool) else None
    micro = int((Decimal(match[1]) * MICRO).to_integral_value(ROUND_HALF_UP)) if match else -1
    if not match or match[1].startswith("-") or micro > INT64_MAX:
        raise QuantityError(f"{text!r} is not an amount of dollars", where=where, mend="write a number ≥ 0 such as 0.0416 or $40")
    return micro


def format_usd(micro: int) -> str:
    """Micro-dollars as dollars with six decimals: 300000 is ``0.300000``."""
    sign, micro = ("-", -micro) if micro < 0 else ("", micro)
    return f"{sign}{micro // MICRO}.{micro % MICRO:06d}"


def parse_duration(text: Text, *, where: str = "") -> int:
    """Whole seconds, rounded up, from a number of seconds or Go's form: ``5400``, ``90m``, ``1h30m``, ``2d``. Raises QuantityError."""
    plain = str(text).strip(" ") if not isinstance(text, bool) else ""
    if _PLAIN_SECONDS.fullmatch(plain):
        total = Fraction(plain[:400])
    elif plain and not _DURATION.sub("", plain):
        total = sum((Fraction(amount) * _SECONDS[unit] for amount, unit in _DURATION.findall(plain[:400])), Fraction(0))
    else:
        raise QuantityError(f"{text!r} is not a duration", where=where, mend="write seconds or a form such as 90m, 2h or 1h30m")
    return saturate(-(-total // 1))


def _number_text(number: float) -> str:
    if isinstance(number, bool):
        return "true" if number else "false"
    if isinstance(number, int) and abs(number) > INT64_MAX:  # str() refuses integers of thousands of digits
        return f"{'-' if number < 0 else ''}{INT64_MAX}"
    return repr(number)


@lru_cache(maxsize=16_384)
def _value(text: str) -> Fraction | None:
    match = _QUANTITY.fullmatch(text)
    if match is None or not (match[2] or match[3]):
        return None
    sign, whole, fraction, suffix, exponent_text = match[1], match[2].lstrip("0"), match[3] or "", match[4] or "", match[5] or "0"
    binary = _BINARY_EXPONENT.get(suffix, 0)
    exponent = _bounded(exponent_text) + _DECIMAL_EXPONENT.get(suffix, 0)
    if not (whole or fraction.strip("0")):
        return Fraction(0)
    magnitude = _magnitude(whole, fraction, exponent) * (1 << binary)
    magnitude = min(-(-magnitude // _NANO) * _NANO, Fraction(INT64_MAX))
    return -magnitude if sign == "-" else magnitude


def _bounded(exponent: str) -> int:
    digits = exponent.lstrip("+-").lstrip("0")
    value = int(digits or "0") if len(digits) < 9 else 10**9
    return -value if exponent.startswith("-") else value


def _magnitude(whole: str, fraction: str, exponent: int) -> Fraction:
    """digits × 10^exponent without ever building a number of thousands of digits."""
    digits = (whole + fraction).lstrip("0")
    top = len(digits) - len(fraction) + exponent  # 10^(top-1) ≤ value < 10^top
    if top > _FAR:
        return Fraction(INT64_MAX)
    if top < -_FAR:
        return Fraction(1, 10**_FAR)
    kept = digits[: 2 * _FAR]
    sticky = 1 if digits[2 * _FAR :].strip("0") else 0
    return (int(kept) + sticky) * Fraction(10) ** (top - len(kept))
