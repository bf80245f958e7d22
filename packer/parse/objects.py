"""Files and bytes to Kubernetes objects: YAML, JSON, Lists, several documents, NDJSON, and case files.

JSON goes through msgspec item by item, so that a dump of 200 MB costs its own size and little more: parts that many pods
share (labels, owners, specs) are kept once. A wrong type is an InputError that names the object and the path in it; fields and
kinds that the packer does not use are passed over.
"""

from __future__ import annotations

import codecs
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, cast

import msgspec

from packer.errors import EnvironmentProblem, InputError
from packer.parse import schema, workload_schema
from packer.parse.contract import kept_annotations
from packer.parse.yamlform import yaml_documents

T = TypeVar("T")
Payload = msgspec.Raw | memoryview | dict[str, Any] | list[Any]


class Source(NamedTuple):
    """Input text with the name that errors call it by."""

    name: str
    data: bytes


@dataclass(slots=True)
class RawPod:
    """One pod of the input, stripped to what the packer needs. ``spec`` (without nodeName), ``labels`` and ``resize`` are shared."""

    namespace: str
    name: str
    uid: str
    spec: schema.PodSpecPart
    labels: dict[str, str]
    annotations: dict[str, str]
    owners: tuple[schema.OwnerReference, ...] = ()
    created_at: str = ""
    deleted_at: str = ""
    resource_version: str = ""
    node_name: str = ""
    phase: str = ""
    nominated: str = ""
    started_at: str = ""
    resize: schema.PodStatus | None = None
    """Status of containers whose resources can be resized in place; None when it says nothing."""
    background: bool = False
    """From a case's ``existing_pods``: cluster state, never part of the plan's lists."""

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"

    @property
    def finished(self) -> bool:
        """Terminal pods hold nothing (kube-scheduler drops them from its cache)."""
        return self.phase in ("Succeeded", "Failed")


class Workload(NamedTuple):
    """An object that makes pods. ``body`` is the schema type of its kind."""

    kind: str
    body: Any


@dataclass(slots=True)
class RawInput:
    """All objects that were read, in input order, undigested."""

    pods: list[RawPod] = field(default_factory=list)
    nodes: list[schema.NodeObject] = field(default_factory=list)
    claims: list[schema.ClaimObject] = field(default_factory=list)
    volumes: list[schema.VolumeObject] = field(default_factory=list)
    storage_classes: list[schema.StorageClassObject] = field(default_factory=list)
    csi_nodes: list[schema.CsiNodeObject] = field(default_factory=list)
    namespaces: list[schema.NamespaceObject] = field(default_factory=list)
    priority_classes: list[schema.PriorityClassObject] = field(default_factory=list)
    groups: list[schema.GroupObject] = field(default_factory=list)
    daemon_sets: list[workload_schema.WorkloadObject] = field(default_factory=list)
    workloads: list[Workload] = field(default_factory=list)
    catalog: list[dict[str, Any]] | None = None
    """Rows of a case file's ``catalog``; None when no source had one."""


class _Kind(NamedTuple):
    groups: tuple[str, ...]
    type: Any
    slot: str
    workload: bool = False


KINDS: dict[str, _Kind] = {
    "Pod": _Kind(("",), schema.PodObject, "pods"),
    "Node": _Kind(("",), schema.NodeObject, "nodes"),
    "PersistentVolumeClaim": _Kind(("",), schema.ClaimObject, "claims"),
    "PersistentVolume": _Kind(("",), schema.VolumeObject, "volumes"),
    "StorageClass": _Kind(("storage.k8s.io",), schema.StorageClassObject, "storage_classes"),
    "CSINode": _Kind(("storage.k8s.io",), schema.CsiNodeObject, "csi_nodes"),
    "Namespace": _Kind(("",), schema.NamespaceObject, "namespaces"),
    "PriorityClass": _Kind(("scheduling.k8s.io",), schema.PriorityClassObject, "priority_classes"),
    "PodGroup": _Kind(
        ("scheduling.x-k8s.io", "scheduling.sigs.k8s.io", "scheduling.volcano.sh", "scheduling.k8s.io"), schema.GroupObject, "groups"
    ),
    "DaemonSet": _Kind(("apps", "extensions"), workload_schema.WorkloadObject, "daemon_sets"),
    "Deployment": _Kind(("apps", "extensions"), workload_schema.WorkloadObject, "workloads", True),
    "ReplicaSet": _Kind(("apps", "extensions"), workload_schema.WorkloadObject, "workloads", True),
    "StatefulSet": _Kind(("apps",), workload_schema.WorkloadObject, "workloads", True),
    "ReplicationController": _Kind(("",), workload_schema.WorkloadObject, "workloads", True),
    "Job": _Kind(("batch",), workload_schema.JobObject, "workloads", True),
    "JobSet": _Kind(("jobset.x-k8s.io",), workload_schema.JobSetObject, "workloads", True),
    "RayCluster": _Kind(("ray.io",), workload_schema.RayClusterObject, "workloads", True),
    "RayJob": _Kind(("ray.io",), workload_schema.RayObject, "workloads", True),
    "RayService": _Kind(("ray.io",), workload_schema.RayObject, "workloads", True),
}
_CASE_KEYS = {"pods": "Pod", "existing_pods": "Pod", "existing_nodes": "Node", "daemonsets": "DaemonSet", "objects": ""}


