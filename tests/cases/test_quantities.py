"""Kubernetes' quantity grammar, row by row."""

from __future__ import annotations

from fractions import Fraction

import pytest
import yaml

from packer.errors import QuantityError
from packer.quantity import ceil_milli, ceil_units, parse_quantity
from tests.cases.support import HERE

TABLE = yaml.safe_load((HERE / "quantities.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("row", TABLE["read"], ids=lambda row: row[0])
def test_the_value_is_exact_and_rounds_up(row: list[object]) -> None:
    """A decimal, never a float; the integers are what the scheduler compares."""
    text, exact, units, *milli = row
    assert isinstance(text, str)
    assert isinstance(exact, str)
    assert parse_quantity(text) == Fraction(exact)
    assert ceil_units(text) == units
    assert [ceil_milli(text)] == (milli or [min(1000 * int(Fraction(exact)), 2**63 - 1)])


@pytest.mark.parametrize("row", TABLE["read_from_a_manifest"], ids=lambda row: str(row[0]))
def test_a_manifest_may_hold_blanks_and_numbers(row: list[object]) -> None:
    """Decoding a manifest trims blanks; YAML writes whole and decimal numbers without quotes."""
    text, exact, units, *milli = row
    assert isinstance(text, str | int | float)
    assert isinstance(exact, str)
    assert ceil_units(text) == units
    assert [ceil_milli(text)] == (milli or [1000 * int(exact)])


@pytest.mark.parametrize("text", TABLE["refused"])
def test_garbage_is_refused_by_name(text: str) -> None:
    """The error holds the offending text, so that it can be found in a dump."""
    with pytest.raises(QuantityError) as error:
        parse_quantity(str(text))
    assert str(text) in str(error.value)


@pytest.mark.parametrize("text", TABLE["either"])
def test_a_suffix_alone_is_nothing_or_an_error(text: str) -> None:
    """The API server takes it as 0; the grammar wants digits."""
    try:
        assert parse_quantity(text) == 0
    except QuantityError as error:
        assert text in str(error)  # noqa: PT017
