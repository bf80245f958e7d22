"""Whatever a user gets wrong is one line that says the mend: never a traceback, never silence."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import click
import pytest

import packer.cli
from packer.commands import Entry


def one_line(text: str) -> bool:
    return text.count("\n") == 1 and text.endswith("\n") and "Traceback" not in text


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["slove"], 2, ["slove", "did you mean 'solve'"]),
        (["solve", "--bugdet", "3"], 2, ["--bugdet", "--budget"]),
        (["solve", "--budget", "many"], 2, ["--budget", "many"]),
        (["solve"], 2, ["no input", "-f FILE", "kubectl get"]),
        (["solve", "-f", "nowhere.yaml"], 2, ["nowhere.yaml", "does not exist"]),
        (["solve", "-f", "empty-folder"], 2, ["empty-folder", ".yaml"]),
        (["solve", "-f", "empty.yaml"], 2, ["empty.yaml", "empty"]),
        (["solve", "-f", "broken.json"], 2, ["broken.json", "line"]),
        (["solve", "-f", "broken.yaml"], 2, ["broken.yaml", "line"]),
        (["solve", "-f", "binary.yaml"], 2, ["binary.yaml"]),
        (["solve", "-f", "words.yaml"], 2, ["words.yaml", "object"]),
        (["solve", "-qf", "wrong.yaml"], 2, ["default/wrong", "cpu"]),
        (["solve", "-f", "-", "-f", "-"], 2, ["only once"]),
        (["solve", "-f", "-"], 2, ["standard input", "before the pipe"]),
        (["solve", "-f", "pod.yaml", "--policy", "nowhere.yaml"], 2, ["policy nowhere.yaml"]),
        (["solve", "-f", "pod.yaml", "--catalog", "nowhere.csv"], 2, ["catalog nowhere.csv"]),
        (["solve", "-f", "pod.yaml", "--catalog", "empty-folder"], 2, ["empty-folder", "folder"]),
        (["solve", "-f", "pod.yaml", "--region", "us-eats-1"], 2, ["us-eats-1", "us-east-1"]),
        (["solve", "-f", "pod.yaml", "--provider", "asw"], 2, ["asw", "aws"]),
        (["solve", "-f", "pod.yaml", "--budget", "-1"], 2, ["--budget", "at least 0"]),
        (["solve", "-qf", "pod.yaml", "--budget", "0", "--record", "no/folder/x"], 3, ["no/folder/x", "No such file"]),
        (["replay", "pod.yaml"], 2, ["pod.yaml", "--record"]),
        (["replay", "nowhere"], 2, ["nowhere", "does not exist"]),
        (["check", "pod.yaml", "-f", "pod.yaml"], 2, ["pod.yaml", "-o json"]),
        (["check", "list.json", "-f", "pod.yaml"], 2, ["list.json", "-o json"]),
        (["explain", "default/nobody", "-qf", "pod.yaml", "--budget", "0"], 2, ["default/nobody"]),
        (["compare", "pod.yaml"], 2, ["two plans", "-f FILE"]),
        (["completion", "tcsh"], 2, ["tcsh", "bash"]),
        (["config", "budgte"], 2, ["budgte", "did you mean 'budget'"]),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)  # fmt: skip
def test_wrong_use_is_one_line_that_says_the_mend(
    run: Callable[..., tuple[int, str, str]], tmp_path: Path, arguments: list[str], code: int, words: list[str]
) -> None:
    """Exit code 2 for what the user can mend on the command line or in the file, 3 for the machine."""
    (tmp_path / "empty-folder").mkdir()
    (tmp_path / "empty.yaml").write_text("  \n")
    (tmp_path / "broken.json").write_text('{"kind": "Pod", ')
    (tmp_path / "broken.yaml").write_text("kind: [Pod")
    (tmp_path / "binary.yaml").write_bytes(b"\xff\xfe\x00\xd8\x00")
    (tmp_path / "words.yaml").write_text("just words\n")
    (tmp_path / "list.json").write_text("[1]")
    pod = "{apiVersion: v1, kind: Pod, metadata: {name: NAME}, spec: {containers: [{name: a, resources: {requests: {cpu: CPU}}}]}}"
    (tmp_path / "pod.yaml").write_text(pod.replace("NAME", "a").replace("CPU", "1"))
    (tmp_path / "wrong.yaml").write_text(pod.replace("NAME", "wrong").replace("CPU", "1 core"))
    got, out, err = run(*arguments)
    assert (got, out) == (code, ""), err
    assert one_line(err), err
    assert [word for word in words if word not in err] == []


def test_an_unreadable_file_is_the_machines_fault(
    run: Callable[..., tuple[int, str, str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Root can read everything, so the refusal is made up."""
    (tmp_path / "pod.yaml").write_text("a")

    def refuse(self: Path) -> bytes:
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr(Path, "read_bytes", refuse)
    code, _, err = run("solve", "-f", "pod.yaml")
    assert code == 3
    assert one_line(err)
    assert "Permission denied" in err


