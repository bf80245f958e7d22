"""The greedy and the dominance filter, against plain twins on small random packings."""

from __future__ import annotations

import numpy as np
import pytest

from packer import kernels
from packer.arrays import Bins, Ints, Packing
from tests import naive_kernels as naive

SEEDS = range(60)


def check_plan(packing: Packing, bins: Bins, left: Ints) -> None:
    """Every rule of the arrays' contract, by enumeration."""
    assert (bins.times > 0).all()
    assert (bins.times @ bins.pattern + left == packing.count).all()
    assert (left >= 0).all()
    for kind in np.unique(bins.kind):
        allowed = {tuple(a.tolist()) for a in naive.patterns(packing, int(kind))}
        assert all(tuple(a.tolist()) in allowed for a in bins.pattern[bins.kind == kind])
    for group, stock in enumerate(packing.stock):
        assert bins.times[packing.stock_group[bins.kind] == group].sum() <= stock
    assert (packing.limit_use[:, bins.kind] @ bins.times <= packing.limit).all()


@pytest.mark.parametrize("devices", [False, True])
@pytest.mark.parametrize("seed", SEEDS)
def test_greedy_keeps_every_rule_and_leaves_nothing_that_fits(seed: int, devices: bool) -> None:
    """A first plan is shown to users as it is: it must be valid, and complete as far as single items go."""
    packing = naive.random_packing(seed, devices=devices)
    bins, left = kernels.greedy(packing, kernels.lone_weights(packing), packing.count, 50)
    check_plan(packing, bins, left)
    used = np.array([bins.times[packing.stock_group[bins.kind] == g].sum() for g in range(len(packing.stock))], np.int64)
    spare = packing.limit - packing.limit_use[:, bins.kind] @ bins.times
    for b in range(len(packing.price)):
        group = packing.stock_group[b]
        if (group >= 0 and used[group] >= packing.stock[group]) or (packing.limit_use[:, b] > spare).any():
            continue
        for c in np.flatnonzero(left):
            alone = np.zeros(len(left), np.int64)
            alone[c] = 1
            assert not any((alone == a).all() for a in naive.patterns(packing, b))


@pytest.mark.parametrize("seed", SEEDS)
def test_dominance_drops_only_what_a_kept_kind_beats(seed: int) -> None:
    """A kind dropped in error would cost money; existing bins may hold what nothing else does."""
    packing = naive.random_packing(seed)
    keep = kernels.dominance(packing)
    assert keep[packing.existing].all()
    for b in np.flatnonzero(~keep):
        useless = all(not a.any() for a in naive.patterns(packing._replace(count=packing.count * 50), int(b)))
        assert useless or any(naive.dominates(packing, int(a), int(b)) for a in np.flatnonzero(keep))


def test_dominance_drops_the_dearer_of_twins() -> None:
    """The plainest case: same machine, two prices."""
    packing = naive.random_packing(1, plain=True)
    twin = packing._replace(
        cap=np.repeat(packing.cap[:1], 2, 0),
        price=np.array([2000, 1000]),
        most=np.repeat(packing.most[:, :1], 2, 1),
        adder=np.zeros((len(packing.count), 2), np.int64),
        needs_met=np.zeros((len(packing.count), 2), np.bool_),
        stock_group=np.full(2, -1),
        limit_use=np.zeros((0, 2), np.int64),
        cell=np.zeros(2, np.int64),
        existing=np.zeros(2, np.bool_),
    )
    assert kernels.dominance(twin).tolist() == [False, True]
    assert kernels.dominance(twin._replace(cell=np.array([0, 1]))).tolist() == [True, True]


@pytest.mark.parametrize("seed", SEEDS)
def test_lone_weights_are_the_least_share_of_a_bin(seed: int) -> None:
    """They start every search, so an error here spoils each plan a little."""
    packing = naive.random_packing(seed)
    weights = kernels.lone_weights(packing)
    for c in range(len(packing.count)):
        costs = []
        for b in np.flatnonzero(~packing.existing):
            fits = [int(packing.cap[b, r] // d) for r, d in enumerate(packing.demand[c]) if d]
            most = min([int(packing.most[c, b]), *fits])
            if most > 0:
                costs.append(packing.price[b] / most + packing.adder[c, b])
        if costs:
            assert weights[c] == pytest.approx(min(costs))


def one_class(demand: int, cap: int, count: int = 1) -> Packing:
    """One resource, one kind, one class."""
    one, none = np.ones(1, np.int64), np.zeros((1, 1), np.bool_)
    return Packing(
        demand=np.array([[demand]]),
        count=count * one,
        weight=one,
        tier=0 * one,
        cap=np.array([[cap]]),
        price=1000 * one,
        most=np.array([[1 << 40]]),
        adder=np.zeros((1, 1), np.int64),
        clash=none,
        needs=none,
        needs_met=none,
        stock_group=-one,
        stock=np.zeros(0, np.int64),
        limit_use=np.zeros((0, 1), np.int64),
        limit=np.zeros(0, np.int64),
        cell=0 * one,
        existing=np.zeros(1, np.bool_),
        device_resource=-1,
        device_size=1,
    )


def test_a_byte_more_than_a_float_can_tell_does_not_fit() -> None:
    """2^53 + 1 is not a float: feasibility must be judged in integers."""
    room = 2**53
    assert kernels.greedy(one_class(room, room), np.ones(1), np.ones(1, np.int64), 4)[1].sum() == 0
    assert kernels.greedy(one_class(room + 1, room), np.ones(1), np.ones(1, np.int64), 4)[1].sum() == 1


def with_needs(needs: list[list[int]], met: bool = False) -> Packing:
    """Two classes of size 1 in bins of size 4; some need the other."""
    packing = one_class(1, 4)
    two = np.full(2, 2, np.int64)
    return packing._replace(
        demand=np.ones((2, 1), np.int64),
        count=two,
        weight=two // 2,
        tier=0 * two,
        most=np.full((2, 1), 9),
        adder=np.zeros((2, 1), np.int64),
        clash=np.zeros((2, 2), np.bool_),
        needs=np.array(needs, np.bool_),
        needs_met=np.full((2, 1), met),
    )


@pytest.mark.parametrize("needs", [[[0, 1], [0, 0]], [[0, 1], [1, 0]], [[1, 0], [0, 0]]])
def test_needs_are_met_in_the_same_bin(needs: list[list[int]]) -> None:
    """A follower goes where its leader is; two that need each other go in together; who needs its own kind is its own company."""
    packing = with_needs(needs)
    bins, left = kernels.greedy(packing, np.ones(2), packing.count, 8)
    assert left.sum() == 0
    for pattern in bins.pattern:
        for c in np.flatnonzero(pattern):
            assert not packing.needs[c].any() or pattern[packing.needs[c]].any()


def test_a_need_without_company_stays_unplaced_unless_it_is_met_there() -> None:
    """Nothing else could be right: the pod it wants to be with is not there."""
    alone = np.array([2, 0], np.int64)
    assert kernels.greedy(with_needs([[0, 1], [0, 0]]), np.ones(2), alone, 8)[1].tolist() == [2, 0]
    assert kernels.greedy(with_needs([[0, 1], [0, 0]], met=True), np.ones(2), alone, 8)[1].tolist() == [0, 0]
