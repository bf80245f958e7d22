"""Where numba keeps compiled kernels. Set before numba is imported, since it reads NUMBA_CACHE_DIR once.

numba's own choice is beside the source files, which an installed package often may not write; without any writable place it refuses to
load a kernel at all. So: the place that the user chose, else the user's cache directory, else a private temporary one. In it each state of
the kernels' sources has a folder of its own: numba looks only at the file that a function stands in, and would go on using a function
whose callees, in another file, have changed. What is loaded from there is executed, hence the check that it is ours alone.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import stat
import tempfile
from pathlib import Path

VARIABLE = "NUMBA_CACHE_DIR"
SOURCES = ("arrays", "branching", "dominance", "kernels", "knapsack", "pricing", "search_kernels", "search_moves")
"""The modules that numba compiles, and the types that they share. A test finds out when one is missing."""
KEPT = 8
"""States of the sources that are kept; about 12 MB each."""
_FOLDER = re.compile(r"bayplan-[0-9a-f]{12}")
_WARM = ".warm"


def prepare() -> str:
    """Set NUMBA_CACHE_DIR to a folder for these very sources; its name. Idempotent, also in child processes."""
    name = "bayplan-" + _digest()
    named = os.environ.get(VARIABLE)
    chosen = _named(Path(named), name) if named else _own(name)
    os.environ[VARIABLE] = str(chosen)
    return str(chosen)


def warm_mark() -> Path:
    """The file that says that the kernels have been compiled."""
    return Path(os.environ[VARIABLE]) / _WARM


def _digest() -> str:
    folder, found = Path(__file__).parent, hashlib.sha256()
    for path in filter(Path.exists, (folder / f"{name}.py" for name in SOURCES)):
        found.update(path.read_bytes())
    return found.hexdigest()[:12]


def _named(place: Path, name: str) -> Path:
    """A folder in the place that the user chose, or that we chose before, for ourselves or for a parent process. Taken on trust."""
    return (place.parent if _FOLDER.fullmatch(place.name) else place) / name


def _own(name: str) -> Path:
    """A folder in the first place of ours that can be used."""
    home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    for base in (Path(home) / "bayplan" / "kernels", Path(tempfile.gettempdir()) / f"bayplan-kernels-{os.getuid()}"):
        if _usable(base / name):
            _forget_old(base, name)
            return base / name
    return Path(tempfile.mkdtemp(prefix="bayplan-kernels-"))


def _usable(path: Path) -> bool:
    """Writable, and nobody else's: owned by us and writable by us alone, and so is the folder that it is in."""
    try:
        path.mkdir(parents=True, exist_ok=True, mode=0o700)
        ours = all(_ours(folder.stat()) for folder in (path, path.parent))
    except OSError:
        return False
    return ours and os.access(path, os.W_OK | os.X_OK)


def _ours(found: os.stat_result) -> bool:
    return found.st_uid == os.getuid() and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _forget_old(base: Path, name: str) -> None:
    """Mark ``name`` as used now, and remove what has not been used for longest."""
    try:
        os.utime(base / name)
        folders = [path for path in base.iterdir() if _FOLDER.fullmatch(path.name)]
        if len(folders) > KEPT:
            for path in sorted(folders, key=lambda path: path.stat().st_mtime)[:-KEPT]:
                shutil.rmtree(path, ignore_errors=True)
    except OSError:
        pass  # somebody else tidies up at the same time
