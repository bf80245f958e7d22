"""The plan's canonical JSON (docs/plan-format.md), its digest, and the names of launches."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any

from packer.errors import InputError
from packer.model import (
    GroupedReason,
    Launch,
    Notice,
    OfferingKey,
    Placement,
    Plan,
    Skipped,
    SkipReason,
    Stage,
    Status,
    Unplaced,
    Why,
)

API_VERSION = "bayplan.io/v1alpha1"
_MICRO = 1_000_000


def usd(microusd: int) -> str:
    """Micro-dollars as dollars with six decimals: 300000 -> "0.300000"."""
    sign = "-" if microusd < 0 else ""
    return f"{sign}{abs(microusd) // _MICRO}.{abs(microusd) % _MICRO:06d}"


def micro(text: str) -> int:
    """The inverse of :func:`usd`. Raises InputError for anything that is not dollars with at most six decimals."""
    whole, _, part = text.partition(".")
    sign = -1 if whole.startswith("-") else 1
    if not (whole.lstrip("-") + part).isascii() or not (whole.lstrip("-") + part).isdigit() or len(part) > 6:
        raise InputError(f"{text!r} is not an amount in dollars", mend='write it like "0.300000"')
    return sign * (int(whole.lstrip("-") or 0) * _MICRO + int(part.ljust(6, "0")))


def gap(objective: int, bound: int) -> float | None:
    """objective / bound - 1; 0.0 when equal; None when the bound alone is 0."""
    if objective == bound:
        return 0.0
    return None if bound == 0 else objective / bound - 1


def launch_names(launches: Iterable[tuple[OfferingKey, tuple[str, ...]]]) -> list[str]:
    """A name for each launch: its type and a hash of (offering, pods, ordinal among equals). Order of the result is that of the input.

    Names are stable: a launch keeps its name as long as its offering and its pods stay the same.
    """
    seen: dict[str, int] = {}
    names = []
    for key, pods in launches:
        content = json.dumps(
            [key.provider, key.region, key.zone, key.instance_type, key.capacity_type, sorted(pods)], separators=(",", ":")
        )
        ordinal = seen[content] = seen.get(content, -1) + 1
        digest = hashlib.sha256(f"{content}#{ordinal}".encode()).hexdigest()[:12]
        stem = "".join(c if c.isalnum() else "-" for c in key.instance_type.lower()).strip("-") or "node"
        names.append(f"{stem[:40]}-{digest}")
    return names


def _launch_json(launch: Launch) -> dict[str, Any]:
    key = launch.offering
    return {
        "name": launch.name,
        "provider": key.provider,
        "region": key.region,
        "zone": key.zone,
        "instanceType": key.instance_type,
        "capacityType": key.capacity_type,
        "pricePerHour": usd(launch.price_microusd_per_hour),
        "pods": list(launch.pods),
    }


def _reason_json(reason: GroupedReason) -> dict[str, Any]:
    out: dict[str, Any] = {"reason": reason.code.value, "message": reason.message, "offerings": reason.offerings}
    if reason.nodes:
        out["nodes"] = reason.nodes
    return out


def _stage_json(stage: Stage) -> dict[str, Any]:
    out: dict[str, Any] = {
        "name": stage.name,
        "costPerHour": usd(stage.cost_microusd_per_hour),
        "work": stage.work,
        "seconds": round(stage.seconds, 6),
        "unplaced": stage.unplaced,
    }
    if stage.bound_microusd_per_hour is not None:
        out["lowerBoundPerHour"] = usd(stage.bound_microusd_per_hour)
    return out


def to_json(plan: Plan) -> dict[str, Any]:
    """The plan as the stable JSON object of docs/plan-format.md, digest included."""
    body = {
        "apiVersion": API_VERSION,
        "kind": "Plan",
        "status": plan.status.value,
        "truncated": plan.truncated,
        "costPerHour": usd(plan.cost_microusd_per_hour),
        "objectivePerHour": usd(plan.objective_microusd_per_hour),
        "lowerBoundPerHour": usd(plan.lower_bound_microusd_per_hour),
        "gap": gap(plan.objective_microusd_per_hour, plan.lower_bound_microusd_per_hour),
        "launches": [_launch_json(launch) for launch in plan.launches],
        "placements": [{"pod": p.pod, "node": p.node} for p in plan.placements],
        "unplaced": [{"pod": u.pod, "reasons": [_reason_json(r) for r in u.reasons]} for u in plan.unplaced],
        "skipped": [{"pod": s.pod, "reason": s.reason.value, "message": s.message} for s in plan.skipped],
        "warnings": [{"reason": n.reason, "message": n.message} for n in plan.notices],
        "stages": [_stage_json(stage) for stage in plan.stages],
        "seed": plan.seed,
    }
    return {"digest": digest(plan), **body}


def digest(plan: Plan) -> str:
    """sha256 over what the plan decides: no digest, gap, stages or messages, no floats, keys sorted."""
    content = {
        "status": plan.status.value,
        "launches": [_launch_json(launch) for launch in plan.launches],
        "placements": [[p.pod, p.node] for p in plan.placements],
        "unplaced": [[u.pod, sorted({r.code.value for r in u.reasons})] for u in plan.unplaced],
        "skipped": [[s.pod, s.reason.value] for s in plan.skipped],
        "warnings": sorted(n.reason for n in plan.notices),
        "costPerHour": usd(plan.cost_microusd_per_hour),
        "objectivePerHour": usd(plan.objective_microusd_per_hour),
        "lowerBoundPerHour": usd(plan.lower_bound_microusd_per_hour),
    }
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def _field(item: Mapping[str, Any], name: str, kind: type, where: str) -> Any:
    value = item.get(name)
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise InputError(
            f"{name} must be {kind.__name__}, got {value!r}", where=where, mend="use a plan that `packer solve -o json` printed"
        )
    return value


def from_json(data: Mapping[str, Any]) -> Plan:
    """Read a plan that :func:`to_json` wrote. Raises InputError that names the path of what is missing or wrong."""
    if data.get("kind") != "Plan" or data.get("apiVersion") != API_VERSION:
        raise InputError(f"not a plan: kind {data.get('kind')!r}", mend=f"a plan has kind Plan and apiVersion {API_VERSION}")
    launches = tuple(_read_launch(item, f"launches[{i}]") for i, item in enumerate(_field(data, "launches", list, "plan")))
    placements = tuple(
        Placement(_field(p, "pod", str, f"placements[{i}]"), _field(p, "node", str, f"placements[{i}]"))
        for i, p in enumerate(_field(data, "placements", list, "plan"))
    )
    unplaced = tuple(_read_unplaced(item, f"unplaced[{i}]") for i, item in enumerate(_field(data, "unplaced", list, "plan")))
    try:
        return Plan(
            status=Status(_field(data, "status", str, "plan")),
            launches=launches,
            placements=placements,
            unplaced=unplaced,
            skipped=tuple(Skipped(s["pod"], SkipReason(s["reason"]), s.get("message", "")) for s in data.get("skipped", ())),
            notices=tuple(Notice(w["reason"], w.get("message", "")) for w in data.get("warnings", ())),
            cost_microusd_per_hour=micro(_field(data, "costPerHour", str, "plan")),
            objective_microusd_per_hour=micro(_field(data, "objectivePerHour", str, "plan")),
            lower_bound_microusd_per_hour=micro(_field(data, "lowerBoundPerHour", str, "plan")),
            stages=tuple(_read_stage(s) for s in data.get("stages", ())),
            truncated=bool(data.get("truncated", False)),
            seed=int(data.get("seed", 0)),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"plan is damaged: {error}", mend="use a plan that `packer solve -o json` printed") from error


def _read_launch(item: Mapping[str, Any], where: str) -> Launch:
    text = {name: _field(item, name, str, where) for name in ("name", "provider", "region", "zone", "instanceType", "capacityType")}
    key = OfferingKey(text["provider"], text["region"], text["zone"], text["instanceType"], text["capacityType"])
    return Launch(text["name"], key, micro(_field(item, "pricePerHour", str, where)), tuple(_field(item, "pods", list, where)))


def _read_unplaced(item: Mapping[str, Any], where: str) -> Unplaced:
    reasons = tuple(
        GroupedReason(Why(r["reason"]), r.get("message", ""), int(r.get("offerings", 0)), int(r.get("nodes", 0)))
        for r in item.get("reasons", ())
    )
    return Unplaced(_field(item, "pod", str, where), reasons)


def _read_stage(item: Mapping[str, Any]) -> Stage:
    bound = item.get("lowerBoundPerHour")
    return Stage(
        name=str(item["name"]),
        cost_microusd_per_hour=micro(item["costPerHour"]),
        work=int(item["work"]),
        seconds=float(item.get("seconds", 0.0)),
        bound_microusd_per_hour=None if bound is None else micro(bound),
        unplaced=int(item.get("unplaced", 0)),
    )
