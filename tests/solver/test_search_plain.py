"""Compiled and plain kernels agree."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

SCRIPT = """
import sys
import numpy as np
sys.path.insert(0, {here!r})
from test_search import random_packing, start_of
from packer import search
for seed in range(3):
    packing = random_packing(seed, devices=seed == 1)
    start, weights = start_of(packing)
    found, _ = search.improve(packing, start, weights, budget=0.002, seed=seed)
    print(*(field.tolist() for field in found))
"""


def test_compiled_and_plain_search_give_the_same_plan() -> None:
    """A kernel that only works compiled has an overflow, an out-of-bounds read or a dependence on the machine."""
    script = SCRIPT.format(here=str(Path(__file__).parent))
    outputs = []
    for off in ("0", "1"):
        run = subprocess.run(
            [sys.executable, "-c", script], env={**os.environ, "NUMBA_DISABLE_JIT": off}, capture_output=True, text=True, check=True
        )
        outputs.append(run.stdout)
    assert outputs[0] == outputs[1]
    assert outputs[0].count("\n") == 3