@click.command()
def buggy() -> None:
    raise ZeroDivisionError("of course")


@click.command()
def hungry() -> None:
    raise MemoryError


@click.command()
def pressed() -> None:
    raise KeyboardInterrupt


@pytest.fixture
def _commands(monkeypatch: pytest.MonkeyPatch) -> None:
    for command in (buggy, hungry, pressed):
        monkeypatch.setitem(packer.cli.COMMANDS, str(command.name), Entry(f"{__name__}:{command.name}", "…"))
    monkeypatch.setitem(sys.modules, __name__, sys.modules[buggy.callback.__module__])


@pytest.mark.usefixtures("_commands")
def test_a_bug_says_how_to_report_it_and_shows_its_traceback_on_request_only(run: Callable[..., tuple[int, str, str]]) -> None:
    """A traceback frightens users, and developers need it."""
    code, _, err = run("buggy")
    assert code == 3
    assert one_line(err)
    assert [word for word in ("bug", "of course", "--debug", "report", "scrub") if word not in err] == []
    code, _, err = run("--debug", "buggy")
    assert code == 3
    assert "Traceback" in err


@pytest.mark.usefixtures("_commands")
def test_running_out_of_memory_says_what_to_try(run: Callable[..., tuple[int, str, str]]) -> None:
    """It is the likeliest failure on a laptop with a huge cluster's dump."""
    code, _, err = run("hungry")
    assert code == 3
    assert one_line(err)
    assert "--region" in err


@pytest.mark.usefixtures("_commands")
def test_ctrl_c_is_quiet(run: Callable[..., tuple[int, str, str]]) -> None:
    """130 is what shells expect of a program that was interrupted."""
    code, out, err = run("pressed")
    assert (code, out, err.strip()) == (130, "", "packer: interrupted")


def test_ctrl_c_while_reading_ends_at_once() -> None:
    """The signal itself, in a process that waits for input from a terminal."""
    terminal, end = pty.openpty()
    command = [sys.executable, "-m", "packer", "solve", "-f", "-"]
    process = subprocess.Popen(command, stdin=end, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    try:
        assert "Ctrl-D" in process.stderr.readline()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    finally:
        process.kill()
        os.close(terminal)
        os.close(end)
    assert (process.returncode, out) == (130, "")
    assert "Traceback" not in err


def test_a_reader_that_goes_away_is_no_error() -> None:
    """`packer … | head` must end quietly, even when more than a pipe's buffer is still to come."""
    code = "import sys, packer.cli, click\nclick.echo('x' * 300_000)\n"
    script = f"import packer.cli as c\nc.packer.main = lambda **k: exec({code!r})\nraise SystemExit(c.main([]))"
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environ)
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.read(10)
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait(30) == 141
