"""Geometry of one trend chart: from points in time to SVG paths. Pure; knows nothing of stores."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

WIDTH, HEIGHT = 380, 178
LEFT, RIGHT, TOP, BOTTOM = 40, 370, 30, 152
MAX_POINTS = 80
"""Points drawn a series; more would not be seen and would weigh on the page."""

_TICKS_S = (5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 604800)
_MAX_TIME_TICKS = 5
_SHORTEST_S = 60.0
"""Shortest time shown: less would blow two points up to a trend."""

_LABEL_WIDTH = 92
"""Room an alert's label needs, in user units."""


class Sample(NamedTuple):
    """One point of a series. None = not enough trials at that time."""

    at: float
    value: float | None
    lower: float | None
    upper: float | None


class Mark(NamedTuple):
    """A moment to mark with a vertical line."""

    at: float
    label: str
    kind: str
    """CSS class: "raised" or "resolved"."""


@dataclass(frozen=True, slots=True)
class Tick:
    """A grid line and its label."""

    at: float
    """User units along its axis."""
    label: str


@dataclass(frozen=True, slots=True)
class Line:
    """One series as SVG path data, each "" if it has no point."""

    line: str
    band: str
    end_x: float
    end_y: float
    current: bool
    """Whether it is the newest series, drawn on top and in full colour."""


@dataclass(frozen=True, slots=True)
class MarkLine:
    """A vertical line with its label, placed so that it stays inside the chart."""

    x: float
    label_y: float
    anchor: str
    label: str
    kind: str


@dataclass(frozen=True, slots=True)
class Chart:
    """Everything the SVG template prints."""

    lines: tuple[Line, ...]
    threshold_y: float
    zero_y: float
    y_ticks: tuple[Tick, ...]
    x_ticks: tuple[Tick, ...]
    marks: tuple[MarkLine, ...]


class Scale(NamedTuple):
    """The value range of the vertical axis, shared by all charts so that they can be compared."""

    low: float
    high: float

    def y(self, value: float) -> float:
        """User units, clamped to the plot."""
        share = (value - self.low) / (self.high - self.low)
        return BOTTOM - (BOTTOM - TOP) * min(1.0, max(0.0, share))


def value_scale(series: Sequence[Sequence[Sample]], threshold: float) -> Scale:
    """A range that holds every value, the threshold and each series' last interval, in steps of 10 %.

    Early intervals are wide and would flatten the lines, so they may run out of the plot.
    """
    values = [threshold * 1.5, 0.0]
    for samples in series:
        rated = [sample for sample in samples if _finite(sample.value)]
        values += [sample.value for sample in rated if sample.value is not None]
        if rated:
            values += [
                bound for bound in (rated[-1].lower, rated[-1].upper) if bound is not None and _finite(bound)
            ]
    low = math.floor(min(values) * 10 - 1e-9) / 10
    high = math.ceil(max(values) * 10 + 1e-9) / 10
    return Scale(max(-1.0, low), min(1.0, max(high, low + 0.2)))


def chart(
    series: Sequence[Sequence[Sample]],
    marks: Sequence[Mark],
    *,
    threshold: float,
    scale: Scale,
    now: float,
) -> Chart:
    """Lay out one chart, from its first sample to now; without samples it has no time axis.

    Args:
        series: oldest model first; the last is the current one. Samples in order of time.
        marks: alerts raised and resolved.
        threshold: the largest excess allowed, in [0, 1].
        scale: from `value_scale`.
        now: Unix time in seconds, the right edge, so that a line that has stopped is seen to have.
    """
    times = [sample.at for samples in series for sample in samples if _finite(sample.value)]
    start, end = _time_range(times, now)

    def x(at: float) -> float:
        return LEFT + (RIGHT - LEFT) * (at - start) / (end - start)

    lines = [
        _line(_thinned(samples), x, scale, current=place == len(series) - 1)
        for place, samples in enumerate(series)
    ]
    return Chart(
        lines=tuple(line for line in lines if line.line),
        threshold_y=round(scale.y(threshold), 1),
        zero_y=round(scale.y(0.0), 1),
        y_ticks=_value_ticks(scale),
        x_ticks=tuple(Tick(round(x(at), 1), label) for at, label in time_ticks(start, end)) if times else (),
        marks=_mark_lines([(x(mark.at), mark) for mark in marks if start <= mark.at <= end]),
    )


