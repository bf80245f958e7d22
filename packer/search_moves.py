"""numba kernels of the neighbourhood search, second half: the plan's state; ruin, recreate, accept. ``N`` slots, each of one bin.

A step empties a few bins, tops up others with what was in them, recreates the rest, gives each new bin the cheapest kind that holds it,
and keeps the outcome if it is no worse. (Annealing was tried: no better at 1,000 pods, worse at 10,000.) Stock and limits are booked for
the bins of the plan.
"""

from __future__ import annotations

from typing import NamedTuple

from packer.arrays import Floats, Ints
from packer.search_kernels import (
    ADDERS,
    CLASHES,
    DEVICE,
    FLOOR,
    NEEDS,
    STYLE,
    STYLES,
    THRIFT,
    TIERS,
    Model,
    Sub,
    available,
    book,
    draw,
    inlined,
    kernel,
    prepare,
    recreate,
    reseat,
    unbook,
)

BINS, COST, STEPS, LOGGED = 0, 1, 2, 3


class State(NamedTuple):
    """``live`` is a permutation of the slots; the first ``total[BINS]`` of it are in use."""

    kind: Ints
    """[N]"""
    pattern: Ints
    """[N, C]"""
    room: Ints
    """[N, R] what is free."""
    cost: Ints
    """[N] price and adders."""
    merit: Floats
    """[N] value held over worth."""
    live: Ints
    where: Ints
    """[N] place of a slot in ``live``."""
    pool: Ints
    """[C] items without a bin."""
    stock: Ints
    """[G] left."""
    limit: Ints
    """[L] left."""
    total: Ints
    """Bins, cost, steps, length of the log."""
    lost: Ints
    """[tiers] pods without a bin."""
    chosen: Ints
    """[N] the step that last ruined the slot."""
    ruined: Ints
    """Slots ruined in this step."""
    log: Ints
    """[3, X] slot, class, number: what this step added to bins that stay."""
    need: Ints
    """[R] scratch."""
    dense: Ints
    """[2, C] scratch: a pattern, zeros between uses; 0 … C-1."""
    knobs: Floats
    """See ``search.Knobs``."""


LARGEST, TOURNAMENT, NOISE, PURE, KINDS, LATE, SLACK, TOP_UPS, GATE = 0, 1, 2, 3, 4, 5, 6, 7, 8


@kernel
def bin_cost(m: Model, b: int, pattern: Ints) -> int:
    """Price and adders of one bin."""
    cost = m.price[b]
    if m.traits[ADDERS]:
        for c in range(pattern.shape[0]):
            cost += pattern[c] * m.adder[c, b]
    return cost


@kernel
def occupy(m: Model, st: State, slot: int, b: int) -> None:
    """Bring a slot's derived numbers in line with its pattern, in kind b."""
    st.kind[slot] = b
    for r in range(st.room.shape[1]):
        st.room[slot, r] = m.cap[b, r]
    value = 0.0
    for c in range(m.value.shape[0]):
        n = st.pattern[slot, c]
        if n > 0:
            value += n * m.value[c]
            for r in range(st.room.shape[1]):
                st.room[slot, r] -= n * m.demand[c, r]
    st.cost[slot] = bin_cost(m, b, st.pattern[slot])
    st.merit[slot] = value / (m.worth[b] + st.cost[slot] - m.price[b])


@kernel
def exchange(st: State, slot: int, place: int) -> None:
    """Bring a slot to a place of ``live``."""
    here, other = st.where[slot], st.live[place]
    st.live[here], st.live[place] = other, slot
    st.where[other], st.where[slot] = here, place


