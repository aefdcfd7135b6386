"""Geometry of the page's pictures: rows of dots with intervals, and bars of shares. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

WIDTH = 760
LEFT, RIGHT = 230, 590
ROW = 24
TOP, BOTTOM = 8, 26
"""Above the first row; below the last, for the axis."""
_LABEL_CHARS = 34


class Point(NamedTuple):
    """One row of a dot plot."""

    label: str
    value: float | None
    """None: nothing to draw, the text says why."""
    lower: float | None
    upper: float | None
    kind: str
    """CSS class."""
    text: str
    """The same in words, shown at the right."""


@dataclass(frozen=True, slots=True)
class DrawnPoint:
    """A row in user units."""

    y: float
    label: str
    x: float | None
    low: float | None
    high: float | None
    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class Tick:
    """A grid line."""

    x: float
    label: str


@dataclass(frozen=True, slots=True)
class DotPlot:
    """What the template draws."""

    title: str
    height: float
    axis_y: float
    rows: tuple[DrawnPoint, ...]
    ticks: tuple[Tick, ...]
    zero_x: float | None
    """Where a line for zero is drawn, None if zero is an end of the axis."""


def dot_plot(
    title: str, points: Sequence[Point], *, low: float, high: float, ticks: Sequence[float]
) -> DotPlot:
    """Lay out a dot plot.

    Args:
        title: read out by screen readers.
        points: from top to bottom.
        low: value at the left end.
        high: value at the right end; what lies outside is drawn at the end.
        ticks: values with a grid line.
    """

    def x(value: float | None) -> float | None:
        return None if value is None else round(_x(value, low, high), 1)

    rows = tuple(
        DrawnPoint(
            TOP + ROW * (place + 0.5), _short(point.label),
            x(point.value), x(point.lower), x(point.upper), point.kind, point.text,
        )
        for place, point in enumerate(points)
    )  # fmt: skip
    axis = TOP + ROW * len(points)
    return DotPlot(
        title=title,
        height=axis + BOTTOM,
        axis_y=axis,
        rows=rows,
        ticks=tuple(
            Tick(round(_x(value, low, high), 1), f"{value:g}".replace("-", "\u2212")) for value in ticks
        ),
        zero_x=round(_x(0.0, low, high), 1) if low < 0 < high else None,
    )


def _x(value: float, low: float, high: float) -> float:
    share = min(1.0, max(0.0, (value - low) / (high - low)))
    return LEFT + (RIGHT - LEFT) * share


def _short(label: str) -> str:
    """The label cut to what fits beside the plot; names of files and models can be long."""
    return label if len(label) <= _LABEL_CHARS else f"{label[: _LABEL_CHARS - 1]}…"


class Bar(NamedTuple):
    """One row of a bar plot."""

    label: str
    parts: tuple[tuple[str, int], ...]
    """(CSS class, count), from left to right."""
    text: str


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a bar in user units."""

    kind: str
    x: float
    width: float
    count: int
    room: bool
    """Whether its count fits into it."""


@dataclass(frozen=True, slots=True)
class DrawnBar:
    """A bar in user units."""

    y: float
    label: str
    parts: tuple[Part, ...]
    text: str


@dataclass(frozen=True, slots=True)
class BarPlot:
    """What the template draws."""

    title: str
    height: float
    bars: tuple[DrawnBar, ...]


_ROOM = 24


def bar_plot(title: str, bars: Sequence[Bar]) -> BarPlot:
    """Lay out bars of equal length, each split in proportion to its counts."""
    drawn = []
    for place, bar in enumerate(bars):
        total = sum(count for _, count in bar.parts)
        at, parts = float(LEFT), []
        for kind, count in bar.parts:
            width = (RIGHT - LEFT) * count / total if total else 0.0
            if width:
                parts.append(Part(kind, round(at, 1), round(width, 1), count, width >= _ROOM))
            at += width
        drawn.append(DrawnBar(TOP + ROW * place, _short(bar.label), tuple(parts), bar.text))
    return BarPlot(title, TOP + ROW * len(bars) + TOP, tuple(drawn))
