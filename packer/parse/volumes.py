"""Persistent volumes: where the claims of a pod let it run (kube-scheduler's VolumeBinding, VolumeZone, VolumeRestrictions and
NodeVolumeLimits plugins).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from packer.model import ATTACHABLE_PREFIX, REGION, ZONE, NodeTerm, Operator, Requirement
from packer.parse import schema
from packer.parse.contract import BETA_STORAGE_CLASS, BIND_COMPLETED, DEFAULT_STORAGE_CLASS, SELECTED_NODE
from packer.parse.terms import node_terms, selector
from packer.quantity import parse_manifest
from packer.rules.labels import NAME_FIELD, selector_matches

BETA_ZONE, BETA_REGION = "failure-domain.beta.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region"
_GENERALLY_AVAILABLE = {BETA_ZONE: ZONE, BETA_REGION: REGION}
_TOPOLOGY = (ZONE, REGION, BETA_ZONE, BETA_REGION)
_NO_TOPOLOGY = NodeTerm(tuple(sorted(Requirement(key, Operator.DOES_NOT_EXIST) for key in _TOPOLOGY)))
_NO_PROVISIONER = "kubernetes.io/no-provisioner"
Terms = tuple[NodeTerm, ...]


class VolumeNeeds(NamedTuple):
    """What the volumes of a pod ask of its node. ``attached``: (resource, volume) pairs that count against attach limits."""

    terms: tuple[Terms, ...] = ()
    exclusive: tuple[str, ...] = ()
    attached: tuple[tuple[str, str], ...] = ()
    problem: str = ""
    """Why no node can do, whichever it is: the pod waits for storage, not for room."""


class VolumeIndex:
    """All storage objects by name. ``planned`` are claims that a controller will make together with its pods."""

    def __init__(
        self,
        claims: Iterable[schema.ClaimObject] = (),
        volumes: Iterable[schema.VolumeObject] = (),
        classes: Iterable[schema.StorageClassObject] = (),
        csi_nodes: Iterable[schema.CsiNodeObject] = (),
        planned: Mapping[str, schema.ClaimSpec] | None = None,
    ) -> None:
        self._claims = {f"{_meta(one).namespace or 'default'}/{_meta(one).name}": one for one in claims}
        self._volumes = {_meta(one).name or "": one for one in volumes}
        self._free: dict[str, list[schema.VolumeObject]] = {}
        for _, one in sorted(self._volumes.items()):
            if not one.status or one.status.phase in (None, "Available") or (one.spec and one.spec.claim_ref):
                self._free.setdefault((one.spec.storage_class_name if one.spec else None) or "", []).append(one)
        self._classes = {_meta(one).name or "": one for one in classes}
        self._planned = dict(planned or {})
        self.attach_limits: dict[str, dict[str, int]] = {}
        """By node name: attachable resource -> how many volumes its driver attaches."""
        for node in csi_nodes:
            counts = {
                ATTACHABLE_PREFIX + "csi-" + driver.name: driver.allocatable.count
                for driver in (node.spec.drivers if node.spec else None) or ()
                if driver.allocatable and driver.allocatable.count is not None
            }
            if counts:
                self.attach_limits[_meta(node).name or ""] = counts
        self._limited = {resource for counts in self.attach_limits.values() for resource in counts}

    def limit_also(self, resources: Iterable[str]) -> None:
        """Count volumes of these attachable resources too: some offering limits them."""
        self._limited.update(resource for resource in resources if resource.startswith(ATTACHABLE_PREFIX))

    def needs(self, namespace: str, pod_name: str, volumes: Iterable[schema.Volume]) -> VolumeNeeds:
        """The needs of all of a pod's volumes, or the first problem among them."""
        terms: set[Terms] = set()
        exclusive: set[str] = set()
        attached: set[tuple[str, str]] = set()
        for volume in volumes:
            name, template = _claim_of(volume, pod_name)
            found = self._claim(f"{namespace}/{name}", template)
            if found.problem:
                return found
            terms.update(found.terms)
            exclusive.update(found.exclusive)
            attached.update(found.attached)
        return VolumeNeeds(tuple(sorted(terms)), tuple(sorted(exclusive)), tuple(sorted(attached)))

    def _claim(self, key: str, template: schema.ClaimSpec | None) -> VolumeNeeds:
        claim = self._claims.get(key)
        if claim is None:
            planned = template or self._planned.get(key)
            if planned is None:
                return VolumeNeeds(problem=f"persistentvolumeclaim {key} is not in the input; add pvc,pv,sc to what kubectl gets")
            return self._unbound(key, planned, {}, planned=True)
        spec, meta = claim.spec or schema.ClaimSpec(), _meta(claim)
        if meta.deletion_timestamp:
            return VolumeNeeds(problem=f"persistentvolumeclaim {key} is being deleted")
        if claim.status and claim.status.phase == "Lost":
            return VolumeNeeds(problem=f"persistentvolumeclaim {key} has lost its volume")
        exclusive = (key,) if "ReadWriteOncePod" in (spec.access_modes or ()) else ()
        annotations = meta.annotations or {}
        if not spec.volume_name:
            return self._unbound(key, spec, annotations, planned=False)._replace(exclusive=exclusive)
        if BIND_COMPLETED not in annotations and claim.status and claim.status.phase == "Pending":
            return VolumeNeeds(problem=f"claim {key} names its volume but is not bound to it yet")
        volume = self._volumes.get(spec.volume_name)
        if volume is None:
            return VolumeNeeds(
                problem=f"persistentvolume {spec.volume_name} of claim {key} is not in the input; add pv to what kubectl gets"
            )
        return VolumeNeeds(bound_terms(volume), exclusive, self._attached(_driver(volume), _handle(volume)))

    def _unbound(self, key: str, spec: schema.ClaimSpec, annotations: Mapping[str, str], *, planned: bool) -> VolumeNeeds:
        """A claim without a volume: only WaitForFirstConsumer lets its pod go ahead, and only to where a volume can be had.

        A planned claim will be made and bound with its pod, so that neither its class nor its binding mode need be known yet.
        """
        name = annotations.get(BETA_STORAGE_CLASS) or spec.storage_class_name
        storage_class = self._classes.get(name) if name else self._default_class() if planned and name is None else None
        exclusive = (key,) if "ReadWriteOncePod" in (spec.access_modes or ()) else ()
        if storage_class is None:
            if planned:
                return VolumeNeeds(exclusive=exclusive)
            if name:
                return VolumeNeeds(problem=f"storageclass {name} of claim {key} is not in the input; add sc to what kubectl gets")
            return VolumeNeeds(problem=f"claim {key} is not bound and has no storage class that waits for its pod")
        if storage_class.volume_binding_mode != "WaitForFirstConsumer" and not planned:
            return VolumeNeeds(problem=f"claim {key} is not bound yet and binds immediately: the pod waits for storage, not for a node")
        provisioner = storage_class.provisioner or ""
        return self._reachable(key, spec, annotations, storage_class)._replace(
            exclusive=exclusive, attached=self._attached(provisioner, f"claim {key}")
        )

    def _reachable(
        self, key: str, spec: schema.ClaimSpec, annotations: Mapping[str, str], storage_class: schema.StorageClassObject
    ) -> VolumeNeeds:
        """Nodes from which a fitting free volume can be reached, or where the provisioner may make one (allowedTopologies)."""
        selected = annotations.get(SELECTED_NODE)
        if selected:  # provisioning is under way for this very node (VolumeBinding, FindPodVolumes)
            return VolumeNeeds(((NodeTerm((), (Requirement(NAME_FIELD, Operator.IN, (selected,)),)),),))
        free = [one for one in self._free.get(_meta(storage_class).name or "", ()) if _could_bind(one, key, spec)]
        places = [_affinity(one) for one in free]
        if storage_class.provisioner != _NO_PROVISIONER:
            places.append(_allowed(storage_class))
        if not places:
            return VolumeNeeds(problem=f"no free volume fits claim {key}, and its class {_meta(storage_class).name} makes none")
        if any(place is None for place in places):
            return VolumeNeeds()
        return VolumeNeeds((tuple(sorted({term for place in places for term in place or ()})),))

    def _default_class(self) -> schema.StorageClassObject | None:
        named = sorted(name for name, one in self._classes.items() if (_meta(one).annotations or {}).get(DEFAULT_STORAGE_CLASS) == "true")
        return self._classes[named[0]] if named else None

    def _attached(self, driver: str, volume: str) -> tuple[tuple[str, str], ...]:
        resource = ATTACHABLE_PREFIX + "csi-" + driver
        return ((resource, volume),) if resource in self._limited else ()


