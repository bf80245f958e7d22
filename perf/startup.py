"""How fast the program starts: `packer --help` in under 0.2 s, a small `packer solve` in under 1.5 s with a warm kernel cache.

usage: python -m perf.startup [REPEATS]      exit code 1 when a limit is missed
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from pathlib import Path

EXAMPLES = Path(__file__).parents[1] / "examples"
MEASURED = (
    ("packer --help", ["--help"], 0.2),
    ("packer solve, small", ["solve", "-q", "-f", str(EXAMPLES / "small.yaml")], 1.5),
)


def least_seconds(arguments: list[str], repeats: int) -> tuple[float, float]:
    """Least wall and processor time of ``repeats`` runs, after one that warms all caches. Least, since a busy machine only ever adds."""
    wall, cpu = [], []
    for _ in range(repeats + 1):
        started, spent = time.perf_counter(), _children_s()
        subprocess.run([sys.executable, "-m", "packer", *arguments], check=True, capture_output=True)
        wall.append(time.perf_counter() - started)
        cpu.append(_children_s() - spent)
    return min(wall[1:]), min(cpu[1:])


def _children_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main(arguments: list[str]) -> int:
    repeats = int(arguments[0]) if arguments else 5
    late = False
    for name, command, limit_s in MEASURED:
        wall_s, cpu_s = least_seconds(command, repeats)
        late |= wall_s > limit_s
        print(f"{name:<22}{wall_s:6.2f} s, {cpu_s:.2f} s of processor  (limit {limit_s:g} s){'  LATE' if wall_s > limit_s else ''}")
    return 1 if late else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
