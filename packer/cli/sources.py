"""Where input comes from: files, folders and standard input, as named bytes. What cannot be read is one line with the mend."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from packer.cli.output import say
from packer.errors import EnvironmentProblem, InputError, UsageError
from packer.parse.objects import Source

STDIN = "-"
SUFFIXES = (".yaml", ".yml", ".json")


def read_sources(files: Iterable[str]) -> Iterator[Source]:
    """All that ``-f`` names, in order and one at a time; of a folder its YAML and JSON files by name.

    Raises UsageError, InputError, EnvironmentProblem.
    """
    names = list(files)
    if not names:
        raise UsageError("no input; give -f FILE, or -f - to read standard input: kubectl get pods,nodes -A -o json | packer … -f -")
    if names.count(STDIN) > 1:
        raise UsageError("standard input can be read once; give -f - only once")
    for name in names:
        yield from _read(name)


def read_file(name: str, what: str) -> bytes:
    """The bytes of one file that is ``what`` (a word for errors), or of standard input."""
    if name == STDIN:
        return _stdin().data
    path = Path(name)
    if not path.exists():
        raise UsageError(f"{what} {name} does not exist; check the path")
    if path.is_dir():
        raise UsageError(f"{what} {name} is a folder; name a file in it")
    return _bytes(path)


def _read(name: str) -> Iterator[Source]:
    if name == STDIN:
        yield _filled(_stdin())
        return
    path = Path(name)
    if not path.is_dir():
        yield _filled(Source(name, read_file(name, "input")))
        return
    inside = sorted(file for file in path.iterdir() if file.suffix in SUFFIXES and file.is_file())
    if not inside:
        raise UsageError(f"folder {name} holds no {', '.join(SUFFIXES)} file; name the files, or another folder")
    for file in inside:
        yield Source(str(file), _bytes(file))


def _stdin() -> Source:
    if sys.stdin is None or sys.stdin.closed:
        raise UsageError("standard input is closed; pipe something in or name a file")
    if sys.stdin.isatty():
        say("reading from the terminal; end with Ctrl-D")
    return Source("standard input", sys.stdin.buffer.read())


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise EnvironmentProblem(f"{path}: {error.strerror}; check that it can be read") from error


def _filled(source: Source) -> Source:
    if not source.data.strip():
        mend = "did the command before the pipe fail?" if source.name == "standard input" else "is this the right file?"
        raise InputError("empty", where=source.name, mend=mend)
    return source