def read_objects(sources: Iterable[str | Path | bytes | Source]) -> RawInput:
    """Everything in the sources (paths, ``-`` for standard input, or bytes), merged in order.

    Raises InputError for text that is neither YAML nor JSON, for objects of wrong types and for sources without any object, and
    EnvironmentProblem for files that cannot be read.
    """
    reader = _Reader()
    for number, item in enumerate(sources, 1):
        reader.read(_source(item, number))
    return reader.raw


def _source(item: str | Path | bytes | Source, number: int) -> Source:
    if isinstance(item, Source):
        return item
    if isinstance(item, bytes):
        return Source(f"input {number}", item)
    if str(item) == "-":
        return Source("standard input", sys.stdin.buffer.read())
    try:
        return Source(str(item), Path(item).read_bytes())
    except OSError as error:
        raise EnvironmentProblem(f"{item}: cannot be read ({error.strerror}); check the path and its permissions") from error


def as_utf8(source: Source) -> bytes:
    """The text as UTF-8 without a byte order mark; redirection in PowerShell writes UTF-16. Raises InputError."""
    data = source.data
    try:
        if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            return data.decode("utf-16").encode()
    except UnicodeDecodeError as error:
        raise InputError(f"not text ({error.reason})", where=source.name, mend="give YAML or JSON in UTF-8") from error
    return data.removeprefix(codecs.BOM_UTF8)


class _Envelope(msgspec.Struct, rename="camel"):
    kind: str | None = None
    api_version: str | None = None
    items: msgspec.Raw = msgspec.Raw()
    input: msgspec.Raw = msgspec.Raw()


class _Named(msgspec.Struct):
    name: Any = None
    namespace: Any = None


class _NameOnly(msgspec.Struct):
    metadata: _Named | None = None


