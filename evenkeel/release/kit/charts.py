"""Dot plots with intervals for documents, laid out in user units.

The templates of `evenkeel.release.kit.renderings` draw them; scales and paths are those of
`evenkeel.core.geometry`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final, NamedTuple, Protocol

from evenkeel.core import geometry
from evenkeel.core.geometry import Scale, Tick

if TYPE_CHECKING:
    from collections.abc import Sequence

WIDTH: Final = 760
LEFT, RIGHT = 230, 590
ROW: Final = 24
TOP, BOTTOM = 8, 26
"""Room above the first row, and below the last for the axis."""
LABEL_CHARS: Final = 34

PLOT_WIDTH, PLOT_HEIGHT = 460, 300
PLOT_LEFT, PLOT_RIGHT, PLOT_TOP, PLOT_BOTTOM = 40, 316, 12, 262


class ReportChart(Protocol):
    """A chart that a template draws."""

    shape: ClassVar[str]
    """Name of the template's macro."""


class Point(NamedTuple):
    """A row of a dot plot, in values; in user units once it is laid out."""

    label: str
    value: float | None
    """None: nothing to draw, the text says why."""
    lower: float | None
    upper: float | None
    text: str
    """The same in words, shown at the right."""


@dataclass(frozen=True, slots=True)
class DotPlot:
    """Values with their intervals, one a row."""

    shape: ClassVar[str] = "dots"
    title: str
    """Read out by screen readers."""
    height: float
    axis_y: float
    rows: tuple[Point, ...]
    ticks: tuple[Tick, ...]
    zero_x: float | None
    """Place of a line for zero, None if zero is an end of the axis."""


def _points_of_100(ratio: float) -> str:
    # Rounded first: 100 * 0.07 is 7.000000000000001.
    return geometry.plain_number(round(100 * ratio, 6))


def dot_plot(
    title: str,
    points: Sequence[Point],
    *,
    low: float,
    high: float,
    ticks: Sequence[float],
) -> DotPlot:
    """Lay out a dot plot.

    Args:
        title: read out by screen readers.
        points: from top to bottom.
        low: value at the left end.
        high: value at the right end; what lies outside is drawn at the end.
        ticks: values with a grid line.
    """
    scale = Scale(low, high, LEFT, RIGHT)
    rows = []
    for point in points:
        label = geometry.shortened(point.label, LABEL_CHARS)
        value, lower, upper = scale.maybe(point.value), scale.maybe(point.lower), scale.maybe(point.upper)
        rows.append(Point(label, value, lower, upper, point.text))
    axis = TOP + ROW * len(points)
    zero = scale.at(0.0) if low < 0 < high else None
    return DotPlot(title, axis + BOTTOM, axis, tuple(rows), scale.ticks(ticks, _points_of_100), zero)
