"""A second look for an order of binding, when the plain greedy one gets stuck on spread rules that count other pods than their own.

A hard spread constraint admits a pod while its domain holds at most maxSkew more matching pods than the emptiest one. Most such pods can
be bound while all domains are still level; so whoever unbalances a domain for which others still wait goes last. Who gets stuck all the
same goes first in the next round ("squeaky wheel" optimisation: Joslin and Clements, JAIR 10, 1999). Deterministic; no clock.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Mapping, Sequence

from packer.model import Placement, Pod, Why
from packer.rules import Event, State

ROUNDS = 32
PATIENCE, PATIENCE_WITH_FEW = 3, 8
"""Rounds without fewer stuck pods than ever before, after which it gives up: many of them cannot be helped, a few often can."""
FEW = 4
MOST_PODS = 20_000
"""A round costs about 20 µs for each pod."""

ORDER_DEPENDENT = frozenset({Why.TOPOLOGY_SPREAD, Why.POD_AFFINITY})
"""Filters whose answer can turn from no to yes as more pods are bound."""

Assigned = list[tuple[Pod, str]]


def reordered(state: State, ruled: Assigned, counted: Assigned) -> tuple[list[Placement], set[str]]:
    """Binds as many of the pods as it can in an order in which none is refused: the order, and the keys of those who are stuck.

    ``ruled`` have spread or affinity rules of their own, ``counted`` are only counted by such rules. None of them is in the State; all but
    the stuck are afterwards.
    """
    bound = [_Bound(pod, node, i >= len(ruled), state) for i, (pod, node) in enumerate((*ruled, *counted))]
    urgent: Counter[int] = Counter()
    best, fewest, patience = Counter(urgent), len(bound) + 1, PATIENCE
    for _ in range(ROUNDS if len(bound) <= MOST_PODS else 1):
        attempt = _Attempt(state, bound, urgent)
        stuck = attempt.bind_all()
        if not stuck:
            return attempt.steps, set()
        attempt.undo()
        patience -= 1
        if len(stuck) < fewest:
            best, fewest = Counter(urgent), len(stuck)
            patience = PATIENCE_WITH_FEW if fewest <= FEW else PATIENCE
        if not patience:
            break
        urgent.update(stuck)
    attempt = _Attempt(state, bound, best)
    return attempt.steps, {bound[i].pod.key for i in attempt.bind_all()}


class _Bound:
    """A pod, its node, and the spread counters that limit it or count it there."""

    __slots__ = ("counted", "limits", "node", "pod", "unruled")

    def __init__(self, pod: Pod, node: str, unruled: bool, state: State) -> None:
        self.pod, self.node, self.unruled = pod, node, unruled
        self.limits = state.spread_limits(pod, node)
        self.counted = tuple((counter, domain, (counter, domain) in self.limits) for counter, domain in state.spread_counted(pod, node))


class _Attempt:
    """One round: a queue of pods by (urgency, harm, own rules first), re-ranked when they come up."""

    def __init__(self, state: State, bound: Sequence[_Bound], urgent: Mapping[int, int]) -> None:
        self.steps: list[Placement] = []
        self._state, self._bound, self._urgent = state, bound, urgent
        self._waiting = Counter(limit for item in bound for limit in item.limits)
        self._asleep: dict[Event, list[int]] = {}
        self._left = set(range(len(bound)))

    def bind_all(self) -> list[int]:
        """Binds whom it can; those who stay stuck."""
        queue = [self._entry(i) for i in self._left]
        heapq.heapify(queue)
        while queue:
            rank, i = heapq.heappop(queue)
            now = self._entry(i)
            if now[0] != rank and queue and now > queue[0]:
                heapq.heappush(queue, now)
                continue
            for woken in self._try(i):
                heapq.heappush(queue, self._entry(woken))
        return sorted(self._left)

    def undo(self) -> None:
        """Takes everything off again."""
        placed = {item.pod.key: item.pod for item in self._bound}
        for step in reversed(self.steps):
            self._state.remove(placed[step.pod], step.node)

    def _entry(self, i: int) -> tuple[tuple[int, int, bool], int]:
        return (-self._urgent.get(i, 0), self._harm(self._bound[i]), self._bound[i].unruled), i

    def _harm(self, item: _Bound) -> int:
        """How far over the emptiest domain the pod would raise a domain of its node for which others still wait. 0: nobody minds."""
        waiting, harm = self._waiting, 0
        for counter, domain, own in item.counted:
            if waiting[counter, domain] > own:
                harm = max(harm, counter.counts[domain] + 1 - counter.low)
        return harm

    def _try(self, i: int) -> list[int]:
        """Binds the pod and gives those whom that may have helped; or puts it to sleep."""
        item = self._bound[i]
        reasons = self._state.why_not(item.pod, item.node)
        if reasons:
            if all(reason.code in ORDER_DEPENDENT for reason in reasons):
                event, _ = self._state.blocker(item.pod, item.node)
                self._asleep.setdefault(event, []).append(i)
            return []
        events = self._state.place(item.pod, item.node)
        self.steps.append(Placement(item.pod.key, item.node))
        self._left.discard(i)
        self._waiting.subtract(item.limits)
        return [woken for event in events for woken in self._asleep.pop(event, ())]