class _Reader:
    def __init__(self) -> None:
        self.raw = RawInput()
        self._shared: dict[Any, Any] = {}
        self._encoder = msgspec.json.Encoder()
        self._decoders: dict[Any, msgspec.json.Decoder[Any]] = {}

    def read(self, source: Source) -> None:
        data = as_utf8(source)
        head = re.match(rb"\s*(\[|\{\s*[\"}])?", data)
        if not re.search(rb"\S", data):
            raise InputError("it is empty", where=source.name, mend="give Kubernetes objects as YAML or JSON")
        documents = json_documents(data, source.name) if head and head[1] else yaml_documents(data, source.name)
        found = False
        for number, document in enumerate(documents, 1):
            if document is not None:
                found = True
                self.document(document, f"{source.name}, document {number}" if number > 1 else source.name)
        if not found:
            raise InputError("it has no documents", where=source.name, mend="give Kubernetes objects as YAML or JSON")

    def document(self, payload: Payload, where: str, inherited: str = "", background: bool = False) -> None:
        """One document or item: an object, a List of them, a case file, or a bare list of objects."""
        if not isinstance(payload, (dict, list, msgspec.Raw, memoryview)):
            raise InputError(f"expected an object, got {payload!r}", where=where, mend="give objects with apiVersion and kind")
        if _is_list(payload):
            for index, item in enumerate(self._items(payload, where)):
                self.document(item, f"{where}[{index}]", inherited, background)
            return
        envelope = _peek(payload) or self._decode(_Envelope, payload, where)
        kind = envelope.kind or ""
        if envelope.input and not kind[:1].isupper():
            self._case(self._decode(dict[str, Any], envelope.input, f"{where}: input"), f"{where}: input")
        elif kind.endswith("List") or (not kind and envelope.items):
            inherited = kind.removesuffix("List") or inherited
            for index, item in enumerate(self._items(envelope.items, f"{where}: items") if envelope.items else ()):
                self.document(item, f"{where}: items[{index}]", inherited, background)
        elif kind or inherited:
            self._object(kind or inherited, envelope.api_version, payload, where, background)
        else:
            mapping = self._decode(dict[str, Any], payload, where)
            if not (_CASE_KEYS.keys() | {"catalog"}) & mapping.keys():
                raise InputError("an object without a kind", where=where, mend="give apiVersion and kind, as kubectl prints them")
            self._case(mapping, where)

    def _case(self, case: dict[str, Any], where: str) -> None:
        for key, kind in _CASE_KEYS.items():
            for index, item in enumerate(_case_list(case, key, where)):
                self.document(item, f"{where}.{key}[{index}]", kind, background=key == "existing_pods")
        if "catalog" in case:
            rows = _case_list(case, "catalog", where)
            wrong = next((index for index, row in enumerate(rows) if not isinstance(row, dict)), None)
            if wrong is not None:
                raise InputError(f"expected a mapping, got {rows[wrong]!r}", where=f"{where}.catalog[{wrong}]", mend="one offering a row")
            self.raw.catalog = (self.raw.catalog or []) + rows

    def _object(self, kind: str, api_version: str | None, payload: Payload, where: str, background: bool) -> None:
        entry = KINDS.get(kind)
        group = api_version.rpartition("/")[0] if api_version else None
        if entry is None or (group is not None and group not in entry.groups):
            return
        body = self._decode(entry.type, payload, where, kind)
        meta = body.metadata
        if meta is None or not (meta.name or meta.generate_name):
            raise InputError(f"a {kind} without metadata.name", where=where, mend="name it")
        if not meta.name:
            meta.name = f"{meta.generate_name}{self._ordinal(kind, meta)}"
        if meta.annotations:
            meta.annotations = kept_annotations(meta.annotations)
        slot = getattr(self.raw, entry.slot)
        if kind == "Pod":
            slot.append(self._pod(body, background))
        else:
            slot.append(Workload(kind, body) if entry.workload else body)

    def _ordinal(self, kind: str, meta: schema.Metadata) -> int:
        """kubectl create would draw five letters; the packer counts, so that the same input has the same names."""
        key = ("ordinal", kind, meta.namespace or "default", meta.generate_name)
        self._shared[key] = ordinal = self._shared.get(key, -1) + 1
        return cast(int, ordinal)

    def _pod(self, body: schema.PodObject, background: bool) -> RawPod:
        meta, spec, status = cast(schema.Metadata, body.metadata), body.spec or schema.PodSpecPart(), body.status or schema.PodStatus()
        node_name, spec.node_name = spec.node_name or "", None
        spec.volumes = claimed(spec.volumes)
        return RawPod(
            namespace=self._text(meta.namespace or "default"),
            name=meta.name or "",
            uid=meta.uid or "",
            spec=self._share(spec),
            labels=self._strings(meta.labels),
            annotations=self._strings(meta.annotations),
            owners=self._owners(meta.owner_references),
            created_at=meta.creation_timestamp or "",
            deleted_at=meta.deletion_timestamp or "",
            resource_version=meta.resource_version or "",
            node_name=self._text(node_name),
            phase=self._text(status.phase or ""),
            nominated=self._text(status.nominated_node_name or ""),
            started_at=status.start_time or "",
            resize=self._resize(status),
            background=background,
        )

    def _resize(self, status: schema.PodStatus) -> schema.PodStatus | None:
        """Only what in-place resize needs of a status."""
        told = schema.PodStatus(
            resize=status.resize,
            conditions=[item for item in status.conditions or () if item.type == "PodResizePending"] or None,
            container_statuses=_told(status.container_statuses),
            init_container_statuses=_told(status.init_container_statuses),
            resources=status.resources,
            allocated_resources=status.allocated_resources,
        )
        return None if told == schema.PodStatus() else self._share(told)

    def _share(self, part: T) -> T:
        return cast(T, self._shared.setdefault((type(part), self._encoder.encode(part)), part))

    def _text(self, text: str) -> str:
        return cast(str, self._shared.setdefault(text, text))

    def _strings(self, mapping: dict[str, str] | None) -> dict[str, str]:
        return cast(dict[str, str], self._shared.setdefault(tuple(sorted((mapping or {}).items())), mapping or {}))

    def _owners(self, owners: list[schema.OwnerReference] | None) -> tuple[schema.OwnerReference, ...]:
        if not owners:
            return ()
        return cast("tuple[schema.OwnerReference, ...]", self._shared.setdefault(("owners", self._encoder.encode(owners)), tuple(owners)))

    def _items(self, payload: Payload, where: str) -> list[Any]:
        return cast("list[Any]", self._decode(list[Any] if isinstance(payload, list) else list[msgspec.Raw], payload, where))

    def _decode(self, kind_type: Any, payload: Payload, where: str, kind: str = "") -> Any:
        try:
            if not isinstance(payload, (dict, list)):
                decoder = self._decoders.get(kind_type) or self._decoders.setdefault(kind_type, msgspec.json.Decoder(kind_type))
                return decoder.decode(payload)
            if kind_type is _Envelope:
                return _envelope(payload)
            return msgspec.convert(payload, kind_type)
        except (msgspec.DecodeError, RecursionError) as error:
            raise _input_error(error, payload, where, kind) from error


