"""What docs/policies.md and docs/input.md show is read by the program as it stands there."""

from __future__ import annotations

import re
from pathlib import Path
from textwrap import dedent, indent

import pytest

from packer.model import Policy, SkipReason
from packer.parse import read_catalog
from packer.parse.contract import kept_annotations
from packer.parse.machines import INTERRUPTIONS_PPM
from packer.parse.objects import KINDS
from packer.policy import FRIENDLY, load_policy

DOCS = Path(__file__).parents[2] / "docs"
POLICIES, INPUT = ((DOCS / name).read_text(encoding="utf-8") for name in ("policies.md", "input.md"))


def examples(text: str) -> list[str]:
    """Indented blocks, each as it would be in a file."""
    return [dedent(block) for block in re.findall(r"(?:^    .*\n|^\n(?=    ))+", text, re.MULTILINE) if block.strip()]


@pytest.mark.parametrize("text", examples(POLICIES), ids=lambda text: text.split()[0])
def test_every_policy_shown_is_one(text: str) -> None:
    """Requirements are shown alone, so they are put in their place first."""
    if text.strip().startswith("requirements:"):
        text = "rules:\n- alternatives:\n  - " + indent(text.strip(), "    ").strip()
    assert load_policy(text) != Policy()


def test_every_short_name_is_told() -> None:
    """A key that nobody can find is not there."""
    assert not [name for name in FRIENDLY if f"`{name}`" not in POLICIES]


def test_the_catalog_shown_is_one() -> None:
    """With all its optional keys."""
    (text,) = [text for text in examples(INPUT) if "instance_type" in text]
    (found,), notices = read_catalog(text)
    assert (found.available_count, notices) == (5, ())


def test_the_tables_are_complete() -> None:
    """Kinds, reasons to skip, contract keys and interruption rates."""
    assert not [kind for kind in KINDS if kind not in INPUT]
    assert not [reason for reason in SkipReason if reason is not SkipReason.RUNNING and f"`{reason.value}`" not in INPUT]
    assert not [band for band, rate in INTERRUPTIONS_PPM.items() if f"| {band} | {rate} |" not in INPUT]
    keys = set(re.findall(r"bayplan\.io/[a-z-]+", INPUT)) - {"bayplan.io/placement", "bayplan.io/"}
    assert kept_annotations(dict.fromkeys(keys, "x")) == dict.fromkeys(keys, "x")
