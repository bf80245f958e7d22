"""The arrays that the solver's numerical parts share. Nothing here knows of pods, nodes or Kubernetes.

Axes: ``C`` pod classes, ``B`` bin kinds (offerings that can be opened, and existing nodes), ``R`` resources, ``G`` stock groups,
``L`` limits, ``Z`` cells (sets of bins that share every topology domain), ``K`` tiers. Integers are int64, money micro-dollars an hour.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]

UNLIMITED = np.int64(1) << 40


class Packing(NamedTuple):
    """Classes of pods to put into bins at least cost. A *pattern* is int64[C]: how many of each class one bin holds.

    A pattern ``a`` fits bin kind ``b`` when: Σ_c a_c·demand[c] ≤ cap[b] in every resource; a_c ≤ most[c, b]; no two classes
    with a > 0 clash (the diagonal of ``clash`` is False: self-clashes are ``most`` = 1); every class with a > 0 that has a row in ``needs``
    finds one of the classes it needs with a > 0 (or ``needs_met[c, b]``); and devices can be shared (below).
    """

    demand: Ints
    """[C, R] what one item takes, ≥ 0. Items may stand for several pods (``weight``)."""
    count: Ints  # type: ignore[assignment]  # hides tuple.count, which nobody needs here
    """[C] items to place, ≥ 0."""
    weight: Ints
    """[C] pods that one item stands for (glued pods), ≥ 1."""
    tier: Ints
    """[C] priority tier, 0 = most urgent. Placed pods by tier come before money."""
    cap: Ints
    """[B, R] what a bin offers, ≥ 0, daemons and running pods already taken off."""
    price: Ints
    """[B] of one bin, node fee included; 0 for an existing node."""
    most: Ints
    """[C, B] most items of a class in one bin of the kind; 0 = not allowed there."""
    adder: Ints
    """[C, B] added cost of one item there (spot risk, a rule's penalty)."""
    clash: Bools
    """[C, C] symmetric: may not share a bin."""
    needs: Bools
    """[C, C] needs[c, d]: c wants a bin that holds some such d. A row of False: no need. Ignored by bounds, kept by plans."""
    needs_met: Bools
    """[C, B] the need of c is met there already."""
    stock_group: Ints
    """[B] index into ``stock``, or -1 for unlimited. Variants of one machine share a group."""
    stock: Ints
    """[G] how many bins of a group can be used."""
    limit_use: Ints
    """[L, B] what one bin takes of a limit."""
    limit: Ints
    """[L]"""
    cell: Ints
    """[B] the cell of each bin kind, 0 … Z-1."""
    existing: Bools
    """[B] the bin stands already (its stock group is its multiplicity)."""
    device_resource: int
    """Index of a resource that is shared in parts of devices, or -1. An item that takes ≤ device_size of it must sit on one device;
    one that takes more takes a multiple of device_size, whole devices."""
    device_size: int


class SideRows(NamedTuple):
    """Linear rows over cells that every valid plan satisfies (spread, zone affinity): for the LP and its bound only.

    Row m: Σ_{c,z} coef[m, c, z]·(items of c in bins of cell z) + Σ_a aux[m, a]·v_a ≤ rhs[m], with aux_low ≤ v ≤ aux_high, v free of cost.
    """

    coef: Ints
    """[M, C, Z]"""
    aux: Ints
    """[M, A]"""
    rhs: Ints
    """[M]"""
    aux_low: Ints
    """[A]"""
    aux_high: Ints
    """[A] finite."""


class Bins(NamedTuple):
    """An integer plan: ``times[i]`` bins of kind ``kind[i]``, each with ``pattern[i]``. Rows with times 0 do not occur."""

    kind: Ints
    """[n]"""
    times: Ints
    """[n]"""
    pattern: Ints
    """[n, C]"""


class Certificate(NamedTuple):
    """Dual values from which anyone can recompute the bound: integers, in units of 1/scale micro-dollar an hour.

    With v[c, b] = class_value[c] - scale·adder[c, b] - Σ_m side_value[m]·coef[m, c, cell[b]] and UB_b ≥ max pattern value of bin kind b:
    the numerator is Σ count·class_value - Σ tier_value·allowed_unplaced - Σ stock_value·stock - Σ limit_value·limit - Σ side_value·rhs
    + Σ_a min over [low, high] of (Σ_m side_value[m]·aux[m, a])·v_a, the ratio r is the greatest of 1 and (UB_b - stock_value[group of b]
    - Σ limit_value·limit_use) / (price_b·scale), and the bound is numerator / (r·scale), rounded up. Bins of price 0 must have
    UB_b ≤ stock_value + Σ limit_value·limit_use, and class_value ≤ tier_value·weight where the tier may leave pods out (``bound``).
    """

    scale: int
    class_value: Ints
    stock_value: Ints
    limit_value: Ints
    side_value: Ints
    tier_value: Ints
    pattern_bound: Ints
    """[B] UB_b, in the same unit."""


def empty_side(classes: int, cells: int) -> SideRows:
    """No side rows at all."""
    zero = np.zeros(0, np.int64)
    return SideRows(np.zeros((0, classes, cells), np.int64), np.zeros((0, 0), np.int64), zero, zero, zero)


class Groups(NamedTuple):
    """Rules between items of different bins, as arrays: spread, affinity and anti-affinity (``D`` domains at most).

    Axis ``Q`` rules. A host rule's domains are the single bins; another's are given by ``domain``.
    """

    kind: Ints
    """[Q] SPREAD, AFFINITY or ANTI."""
    host: Bools
    """[Q] the topology is the single bin."""
    carrier: Bools
    """[Q, C] the class carries the rule."""
    member: Ints
    """[Q, C] matching pods in one item of the class."""
    domain: Ints
    """[Q, B] domain of each bin kind, -1 where it lacks the topology key. Zeros for host rules."""
    counts: Bools
    """[Q, B] bins of the kind count for the rule (spread: eligible by node affinity and taint policies)."""
    held: Ints
    """[Q, D] matching pods that run in each domain already; host rules: see ``held_bin``."""
    held_bin: Ints
    """[Q, B] host rules: matching pods that run on each bin of the kind already."""
    stands: Bools
    """[Q, D] the domain exists already, by a node that counts."""
    skew: Ints
    """[Q] maxSkew of spread rules."""
    min_domains: Ints
    """[Q]"""
    aside_hosts: Ints
    """[Q] host rules: nodes that count but are no bin, since nothing fits there."""
    aside_least: Ints
    """[Q] host rules: fewest matching pods on such a node; meaningless without one."""


SPREAD, AFFINITY, ANTI = 0, 1, 2
