"""Made-up names for the objects of a dump, each name's the same everywhere and in the same order as before.

Names are numbered in sorted order, so that nothing can be read back from them and what is decided by name is decided alike. Well-known
labels (zones, instance types, providers' keys, the label contract), labels that the catalog has, numbers and booleans keep their
values: plans depend on them. A policy that goes by pod labels or namespaces does not know the new names.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from packer.parse.contract import KUEUE_GROUP, POD_GROUP_ANNOTATIONS, POD_GROUP_LABELS

Parts = dict[str, list[dict[str, Any]]]

_WELL_KNOWN = re.compile(
    r"(.*\.)?(kubernetes\.io|k8s\.io|karpenter\.sh|karpenter\.k8s\.(aws|gcp)|karpenter\.azure\.com|eks\.amazonaws\.com|cloud\.google\.com"
    r"|kubernetes\.azure\.com|nvidia\.com|amd\.com|bayplan\.io)/.*"
)
_NAMED_AFTER = {
    "kubernetes.io/hostname",
    "kubernetes.io/metadata.name",
    "metadata.name",
    "statefulset.kubernetes.io/pod-name",
    "volume.kubernetes.io/selected-node",
    "bayplan.io/gang",
    KUEUE_GROUP,
    *POD_GROUP_LABELS,
    *POD_GROUP_ANNOTATIONS,
}
"""Keys whose values are names of nodes, namespaces, pods or groups, well known as the keys are."""
_LABELS = ("labels", "annotations", "matchLabels", "nodeSelector")
_NAMES = {
    "name", "namespace", "uid", "generateName", "nodeName", "nominatedNodeName", "claimName", "volumeName", "storageClassName",
    "priorityClassName", "groupName", "volumeHandle", "podGroupName",
}  # fmt: skip
_NOT_NAMES = ("schedulingGates", "drivers")
"""Lists whose items' names mean something: scheduling gates, and CSI drivers, which volumes and classes name too."""
_AS_IT_IS = re.compile(r"-?[0-9]+|true|false|default|kube-system|system-(cluster|node)-critical|")


def renamed(parts: Parts) -> Parts:
    """The parts of a scrubbed dump with made-up names. The catalog stays as it is."""
    names: dict[str, str] = {}
    _Renamer(parts, lambda text: names.setdefault(text, text))
    width = len(str(len(names)))
    made_up = {name: f"n{number:0{width}}" for number, name in enumerate(sorted(names), 1)}
    return _Renamer(parts, made_up.__getitem__).parts


class _Renamer:
    """Walks all parts once; ``name`` is asked for every text that is a name."""

    def __init__(self, parts: Parts, name: Callable[[str], str]) -> None:
        self._ask = name
        rows = parts.get("catalog", [])
        self._kept = {key for row in rows for key in row.get("labels") or ()}
        self._kept |= {str(taint.get("key")) for row in rows for taint in row.get("taints") or ()}
        self.parts = {key: items if key == "catalog" else [self._part(item, "") for item in items] for key, items in parts.items()}

    def _part(self, value: Any, within: str) -> Any:
        """``within`` is the key under which the value stands."""
        if isinstance(value, list):
            return [self._part(item, within) for item in value]
        if not isinstance(value, dict):
            return value
        if within in _LABELS:
            return {key: self._value(key, text) for key, text in value.items()}
        return {key: self._field(key, item, value, within) for key, item in value.items()}

    def _field(self, key: str, item: Any, holder: dict[str, Any], within: str) -> Any:
        if key in _NAMES and isinstance(item, str) and within not in _NOT_NAMES:
            return self._name(item)
        if key == "namespaces" and isinstance(item, list):
            return [self._name(text) for text in item]
        if key == "values" and isinstance(item, list):
            return [self._value(str(holder.get("key", "")), text) for text in item]
        if key == "value" and within in ("taints", "tolerations") and isinstance(item, str):
            return self._value(str(holder.get("key", "")), item)
        return self._part(item, key)

    def _value(self, key: str, text: str) -> str:
        if key in _NAMED_AFTER:
            return self._name(text)
        return text if key in self._kept or _WELL_KNOWN.fullmatch(key) else self._name(text)

    def _name(self, text: str) -> str:
        return text if _AS_IT_IS.fullmatch(text) else self._ask(text)
