"""The program as its user meets it: run in this process where that is enough, as a process of its own where pipes and signals matter."""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from packer.cli import main


class Ran(NamedTuple):
    code: int
    out: str
    err: str


Run = Callable[..., Ran]


@pytest.fixture(autouse=True)
def _no_settings_of_the_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Settings files and variables of whoever runs the tests must not matter."""
    for variable in [name for name in os.environ if name.startswith("BAYPLAN_") and name != "BAYPLAN_TEST_ALL"]:
        monkeypatch.delenv(variable)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run the program in this process, with ``stdin`` as standard input."""

    def call(*arguments: str, stdin: str | bytes | None = None) -> Ran:
        data = stdin.encode() if isinstance(stdin, str) else stdin or b""
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))
        monkeypatch.setattr("sys.argv", ["packer", *arguments])
        capsys.readouterr()
        code = main(arguments)
        captured = capsys.readouterr()
        return Ran(code, captured.out, captured.err)

    return call