def _time_range(times: Sequence[float], now: float) -> tuple[float, float]:
    start, end = min(times, default=now), max([now, *times])
    # The right edge moves in steps: an edge that moved with every second would make the page
    # change, and be sent again, at every refresh. Powers of two, because a step that followed the
    # range exactly would itself change with every second.
    step = 2.0 ** math.floor(math.log2(max(1.0, (end - start) / 60)))
    end = math.ceil(end / step) * step
    return min(start, end - _SHORTEST_S), end


def time_ticks(start: float, end: float) -> list[tuple[float, str]]:
    """Round times between two Unix times, at most five, labelled in UTC."""
    step = next((step for step in _TICKS_S if (end - start) / step <= _MAX_TIME_TICKS), _TICKS_S[-1])
    first = math.ceil(start / step) * step
    form = "%H:%M:%S" if step < 60 else "%H:%M" if step < 86400 else "%d %b"  # noqa: PLR2004 - a minute, a day
    count = int((end - first) // step) + 1
    stride = max(1, math.ceil(count / _MAX_TIME_TICKS))
    return [
        (first + place * step, datetime.fromtimestamp(first + place * step, UTC).strftime(form))
        for place in range(0, count, stride)
    ]


def _finite(value: float | None) -> bool:
    return value is not None and math.isfinite(value)


def _thinned(samples: Sequence[Sample]) -> list[Sample]:
    """Evenly chosen samples, the last one always among them."""
    rated = [sample for sample in samples if _finite(sample.value)]
    if len(rated) <= MAX_POINTS:
        return rated
    last = len(rated) - 1
    return [rated[round(place * last / (MAX_POINTS - 1))] for place in range(MAX_POINTS)]


def _line(samples: Sequence[Sample], x: Callable[[float], float], scale: Scale, *, current: bool) -> Line:
    points = [(x(sample.at), scale.y(sample.value)) for sample in samples if sample.value is not None]
    if not points:
        return Line("", "", 0.0, 0.0, current)
    bounds = [
        (x(sample.at), scale.y(sample.lower), scale.y(sample.upper))
        for sample in samples
        if sample.lower is not None
        and sample.upper is not None
        and _finite(sample.lower)
        and _finite(sample.upper)
    ]
    outline = [(at, upper) for at, _, upper in bounds] + [(at, lower) for at, lower, _ in reversed(bounds)]
    return Line(
        line=_path(points),
        band=f"{_path(outline)}Z" if len(bounds) > 1 else "",
        end_x=round(points[-1][0], 1),
        end_y=round(points[-1][1], 1),
        current=current,
    )


def _path(points: Sequence[tuple[float, float]]) -> str:
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)


def _value_ticks(scale: Scale) -> tuple[Tick, ...]:
    tenths = range(round(scale.low * 10), round(scale.high * 10) + 1)
    step = next(step for step in (1, 2, 5, 10, 20) if len(tenths) / step <= 5)  # noqa: PLR2004 - labels that fit
    return tuple(
        Tick(round(scale.y(tenth / 10), 1), f"{tenth * 10}".replace("-", "−"))
        for tenth in tenths
        if tenth % step == 0
    )


def _mark_lines(placed: Sequence[tuple[float, Mark]]) -> tuple[MarkLine, ...]:
    lines: list[MarkLine] = []
    last_x, row = -math.inf, 0
    for x, mark in sorted(placed):
        row = 1 - row if x - last_x < _LABEL_WIDTH else 0
        last_x = x
        flip = x > RIGHT - _LABEL_WIDTH
        lines.append(
            MarkLine(round(x, 1), 11 + 12 * row, "end" if flip else "start", mark.label, mark.kind),
        )
    return tuple(lines)
