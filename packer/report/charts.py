"""The report's drawings, as inline SVG that takes its colours from the page: stacked bars and the step plot of cost and bound."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, floor, log10
from typing import NamedTuple

from packer.model import Stage
from packer.report.markup import Html, el, join
from packer.words import money

_NO_WORK = 0.5
SEGMENT_STYLES = 5
"""Distinct fills for workloads; the last serves for all that remain."""


class Segment(NamedTuple):
    """A part of a bar: amount, style class, and what it is in words."""

    value: int
    style: str
    title: str


def stacked_bar(segments: Sequence[Segment], capacity: int, label: str) -> Html:
    """A bar of ``capacity`` filled from the left. Nothing when there is no capacity; over-full bars are cut at the edge.

    Lengths are percentages, so that hatchings keep their shape in a bar of any width.
    """
    if capacity <= 0:
        return Html("")
    x, parts = 0.0, []
    for segment in segments:
        width = min(100.0 - x, segment.value * 100 / capacity)
        if width <= 0:
            continue
        at = f"{_number(x)}%"
        parts.append(
            el("rect", el("title", segment.title), x=at, y=0, width=f"{_number(width)}%", height="100%", class_=f"seg {segment.style}")
        )
        if x > 0:
            parts.append(el("line", x1=at, x2=at, y1=0, y2="100%", class_="cut"))
        x += width
    track = el("rect", width="100%", height="100%", class_="track")
    return el("svg", track, *parts, class_="bar", role="img", aria_label=label)


def share_bar(part: int, whole: int) -> Html:
    """A thin decorative bar beside a number that says the same."""
    width = _number(part * 100 / whole) if whole > 0 else "0"
    fill = el("rect", width=f"{width}%", height="100%", class_="seg seg0")
    return el("svg", el("rect", width="100%", height="100%", class_="track"), fill, class_="share", aria_hidden="true", focusable="false")


def patterns() -> Html:
    """Hatchings that tell segments apart without colour; defined once for all bars."""
    hatch = el(
        "pattern",
        el("rect", width=6, height=6, class_="hatch-ground"),
        el("path", d="M-1,1 l2,-2 M0,6 l6,-6 M5,7 l2,-2", class_="hatch-line"),
        id="hatch",
        width=6,
        height=6,
        patternUnits="userSpaceOnUse",
    )
    dots = el(
        "pattern",
        el("rect", width=5, height=5, class_="hatch-ground"),
        el("circle", cx=2.5, cy=2.5, r=1.2, class_="hatch-dot"),
        id="dots",
        width=5,
        height=5,
        patternUnits="userSpaceOnUse",
    )
    return el("svg", el("defs", hatch, dots), width=0, height=0, class_="defs", aria_hidden="true", focusable="false")


class Frame(NamedTuple):
    """The plot's size and margins, in its own units (CSS pixels at full width)."""

    width: int
    height: int
    left: int = 74
    right: int = 18
    top: int = 26
    bottom: int = 40


