"""``make demo``: the program on the example cluster, one command after the other, as a user would type them."""

from __future__ import annotations

import shlex
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKER = Path(sys.executable).with_name("packer")
CLUSTER, DECISION, REPORT = "examples/cluster.json", "decision.gz", "report.html"

PUZZLE = "reports/quarterly-export-0-rkb9x"


def show(command: str, what: str, *, into: str = "") -> None:
    """Print and run ``packer command``. Exit code 1 (a pod without a place, a difference) is an answer, more is a failure."""
    print(f"\n# {what}\n$ packer {command}{f' > {into}' if into else ''}\n", flush=True)
    with open(ROOT / into, "wb") if into else open(1, "wb", closefd=False) as out:
        code = subprocess.run([PACKER, *shlex.split(command)], cwd=ROOT, stdout=out, check=False).returncode
    if code > 1:
        sys.exit(code)


def main() -> None:
    started = time.monotonic()
    print("Forty-odd pods wait in a cluster of 25 nodes that grew over the years. The first run also compiles the kernels, about a minute.")
    show(f"solve -f {CLUSTER} --record {DECISION}", "What should be rented for them, and how good is that?")
    show(f"explain {PUZZLE} --plan {DECISION}", "Why does one of them find no place?")
    show(f"compare -f {CLUSTER} --quiet", "What would be saved if everything that runs now were packed anew?")
    show(f"show {DECISION} -o html", "The plan on one page.", into=REPORT)
    print(f"Done in {time.monotonic() - started:.0f} s. Open {REPORT} in a browser. Your own cluster, from a machine that has kubectl:\n")
    print("  kubectl get pods,nodes -A -o json | .venv/bin/packer solve -f -")


if __name__ == "__main__":
    main()
