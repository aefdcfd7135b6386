"""Charts of the lab's documents: curves over two axes, laid out in user units.

The templates of `evenkeel.release.kit.renderings` draw them beside its dot plots; scales and paths are those
of `evenkeel.core.geometry`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Final, NamedTuple

from evenkeel.core import geometry
from evenkeel.core.geometry import Scale, Tick
from evenkeel.release.kit.charts import (
    PLOT_BOTTOM,
    PLOT_LEFT,
    PLOT_RIGHT,
    PLOT_TOP,
    PLOT_WIDTH,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

# Height of a line of text in user units: closer labels would overlap.
_LABEL_GAP: Final = 15
# What fits beside the plot.
_CURVE_LABEL_CHARS: Final = 19


class Mark(NamedTuple):
    """A measured value of a curve."""

    x: float
    y: float
    lower: float | None = None
    upper: float | None = None
    text: str = ""
    """Shown where a pointer rests."""


class Curve(NamedTuple):
    """A line of a plot, in values."""

    kind: str
    """CSS class."""
    marks: tuple[Mark, ...]
    label: str = ""
    """Shown at the right end; "" = none."""
    dotted: bool = True
    """True if its marks are drawn."""


class Area(NamedTuple):
    """A filled outline, in values."""

    kind: str
    points: tuple[tuple[float, float], ...]


class Rule(NamedTuple):
    """A vertical line with the range around it, in values."""

    kind: str
    at: float
    lower: float
    upper: float


@dataclass(frozen=True, slots=True)
class DrawnCurve:
    """A curve in user units."""

    kind: str
    path: str
    marks: tuple[Mark, ...]
    label: str
    label_y: float
    end_x: float
    end_y: float


@dataclass(frozen=True, slots=True)
class Plot:
    """Curves and areas over two axes."""

    shape: ClassVar[str] = "plot"
    title: str
    right: float
    """Right end of the plot; labels of curves stand beyond it."""
    curves: tuple[DrawnCurve, ...]
    areas: tuple[tuple[str, str], ...]
    """(CSS class, path data)."""
    rules: tuple[Rule, ...]
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]


class Axis(NamedTuple):
    """Range and ticks of an axis."""

    low: float
    high: float
    ticks: Sequence[float] = ()
    percent: bool = False
    """True if its labels are percentages."""


def plot(
    title: str,
    x: Axis,
    y: Axis,
    *,
    curves: Sequence[Curve] = (),
    areas: Sequence[Area] = (),
    rules: Sequence[Rule] = (),
) -> Plot:
    """Lay out a plot; curves without marks are left out.

    Args:
        title: read out by screen readers.
        x: the axis to the right.
        y: the axis up.
        curves: drawn above areas, with their labels at the right, apart from one another.
        areas: filled outlines.
        rules: vertical lines over the whole height.
    """
    labelled = any(curve.label for curve in curves)
    right = PLOT_RIGHT if labelled else PLOT_WIDTH - PLOT_LEFT
    across, up = Scale(x.low, x.high, PLOT_LEFT, right), Scale(y.low, y.high, PLOT_BOTTOM, PLOT_TOP)
    drawn = []
    for curve in curves:
        if curve.marks:
            drawn.append(_curve(curve, across, up))
    positions = geometry.spread(
        [curve.end_y for curve in drawn if curve.label], _LABEL_GAP, PLOT_TOP, PLOT_BOTTOM
    )
    free = iter(positions)
    outlines: list[tuple[str, str]] = []
    for area in areas:
        corners = [(across.at(x), up.at(y)) for x, y in area.points]
        outlines.append((area.kind, geometry.path(corners, closed=True)))
    lines: list[Rule] = []
    for rule in rules:
        lines.append(Rule(rule.kind, across.at(rule.at), across.at(rule.lower), across.at(rule.upper)))
    return Plot(
        title=title,
        right=right,
        curves=tuple(replace(curve, label_y=next(free)) if curve.label else curve for curve in drawn),
        areas=tuple(outlines),
        rules=tuple(lines),
        x_ticks=across.ticks(x.ticks, _percent if x.percent else None),
        y_ticks=up.ticks(y.ticks, _percent if y.percent else None),
    )


def _curve(curve: Curve, across: Scale, up: Scale) -> DrawnCurve:
    points = []
    for mark in curve.marks:
        points.append((across.at(mark.x), up.at(mark.y)))
    marks: list[Mark] = []
    if curve.dotted:
        for point, mark in zip(points, curve.marks, strict=True):
            marks.append(Mark(*point, up.maybe(mark.lower), up.maybe(mark.upper), mark.text))
    label = geometry.shortened(curve.label, _CURVE_LABEL_CHARS)
    return DrawnCurve(curve.kind, geometry.path(points), tuple(marks), label, points[-1][1], *points[-1])


def _percent(value: float) -> str:
    return f"{value:.0%}"