def stage_plot(stages: Sequence[Stage], by_time: bool, frame: Frame, description: str) -> Html:
    """Cost and bound after each stage as steps, over work or seconds on a logarithmic axis."""
    points = [_position(stage, by_time) for stage in stages]
    low_x, high_x = _span(points)
    values = [stage.cost_microusd_per_hour for stage in stages] + [b for s in stages if (b := s.bound_microusd_per_hour) is not None]
    ticks = _money_ticks(min(values), max(values))
    low_y, high_y = min(ticks[0], min(values)), max(ticks[-1], max(values))

    def at_x(value: float) -> float:
        return frame.left + (value - low_x) / (high_x - low_x) * (frame.width - frame.left - frame.right)

    def at_y(value: float) -> float:
        return frame.height - frame.bottom - (value - low_y) / max(high_y - low_y, 1) * (frame.height - frame.top - frame.bottom)

    grid = []
    for tick in ticks:
        y = _number(at_y(tick))
        grid.append(el("line", x1=frame.left, x2=frame.width - frame.right, y1=y, y2=y, class_="grid-line"))
        grid.append(el("text", _tick(tick), x=frame.left - 8, y=_number(at_y(tick) + 4), class_="tick", text_anchor="end"))
    for value in _round_values(low_x, high_x):
        label = _seconds(value) if by_time else f"{value:,.0f}" if value >= 1 else "0"
        if not by_time and value < 1 and value != _NO_WORK:
            continue
        below = frame.height - frame.bottom + 18
        grid.append(el("text", label, x=_number(at_x(log10(value))), y=below, class_="tick", text_anchor="middle"))
    axis = "seconds of solving, logarithmic" if by_time else "work units, logarithmic"
    grid.append(
        el("text", axis, x=_number((frame.left + frame.width - frame.right) / 2), y=frame.height - 4, class_="tick", text_anchor="middle")
    )
    right = frame.width - frame.right
    costs = [(at_x(x), at_y(stage.cost_microusd_per_hour)) for x, stage in zip(points, stages, strict=True)]
    bounds = [(at_x(x), at_y(b)) for x, s in zip(points, stages, strict=True) if (b := s.bound_microusd_per_hour) is not None]
    marks = [
        el(
            "circle",
            el("title", f"{stage.name}: {money(stage.cost_microusd_per_hour)}/h"),
            cx=_number(x),
            cy=_number(y),
            r=3.5,
            class_="mark open" if stage.unplaced > stages[-1].unplaced else "mark",
        )
        for (x, y), stage in zip(costs, stages, strict=True)
    ]
    lines = [el("path", d=_steps(costs, right), class_="cost-line")]
    if bounds:
        lines.insert(0, el("path", d=_steps(bounds, right), class_="bound-line"))
    return el(
        "svg",
        el("title", description),
        *grid,
        *lines,
        *marks,
        class_="plot",
        viewBox=f"0 0 {frame.width} {frame.height}",
        role="img",
        aria_label=description,
    )


def _position(stage: Stage, by_time: bool) -> float:
    """The logarithm of seconds or work. No work at all stands half a unit, which the axis calls 0."""
    return log10(max(stage.seconds, 0.0005) if by_time else max(float(stage.work), _NO_WORK))


def _span(points: Sequence[float]) -> tuple[float, float]:
    low, high = min(points), max(points)
    pad = max((high - low) * 0.04, 0.15)
    return low - pad, high + pad


def _money_ticks(low: int, high: int) -> list[int]:
    """Three to six round amounts that span the values, and one above and one below where those are not round."""
    spread = max(high - low, max(high, 1) // 50, 1)
    step = 10 ** floor(log10(spread))
    for factor in (0.2, 0.5, 1, 2, 5):
        size = max(1, int(step * factor))
        first, last = low // size, -(-high // size)
        if last - first <= 5:
            return [value * size for value in range(first, max(last, first + 1) + 1)]
    return [low, high]


def _round_values(low: float, high: float) -> list[float]:
    """Two to seven round numbers between two logarithms: powers of ten, and twos and fives where those are few."""
    step = max(1, ceil((high - low) / 6))
    decades = [10.0**exponent for exponent in range(ceil(low), floor(high) + 1, step)]
    if len(decades) > 2:
        return decades
    finer = [factor * 10.0**exponent for exponent in range(floor(low), floor(high) + 1) for factor in (1, 2, 5)]
    return [value for value in finer if low <= log10(value) <= high]


def _tick(micro: int) -> str:
    """Money on an axis: cents at least, no zeros beyond them."""
    whole, _, part = money(micro).partition(".")
    return f"{whole}.{part.rstrip('0').ljust(2, '0')}"


def _seconds(value: float) -> str:
    return f"{value:g} s" if value >= 1 else f"{value * 1000:g} ms"


def _steps(points: Sequence[tuple[float, float]], right: float) -> str:
    """An SVG path that holds each value until the next point, and the last one to the right edge."""
    pieces = [f"M{_number(points[0][0])},{_number(points[0][1])}"]
    pieces.extend(f"H{_number(x)}V{_number(y)}" for x, y in points[1:])
    return "".join((*pieces, f"H{_number(right)}"))


def _number(value: float) -> str:
    """At most two decimals, no trailing zeros: the same text on every machine."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


def legend(items: Sequence[tuple[str, str]]) -> Html:
    """Style class and words, in the order of the segments from left to right."""
    chips = (
        el(
            "li",
            el("svg", el("rect", width=12, height=12, class_=f"seg {style}"), class_="chip", viewBox="0 0 12 12", aria_hidden="true"),
            words,
        )
        for style, words in items
    )
    return el("ul", join(chips), class_="legend")
