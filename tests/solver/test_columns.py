"""Column generation: its bound against optima and LPs over every pattern, its certificate, and how both behave as inputs change."""

from __future__ import annotations

import os
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import linprog

from packer import bound, columns
from packer.arrays import Packing, SideRows, empty_side
from tests import naive_kernels as naive

SEEDS = range(40)
ENOUGH = 20


def generated(packing: Packing, side: SideRows | None = None, units: int = ENOUGH) -> columns.Columns:
    """Columns for plans that place as many pods as can be placed."""
    side = empty_side(len(packing.count), 2) if side is None else side
    allowed, _ = naive.fewest_unplaced(packing, side)
    return columns.generate(packing, side, None, allowed, units)


def lp_over_all_patterns(p: Packing, side: SideRows, allowed: np.ndarray) -> float:
    """The configuration LP written down in full."""
    pairs = [(b, a) for b in range(len(p.price)) for a in naive.patterns(p._replace(count=p.count), b) if a.any()]
    classes, tiers = len(p.count), len(allowed)
    cost = [float(p.price[b] + a @ p.adder[:, b]) for b, a in pairs] + [0.0] * (classes + side.aux.shape[1])
    rows, most = [], []
    aux = [0.0] * side.aux.shape[1]
    for c in range(classes):
        rows.append([-float(a[c]) for _, a in pairs] + [-float(c == d) for d in range(classes)] + aux)
        most.append(-float(p.count[c]))
    for k in range(tiers):
        rows.append([0.0] * len(pairs) + [float(p.weight[c]) * (p.tier[c] == k) for c in range(classes)] + aux)
        most.append(float(allowed[k]))
    for g, stock in enumerate(p.stock):
        rows.append([float(p.stock_group[b] == g) for b, _ in pairs] + [0.0] * classes + aux)
        most.append(float(stock))
    for x, limit in enumerate(p.limit):
        rows.append([float(p.limit_use[x, b]) for b, _ in pairs] + [0.0] * classes + aux)
        most.append(float(limit))
    for m in range(len(side.rhs)):
        rows.append([float(side.coef[m, :, p.cell[b]] @ a) for b, a in pairs] + [0.0] * classes + [float(v) for v in side.aux[m]])
        most.append(float(side.rhs[m]))
    limits = [(0, None)] * (len(pairs) + classes) + list(zip(side.aux_low, side.aux_high, strict=True))
    return float(linprog(cost, A_ub=np.array(rows), b_ub=most, bounds=limits).fun)


@pytest.mark.parametrize("devices", [False, True])
@pytest.mark.parametrize("seed", SEEDS)
def test_the_bound_is_the_configuration_lp_and_never_above_the_optimum(seed: int, devices: bool) -> None:
    """Stock, limits, tiers, existing bins, adders, clashes, side rows, devices: the bound must hold with all of them and waste none."""
    packing = naive.random_packing(seed, devices=devices)
    side = naive.random_side(packing, seed)
    allowed, optimum = naive.fewest_unplaced(packing, side)
    found = columns.generate(packing, side, None, allowed, ENOUGH)
    assert found.done
    assert found.lower_bound <= optimum
    lp = lp_over_all_patterns(packing, side, allowed)
    assert found.lower_bound >= 0.9999 * lp - 1
    if found.certificate is not None:
        assert bound.lower_bound(packing, side, found.certificate, allowed) == found.lower_bound


@pytest.mark.parametrize("devices", [False, True])
@pytest.mark.parametrize("seed", SEEDS)
def test_a_certificate_bounds_every_pattern(seed: int, devices: bool) -> None:
    """Whoever checks the bound needs only this: no pattern of a bin kind is worth more than its pattern bound."""
    packing = naive.random_packing(seed, devices=devices)
    side = naive.random_side(packing, seed)
    certificate = generated(packing, side, 1).certificate
    if certificate is None:
        return
    for b in range(len(packing.price)):
        value = certificate.class_value - certificate.scale * packing.adder[:, b]
        value = value - np.tensordot(certificate.side_value, side.coef[:, :, packing.cell[b]], 1)
        assert all(int(a @ value) <= certificate.pattern_bound[b] for a in naive.patterns(packing, b))


@pytest.mark.parametrize("seed", range(12))
def test_more_work_never_lowers_the_bound_and_pieces_make_the_whole(seed: int) -> None:
    """Anytime: a run of four units is the run of one unit, gone on with."""
    packing = naive.random_packing(seed)
    side = naive.random_side(packing, seed)
    allowed, _ = naive.fewest_unplaced(packing, side)
    whole = columns.generate(packing, side, None, allowed, 4)
    pieces = columns.Generator(packing, side, None, allowed)
    bounds = [pieces.run(1).lower_bound for _ in range(4)]
    assert bounds == sorted(bounds)
    last = pieces.run(0)
    assert (last.lower_bound, last.lp, last.kinds.tolist()) == (whole.lower_bound, whole.lp, whole.kinds.tolist())


@pytest.mark.parametrize("seed", range(12))
def test_prices_in_another_currency_scale_the_bound(seed: int) -> None:
    """Money has no natural unit."""
    packing = naive.random_packing(seed)
    dear = packing._replace(price=packing.price * 7, adder=packing.adder * 7)
    one, seven = generated(packing).lower_bound, generated(dear).lower_bound
    assert abs(seven - 7 * one) <= 7 + 1e-4 * seven


