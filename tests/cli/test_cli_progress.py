"""Progress is for people at a terminal: rewritten in place there, absent everywhere else."""

from __future__ import annotations

import io
import re
from typing import Any

import pytest

from packer.cli.progress import Progress
from packer.model import Stage

STAGE = Stage("columns", 1_500_000, 4, 0.5, 1_200_000, 3)
COLOUR = re.compile(r"\x1b\[[0-9;]*m")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def shown(monkeypatch: pytest.MonkeyPatch, stream: io.StringIO, quiet: bool = False, **environ: str) -> str:
    for name in ("NO_COLOR", "TERM", "COLORTERM", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    for name, value in ({"TERM": "xterm-256color"} | environ).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("sys.stderr", stream)
    with Progress(quiet=quiet) as progress:
        progress.say("preparing")
        progress.on_stage(STAGE)
    return stream.getvalue()


def test_a_terminal_shows_cost_proof_and_who_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever waits wants to know whether it still gets better."""
    text = COLOUR.sub("", shown(monkeypatch, Terminal()))
    assert [word for word in ("columns", "$1.5000/h", "25", "3 pods") if word not in text] == []


@pytest.mark.parametrize(("stream", "settings"), [(io.StringIO(), {}), (Terminal(), {"quiet": True}), (Terminal(), {"TERM": "dumb"})])
def test_everywhere_else_there_is_silence(monkeypatch: pytest.MonkeyPatch, stream: io.StringIO, settings: dict[str, Any]) -> None:
    """Logs of a nightly job must not fill with spinners."""
    assert shown(monkeypatch, stream, **settings) == ""


def test_no_color_is_respected(monkeypatch: pytest.MonkeyPatch) -> None:
    """no-color.org: set and not empty means no colour."""
    assert COLOUR.search(shown(monkeypatch, Terminal(), NO_COLOR="1")) is None
    assert COLOUR.search(shown(monkeypatch, Terminal())) is not None
