"""How far a long solve has come: one line on standard error that is rewritten, on a terminal only."""

from __future__ import annotations

import os
import sys
from types import TracebackType
from typing import TYPE_CHECKING

from packer.model import Stage

if TYPE_CHECKING:
    from rich.status import Status


class Progress:
    """Give ``on_stage`` to the solver. Silent unless standard error is a terminal that can rewrite a line and ``quiet`` is off.

    NO_COLOR is rich's to honour; TERM=dumb is ours, since a rewritten line makes no sense there.
    """

    def __init__(self, *, quiet: bool) -> None:
        self.quiet = quiet
        self._shown: Status | None = None
        if not quiet and sys.stderr.isatty() and os.environ.get("TERM") != "dumb":
            # rich costs 50 ms, which only those who see it should pay.
            from rich.console import Console

            self._shown = Console(stderr=True).status("reading")

    def __enter__(self) -> Progress:
        if self._shown:
            self._shown.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._shown:
            self._shown.stop()

    def say(self, text: str) -> None:
        """What is going on outside the solver's stages."""
        if self._shown:
            self._shown.update(text)

    def on_stage(self, stage: Stage) -> None:
        """What the solver has reached."""
        if self._shown:
            self._shown.update(_line(stage))


def _line(stage: Stage) -> str:
    from packer.words import an_hour, gap_words

    cost, bound = stage.cost_microusd_per_hour, stage.bound_microusd_per_hour
    proven = "" if bound is None else f", {gap_words(cost, bound)}"
    waiting = f", {stage.unplaced} pods without a place" if stage.unplaced else ""
    return f"{stage.name}: {an_hour(cost)}{proven}{waiting}"
