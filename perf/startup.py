"""How fast the program starts: `packer --help` in under 0.2 s, a small `packer solve` in under 1.5 s with a warm kernel cache.

usage: python -m perf.startup [REPEATS]      exit code 1 when a limit is missed
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

EXAMPLES = Path(__file__).parents[1] / "examples"
MEASURED = (
    ("packer --help", ["--help"], 0.2),
    ("packer solve, small", ["solve", "-q", "-f", str(EXAMPLES / "small.yaml")], 1.5),
)


def least_seconds(arguments: list[str], repeats: int) -> float:
    """Least wall time of ``repeats`` runs, after one that warms all caches. Least, since a busy machine only ever adds."""
    times = []
    for _ in range(repeats + 1):
        started = time.perf_counter()
        subprocess.run([sys.executable, "-m", "packer", *arguments], check=True, capture_output=True)
        times.append(time.perf_counter() - started)
    return min(times[1:])


def main(arguments: list[str]) -> int:
    repeats = int(arguments[0]) if arguments else 5
    late = False
    for name, command, limit_s in MEASURED:
        seconds = least_seconds(command, repeats)
        late |= seconds > limit_s
        print(f"{name:<22}{seconds:6.2f} s  (limit {limit_s:g} s){'  LATE' if seconds > limit_s else ''}")
    return 1 if late else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
