"""DaemonSets: the pod that each brings to every new node that it accepts."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from packer.model import Daemon, Notice
from packer.parse import schema, workload_schema
from packer.parse.contract import kept_annotations
from packer.parse.objects import RawPod
from packer.parse.pods import PodReader, controller_of

_NO_EXECUTE = ("not-ready", "unreachable")
_NO_SCHEDULE = ("disk-pressure", "memory-pressure", "pid-pressure", "unschedulable")


def read_daemons(
    sets: Iterable[workload_schema.WorkloadObject], pods: Iterable[RawPod], reader: PodReader
) -> tuple[list[Daemon], list[Notice]]:
    """One Daemon for each DaemonSet of the input, and for each that only its pods tell of (a dump of pods and nodes has no
    DaemonSets, yet new nodes will run them); node affinity cannot be read off such pods, so those count on every node.
    """
    found: dict[str, Daemon] = {}
    for body in sets:
        meta = body.metadata or schema.Metadata()
        template = (body.spec.template if body.spec else None) or workload_schema.Template()
        own = template.metadata or schema.Metadata()
        if not meta.deletion_timestamp:
            daemon = _daemon(meta.namespace or "default", meta.name or "", template.spec, own, reader)
            found[f"{daemon.namespace}/{daemon.name}"] = daemon
    inferred = {}
    for raw in sorted(pods, key=lambda pod: (pod.created_at, pod.key)):
        owner = controller_of(raw)
        if owner and owner.kind == "DaemonSet" and not raw.background and not raw.finished and f"{raw.namespace}/{owner.name}" not in found:
            inferred[f"{raw.namespace}/{owner.name}"] = (raw, owner.name)
    for key, (raw, name) in sorted(inferred.items()):
        spec = msgspec.structs.replace(raw.spec, affinity=None, volumes=None)
        found[key] = _daemon(raw.namespace, name, spec, schema.Metadata(labels=raw.labels, annotations=raw.annotations), reader)
    notices = []
    if inferred:
        notices.append(
            Notice(
                "DaemonSetsInferred",
                f"{len(inferred)} DaemonSets were read off their pods, without node affinity ({', '.join(sorted(inferred)[:3])}…): "
                "add ds to what kubectl gets for their exact reach",
            )
        )
    return [found[key] for key in sorted(found)], notices


def _daemon(namespace: str, name: str, spec: schema.PodSpecPart | None, meta: schema.Metadata, reader: PodReader) -> Daemon:
    spec = msgspec.structs.replace(spec or schema.PodSpecPart(), volumes=None, node_name=None)
    spec.tolerations = [*(spec.tolerations or ()), *_tolerations(bool(spec.host_network))]
    labels = meta.labels or {}
    raw = RawPod(namespace, name, "", spec, labels, kept_annotations(meta.annotations or {}) or {})
    return Daemon(namespace, name, reader.pod(raw).pod.spec, labels)


def _tolerations(host_network: bool) -> list[schema.TolerationPart]:
    """What the DaemonSet controller adds to its pods (util.AddOrUpdateDaemonPodTolerations)."""
    effects = [(key, "NoExecute") for key in _NO_EXECUTE] + [(key, "NoSchedule") for key in _NO_SCHEDULE]
    if host_network:
        effects.append(("network-unavailable", "NoSchedule"))
    return [schema.TolerationPart(f"node.kubernetes.io/{key}", "Exists", None, effect) for key, effect in effects]
