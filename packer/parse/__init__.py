"""The only reader of Kubernetes' keys and of catalog files.

raw = read_objects(["cluster.json"])
offerings, notices = read_catalog("catalog.csv")
problem = build_problem(raw, offerings, policy, notices)
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from packer.model import Notice, Offering, Pod, Policy, Problem
from packer.parse.catalog import read_catalog
from packer.parse.machines import offerings_of
from packer.parse.objects import RawInput, Source, read_objects
from packer.parse.pods import Context, PodReader
from packer.parse.problem import build_problem

__all__ = ["RawInput", "Source", "build_problem", "load", "offerings_of", "pod", "read_catalog", "read_objects"]


def load(
    sources: Iterable[str | Path | bytes | Source],
    *,
    catalog: str | Path | bytes | Source | tuple[tuple[Offering, ...], tuple[Notice, ...]] | None = None,
    policy: Policy | None = None,
) -> Problem:
    """Sources and a catalog (a file, or what read_catalog gave) to a Problem. Raises InputError and EnvironmentProblem."""
    if catalog is None:
        catalog = (), ()
    offerings, notices = read_catalog(catalog) if isinstance(catalog, (str, Path, bytes, Source)) else catalog
    return build_problem(read_objects(sources), offerings, policy, notices)


def pod(body: dict[str, Any], context: Context | None = None) -> Pod:
    """One pod as the API server holds it. Raises InputError that names the pod and the path."""
    raw = read_objects([Source("pod", msgspec.json.encode({"apiVersion": "v1", "kind": "Pod", **body}))])
    return PodReader(context or Context()).pod(raw.pods[0]).pod
