"""The set-up behind every make target: quick when nothing changed, and clear when it cannot work."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TOOLS = ("sh", "cat", "dirname", "cksum", "tr", "rm", "touch")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """What the set-up looks at, and a PATH with the least of tools."""
    (tmp_path / ".ci").mkdir()
    for name in (".ci/venv.sh", "pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, tmp_path / name)
    (tmp_path / "bin").mkdir()
    for tool in TOOLS:
        found = shutil.which(tool)
        assert found is not None
        (tmp_path / "bin" / tool).symlink_to(found)
    return tmp_path


def script(path: Path, body: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)


def set_up(checkout: Path, extras: str = "") -> subprocess.CompletedProcess[str]:
    command = [str(checkout / "bin" / "sh"), ".ci/venv.sh", extras]
    return subprocess.run(
        command, cwd=checkout, env={"PATH": str(checkout / "bin")}, capture_output=True, text=True, timeout=30, check=False
    )


def test_a_python_that_is_too_old_is_named_with_the_mend(checkout: Path) -> None:
    """Enterprise machines come with Python 3.9; a syntax error from pip would be the other answer."""
    script(checkout / "bin" / "python3", '[ "$1" = --version ] && echo "Python 3.9.2" && exit 0\nexit 1')
    run = set_up(checkout)
    assert run.returncode == 1
    assert [word for word in ("3.11", "Python 3.9.2", "PYTHON=") if word not in run.stderr] == []


def test_a_python_without_venv_is_named_with_the_mend(checkout: Path) -> None:
    """Debian packs venv apart."""
    script(checkout / "bin" / "python3", 'case "$*" in *venv*) echo "ensurepip is not available" >&2; exit 1;; esac')
    run = set_up(checkout)
    assert run.returncode == 1
    assert "apt-get install python3-venv" in run.stderr
    assert not (checkout / ".venv").exists()


def test_an_index_that_cannot_be_reached_is_named(checkout: Path) -> None:
    """The first run needs a network, and must say so; the next run tries again."""
    script(checkout / "bin" / "python3", 'case "$*" in *venv*) mkdir -p .venv/bin && cp "$0" .venv/bin/python;; *pip*) exit 1;; esac')
    for tool in ("mkdir", "cp"):
        (checkout / "bin" / tool).symlink_to(str(shutil.which(tool)))
    for _ in range(2):
        run = set_up(checkout)
        assert run.returncode == 1
        assert "package index must be reachable" in run.stderr


def test_nothing_happens_when_nothing_changed(checkout: Path) -> None:
    """Every make target runs it: it has to be free, and to work offline."""
    script(checkout / "bin" / "python3", "exit 0")
    script(checkout / ".venv" / "bin" / "python", 'echo "$*" >> .venv/log')
    script(checkout / ".venv" / "bin" / "packer", "exit 0")
    assert set_up(checkout, "test").returncode == 0
    log = (checkout / ".venv" / "log").read_text()
    assert ".[test]" in log
    assert (set_up(checkout, "test").stderr, set_up(checkout).stderr) == ("", "")
    assert (checkout / ".venv" / "log").read_text() == log
    (checkout / "constraints.txt").write_text("numpy==0\n")
    assert "installing" in set_up(checkout, "test").stderr
