"""Writes the digests of all cases and of one generated problem to the file named: test_same_plan_everywhere runs it in new processes."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from packer.plan import digest
from packer.solve import Budget, solve
from tests.cases.support import load_cases
from tests.cases.test_cases import problem_of


def digests() -> dict[str, str]:
    from cloud import catalog
    from perf import generators

    found = {case.name: digest(solve(problem_of(case)).plan) for folder in ("reports", "faults") for case in load_cases(folder)}
    offerings = generators.of_families(catalog.load("aws", regions=["us-east-1"])[0], ("c", "m"), generation=7)[::9]
    zones = ("us-east-1a", "us-east-1b")
    pods = generators.classes(12, 150, 3, zones=zones) + generators.diverse(60, 3)
    nodes = generators.existing_nodes(10, offerings, 3)
    found["generated"] = digest(solve(generators.problem(pods, offerings, nodes), Budget(units=2)).plan)
    return found


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(json.dumps(digests()), encoding="utf-8")
