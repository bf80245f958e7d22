"""A dump of a whole cluster: order has no say, and what many pods share is kept once."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

from packer import parse
from packer.model import Problem
from perf.dump import APPS, measure, write
from tests.parse.build import as_list
from tests.parse.test_parse_scrub import dump

MB = 1_000_000


def content(found: Problem) -> tuple[Any, ...]:
    parts = (found.pods, found.nodes, found.daemons)
    return (*(sorted(map(repr, part)) for part in parts), found.offerings, found.skipped, found.notices)


def test_shuffled_objects_make_the_same_problem() -> None:
    """Reading may not add an order of its own: names of made pods, duplicates, notices."""
    items = dump()
    wanted = content(parse.load([as_list(items)]))
    for seed in range(10):
        random.Random(seed).shuffle(items)
        assert content(parse.load([as_list(items)])) == wanted


def test_pods_of_one_template_share_what_they_share(tmp_path: Path) -> None:
    """That is what keeps a 200 MB dump within twice its size (measured by ``python -m perf.dump``)."""
    path = tmp_path / "pods.json"
    count = write(path, 8 * MB)
    raw = parse.read_objects([path])
    assert len(raw.pods) == count == len(json.loads(path.read_bytes())["items"])
    assert len({id(pod.spec) for pod in raw.pods}) <= APPS < count
    assert len({id(pod.labels) for pod in raw.pods}) <= APPS
    assert measure(path)["waiting"] == sum(not pod.node_name for pod in raw.pods)
