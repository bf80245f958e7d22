"""The same input gives the same bytes in every process: whatever the hash seed, with cold and warm kernels, and under load."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PATIENCE_S = 600


class Run:
    """A process that plans all cases; ``out`` is where it writes their digests."""

    def __init__(self, out: Path, **environment: str) -> None:
        self.out = out
        command = [sys.executable, "-m", "tests.cases.digests", str(out)]
        self.process = subprocess.Popen(
            command, cwd=ROOT, env={**os.environ, **environment}, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )

    def digests(self) -> dict[str, str]:
        _, err = self.process.communicate(timeout=PATIENCE_S)
        assert self.process.returncode == 0, err[-2000:]
        found: dict[str, str] = json.loads(self.out.read_text(encoding="utf-8"))
        assert len(found) > 30
        return found


def test_hash_seeds_and_a_busy_machine_change_nothing(tmp_path: Path) -> None:
    """Sets and dictionaries of strings are ordered by the hash seed; three processes at once share the machine's cores."""
    runs = [Run(tmp_path / seed, PYTHONHASHSEED=seed) for seed in ("0", "1", "random")]
    first, second, third = [run.digests() for run in runs]
    assert first == second == third


@pytest.mark.needs("slow")
def test_cold_and_warm_kernels_change_nothing(tmp_path: Path) -> None:
    """Kernels compiled now and kernels read from the cache are the same code."""
    kernels = tmp_path / "kernels"
    cold = Run(tmp_path / "cold", NUMBA_CACHE_DIR=str(kernels)).digests()
    assert any(kernels.rglob("*.nbc"))
    warm = Run(tmp_path / "warm", NUMBA_CACHE_DIR=str(kernels)).digests()
    assert warm == cold == Run(tmp_path / "usual").digests()
