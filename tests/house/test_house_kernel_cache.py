"""Compiled kernels are kept where they can be, and loaded only from where nobody else could have put them."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from packer import kernel_cache


@pytest.fixture
def fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home and a temporary folder of one's own, and no choice made yet."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    (tmp_path / "tmp").mkdir()
    return tmp_path


def test_the_users_place_is_used(fresh: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An image with a read-only root points it at a volume, which may be anybody's."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", "/chosen")
    assert Path(kernel_cache.prepare()).parent == Path("/chosen")


def test_kernels_go_to_the_users_cache(fresh: Path) -> None:
    """Beside the sources they would land in site-packages, often not writable."""
    assert Path(kernel_cache.prepare()).parent == fresh / "cache" / "bayplan" / "kernels"
    assert Path(os.environ["NUMBA_CACHE_DIR"]).is_dir()


def test_child_processes_use_the_same_folder(fresh: Path) -> None:
    """They inherit the variable, and must not nest a folder in it."""
    assert kernel_cache.prepare() == kernel_cache.prepare()


def test_other_sources_get_another_folder(fresh: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """numba looks at the file of a function only: with changed callees in another file it would run what no longer fits, or crash."""
    before = kernel_cache.prepare()
    for name in kernel_cache.SOURCES:
        (fresh / f"{name}.py").write_text("another state")
    monkeypatch.setattr(kernel_cache, "__file__", str(fresh / "kernel_cache.py"))
    after = kernel_cache.prepare()
    assert after != before
    (fresh / f"{kernel_cache.SOURCES[-1]}.py").write_text("and another")
    assert len({before, after, kernel_cache.prepare()}) == 3


def test_every_module_with_compiled_functions_counts() -> None:
    """A module that is missing in the list would bring the stale functions back."""
    from numba.core.dispatcher import Dispatcher

    import packer.solve  # noqa: F401 - loads all kernels

    compiled = {
        function.py_func.__module__
        for name, module in sys.modules.items()
        if name.startswith("packer.")
        for function in vars(module).values()
        if isinstance(function, Dispatcher)
    }
    assert {f"packer.{name}" for name in kernel_cache.SOURCES} - {"packer.arrays"} == compiled


def test_folders_of_old_sources_are_removed(fresh: Path) -> None:
    """They are 12 MB each, and nobody else would."""
    base = fresh / "cache" / "bayplan" / "kernels"
    for number in range(12):
        folder = base / f"bayplan-{number:012x}"
        folder.mkdir(parents=True)
        os.utime(folder, (number, number))
    (base / "not-ours").mkdir()
    used = Path(kernel_cache.prepare())
    left = {path.name for path in base.iterdir()}
    assert {used.name, "not-ours", f"bayplan-{11:012x}"} <= left
    assert len(left) == kernel_cache.KEPT + 1


def test_an_unusable_cache_falls_back_to_a_private_folder(fresh: Path) -> None:
    """numba refuses to load any kernel without a place to cache it."""
    (fresh / "cache").write_text("a file where a folder should be")
    assert Path(kernel_cache.prepare()).parent == fresh / "tmp" / f"bayplan-kernels-{os.getuid()}"


def test_a_folder_that_others_can_write_is_not_trusted(fresh: Path) -> None:
    """Cached kernels are executed: whoever can write there could run code as us."""
    (fresh / "cache").write_text("")
    planted = fresh / "tmp" / f"bayplan-kernels-{os.getuid()}"
    planted.mkdir()
    planted.chmod(0o777)
    chosen = Path(kernel_cache.prepare())
    assert chosen.parent == fresh / "tmp"
    assert chosen != planted
    assert chosen.stat().st_mode & 0o077 == 0
