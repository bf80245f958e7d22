"""Where numba keeps compiled kernels. Set before numba is imported, since it reads NUMBA_CACHE_DIR once.

numba's own choice is beside the source files, which an installed package often may not write; without any writable place it refuses to
load a kernel at all. So: the user's cache directory, else a private temporary one. What is loaded from there is executed, hence the
check that a directory in a shared place is ours alone.
"""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path

VARIABLE = "NUMBA_CACHE_DIR"


def prepare() -> str:
    """Set NUMBA_CACHE_DIR unless the user did; the directory's name."""
    chosen = os.environ.get(VARIABLE)
    if not chosen:
        chosen = str(next((path for path in _candidates() if _usable(path)), None) or tempfile.mkdtemp(prefix="bayplan-"))
        os.environ[VARIABLE] = chosen
    return chosen


def _candidates() -> list[Path]:
    home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return [Path(home) / "bayplan" / "kernels", Path(tempfile.gettempdir()) / f"bayplan-kernels-{os.getuid()}"]


def _usable(path: Path) -> bool:
    """Writable, and nobody else's: owned by us and writable by us alone."""
    try:
        path.mkdir(parents=True, exist_ok=True, mode=0o700)
        found = path.stat()
    except OSError:
        return False
    ours = found.st_uid == os.getuid() and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return ours and os.access(path, os.W_OK | os.X_OK)
