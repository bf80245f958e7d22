"""Examples and documentation do what they say: every `packer …` line of README and docs/install.md is run."""

from __future__ import annotations

import importlib.util
import json
import re
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from packer.model import Policy
from packer.policy import load_policy

ROOT = Path(__file__).parents[2]
Run = Callable[..., Any]
ANSWERS = {0, 1}
"""Exit codes that answer the question; more is a failure."""


@pytest.fixture
def _checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The examples, a user's dump and the least budget, in a folder of its own."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    shutil.copy(ROOT / "examples" / "cluster.json", tmp_path / "cluster.json")
    monkeypatch.setenv("BAYPLAN_BUDGET", "0")


def commands(page: str) -> list[str]:
    """Indented lines that run the program, without what comes before a pipe or after a comment."""
    lines = (ROOT / page).read_text(encoding="utf-8").splitlines()
    found = [match[1] for line in lines if line.startswith("    ") and (match := re.search(r"(?:^|[|/ ])packer ([a-z].*)", line))]
    return [re.sub(r"\s{2,}.*| #.*", "", command) for command in found]


@pytest.mark.usefixtures("_checkout")
@pytest.mark.parametrize("command", sorted({*commands("README.md"), *commands("docs/install.md")}))
def test_what_the_documentation_says_to_type_works(run: Run, tmp_path: Path, command: str) -> None:
    """A first command that fails is the last one that a newcomer types."""
    line, _, target = command.partition(" > ")
    stdin = (tmp_path / "cluster.json").read_bytes() if "-f -" in line else None
    code, out, err = run(*shlex.split(line), stdin=stdin)
    assert code in ANSWERS, err
    assert out
    if target.endswith(".html"):
        assert out.lower().startswith("<!doctype html>")


def test_the_documentation_has_commands_to_run() -> None:
    """A change of its form must not empty the test above."""
    assert len(commands("README.md")) >= 6


def test_the_example_cluster_is_what_its_script_writes() -> None:
    """Nobody should edit 280 kB of JSON by hand."""
    spec = importlib.util.spec_from_file_location("make_cluster", ROOT / "examples" / "make_cluster.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    import sys

    sys.modules["make_cluster"] = module
    spec.loader.exec_module(module)
    assert module.text(module.cluster()) == (ROOT / "examples" / "cluster.json").read_text(encoding="utf-8")


def test_the_example_policy_has_no_slip() -> None:
    """It is what people copy."""
    policy = load_policy((ROOT / "examples" / "policy.yaml").read_text(encoding="utf-8"))
    assert isinstance(policy, Policy)
    assert len(policy.rules) == 2


@pytest.mark.usefixtures("_checkout")
def test_the_example_cluster_shows_what_the_program_can_do(run: Run) -> None:
    """New machines, free room, a gang on GPUs, one pod without a place, one gated, and a repack that pays."""
    plan = json.loads(run("solve", "-f", "cluster.json", "-o", "json").out)
    gang = [name for launch in plan["launches"] for name in launch["pods"] if name.startswith("ml/resnet-")]
    assert len(gang) == 4
    assert plan["placements"]
    assert [item["pod"] for item in plan["unplaced"]] == ["reports/quarterly-export-0-rkb9x"]
    assert [item["reason"] for item in plan["skipped"]] == ["Gated"]
    saved = json.loads(run("compare", "-f", "cluster.json", "-o", "json").out)
    assert saved["worthwhile"] is True
    assert saved["kept"] == []