def bound_terms(volume: schema.VolumeObject) -> tuple[Terms, ...]:
    """What a bound volume asks: its nodeAffinity (VolumeBinding) and its zone and region labels (VolumeZone).

    VolumeZone reads ``__`` between alternatives, takes the GA label of a node where the volume has the beta one, and passes nodes
    without any topology label.
    """
    found: list[Terms] = []
    for key, value in sorted((_meta(volume).labels or {}).items()):
        if key in _TOPOLOGY:
            values = tuple(sorted(part.strip() for part in value.split("__") if part.strip()))
            accepted = [NodeTerm((Requirement(key, Operator.IN, values),)), _NO_TOPOLOGY]
            if key in _GENERALLY_AVAILABLE:
                on_new = (Requirement(key, Operator.DOES_NOT_EXIST), Requirement(_GENERALLY_AVAILABLE[key], Operator.IN, values))
                accepted.append(NodeTerm(tuple(sorted(on_new))))
            found.append(tuple(sorted(accepted)))
    affinity = _affinity(volume)
    return (*found, *((affinity,) if affinity is not None else ()))


def _affinity(volume: schema.VolumeObject) -> Terms | None:
    required = volume.spec.node_affinity.required if volume.spec and volume.spec.node_affinity else None
    return node_terms(required, f"PersistentVolume {_meta(volume).name}: spec.nodeAffinity.required")


