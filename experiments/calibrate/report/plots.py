"""Geometry of the report's pictures: trajectories, histograms and the heatmap. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import ceil, floor
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from evenkeel.experiments.calibrate.sensitivity import Trajectory
    from evenkeel.experiments.calibrate.threshold import Threshold

WIDTH, HEIGHT = 460, 300
LEFT, RIGHT, TOP, BOTTOM = 40, 316, 12, 262
_LABEL_GAP = 15
_LABEL_CHARS = 19
_BINS = 24
_SEVERITIES = 0.55
"""At the right end of the axis; severities beyond it stretch it."""

CELL_WIDTH, CELL_HEIGHT, NAME_WIDTH = 108, 34, 190
_STEPS = (0.1, 0.3, 0.55, 0.8, 1.1)
"""Sensitivities at which the heatmap's colour changes."""


class Tick(NamedTuple):
    """A grid line and its label."""

    at: float
    label: str


@dataclass(frozen=True, slots=True)
class Mark:
    """One measured mean."""

    x: float
    y: float
    low: float
    high: float
    text: str


@dataclass(frozen=True, slots=True)
class Line:
    """One metric's trajectory."""

    series: int
    """Number of the metric: its colour."""
    path: str
    marks: tuple[Mark, ...]
    label: str
    label_y: float
    end_x: float
    end_y: float


@dataclass(frozen=True, slots=True)
class Curves:
    """Trajectories of one mode."""

    title: str
    lines: tuple[Line, ...]
    expected: str
    """Path of the expected scores."""
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]


@dataclass(frozen=True, slots=True)
class Histogram:
    """Scores of mild and moderate candidates, and the threshold between them."""

    title: str
    mild: str
    moderate: str
    limit: float
    low: float
    high: float
    x_ticks: tuple[Tick, ...]


@dataclass(frozen=True, slots=True)
class Cell:
    """One sensitivity."""

    x: float
    y: float
    step: int
    """Colour, 0 (none) to 5 (steep)."""
    text: str
    about: str


@dataclass(frozen=True, slots=True)
class Heatmap:
    """Sensitivities, metrics down and modes across."""

    width: float
    height: float
    cells: tuple[Cell, ...]
    rows: tuple[Tick, ...]
    columns: tuple[Tick, ...]


def curves(title: str, ways: Sequence[Trajectory], series: Sequence[int]) -> Curves:
    """Lay out the trajectories of one mode.

    Args:
        title: read out by screen readers.
        ways: one for each metric; those without points are left out.
        series: their colours.
    """
    shown = [(way, number) for way, number in zip(ways, series, strict=True) if way.points]
    points = [point for way, _ in shown for point in way.points]
    scores = [end for point in points for end in (point.mean.lower, point.mean.upper, point.expected)]
    bottom = min(0.0, floor(min(scores, default=0.0) * 4) / 4)
    top = max(1.0, ceil(max(scores, default=1.0) * 4) / 4)
    reach = max([_SEVERITIES, *(point.severity for point in points)])

    def x(severity: float) -> float:
        return round(LEFT + (RIGHT - LEFT) * severity / reach, 1)

    def y(score: float) -> float:
        return round(BOTTOM - (BOTTOM - TOP) * (score - bottom) / (top - bottom), 1)

    expected = {point.severity: point.expected for point in points}
    lines = [
        Line(
            series=number,
            path=_path([(x(point.severity), y(point.mean.value)) for point in way.points]),
            marks=tuple(
                Mark(
                    x(point.severity), y(point.mean.value), y(point.mean.lower), y(point.mean.upper),
                    f"{way.metric} at {point.severity:.0%}: {point.mean.value:.3f} "
                    f"[{point.mean.lower:.3f}, {point.mean.upper:.3f}], expected {point.expected:.2f}, "
                    f"n = {point.mean.n}",
                )
                for point in way.points
            ),
            label=_short(way.metric),
            label_y=0.0,
            end_x=x(way.points[-1].severity),
            end_y=y(way.points[-1].mean.value),
        )
        for way, number in shown
    ]  # fmt: skip
    places = spread([line.end_y for line in lines], _LABEL_GAP, TOP, BOTTOM)
    return Curves(
        title=title,
        lines=tuple(
            Line(line.series, line.path, line.marks, line.label, place, line.end_x, line.end_y)
            for line, place in zip(lines, places, strict=True)
        ),
        expected=_path([(x(severity), y(score)) for severity, score in sorted(expected.items())]),
        x_ticks=tuple(Tick(x(severity), f"{severity:.0%}") for severity in sorted(expected)),
        y_ticks=tuple(
            Tick(y(score), f"{score:g}".replace("-", "\u2212"))
            for score in np.arange(bottom, top + 0.01, 0.25 if top - bottom <= 1.5 else 0.5)  # noqa: PLR2004 - seven labels fit
        ),
    )


