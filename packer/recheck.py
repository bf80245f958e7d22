"""The bound, proven once more by other means: dual values in, every pricing problem re-solved by CP-SAT, all arithmetic in exact integers.

Shares no code with the solver but the arrays. Lagrangian duality (formulation.md, 12-14): with class values π, tier values κ, stock
values σ, limit values λ and side values α, all but π at least 0, and v_cb = π_c - scale·adder_cb - Σ α·coef, any plan costs at least
numerator / (r·scale) with

    numerator = Σ n·π - Σ κ·U - Σ σ·stock - Σ λ·L - Σ α·rhs + Σ min over v of (α·aux)·v
    r ≥ 1 such that every pattern that fits bin kind b is worth at most σ_b + Σ λ·use_b + r·scale·price_b.

The certificate's own pattern bounds only say which r to try; what each bin kind has to satisfy for that r is proven here. Dividing all
values by r keeps every row (rows are homogeneous, adders ≥ 0), so the quotient bounds the objective; it is rounded up to the next whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from ortools.sat.python import cp_model

from packer.arrays import UNLIMITED, Certificate, Ints, Packing, SideRows

DETERMINISTIC_TIME = 60.0
"""CP-SAT's deterministic seconds for one bin kind; what is open after that counts as unproven."""


@dataclass(frozen=True, slots=True)
class BoundCheck:
    """``bound``: micro-dollars an hour that the certificate proves, 0 if it proves nothing. ``faults``: why not, or what stayed open."""

    bound: int
    claimed: int
    faults: tuple[str, ...] = ()
    by_cp_sat: int = 0
    """Bin kinds (alike ones counted once) that needed CP-SAT; simple arithmetic settled the rest."""

    @property
    def proven(self) -> bool:
        """Whether the claimed bound follows."""
        return not self.faults and self.claimed <= self.bound


