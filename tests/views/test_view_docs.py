"""docs/explain.md, docs/report.md and docs/plan-format.md: what they show is what the program prints, and their tables are complete."""

from __future__ import annotations

import json
import re
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from packer import parse
from packer.explain import Outcome, explain
from packer.model import Plan, Policy, Problem, SkipReason, Status, Why
from packer.plan import digest, to_json
from packer.render import explanation_text
from packer.report.sections import ANCHORS
from packer.solve import solve
from tests.views.samples import rich_sample

DOCS = Path(__file__).parents[2] / "docs"
EXPLAIN, REPORT, FORMAT = ((DOCS / name).read_text(encoding="utf-8") for name in ("explain.md", "report.md", "plan-format.md"))


def blocks(text: str) -> list[str]:
    """Indented blocks, each as it would be in a file or on a screen."""
    return [dedent(block).strip() for block in re.findall(r"(?:^    .*\n|^\n(?=    ))+", text, re.MULTILINE) if block.strip()]


@pytest.fixture(scope="module")
def planned() -> tuple[Problem, Plan]:
    pods, catalog = blocks(EXPLAIN)[:2]
    raw = parse.read_objects([pods.encode()])
    offerings, notices = parse.read_catalog(catalog)
    problem = parse.build_problem(raw, offerings, Policy(), notices)
    return problem, solve(problem).plan


@pytest.mark.parametrize("pod", ["shop/web-0", "batch/huge", "ml/train"])
def test_explanations_in_the_manual_are_what_the_program_prints(planned: tuple[Problem, Plan], pod: str) -> None:
    """A manual that shows other numbers than the program teaches distrust."""
    assert explanation_text(explain(*planned, pod)) in blocks(EXPLAIN)


def test_json_in_the_manual_has_the_programs_keys(planned: tuple[Problem, Plan]) -> None:
    """People write programs against it."""
    from packer.explain import to_json as explanation_json

    shown = json.loads(next(block for block in blocks(EXPLAIN) if block.startswith("{")))
    found = explanation_json(explain(*planned, "batch/huge"))
    assert shown.keys() == found.keys()
    assert shown["nearest"][0] == found["nearest"][0]
    assert not [outcome for outcome in Outcome if f"`{outcome.value}`" not in EXPLAIN]


def test_every_reason_is_told() -> None:
    """A code that nobody can look up is noise."""
    assert not [code for code in Why if f"`{code.value}`" not in EXPLAIN or f"`{code.value}`" not in FORMAT]


def test_every_field_of_a_plan_is_told() -> None:
    """The format is a contract: what is printed is documented."""
    data = to_json(rich_sample().plan)
    fields = set(data) | {name for part in ("launches", "unplaced", "skipped", "warnings", "stages") for one in data[part] for name in one}
    assert not [name for name in fields if f"`{name}`" not in FORMAT and f'"{name}"' not in FORMAT]
    assert not [status for status in Status if f"`{status.value}`" not in FORMAT]
    assert not [reason for reason in SkipReason if reason is not SkipReason.RUNNING and f"`{reason.value}`" not in FORMAT]


def test_digest_can_be_computed_as_the_manual_says() -> None:
    """Others verify plans without this program."""
    recipe: dict[str, Any] = {}
    exec(next(block for block in blocks(FORMAT) if block.startswith("import hashlib")), recipe)
    plan = rich_sample().plan
    assert recipe["digest"](json.loads(json.dumps(to_json(plan)))) == digest(plan)


def test_every_section_of_the_report_is_told() -> None:
    """Names in the page's navigation lead to something that the manual explains."""
    assert not [name for _, name in ANCHORS if name.lower() not in REPORT.lower()]
