"""The test run itself: what it leaves out it names, and in a full run nothing may be left out."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SUITE = """
import pytest

def test_plain(): pass

@pytest.mark.needs("go")
def test_go(): pass

@pytest.mark.needs("chromium", "slow")
def test_browser(): pass
"""


def run_suite(folder: Path, text: str, **environ: str) -> tuple[int, list[str]]:
    """Exit code and lines of a run of ``text`` under our conftest."""
    shutil.copy(ROOT / "conftest.py", folder)
    (folder / "pytest.ini").write_text("[pytest]\nmarkers = needs(*what): more\n")
    (folder / "test_it.py").write_text(text)
    clean = {name: value for name, value in os.environ.items() if name not in ("CI", "BAYPLAN_TEST_ALL")}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    run = subprocess.run(command, cwd=folder, env=clean | environ, capture_output=True, text=True, timeout=60)
    return run.returncode, (run.stdout + run.stderr).strip().splitlines()


def test_the_last_line_names_what_was_left_out_and_how_to_run_it(tmp_path: Path) -> None:
    """A skip that nobody notices is a test that nobody has."""
    code, lines = run_suite(tmp_path, SUITE)
    assert code == 0
    assert lines[-1] == (
        "1 passed, 2 skipped (1 needs headless Chromium and some minutes more; 1 needs the Go toolchain): make test-all runs them"
    )


@pytest.mark.parametrize("environ", [{"CI": "true"}, {"BAYPLAN_TEST_ALL": "1"}])
def test_a_full_run_runs_all(tmp_path: Path, environ: dict[str, str]) -> None:
    """CI sees every test or fails."""
    code, lines = run_suite(tmp_path, SUITE, **environ)
    assert (code, lines[-1]) == (0, "3 passed, 0 failed")


def test_a_skip_in_a_full_run_is_a_failure(tmp_path: Path) -> None:
    """A missing tool must be seen."""
    code, lines = run_suite(tmp_path, "import pytest\ndef test_it(): pytest.skip('no such tool here')\n", CI="true")
    assert (code, lines[-1]) == (1, "0 passed, 1 failed")
    assert any("no such tool here" in line for line in lines)


def test_an_unknown_need_is_an_error(tmp_path: Path) -> None:
    """A slip of the pen would leave a test out for ever."""
    code, lines = run_suite(tmp_path, "import pytest\n@pytest.mark.needs('gogo')\ndef test_it(): pass\n")
    assert code != 0
    assert any("gogo" in line for line in lines)