def check_bound(
    packing: Packing, side: SideRows, certificate: Certificate, allowed_unplaced_by_tier: Sequence[int], claimed_bound: int
) -> BoundCheck:
    """Does the certificate prove that no plan leaving at most so many pods unplaced in each tier costs less than ``claimed_bound``?"""
    allowed = [int(n) for n in allowed_unplaced_by_tier]
    faults = [*_shape_faults(packing, side, certificate, allowed)] or [*_sign_faults(packing, certificate, allowed)]
    if faults:
        return BoundCheck(0, claimed_bound, tuple(faults))
    rents = _rents(packing, certificate)
    ratio = _ratio(packing, certificate, rents)
    if ratio is None:
        return BoundCheck(0, claimed_bound, ("a bin without price has a pattern bound above its stock and limit values",))
    proven, faults = 0, []
    for alike, threshold in _pricing_problems(packing, side, certificate, rents, ratio):
        if alike.quick_bound() > threshold:
            proven += 1
            if not alike.never_above(threshold):
                faults.append(f"bin kind {alike.kind}: no proof that every pattern is worth at most {threshold}")
    total = _numerator(packing, side, certificate, allowed)
    bound = max(0, -(-total * ratio.denominator // (ratio.numerator * certificate.scale)))
    return BoundCheck(0 if faults else bound, claimed_bound, tuple(faults), proven)


def _shape_faults(packing: Packing, side: SideRows, c: Certificate, allowed: Sequence[int]) -> Iterator[str]:
    classes, bins = packing.most.shape
    expected = {
        "class_value": (c.class_value, classes),
        "stock_value": (c.stock_value, len(packing.stock)),
        "limit_value": (c.limit_value, len(packing.limit)),
        "side_value": (c.side_value, len(side.rhs)),
        "pattern_bound": (c.pattern_bound, bins),
    }
    for name, (array, length) in expected.items():
        if array.shape != (length,):
            yield f"{name} has shape {array.shape}, not ({length},)"
    tiers = int(packing.tier.max(initial=-1)) + 1
    if len(c.tier_value) < tiers or len(allowed) < tiers:
        yield f"{len(c.tier_value)} tier values and {len(allowed)} counts of unplaced for {tiers} tiers"
    if c.scale < 1:
        yield f"scale is {c.scale}"


def _sign_faults(packing: Packing, c: Certificate, allowed: Sequence[int]) -> Iterator[str]:
    """Rows are ≤, so their values are ≥ 0; a class may not be worth more than its tier lets a pod cost that stays out."""
    for name in ("tier_value", "stock_value", "limit_value", "side_value"):
        if any(value < 0 for value in getattr(c, name).tolist()):
            yield f"{name} is negative somewhere"
    if (packing.adder < 0).any() or (packing.price < 0).any():
        yield "a price or an adder is negative"
    for index, (value, tier, weight) in enumerate(zip(c.class_value.tolist(), packing.tier.tolist(), packing.weight.tolist(), strict=True)):
        if tier < len(allowed) and allowed[tier] > 0 and value > int(c.tier_value[tier]) * weight:
            yield f"class {index} is worth {value}, above its tier's value for {weight} pods"


def _rents(packing: Packing, c: Certificate) -> list[int]:
    """σ of the bin's stock group plus Σ λ·use, for each bin kind."""
    rents = []
    for b, group in enumerate(packing.stock_group.tolist()):
        use = sum(value * used for value, used in zip(c.limit_value.tolist(), packing.limit_use[:, b].tolist(), strict=True))
        rents.append(use + (int(c.stock_value[group]) if group >= 0 else 0))
    return rents


def _ratio(packing: Packing, c: Certificate, rents: list[int]) -> Fraction | None:
    """The least r ≥ 1 that the certificate's pattern bounds ask for; None if no r would do."""
    ratio = Fraction(1)
    for bound, rent, price in zip(c.pattern_bound.tolist(), rents, packing.price.tolist(), strict=True):
        if bound > rent:
            if price <= 0:
                return None
            ratio = max(ratio, Fraction(bound - rent, price * c.scale))
    return ratio


def _numerator(packing: Packing, side: SideRows, c: Certificate, allowed: Sequence[int]) -> int:
    total = _dot(packing.count.tolist(), c.class_value.tolist())
    total -= sum(int(value) * n for value, n in zip(c.tier_value.tolist(), allowed, strict=False))
    total -= _dot(c.stock_value.tolist(), packing.stock.tolist())
    total -= _dot(c.limit_value.tolist(), packing.limit.tolist())
    total -= _dot(c.side_value.tolist(), side.rhs.tolist())
    for a in range(side.aux.shape[1]):
        slope = _dot(c.side_value.tolist(), side.aux[:, a].tolist())
        total += min(slope * int(side.aux_low[a]), slope * int(side.aux_high[a]))
    return total


def _dot(left: Sequence[int], right: Sequence[int]) -> int:
    return sum(a * b for a, b in zip(left, right, strict=True))


@dataclass(frozen=True, slots=True)
class _Pricing:
    """max Σ value·a over the patterns ``a`` of one bin kind, for the classes that are worth something there."""

    kind: int
    value: tuple[int, ...]
    most: tuple[int, ...]
    demand: tuple[tuple[int, ...], ...]
    """[class][resource], for resources that can run out"""
    cap: tuple[int, ...]
    clashes: tuple[tuple[int, int], ...]
    shares: tuple[int, ...] = ()
    """Of each class: what one item takes of the shared device resource; empty without one."""
    devices: int = 0
    device_size: int = 0

    def quick_bound(self) -> int:
        """For any multiplier m ≥ 0 of one resource, m·cap + Σ most·max(0, value - m·demand) is an upper bound; a few good m are tried."""
        best = sum(value * most for value, most in zip(self.value, self.most, strict=True))
        for r, cap in enumerate(self.cap):
            rates = sorted((Fraction(value, row[r]) for value, row in zip(self.value, self.demand, strict=True) if row[r]), reverse=True)
            for rate in (rates[0], rates[len(rates) // 2], rates[-1]) if rates else ():
                spare = zip(self.value, self.most, self.demand, strict=True)
                over = rate * cap + sum(most * max(Fraction(0), value - rate * row[r]) for value, most, row in spare)
                best = min(best, over.numerator // over.denominator)
        return best

    def never_above(self, threshold: int) -> bool:
        """Whether CP-SAT proves that no pattern is worth more than ``threshold``. One thread, fixed seed, deterministic time."""
        model = cp_model.CpModel()
        items = [model.new_int_var(0, most, f"a{i}") for i, most in enumerate(self.most)]
        for r, cap in enumerate(self.cap):
            model.add(sum(row[r] * item for row, item in zip(self.demand, items, strict=True)) <= cap)
        self._keep_apart(model, items)
        if self.shares:
            self._onto_devices(model, items)
        model.add(sum(value * item for value, item in zip(self.value, items, strict=True)) >= threshold + 1)
        solver = cp_model.CpSolver()
        solver.parameters.num_workers = 1
        solver.parameters.random_seed = 0
        solver.parameters.max_deterministic_time = DETERMINISTIC_TIME
        return bool(solver.solve(model) == cp_model.INFEASIBLE)

    def _keep_apart(self, model: cp_model.CpModel, items: list[cp_model.IntVar]) -> None:
        used: dict[int, cp_model.IntVar] = {}
        for i in sorted({i for pair in self.clashes for i in pair}):
            used[i] = model.new_bool_var(f"used{i}")
            model.add(items[i] <= self.most[i] * used[i])
        for i, j in self.clashes:
            model.add_bool_or(~used[i], ~used[j])

    def _onto_devices(self, model: cp_model.CpModel, items: list[cp_model.IntVar]) -> None:
        """A share sits on one device; larger requests take whole ones. Devices are alike, so those in use come first."""
        shared = [i for i, share in enumerate(self.shares) if 0 < share <= self.device_size]
        whole = sum((self.shares[i] // self.device_size) * items[i] for i, share in enumerate(self.shares) if share > self.device_size)
        in_use = [model.new_bool_var(f"device{d}") for d in range(self.devices)]
        on = {(i, d): model.new_int_var(0, self.most[i], f"on{i}_{d}") for i in shared for d in range(self.devices)}
        for d, used in enumerate(in_use):
            model.add(sum(self.shares[i] * on[i, d] for i in shared) <= self.device_size * used)
            if d:
                model.add_implication(used, in_use[d - 1])
        for i in shared:
            model.add(sum(on[i, d] for d in range(self.devices)) == items[i])
        model.add(whole + sum(in_use) <= self.devices)


def _pricing_problems(
    packing: Packing, side: SideRows, c: Certificate, rents: list[int], ratio: Fraction
) -> Iterator[tuple[_Pricing, int]]:
    """One pricing problem for bin kinds that are alike, with the least of what they have to stay under."""
    least: dict[_Pricing, tuple[int, int]] = {}
    pairs = np.argwhere(np.triu(packing.clash)).tolist()
    for b in range(packing.most.shape[1]):
        allowance = ratio * int(packing.price[b]) * c.scale
        threshold = rents[b] + allowance.numerator // allowance.denominator
        alike = _pricing(packing, side, c, b, pairs)
        first, known = least.get(alike, (b, threshold))
        least[alike] = (first, min(known, threshold))
    for alike, (first, threshold) in least.items():
        yield _Pricing(first, *(getattr(alike, name) for name in _Pricing.__slots__[1:])), threshold


def _pricing(packing: Packing, side: SideRows, c: Certificate, b: int, clashes: list[list[int]]) -> _Pricing:
    values = _values(packing, side, c, b)
    most = [_most(packing, i, b) for i in range(len(values))]
    kept = [i for i, value in enumerate(values) if value > 0 and most[i] > 0]
    scarce = [
        r
        for r, cap in enumerate(packing.cap[b].tolist())
        if cap < UNLIMITED and sum(most[i] * int(packing.demand[i, r]) for i in kept) > cap
    ]
    place = {i: k for k, i in enumerate(kept)}
    device = packing.device_resource
    return _Pricing(
        kind=-1,
        value=tuple(values[i] for i in kept),
        most=tuple(most[i] for i in kept),
        demand=tuple(tuple(int(packing.demand[i, r]) for r in scarce) for i in kept),
        cap=tuple(int(packing.cap[b, r]) for r in scarce),
        clashes=tuple((place[i], place[j]) for i, j in clashes if i in place and j in place),
        shares=tuple(int(packing.demand[i, device]) for i in kept) if device >= 0 and packing.cap[b, device] > 0 else (),
        devices=int(packing.cap[b, device]) // packing.device_size if device >= 0 else 0,
        device_size=packing.device_size if device >= 0 else 0,
    )


def _values(packing: Packing, side: SideRows, c: Certificate, b: int) -> list[int]:
    """v_cb of every class, exact."""
    cell = int(packing.cell[b])
    rows: list[tuple[int, Ints]] = [(int(value), side.coef[m, :, cell]) for m, value in enumerate(c.side_value.tolist()) if value]
    values = [int(value) - c.scale * int(adder) for value, adder in zip(c.class_value.tolist(), packing.adder[:, b].tolist(), strict=True)]
    for value, coef in rows:
        values = [v - value * int(k) for v, k in zip(values, coef.tolist(), strict=True)]
    return values


def _most(packing: Packing, i: int, b: int) -> int:
    """Most items of a class that a bin can hold by itself."""
    most = min(int(packing.most[i, b]), int(packing.count[i]))
    for wanted, cap in zip(packing.demand[i].tolist(), packing.cap[b].tolist(), strict=True):
        if wanted > 0:
            most = min(most, cap // wanted)
    return max(most, 0)
