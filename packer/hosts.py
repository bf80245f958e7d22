"""Which hosts a pod's static rules allow, for all hosts at once: the vectorised twin of :mod:`packer.rules`.

A *host* is anything that can hold pods: an offering's fresh node, or a node that exists. Axis ``H`` hosts. The rules are those of
kube-scheduler's NodeAffinity, TaintToleration, NodeUnschedulable and VolumeBinding plugins; ``rules`` has them one by one, with their
sources, and a test holds the two together.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from packer import rules
from packer.arrays import Bools, Ints
from packer.model import HOSTNAME, Labels, NodeTerm, Operator, PodSpec, Requirement, Taint, Toleration

ABSENT = -1
UNNAMED = "\0"
"""The hostname of a node that is yet to be bought: no label value equals it."""


class HostTable:
    """Labels and taints of ``H`` hosts, one coded column a label key, built when a rule first asks for the key."""

    def __init__(self, labels: Sequence[Labels], taints: Sequence[tuple[Taint, ...]], names: Sequence[str | None]) -> None:
        self._labels, self._names = labels, names
        self.size = len(labels)
        self._columns: dict[str, tuple[Ints, list[str]]] = {}
        self._masks: dict[object, Bools] = {}
        distinct: dict[tuple[Taint, ...], int] = {}
        self._taint_code = np.array([distinct.setdefault(t, len(distinct)) for t in taints], np.int64)
        self._taint_sets = list(distinct)

    def column(self, key: str) -> tuple[Ints, list[str]]:
        """Codes int64[H] of a label's values (ABSENT where the host lacks it) and the values in sorted order."""
        known = self._columns.get(key)
        if known is None:
            raw = [labels.get(key) for labels in self._labels]
            if key == HOSTNAME:
                # A new node will have a hostname, but not one that anybody could have named.
                raw = [UNNAMED if name is None else value for name, value in zip(self._names, raw, strict=True)]
            values = sorted({value for value in raw if value is not None})
            code = {value: i for i, value in enumerate(values)}
            codes = np.array([ABSENT if value is None else code[value] for value in raw], np.int64)
            known = self._columns[key] = (codes, values)
        return known

    def requirement(self, requirement: Requirement) -> Bools:
        """bool[H]: the label requirement holds. Absent labels satisfy NotIn and DoesNotExist alone."""
        return self._cached(("label", requirement), lambda: self._requirement(requirement))

    def _requirement(self, requirement: Requirement) -> Bools:
        codes, values = self.column(requirement.key)
        match requirement.operator:
            case Operator.EXISTS:
                return np.asarray(codes != ABSENT)
            case Operator.DOES_NOT_EXIST:
                return np.asarray(codes == ABSENT)
        holds = np.array(
            [rules.matches(requirement, {requirement.key: value}) for value in values] + [rules.matches(requirement, {})], np.bool_
        )
        return holds[codes]

    def _field(self, requirement: Requirement) -> Bools:
        """metadata.name is the only field; a node that is yet to be bought has no name that anyone could have asked for."""
        wanted = np.array([name is not None and name in requirement.values for name in self._names], np.bool_)
        return wanted if requirement.operator is Operator.IN else ~wanted

    def terms(self, terms: tuple[NodeTerm, ...]) -> Bools:
        """bool[H]: some term holds; an empty term holds nowhere."""
        return self._cached(("terms", terms), lambda: self._terms(terms))

    def _terms(self, terms: tuple[NodeTerm, ...]) -> Bools:
        any_term = np.zeros(self.size, np.bool_)
        for term in terms:
            if term.expressions or term.fields:
                holds = np.ones(self.size, np.bool_)
                for requirement in term.expressions:
                    holds &= self.requirement(requirement)
                for requirement in term.fields:
                    holds &= self._field(requirement)
                any_term |= holds
        return any_term

    def tolerated(self, tolerations: tuple[Toleration, ...]) -> Bools:
        """bool[H]: no NoSchedule or NoExecute taint is left untolerated."""
        return self._cached(("taints", tolerations), lambda: self._tolerated(tolerations))

    def _tolerated(self, tolerations: tuple[Toleration, ...]) -> Bools:
        probe = PodSpec(requests={}, tolerations=tolerations)
        allowed = np.array([not rules.untolerated(probe, taints) for taints in self._taint_sets], np.bool_)
        return allowed[self._taint_code] if self.size else np.zeros(0, np.bool_)

    def affine(self, spec: PodSpec) -> Bools:
        """bool[H]: node selector and required node affinity hold (what nodeAffinityPolicy: Honor asks)."""
        holds = np.ones(self.size, np.bool_)
        for requirement in spec.selector:
            holds &= self.requirement(requirement)
        if spec.node_terms is not None:
            holds &= self.terms(spec.node_terms)
        return holds

    def allows(self, spec: PodSpec) -> Bools:
        """bool[H]: labels, volumes and taints let the pod in; resources, ports and other pods are not looked at."""
        holds = self.affine(spec) & self.tolerated(spec.tolerations)
        for terms in spec.volume_terms:
            holds &= self.terms(terms)
        return holds

    def _cached(self, key: object, compute: object) -> Bools:
        mask = self._masks.get(key)
        if mask is None:
            mask = self._masks[key] = compute()  # type: ignore[operator]
        return mask