@kernel
def ruin(m: Model, st: State, seed: Ints) -> int:
    """Choose slots to empty: by tournaments for little merit (style 0), kin of the first (1), or at random (2). How many."""
    n = st.total[BINS]
    style = int(3.0 * draw(seed))
    want = min(n, 1 + int(st.knobs[LARGEST] * draw(seed)))
    rounds = 1 + int(st.knobs[TOURNAMENT] * draw(seed))
    count = 0
    for _ in range(4 * want + 8):
        if count == want:
            break
        at = -1
        top = 0.0
        for _ in range(rounds if count == 0 or style == 0 else (6 if style == 1 else 1)):
            slot = st.live[int(n * draw(seed))]
            if st.chosen[slot] == st.total[STEPS]:
                continue
            score = -st.merit[slot]
            if style == 1 and count > 0:
                # Kin: classes in common, and classes that the first one's kind allows.
                first = st.ruined[0]
                close = 0
                classes = 1
                for c in range(m.value.shape[0]):
                    if st.pattern[slot, c] > 0:
                        classes += 1
                        if st.pattern[first, c] > 0:
                            close += 1
                        if m.most[c, st.kind[first]] > 0:
                            close += 2
                score = close / classes
            if at < 0 or score > top:
                at = slot
                top = score
        if at >= 0:
            st.chosen[at] = st.total[STEPS]
            st.ruined[count] = at
            count += 1
    return count


@kernel
def gather(m: Model, st: State, s: Sub, count: int, seed: Ints) -> int:
    """Enter what was in the ruined bins, and what has no bin, into the subproblem, with perturbed values; how many classes.

    Duals measure what an item adds to a fractional plan; what it costs in bins of its own tells how awkward it is. Values blend both.
    """
    k = 0
    for p in range(count + 1):
        for c in range(m.value.shape[0]):
            n = st.pattern[st.ruined[p], c] if p < count else st.pool[c]
            if n > 0:
                i = s.local[c]
                if i < 0:
                    i = k
                    k += 1
                    s.local[c] = i
                    s.classes[i] = c
                    s.rem[i] = 0
                s.rem[i] += n
    missing = 0
    for t in range(m.traits[TIERS]):
        missing += st.lost[t]
    sigma = st.knobs[NOISE] * draw(seed) ** 2
    blend = 0.0 if draw(seed) < st.knobs[PURE] else draw(seed)
    scarce = missing > 0 and draw(seed) < 0.75
    top = 0.0
    for i in range(k):
        c = s.classes[i]
        value = m.value[c] + blend * (m.alone[c] - m.value[c])
        s.value[i] = value * max(0.05, 1.0 + sigma * 2.4 * (draw(seed) + draw(seed) - 1.0))
        top = max(top, s.value[i])
        for r in range(s.room.shape[0]):
            s.size[i, r] = m.demand[c, r]
    if scarce:
        # Not all can be placed: then pods count, the urgent tiers first.
        for i in range(k):
            bonus = top
            for _ in range(min(3, m.traits[TIERS] - 1 - m.tier[s.classes[i]])):
                bonus *= 1000.0
            s.value[i] += bonus * m.weight[s.classes[i]]
    return k


@kernel
def choose_kinds(m: Model, st: State, s: Sub, k: int, count: int, seed: Ints) -> int:
    """Local kinds: those of the ruined bins, some that stand free, and draws from the menus of the classes; how many."""
    want = int(st.knobs[KINDS] * (0.5 + 0.5 * draw(seed)))
    free = min(3, m.standing.shape[0])
    resources = s.room.shape[0]
    for r in range(resources):
        s.lean[r] = 0.3 + 0.7 * draw(seed)
    s.lean[resources + STYLE] = float(int(STYLES * draw(seed)))
    s.lean[resources + THRIFT] = 0.05 if draw(seed) < 0.5 else 0.5 + 0.5 * draw(seed)
    n = 0
    for p in range(count + free + want):
        if p < count:
            b = st.kind[st.ruined[p]]
        elif p < count + free:
            b = m.standing[int(m.standing.shape[0] * draw(seed))]
        else:
            u = draw(seed)
            b = m.menu[s.classes[int(k * draw(seed))], int(u * u * m.menu.shape[1])]
        if b >= 0 and s.mark[b] != st.total[STEPS] and n < s.kinds.shape[0] - 1:
            s.mark[b] = st.total[STEPS]
            prepare(m, s, k, n, b)
            n += 1
    return n


