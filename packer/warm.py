"""``python -m packer.warm``: compile the kernels into the cache ahead of time, the two large families at once.

A first solve would compile them one after the other, a minute or more. The command line does this by itself; images do it when they are
built.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable

from packer.kernel_cache import warm_mark

FAMILIES = ("search", "bounds")


def ensure(say: Callable[[str], None]) -> None:
    """Compile unless that was done, or one processor is all there is. A failure is no harm: the solve compiles what it lacks."""
    mark = warm_mark()
    if mark.exists() or _processors() < 2 or os.environ.get("NUMBA_DISABLE_JIT") == "1":
        return
    say("compiling the numerical kernels, once; this takes about a minute")
    command = [sys.executable, "-m", "packer.warm_kernels"]
    children = [
        subprocess.Popen([*command, family], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for family in FAMILIES
    ]
    try:
        for child in children:
            child.wait()
    except BaseException:  # Ctrl-C above all: the children must not go on alone
        for child in children:
            child.kill()
        raise
    mark.parent.mkdir(parents=True, exist_ok=True)
    mark.touch()


def _processors() -> int:
    """Those that this process may use; macOS cannot say, so there all that there are."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


if __name__ == "__main__":
    ensure(lambda text: print(text, file=sys.stderr))  # noqa: T201
