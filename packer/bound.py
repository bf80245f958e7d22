"""From dual values to a lower bound, in exact integers (formulation.md, 12-14). No float decides anything here.

The argument. Let a plan open x_p bins with patterns p, leave u_c items of class c unplaced, and keep every row. Take any class values π,
any σ, λ, α, κ ≥ 0, and v_cb = π_c - adder_cb - Σ_m α_m·coef_mcz. Summing the rows, if π_c ≤ κ·weight_c where pods may stay unplaced,
cost ≥ Σ nπ - Σ κU - Σ σ·stock - Σ λL - Σ α·rhs + min Σ α·aux·v - Σ_p x_p·(value_p - price_p - σ - λ·use).
If UB_b ≥ the value of every pattern of b, and UB_b - σ - λ·use ≤ r·price_b for some r ≥ 1, then with all values divided by r the last sum
is no more than 0 (adders are ≥ 0, so v falls at least that far). So numerator / r is a bound, and where the numerator is negative, 0 is.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from packer.arrays import Bools, Certificate, Floats, Ints, Packing, SideRows

LARGEST = 1 << 61
"""No pattern's value may pass this: sums of values stay within int64."""


def lower_bound(packing: Packing, side: SideRows, certificate: Certificate, allowed_unplaced: Ints) -> int:
    """Micro-dollars an hour that no plan can go below which leaves at most ``allowed_unplaced`` [K] pods of each tier unplaced.

    Rounded up, since every objective is a whole number. 0 if the certificate breaks a rule that it must keep.
    """
    over = numerator(packing, side, certificate, allowed_unplaced)
    by = ratio(packing, certificate)
    if over is None or by is None or over <= 0:
        return 0
    return -((-over * by.denominator) // (by.numerator * certificate.scale))


def numerator(packing: Packing, side: SideRows, c: Certificate, allowed_unplaced: Ints) -> int | None:
    """The dual objective in 1/scale micro-dollar; None if a sign or a tier's row is wrong."""
    if min((int(a.min(initial=0)) for a in (c.stock_value, c.limit_value, c.side_value, c.tier_value)), default=0) < 0:
        return None
    for value, weight, tier in zip(c.class_value.tolist(), packing.weight.tolist(), packing.tier.tolist(), strict=True):
        if allowed_unplaced[tier] > 0 and value > weight * int(c.tier_value[tier]):
            return None
    total = _dot(packing.count, c.class_value) - _dot(c.tier_value[: len(allowed_unplaced)], allowed_unplaced)
    total -= _dot(c.stock_value, packing.stock) + _dot(c.limit_value, packing.limit) + _dot(c.side_value, side.rhs)
    for a in range(side.aux.shape[1]):
        slope = _dot(c.side_value, side.aux[:, a])
        total += min(slope * int(side.aux_low[a]), slope * int(side.aux_high[a]))
    return total


def ratio(packing: Packing, c: Certificate) -> Fraction | None:
    """r = max(1, max over bins of (UB - σ - λ·use) / price); None if a bin without price is worth something still."""
    excess = excesses(packing, c)
    if (excess[packing.price <= 0] > 0).any():
        return None
    priced = np.flatnonzero((packing.price > 0) & (excess > 0))
    rough = excess[priced] / packing.price[priced]
    near = priced[rough >= rough.max(initial=0.0) * (1 - 1e-12)]
    return max([Fraction(1), *(Fraction(int(excess[b]), int(packing.price[b]) * c.scale) for b in near)])


def excesses(packing: Packing, c: Certificate) -> Ints:
    """[B] UB - σ - λ·use."""
    rent = c.limit_value @ packing.limit_use
    if len(c.stock_value):
        rent = rent + np.where(packing.stock_group >= 0, c.stock_value[packing.stock_group], 0)
    return np.asarray(c.pattern_bound - rent, np.int64)


def with_stock_values(packing: Packing, c: Certificate) -> Certificate:
    """The certificate with the stock values that make the most of its pattern bounds.

    For a ratio r the least σ_g is max(0, UB - λ·use - r·price) over the group. r is at least what the bins without stock need; a few
    larger ones are tried.
    """
    if not len(packing.stock):
        return c
    excess = excesses(packing, c._replace(stock_value=np.zeros(0, np.int64)))
    limited = packing.stock_group >= 0
    priced = packing.price > 0
    need = np.where(priced, excess / np.maximum(packing.price, 1) / c.scale, 0.0)
    least = max(1.0, float(need[~limited].max(initial=1.0)))
    tries = np.unique(need[limited & (need > least)])
    tries = np.concatenate([[least], tries[np.linspace(0, len(tries) - 1, 16).astype(int)] if len(tries) > 16 else tries])
    total = float(sum(int(n) * int(v) for n, v in zip(packing.count, c.class_value, strict=True)))
    best, chosen = -np.inf, np.zeros(len(packing.stock), np.int64)
    for r in tries:
        sigma = _stock_values(packing, excess, np.ceil(r * packing.price * float(c.scale)).astype(np.int64), limited)
        worth = (total - float(sigma.astype(np.float64) @ packing.stock)) / r
        if worth > best:
            best, chosen = worth, sigma
    return c._replace(stock_value=chosen)


def _stock_values(packing: Packing, excess: Ints, paid: Ints, limited: Bools) -> Ints:
    sigma = np.zeros(len(packing.stock), np.int64)
    np.maximum.at(sigma, packing.stock_group[limited], np.maximum(0, excess - paid)[limited])
    return sigma


def tier_values(packing: Packing, class_value: Ints, allowed_unplaced: Ints) -> Ints:
    """[K] the dual of each tier's row that costs least: what the last of the most valuable pods that may stay unplaced is worth."""
    value = np.zeros(len(allowed_unplaced), np.int64)
    for k in range(len(allowed_unplaced)):
        members = np.flatnonzero(packing.tier == k)
        each = -(-class_value[members] // packing.weight[members])
        order = members[np.argsort(-each, kind="stable")]
        pods = np.cumsum(packing.count[order] * packing.weight[order])
        last = int(np.searchsorted(pods, int(allowed_unplaced[k]), side="right"))
        if last < len(order):
            value[k] = max(0, int(-(-class_value[order[last]] // packing.weight[order[last]])))
    return value


def clamped(packing: Packing, class_value: Ints, tier_value: Ints, allowed_unplaced: Ints) -> Ints:
    """Class values that keep the rows of the tiers: at most tier value · weight where pods may stay unplaced."""
    bound = np.where(allowed_unplaced[packing.tier] > 0, tier_value[packing.tier] * packing.weight, LARGEST)
    return np.minimum(class_value, bound)


def rounded(values: Floats, scale: int) -> Ints:
    """Float duals as whole numbers in 1/scale."""
    reach = LARGEST / 2.0
    return np.asarray(np.clip(np.floor(values * scale + 0.5), -reach, reach), np.int64)


def _dot(a: Ints, b: Ints) -> int:
    return sum(int(x) * int(y) for x, y in zip(a.tolist(), b.tolist(), strict=True))