def spread(wanted: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Places for labels, in the order given: near where they are wanted, `gap` apart, inside if they fit."""
    order = sorted(range(len(wanted)), key=lambda i: wanted[i])
    places = [wanted[i] for i in order]
    for before, after in pairwise(range(len(places))):
        places[after] = max(places[after], places[before] + gap)
    if places and places[-1] > high:
        places[-1] = high
        for after, before in pairwise(reversed(range(len(places)))):
            places[before] = min(places[before], places[after] - gap)
    if places and places[0] < low:
        places[0] = low
        for before, after in pairwise(range(len(places))):
            places[after] = max(places[after], places[before] + gap)
    found = dict(zip(order, places, strict=True))
    return [round(found[i], 1) for i in range(len(wanted))]


def histogram(
    title: str, mild: NDArray[np.float64], moderate: NDArray[np.float64], limit: Threshold
) -> Histogram:
    """Lay out the scores on both sides of a threshold; scores that were not measured are left out."""
    scores = [values[~np.isnan(values)] for values in (mild, moderate)]
    low = min(0.0, float(np.floor(min(values.min() for values in scores) * 4) / 4))
    high = max(1.0, float(np.ceil(max(values.max() for values in scores) * 4) / 4))
    edges = np.linspace(low, high, _BINS + 1)
    shares = [np.histogram(values, edges)[0] / len(values) for values in scores]
    most = max(float(each.max()) for each in shares)

    def x(score: float) -> float:
        return round(LEFT + (WIDTH - 2 * LEFT) * (score - low) / (high - low), 1)

    def outline(share: NDArray[np.float64]) -> str:
        tops = [round(BOTTOM - (BOTTOM - TOP) * float(each) / most, 1) for each in share]
        steps = [(x(edge), top) for i, top in enumerate(tops) for edge in (edges[i], edges[i + 1])]
        return _path([(x(low), BOTTOM), *steps, (x(high), BOTTOM)]) + "Z"

    return Histogram(
        title=title,
        mild=outline(shares[0]),
        moderate=outline(shares[1]),
        limit=x(limit.value),
        low=x(limit.lower),
        high=x(limit.upper),
        x_ticks=tuple(
            Tick(x(score), f"{score:g}".replace("-", "\u2212")) for score in np.arange(low, high + 0.01, 0.25)
        ),
    )


def heatmap(
    rows: Sequence[str], columns: Sequence[str], values: Sequence[Sequence[tuple[float, str] | None]]
) -> Heatmap:
    """Lay out the sensitivities.

    Args:
        rows: names of the metrics.
        columns: names of the modes.
        values: by row and column the sensitivity and a sentence about it; None = not measured.
    """
    cells = [
        Cell(
            NAME_WIDTH + CELL_WIDTH * j,
            CELL_HEIGHT * (i + 1),
            0 if value is None else sum(value[0] >= step for step in _STEPS),
            "–" if value is None else f"{value[0]:.2f}".replace("-", "\u2212"),
            "not measured" if value is None else value[1],
        )
        for i, row in enumerate(values)
        for j, value in enumerate(row)
    ]
    return Heatmap(
        width=NAME_WIDTH + CELL_WIDTH * len(columns),
        height=CELL_HEIGHT * (len(rows) + 1),
        cells=tuple(cells),
        rows=tuple(Tick(CELL_HEIGHT * (i + 1.5), _short(name)) for i, name in enumerate(rows)),
        columns=tuple(Tick(NAME_WIDTH + CELL_WIDTH * (j + 0.5), name) for j, name in enumerate(columns)),
    )


def _path(points: Sequence[tuple[float, float]]) -> str:
    return "M" + "L".join(f"{x:g} {y:g}" for x, y in points) if points else ""


def _short(label: str) -> str:
    return label if len(label) <= _LABEL_CHARS else f"{label[: _LABEL_CHARS - 1]}…"