def _allowed(storage_class: schema.StorageClassObject) -> Terms | None:
    """allowedTopologies as ORed terms, of which empty ones match nothing; None without any (MatchTopologySelectorTerms)."""
    if not storage_class.allowed_topologies:
        return None
    terms = {
        NodeTerm(
            tuple(
                sorted(
                    Requirement(one.key, Operator.IN, tuple(sorted(set(one.values or ())))) for one in term.match_label_expressions or ()
                )
            )
        )
        for term in storage_class.allowed_topologies
    }
    return tuple(sorted(terms))


def _could_bind(volume: schema.VolumeObject, key: str, claim: schema.ClaimSpec) -> bool:
    """Whether a static volume of the claim's class is free for the claim (component-helpers/storage/volume FindMatchingVolume)."""
    spec, meta = volume.spec or schema.VolumeSpec(), _meta(volume)
    reserved = spec.claim_ref
    if meta.deletion_timestamp or (reserved is not None and f"{reserved.namespace or 'default'}/{reserved.name}" != key):
        return False
    wanted = (claim.resources.requests if claim.resources else None) or {}
    enough = parse_manifest((spec.capacity or {}).get("storage", 0)) >= parse_manifest(wanted.get("storage", 0))
    modes = set(claim.access_modes or ()) <= set(spec.access_modes or ())
    chosen = claim.selector is None or selector_matches(selector(claim.selector, f"claim {key}: spec.selector"), meta.labels or {})
    fits = enough and (claim.volume_mode or "Filesystem") == (spec.volume_mode or "Filesystem")
    return fits and (reserved is not None or (modes and chosen))


def _claim_of(volume: schema.Volume, pod_name: str) -> tuple[str, schema.ClaimSpec | None]:
    """The claim's name, and the spec it will be made from if it is an ephemeral volume's."""
    if volume.persistent_volume_claim:
        return volume.persistent_volume_claim.claim_name, None
    template = volume.ephemeral.volume_claim_template if volume.ephemeral else None
    return f"{pod_name}-{volume.name}", (template.spec if template else None) or schema.ClaimSpec()


def _driver(volume: schema.VolumeObject) -> str:
    return volume.spec.csi.driver if volume.spec and volume.spec.csi else ""


def _handle(volume: schema.VolumeObject) -> str:
    csi = volume.spec.csi if volume.spec else None
    return (csi.volume_handle if csi else None) or _meta(volume).name or ""


def _meta(one: object) -> schema.Metadata:
    return getattr(one, "metadata", None) or schema.Metadata()
