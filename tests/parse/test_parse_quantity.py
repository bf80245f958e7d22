"""Quantities, money and durations: exact in both directions, and no more lenient than Kubernetes."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from packer.errors import QuantityError
from packer.quantity import (
    INT64_MAX,
    ceil_milli,
    ceil_units,
    floor_milli,
    floor_units,
    format_bytes,
    format_milli,
    format_usd,
    parse_duration,
    parse_manifest,
    parse_quantity,
    parse_usd,
)

SUFFIXES: dict[str, Fraction] = {
    "n": Fraction(1, 10**9),
    "u": Fraction(1, 10**6),
    "m": Fraction(1, 1000),
    **{name: Fraction(1000**power) for power, name in enumerate(["", "k", "M", "G", "T", "P", "E"])},
    **{name: Fraction(1024**power) for power, name in enumerate(["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"], 1)},
}


@given(st.integers(-(10**6), 10**6), st.integers(0, 999), st.sampled_from(sorted(SUFFIXES)))
def test_number_times_suffix(whole: int, thousandths: int, suffix: str) -> None:
    """Against plain fractions: finer than a nano is rounded away from zero, beyond int64 is capped."""
    sign = "-" if whole < 0 else ""
    text = f"{sign}{abs(whole)}.{thousandths:03}{suffix}"
    exact = (abs(whole) + Fraction(thousandths, 1000)) * SUFFIXES[suffix]
    exact = min(-(-exact * 10**9 // 1) / Fraction(10**9), Fraction(INT64_MAX))
    assert parse_quantity(text) == (-exact if sign else exact)


@given(st.integers(0, INT64_MAX))
@example(2**53 + 1)
def test_bytes_survive_a_round_trip(count: int) -> None:
    """2^53 + 1 is the first integer that a float loses."""
    assert ceil_units(format_bytes(count)) == floor_units(format_bytes(count)) == count


@given(st.integers(0, INT64_MAX // 1000))
def test_millicores_survive_a_round_trip(count: int) -> None:
    """What is printed can be read back."""
    assert ceil_milli(format_milli(count)) == floor_milli(format_milli(count)) == count


@given(st.floats(min_value=1e-9, max_value=1e15, allow_nan=False))
def test_numbers_of_yaml_count_as_their_shortest_decimal(number: float) -> None:
    """0.1 in a manifest is a tenth, not the binary float next to it."""
    exact = Fraction(Decimal(repr(number)))
    assert parse_quantity(number) == -(-exact * 10**9 // 1) / Fraction(10**9)


@given(st.text(max_size=12))
def test_any_text_is_a_quantity_or_a_quantity_error_that_holds_it(text: str) -> None:
    """Nothing else may escape from a dump of unknown making."""
    try:
        parse_quantity(text)
    except QuantityError as error:
        told = str(error)
    else:
        told = repr(text)
    assert repr(text) in told


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e100", INT64_MAX),
        ("-1e100", -INT64_MAX),
        ("9" * 5000, INT64_MAX),
        ("1e999999999999", INT64_MAX),
        ("1e-999999999999", Fraction(1, 10**9)),
        ("0." + "0" * 5000 + "1", Fraction(1, 10**9)),
        ("0e999999999999", 0),
        ("0" * 5000 + "7", 7),
        (10**5000, INT64_MAX),
        ("16Ei", INT64_MAX),
    ],
    ids=lambda value: str(value)[:12] if isinstance(value, str) else "",
)
def test_absurd_sizes_are_capped_and_cost_nothing(text: str | int, value: int) -> None:
    """Neither thousands of digits nor a huge exponent may take memory, time, or int()'s digit limit."""
    assert parse_quantity(text) == value


@pytest.mark.parametrize(
    "text", ["", "Gi", ".", "+", "1e", "1e3m", "1K", "1_000", "１０", "1٫5", "NaN", "inf", "0x10", "1Gi\n", "1 Gi", "²"]
)
def test_what_the_api_server_refuses_is_refused(text: str) -> None:
    """Python's own number parsers take many of these."""
    with pytest.raises(QuantityError):
        parse_quantity(text)


@pytest.mark.parametrize("value", [True, False, float("nan"), float("inf"), -float("inf")])
def test_values_that_are_no_numbers_are_refused(value: float) -> None:
    """YAML makes ``cpu: yes`` a boolean and ``.nan`` a float."""
    with pytest.raises(QuantityError):
        parse_manifest(value)


def test_rounding_is_up_for_requests_and_down_for_allocatable() -> None:
    """A plan may never promise more than there is."""
    assert (ceil_units("100m"), floor_units("100m")) == (1, 0)
    assert (ceil_milli("1u"), floor_milli("1u")) == (1, 0)
    assert (ceil_milli("1.0005"), floor_milli("1.0005")) == (1001, 1000)


def test_the_place_is_part_of_the_error() -> None:
    """A dump has a hundred thousand quantities."""
    with pytest.raises(QuantityError, match=r"spec\.cpu: '1K'"):
        parse_quantity("1K", where="spec.cpu")


@given(st.integers(0, INT64_MAX))
def test_money_survives_a_round_trip(micro: int) -> None:
    """Prices are integers of micro-dollars everywhere."""
    assert parse_usd(format_usd(micro)) == micro


@pytest.mark.parametrize(
    ("text", "micro"),
    [("0.0416", 41_600), ("$40", 40_000_000), (0.1, 100_000), ("0.0000005", 1), ("0.00000049", 0), ("1e-3", 1000), (3, 3_000_000)],
)
def test_money_is_exact_and_halves_round_up(text: str | float, micro: int) -> None:
    """A tenth of a dollar is 100,000 micro-dollars."""
    assert parse_usd(text) == micro


@pytest.mark.parametrize("text", ["", "n/a", "-1", "nan", "inf", "1e400", "$", "1,5", True, float("nan")])
def test_what_is_no_price_is_refused(text: str | float) -> None:
    """An unknown price is neither zero nor infinite."""
    with pytest.raises(QuantityError):
        parse_usd(text)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("5400", 5400), (5400, 5400), ("90m", 5400), ("1h30m", 5400), ("1.5h", 5400), ("2d", 172_800), ("1500ms", 2), ("0", 0)],
)
def test_durations_in_seconds_or_as_go_writes_them(text: str | int, seconds: int) -> None:
    """A label cannot hold a unit-less ambiguity: a plain number is seconds."""
    assert parse_duration(text) == seconds


@pytest.mark.parametrize("text", ["", "soon", "-5", "90 m", "1h-5m", "h", "1e3", True])
def test_what_is_no_duration_is_refused(text: str | bool) -> None:
    """A wrong duration would turn into a wrong price."""
    with pytest.raises(QuantityError):
        parse_duration(text)