@kernel
def top_up(m: Model, st: State, s: Sub, k: int, seed: Ints) -> int:
    """Put what is left into the room of bins that stay, and log it; the added cost."""
    n = st.total[BINS]
    device = m.traits[DEVICE]
    added = 0
    start = int(n * draw(seed))
    for p in range(min(n, int(st.knobs[TOP_UPS]))):
        slot = st.live[(start + p) % n]
        if st.chosen[slot] == st.total[STEPS]:
            continue
        b = st.kind[slot]
        for q in range(k):
            i = s.order[0, q]
            c = s.classes[i]
            got = min(s.rem[i], m.most[c, b] - st.pattern[slot, c])
            if got <= 0 or s.value[i] <= m.adder[c, b] or st.total[LOGGED] >= st.log.shape[1]:
                continue
            for r in range(s.room.shape[0]):
                if s.size[i, r] > 0:
                    got = min(got, st.room[slot, r] // s.size[i, r]) if s.size[i, r] <= st.room[slot, r] else 0
            if got > 0 and m.traits[CLASHES] + m.traits[NEEDS] > 0:
                met = not m.lacks[c, b]
                for d in range(m.value.shape[0]):
                    if st.pattern[slot, d] > 0:
                        met = met or m.needs[c, d]
                        if m.clash[c, d]:
                            got = 0
                if not met:
                    got = 0
            if got > 0 and device >= 0 and s.size[i, device] > 0:
                had = st.pattern[slot, c]
                st.pattern[slot, c] = had + got
                while got > 0 and reseat(m, m.cap[b, device], st.dense[1], st.pattern[slot], s.free[0]) < 0:
                    got -= 1
                    st.pattern[slot, c] -= 1
                st.pattern[slot, c] = had
            if got <= 0:
                continue
            st.pattern[slot, c] += got
            s.rem[i] -= got
            added += got * m.adder[c, b]
            for r in range(s.room.shape[0]):
                st.room[slot, r] -= got * s.size[i, r]
            x = st.total[LOGGED]
            st.log[0, x], st.log[1, x], st.log[2, x] = slot, c, got
            st.total[LOGGED] += 1
    return added


@kernel
def holds(m: Model, st: State, s: Sub, k: int, b: int) -> bool:
    """Whether kind b holds the pattern in ``dense``, whose need of resources is in ``need``; clashes are not looked at."""
    for r in range(st.need.shape[0]):
        if st.need[r] > m.cap[b, r]:
            return False
    if not available(m, b, st.stock, st.limit):
        return False
    for i in range(k):
        c = s.classes[i]
        if st.dense[0, c] > m.most[c, b]:
            return False
        if st.dense[0, c] > 0 and m.lacks[c, b]:
            met = False
            for h in range(k):
                met = met or (st.dense[0, s.classes[h]] > 0 and m.needs[c, s.classes[h]])
            if not met:
                return False
    return m.traits[DEVICE] < 0 or reseat(m, m.cap[b, m.traits[DEVICE]], st.dense[1], st.dense[0], s.free[0]) >= 0


@kernel
def right_size(m: Model, st: State, s: Sub, k: int, opened: int) -> int:
    """Give each opened bin the cheapest kind that holds it; the cost of all of them."""
    total = 0
    pattern = st.dense[0]
    for e in range(opened):
        for r in range(st.need.shape[0]):
            st.need[r] = 0
        for i in range(k):
            n = s.pattern_out[e, i]
            pattern[s.classes[i]] = n
            for r in range(st.need.shape[0]):
                st.need[r] += n * s.size[i, r]
        at = s.kind_out[e]
        least = bin_cost(m, at, pattern)
        unbook(m, at, st.stock, st.limit)
        for p in range(m.by_price.shape[0]):
            b = m.by_price[p]
            if m.price[b] >= least:
                break
            if holds(m, st, s, k, b):
                cost = bin_cost(m, b, pattern)
                if cost < least:
                    least = cost
                    at = b
        book(m, at, st.stock, st.limit)
        s.kind_out[e] = at
        total += least
        for i in range(k):
            pattern[s.classes[i]] = 0
    return total


@kernel
def verdict(m: Model, st: State, s: Sub, k: int) -> int:
    """Sign of the change in pods without a place, the most urgent tier first: negative is better."""
    for t in range(m.traits[TIERS]):
        change = -st.lost[t]
        for i in range(k):
            if m.tier[s.classes[i]] == t:
                change += s.rem[i] * m.weight[s.classes[i]]
        if change != 0:
            return change
    return 0


@kernel
def commit(m: Model, st: State, s: Sub, k: int, count: int, opened: int) -> None:
    """The opened bins take the ruined bins' place, and what is left goes into the pool."""
    for p in range(count):
        exchange(st, st.ruined[p], st.total[BINS] - 1)
        st.total[BINS] -= 1
    for e in range(opened):
        slot = st.live[st.total[BINS]]
        st.total[BINS] += 1
        for c in range(m.value.shape[0]):
            st.pattern[slot, c] = 0
        for i in range(k):
            st.pattern[slot, s.classes[i]] = s.pattern_out[e, i]
        occupy(m, st, slot, s.kind_out[e])
    for p in range(st.total[LOGGED]):
        slot = st.log[0, p]
        occupy(m, st, slot, st.kind[slot])
    for t in range(m.traits[TIERS]):
        st.lost[t] = 0
    for i in range(k):
        c = s.classes[i]
        st.pool[c] = s.rem[i]
        st.lost[m.tier[c]] += s.rem[i] * m.weight[c]


@kernel
def undo(m: Model, st: State, s: Sub, count: int, opened: int) -> None:
    """Forget the opened bins: stock, limits and the topped-up bins as they were."""
    for e in range(opened):
        unbook(m, s.kind_out[e], st.stock, st.limit)
    for p in range(count):
        book(m, st.kind[st.ruined[p]], st.stock, st.limit)
    for p in range(st.total[LOGGED]):
        slot, c, n = st.log[0, p], st.log[1, p], st.log[2, p]
        st.pattern[slot, c] -= n
        for r in range(st.room.shape[1]):
            st.room[slot, r] += n * m.demand[c, r]


@inlined
def step(m: Model, st: State, s: Sub, seed: Ints) -> int:
    """One ruin and recreate; the work done, in class-steps."""
    st.total[STEPS] += 1
    st.total[LOGGED] = 0
    n = st.total[BINS]
    count = ruin(m, st, seed)
    old = 0
    for p in range(count):
        old += st.cost[st.ruined[p]]
        unbook(m, st.kind[st.ruined[p]], st.stock, st.limit)
    k = gather(m, st, s, count, seed)
    kinds = choose_kinds(m, st, s, k, count, seed)
    late = draw(seed) < st.knobs[LATE]
    opened = n - n  # not a literal, for which everything that takes it would be compiled twice
    added = 0
    work = 4 * k * kinds + count * m.value.shape[0] // 4
    floor = s.room.shape[0] + FLOOR
    for phase in range(2):
        if (phase == 1 or not late) and n > count and kinds > 0 and opened >= 0:
            added += top_up(m, st, s, k, seed)
            work += min(n, int(st.knobs[TOP_UPS])) * k // 4
        s.lean[floor] = 1.0 - st.knobs[SLACK] * draw(seed) if late and phase == 0 else 0.0
        if opened >= 0:
            opened, fills = recreate(m, s, k, kinds, st.stock, st.limit, opened)
            work += fills * k * (2 if m.traits[DEVICE] >= 0 else 1)
    accept = False
    new = added
    if opened >= 0 and n - count + opened <= st.kind.shape[0]:
        change = verdict(m, st, s, k)
        for e in range(opened):
            new += m.price[s.kind_out[e]]
        if change < 0 or (change == 0 and new <= st.knobs[GATE] * old):
            new = right_size(m, st, s, k, opened) + added
            work += opened * m.price.shape[0] // 16
            accept = change < 0 or new <= old
    if accept:
        st.total[COST] += new - old
        commit(m, st, s, k, count, opened)
    else:
        undo(m, st, s, count, opened if opened >= 0 else s.kind_out.shape[0])
    for i in range(k):
        s.local[s.classes[i]] = -1
    return work + 64


@kernel
def run(m: Model, st: State, s: Sub, seed: Ints, work: int, target: int) -> int:
    """Search until ``work`` class-steps are done, or the plan costs ``target`` or less and leaves nothing out; the work done."""
    if st.total[STEPS] == 0:
        for p in range(st.total[BINS]):
            occupy(m, st, st.live[p], st.kind[st.live[p]])
    done = 0
    while done < work and st.total[BINS] > 0:
        missing = 0
        for t in range(m.traits[TIERS]):
            missing += st.lost[t]
        if missing == 0 and st.total[COST] <= target:
            break
        done += step(m, st, s, seed)
    return done