_HEAD = re.compile(rb'\{\s*"apiVersion":\s*"([\w./-]+)",\s*"kind":\s*"(\w+)",')


def _peek(payload: Payload) -> _Envelope | None:
    """The head of an object as kubectl prints it, keys in order, without a scan of all the rest. None for everything else."""
    match = None if isinstance(payload, (dict, list)) else _HEAD.match(memoryview(payload)[:400])
    if match is None or match[2].endswith(b"List"):
        return None
    return _Envelope(kind=match[2].decode(), api_version=match[1].decode())


def _envelope(payload: Payload) -> _Envelope:
    """The YAML twin of decoding an _Envelope: items and input stay Python values, which _decode takes as well."""
    mapping = cast("dict[str, Any]", payload)
    head = msgspec.convert({key: mapping[key] for key in ("kind", "apiVersion") if key in mapping}, _Envelope)
    head.items, head.input = mapping.get("items") or msgspec.Raw(), mapping.get("input") or msgspec.Raw()
    return head


def claimed(volumes: list[schema.Volume] | None) -> list[schema.Volume] | None:
    """The volumes that are claims; all others (secrets, tokens with names of their own) have no say in where a pod runs."""
    return [volume for volume in volumes or () if volume.persistent_volume_claim or volume.ephemeral] or None


def _told(statuses: list[schema.ContainerStatus] | None) -> list[schema.ContainerStatus] | None:
    return [status for status in statuses or () if status.resources or status.allocated_resources] or None


def _is_list(payload: Payload) -> bool:
    return isinstance(payload, list) or (not isinstance(payload, dict) and bytes(memoryview(payload)[:1]) == b"[")


def _case_list(case: dict[str, Any], key: str, where: str) -> list[Any]:
    value = case.get(key)
    if value is not None and not isinstance(value, list):
        raise InputError(f"expected a list, got {type(value).__name__}", where=f"{where}.{key}", mend="give a list of objects")
    return value or []


def json_documents(data: bytes, name: str) -> Iterator[memoryview]:
    """Each of the JSON values that follow one another (one value, NDJSON, or kubectl's output repeated). Raises InputError."""
    view, scan = memoryview(data), msgspec.json.Decoder(msgspec.Raw)
    start = 0
    while rest := re.compile(rb"\S").search(data, start):
        start = rest.start()
        try:
            scan.decode(view[start:])
            end = len(data)
        except msgspec.DecodeError as error:
            trailing = re.search(r"trailing characters \(byte (\d+)\)", str(error))
            if not trailing:
                line = data.count(b"\n", 0, start) + 1
                raise InputError(f"{error}", where=f"{name}, JSON from line {line}", mend="was the file cut short?") from error
            end = start + int(trailing[1]) - 1  # it has read the byte that it refuses
        except RecursionError as error:
            raise InputError("it is nested too deeply", where=name, mend="give Kubernetes objects") from error
        yield view[start:end]
        start = end


_MESSAGE = re.compile(r"(.*?)(?: - at `(?:key in )?\$?(.*)`)?", re.DOTALL)


def _input_error(error: Exception, payload: Payload, where: str, kind: str) -> InputError:
    """msgspec's message in our words: which object, where in it, what was expected."""
    if isinstance(error, RecursionError):
        return InputError("it is nested too deeply", where=where, mend="give Kubernetes objects")
    match = cast("re.Match[str]", _MESSAGE.fullmatch(str(error)))
    what = match[1].replace(" | null", "").replace("`", "").replace("Expected", "expected")
    subject = _named(payload, kind)
    path = (match[2] or "").lstrip(".")
    place = f"{subject} ({where})" if subject else where
    return InputError(what, where=f"{place}: {path}" if path else place, mend="see the Kubernetes API reference for this field")


def _named(payload: Payload, kind: str) -> str:
    try:
        found = msgspec.convert(payload, _NameOnly) if isinstance(payload, (dict, list)) else msgspec.json.decode(payload, type=_NameOnly)
    except (msgspec.DecodeError, RecursionError):
        return kind
    meta = found.metadata or _Named()
    return " ".join(part for part in (kind, "/".join(str(part) for part in (meta.namespace, meta.name) if part)) if part)
