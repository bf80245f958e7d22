"""How numbers read: exact where a person copies them, rounded only in the direction that does not flatter."""

from __future__ import annotations

import pytest

from packer.model import OfferingKey
from packer.words import (
    a_month,
    added,
    amount,
    an_hour,
    count,
    exact_amount,
    gap_words,
    listed,
    money,
    pair,
    percent,
    percent_up,
    place_name,
    resource_order,
)

GI = 1 << 30


@pytest.mark.parametrize(
    ("resource", "value", "text"),
    [
        ("cpu", 7910, "7910m"),
        ("cpu", 2000, "2"),
        ("cpu", 16_650, "16.6"),
        ("cpu", 1_234_567_000, "1,234,567"),
        ("memory", 3 * GI // 2, "1.5Gi"),
        ("memory", 2 * GI - 1, "1.9Gi"),
        ("memory", 512, "512"),
        ("hugepages-2Mi", 4 << 20, "4Mi"),
        ("nvidia.com/gpu", 8, "8"),
        ("pods", 100_000, "100,000"),
    ],
)
def test_amounts_read_as_people_say_them(resource: str, value: int, text: str) -> None:
    # Rounded down: a node must never look roomier than it is.
    assert amount(resource, value) == text


def test_amounts_to_copy_are_exact() -> None:
    # A person will put these into a manifest.
    assert exact_amount("memory", 3 * GI // 2) == "1536Mi"
    assert exact_amount("memory", GI + 1) == "1073741825"
    assert exact_amount("cpu", 16_650) == "16650m"
    assert exact_amount("pods", 100_000) == "100000"


def test_two_amounts_share_a_unit_and_differ() -> None:
    # "cpu 7910m of 9" and "6Gi of 6Gi" both puzzle the reader.
    assert pair("cpu", 7910, 9000) == ("7910m", "9000m")
    assert pair("cpu", 2000, 9000) == ("2", "9")
    assert pair("memory", 6 * GI - (1 << 20), 6 * GI) == ("5.9Gi", "6Gi")
    assert pair("memory", 6 * GI, 6 * GI + 1) == ("6Gi", "6442450945")


def test_money_keeps_small_prices_apart_and_rounds_half_up() -> None:
    assert money(201_650) == "$0.2017"
    assert money(1_234_567_890) == "$1,234.57"
    assert money(-50) == "-$0.0001"
    assert an_hour(0) == "$0.0000/h"
    assert added(-40_320) == "-$0.0403/h"
    assert added(40_320) == "+$0.0403/h"


def test_a_month_has_730_hours() -> None:
    assert a_month(1_611_200) == "$1,176/month"
    assert a_month(10_000) == "$7.30/month"


def test_percentages_never_flatter() -> None:
    # Full means full; a gap that is shown as 0.4 % is at most that.
    assert percent(999, 1000) == "99 %"
    assert percent(1, 0) == "–"
    assert percent_up(4001, 1_000_000) == "0.5 %"
    assert percent_up(1, 1_000_000) == "0.01 %"
    assert gap_words(1_004_000, 1_000_000) == "within 0.4 % of the least possible"
    assert gap_words(5, 5) == "the least possible, proven"
    assert gap_words(5, 0) == "no useful lower bound was proven"


def test_counts_and_lists_read_as_sentences() -> None:
    assert count(1, "pod") == "1 pod"
    assert count(1200, "pod") == "1,200 pods"
    assert listed("abc", 3) == "a, b, c"
    assert listed("abcdef", 2) == "a, b and 4 more"
    assert resource_order(["pods", "x.io/y", "memory", "ephemeral-storage", "cpu"]) == [
        "cpu",
        "memory",
        "x.io/y",
        "ephemeral-storage",
        "pods",
    ]
    assert place_name(OfferingKey("aws", "us-east-1", "", "m7i.large", "spot")) == "m7i.large in us-east-1, spot"
