"""Build a Go program of ours once, into the user's cache, keyed on its sources and module sums."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

from packer.errors import EnvironmentProblem

PROGRESS_EVERY_S = 15.0


def binary(module: Path, name: str) -> Path:
    """The program of ``module``, built if it is not there yet. The first build compiles a few hundred packages and takes minutes.

    Errors: :class:`EnvironmentProblem` when Go is missing, too old, or the build fails (with its last lines).
    """
    target = cache_root() / f"{name}-{key(module)}" / name
    if target.exists():
        return target
    go = shutil.which("go")
    if go is None:
        raise EnvironmentProblem(
            f"building {name} needs Go ({_wanted(module)} or later) on the PATH; install it from go.dev or your packages"
        )
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name(f"{name}.{os.getpid()}")
    with _Progress(f"building {name} (the first time takes some minutes)"):
        # One package at a time keeps memory near 1 GB.
        command = [go, "build", "-p", "1", "-buildvcs=false", "-o", str(temporary), "."]
        done = subprocess.run(command, cwd=module, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        tail = "\n".join(done.stderr.strip().splitlines()[-12:])
        raise EnvironmentProblem(f"`go build` in {module} failed (it fetches modules through GOPROXY the first time):\n{tail}")
    temporary.replace(target)
    return target


def cache_root() -> Path:
    home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(home) / "bayplan" / "go"


def key(module: Path) -> str:
    """Changes with any source of the module and with the sums of what it builds on."""
    content = hashlib.sha256()
    for path in sorted([*module.glob("*.go"), module / "go.mod", module / "go.sum"]):
        content.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return content.hexdigest()[:16]


def _wanted(module: Path) -> str:
    return next((line.split()[1] for line in (module / "go.mod").read_text().splitlines() if line.startswith("go ")), "1.26")


class _Progress:
    """A line on stderr now, and one every quarter of a minute, so that a long build is not taken for a hang."""

    def __init__(self, what: str) -> None:
        self._what, self._done = what, threading.Event()
        self._thread = threading.Thread(target=self._tell, daemon=True)

    def __enter__(self) -> None:
        print(f"{self._what} …", file=sys.stderr, flush=True)
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _tell(self) -> None:
        started = time.monotonic()
        while not self._done.wait(PROGRESS_EVERY_S):
            print(f"{self._what}: {time.monotonic() - started:.0f} s", file=sys.stderr, flush=True)
