"""A decision that can be taken again: the problem exactly as the solver saw it, the settings, and the plan that came out.

The problem is saved instead of its files, so that a record holds no env, no annotations and no secrets, and does not depend on the parser.
Pods share their specs in a record as they do in memory. The file is gzipped JSON; the same decision gives the same bytes.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any, TypeVar

import msgspec

from packer.errors import InputError
from packer.model import Daemon, Node, Notice, Offering, Plan, Pod, PodSpec, Policy, Problem, Skipped
from packer.plan import digest, from_json, to_json

Item = TypeVar("Item")
KIND, VERSION = "Decision", "bayplan.io/v1alpha1"


@dataclass(frozen=True, slots=True)
class Decision:
    """A problem, the settings that steer the solver, and the plan. ``program`` is the version that made it."""

    problem: Problem
    settings: Mapping[str, int | float]
    plan: Plan
    program: str

    @property
    def digest(self) -> str:
        return digest(self.plan)


def dump(decision: Decision) -> bytes:
    """The record as gzipped JSON."""
    problem, specs = decision.problem, _Specs()
    body = {
        "apiVersion": VERSION,
        "kind": KIND,
        "program": decision.program,
        "settings": dict(decision.settings),
        "plan": to_json(decision.plan),
        "problem": {
            "pods": specs.flatten_pods(problem.pods),
            "nodes": [_flat(node, pods=specs.flatten_pods(node.pods)) for node in problem.nodes],
            "daemons": [_flat(daemon, spec=specs.index(daemon.spec)) for daemon in problem.daemons],
            "offerings": problem.offerings,
            "policy": problem.policy,
            "skipped": problem.skipped,
            "notices": problem.notices,
            "device_share": problem.device_share,
        },
        "specs": specs.all,
    }
    return gzip.compress(msgspec.json.encode(body, order="sorted"), 6, mtime=0)


def load(data: bytes, where: str = "record") -> Decision:
    """The inverse of :func:`dump`. Raises InputError when ``data`` is not a record or is damaged."""
    mend = "give a file that `packer solve --record FILE` wrote"
    try:
        body = msgspec.json.decode(gzip.decompress(data))
        if not isinstance(body, dict) or body.get("kind") != KIND or body.get("apiVersion") != VERSION:
            raise InputError("not a recorded decision", where=where, mend=mend)
        specs = msgspec.convert(body["specs"], list[PodSpec])
        return Decision(_problem(body["problem"], specs), body["settings"], from_json(body["plan"]), str(body["program"]))
    except (gzip.BadGzipFile, EOFError, zlib.error, msgspec.MsgspecError, KeyError, TypeError, IndexError) as error:
        raise InputError(f"not a recorded decision: {error}", where=where, mend=mend) from error


class _Specs:
    """Each distinct PodSpec object once, in order of first use. Objects are told apart by identity: they outlive this one."""

    def __init__(self) -> None:
        self.all: list[PodSpec] = []
        self._known: dict[int, int] = {}

    def index(self, spec: PodSpec) -> int:
        known = self._known.setdefault(id(spec), len(self.all))
        if known == len(self.all):
            self.all.append(spec)
        return known

    def flatten_pods(self, pods: Iterable[Pod]) -> list[dict[str, Any]]:
        return [_flat(pod, spec=self.index(pod.spec)) for pod in pods]


def _flat(item: Any, **replaced: Any) -> dict[str, Any]:
    return {field.name: getattr(item, field.name) for field in fields(item)} | replaced


def _problem(body: Mapping[str, Any], specs: list[PodSpec]) -> Problem:
    def pods(items: Iterable[dict[str, Any]]) -> tuple[Pod, ...]:
        return tuple(_restored(Pod, item, spec=specs[item["spec"]]) for item in items)

    return Problem(
        pods=pods(body["pods"]),
        nodes=tuple(_restored(Node, node, pods=pods(node["pods"])) for node in body["nodes"]),
        offerings=msgspec.convert(body["offerings"], tuple[Offering, ...]),
        daemons=tuple(_restored(Daemon, daemon, spec=specs[daemon["spec"]]) for daemon in body["daemons"]),
        policy=msgspec.convert(body["policy"], Policy),
        skipped=msgspec.convert(body["skipped"], tuple[Skipped, ...]),
        notices=msgspec.convert(body["notices"], tuple[Notice, ...]),
        device_share=msgspec.convert(body["device_share"], tuple[str, int] | None),
    )


def _restored(kind: type[Item], flat: dict[str, Any], **objects: Any) -> Item:
    return msgspec.convert(flat | objects, kind)
