"""Compiled kernels are kept where they can be, and loaded only from where nobody else could have put them."""

from __future__ import annotations

import os
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


def test_the_users_choice_stands(fresh: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An image with a read-only root points it at a volume."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", "/chosen")
    assert kernel_cache.prepare() == "/chosen"


def test_kernels_go_to_the_users_cache(fresh: Path) -> None:
    """Beside the sources they would land in site-packages, often not writable."""
    assert kernel_cache.prepare() == str(fresh / "cache" / "bayplan" / "kernels")
    assert os.environ["NUMBA_CACHE_DIR"] == str(fresh / "cache" / "bayplan" / "kernels")


def test_an_unusable_cache_falls_back_to_a_private_folder(fresh: Path) -> None:
    """numba refuses to load any kernel without a place to cache it."""
    (fresh / "cache").write_text("a file where a folder should be")
    assert kernel_cache.prepare() == str(fresh / "tmp" / f"bayplan-kernels-{os.getuid()}")


def test_a_folder_that_others_can_write_is_not_trusted(fresh: Path) -> None:
    """Cached kernels are executed: whoever can write there could run code as us."""
    (fresh / "cache").write_text("")
    planted = fresh / "tmp" / f"bayplan-kernels-{os.getuid()}"
    planted.mkdir()
    planted.chmod(0o777)
    chosen = Path(kernel_cache.prepare())
    assert chosen != planted
    assert chosen.parent == fresh / "tmp"
    assert chosen.stat().st_mode & 0o077 == 0
