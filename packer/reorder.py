"""A second look for an order of binding, when the plain greedy one gets stuck on spread rules that count other pods than their own.

A hard spread constraint admits a pod while its domain holds at most maxSkew more matching pods than the emptiest one. Most such pods can
be bound while all domains are still level; so whoever unbalances a domain for which others still wait goes last. Who gets stuck all the
same goes first in the next round ("squeaky wheel" optimisation: Joslin and Clements, JAIR 10, 1999). Deterministic; no clock.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Mapping

from packer.model import Placement, Pod, Why
from packer.rules import Event, State

ROUNDS = 32
PATIENCE = 8
"""Rounds without fewer stuck pods than ever before, after which it gives up."""
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
    urgent: Counter[str] = Counter()
    best, fewest, patience = Counter(urgent), len(ruled) + len(counted) + 1, PATIENCE
    for _ in range(ROUNDS if len(ruled) + len(counted) <= MOST_PODS else 1):
        attempt = _Attempt(state, ruled, counted, urgent)
        stuck = attempt.bind_all()
        if not stuck:
            return attempt.steps, set()
        attempt.undo()
        patience = PATIENCE if len(stuck) < fewest else patience - 1
        if len(stuck) < fewest:
            best, fewest = Counter(urgent), len(stuck)
        if not patience:
            break
        urgent.update(stuck)
    attempt = _Attempt(state, ruled, counted, best)
    stuck = attempt.bind_all()
    return attempt.steps, set(stuck)


class _Attempt:
    """One round: a queue of pods by (urgent, harm, own rules last), re-ranked when they come up."""

    def __init__(self, state: State, ruled: Assigned, counted: Assigned, urgent: Mapping[str, int]) -> None:
        self.steps: list[Placement] = []
        self._state, self._urgent, self._ruled = state, urgent, len(ruled)
        self._pods = [*ruled, *counted]
        self._waiting: dict[tuple[object, str], int] = {}
        for pod, node in ruled:
            for limit in state.spread_limits(pod, node):
                self._waiting[limit] = self._waiting.get(limit, 0) + 1
        self._asleep: dict[Event, list[int]] = {}
        self._left = set(range(len(self._pods)))

    def bind_all(self) -> list[str]:
        """Binds whom it can; the keys of those who stay stuck."""
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
        return [self._pods[i][0].key for i in sorted(self._left)]

    def undo(self) -> None:
        """Takes everything off again."""
        placed = {pod.key: pod for pod, _ in self._pods}
        for step in reversed(self.steps):
            self._state.remove(placed[step.pod], step.node)

    def _entry(self, i: int) -> tuple[tuple[int, int, bool], int]:
        pod, node = self._pods[i]
        return (-self._urgent.get(pod.key, 0), self._harm(pod, node), i >= self._ruled), i

    def _harm(self, pod: Pod, node: str) -> int:
        """How far over the emptiest domain the pod would raise a domain of its node for which others still wait. 0: nobody minds."""
        own = set(self._state.spread_limits(pod, node))
        harm = 0
        for counter, domain in self._state.spread_counted(pod, node):
            if self._waiting.get((counter, domain), 0) > ((counter, domain) in own):
                harm = max(harm, counter.counts[domain] + 1 - counter.low)
        return harm

    def _try(self, i: int) -> list[int]:
        """Binds the pod and gives those whom that may have helped; or puts it to sleep."""
        pod, node = self._pods[i]
        reasons = self._state.why_not(pod, node)
        if reasons:
            if all(reason.code in ORDER_DEPENDENT for reason in reasons):
                event, _ = self._state.blocker(pod, node)
                self._asleep.setdefault(event, []).append(i)
            return []
        events = self._state.place(pod, node)
        self.steps.append(Placement(pod.key, node))
        self._left.discard(i)
        if i < self._ruled:
            for limit in self._state.spread_limits(pod, node):
                self._waiting[limit] -= 1
        return [woken for event in events for woken in self._asleep.pop(event, ())]