def homogeneous(count: int, demand: int, cap: int, price: int) -> Packing:
    """One class, one bin kind."""
    packing = naive.random_packing(3, plain=True)
    return packing._replace(
        demand=np.array([[demand]]),
        count=np.array([count]),
        weight=np.ones(1, np.int64),
        tier=np.zeros(1, np.int64),
        cap=np.array([[cap]]),
        price=np.array([price]),
        most=np.array([[1 << 40]]),
        adder=np.zeros((1, 1), np.int64),
        clash=np.zeros((1, 1), np.bool_),
        needs=np.zeros((1, 1), np.bool_),
        needs_met=np.zeros((1, 1), np.bool_),
        stock_group=np.full(1, -1),
        stock=np.zeros(0, np.int64),
        limit_use=np.zeros((0, 1), np.int64),
        limit=np.zeros(0, np.int64),
        cell=np.zeros(1, np.int64),
        existing=np.zeros(1, np.bool_),
    )


@pytest.mark.parametrize(("count", "demand", "cap"), [(12, 3, 10), (100_000, 500, 7910), (7, 2**52, 2**53 + 1), (3, 2**53 + 1, 2**53 + 1)])
def test_one_class_is_bounded_exactly(count: int, demand: int, cap: int) -> None:
    """Nodes of n pods each: no rounding may cost a micro-dollar, nor a byte beyond what floats can tell."""
    price = 123_457
    found = generated(homogeneous(count, demand, cap, price))
    assert found.lower_bound == -(-Fraction(count * price, cap // demand) // 1)


def test_bins_that_stand_already_are_free_but_few() -> None:
    """Ten items, two free bins of two: six must be paid for."""
    packing = homogeneous(10, 1, 2, 1000)
    both = packing._replace(
        cap=np.array([[2], [2]]),
        price=np.array([0, 1000]),
        most=np.full((1, 2), 9),
        adder=np.zeros((1, 2), np.int64),
        needs_met=np.zeros((1, 2), np.bool_),
        stock_group=np.array([0, -1]),
        stock=np.array([2]),
        limit_use=np.zeros((0, 2), np.int64),
        cell=np.zeros(2, np.int64),
        existing=np.array([True, False]),
    )
    assert generated(both).lower_bound == 3000


def test_pods_that_stay_unplaced_cost_nothing() -> None:
    """The bound is for plans with the same counts: here two of ten items are left out, the dearest two."""
    packing = homogeneous(10, 1, 2, 1000)
    allowed = np.array([2], np.int64)
    assert columns.generate(packing, empty_side(1, 1), None, allowed, ENOUGH).lower_bound == 4000


@pytest.mark.parametrize("seed", range(12))
def test_the_load_by_cell_adds_up(seed: int) -> None:
    """The split over zones starts from it."""
    packing = naive.random_packing(seed, plain=True)
    found = generated(packing)
    placeable = (packing.most > 0).any(1) & np.array([(d <= packing.cap).all(1).any() for d in packing.demand])
    assert (found.load.sum(1)[placeable] >= packing.count[placeable] - 1e-6).all()
    assert found.load == pytest.approx(sum(x * np.outer(a, np.arange(found.load.shape[1]) == packing.cell[b]) for b, a, x in _rows(found)))


def _rows(found: columns.Columns) -> list[tuple[int, np.ndarray, float]]:
    return list(zip(found.kinds.tolist(), found.patterns, found.values.tolist(), strict=True))


@pytest.mark.parametrize("seed", range(12))
def test_columns_are_patterns_that_fit(seed: int) -> None:
    """They become bins."""
    packing = naive.random_packing(seed, devices=seed % 2 == 0)
    found = generated(packing)
    fitting = [{tuple(a.tolist()) for a in naive.patterns(packing, b)} for b in range(len(packing.price))]
    assert all(tuple(a.tolist()) in fitting[b] for b, a, _ in _rows(found))


def test_a_false_certificate_proves_nothing() -> None:
    """A stock with a price below zero, or a tier's row that does not hold, would prove anything."""
    packing = homogeneous(10, 1, 2, 1000)._replace(stock_group=np.zeros(1, np.int64), stock=np.array([9]))
    side, allowed = empty_side(1, 1), np.array([2], np.int64)
    certificate = columns.generate(packing, side, None, allowed, 1).certificate
    assert certificate is not None
    assert bound.lower_bound(packing, side, certificate, allowed) == 4000
    for lie in ({"tier_value": np.zeros(1, np.int64)}, {"stock_value": np.array([-1])}):
        assert bound.lower_bound(packing, side, certificate._replace(**lie), allowed) == 0


SCRIPT = """
import sys
sys.path.insert(0, {root!r})
from packer import columns
from tests import naive_kernels as naive
for seed in range(4):
    packing = naive.random_packing(seed, devices=seed == 2)
    side = naive.random_side(packing, seed)
    allowed, _ = naive.fewest_unplaced(packing, side)
    found = columns.generate(packing, side, None, allowed, 1)
    print(found.lower_bound, found.lp, found.kinds.tolist(), found.patterns.tolist(), found.work)
"""


def test_compiled_and_plain_kernels_agree() -> None:
    """A kernel that only works compiled has an overflow, an out-of-bounds read or a dependence on the machine."""
    script = SCRIPT.format(root=str(Path(__file__).parents[2]))
    outputs = []
    for off in ("0", "1"):
        run = subprocess.run(
            [sys.executable, "-c", script], env={**os.environ, "NUMBA_DISABLE_JIT": off}, capture_output=True, text=True, check=True
        )
        outputs.append([line for line in run.stdout.splitlines() if line[0].isdigit()])
    assert outputs[0] == outputs[1]
    assert len(outputs[0]) == 4
