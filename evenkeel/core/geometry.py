"""Geometry shared by all pictures: scales, ticks, paths, intervals, and the colors of robustness. Pure.

A picture is laid out in user units here and drawn by a template: nothing in this module knows SVG but `path`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

_MINUS: Final = "\u2212"
# Slack in steps: a range leaves room beside a value that lies on a step, and rounding errors drop no tick.
_SLACK: Final = 1e-9

BAND_FLOORS: Final = (90.0, 85.0, 80.0, 75.0, 70.0, 65.0, 60.0)
"""Lower edges of the robustness bands, in points of 100; the last band is everything below."""


@dataclass(frozen=True, slots=True)
class Band:
    """A color of the legend."""

    index: int
    label: str


def _bands() -> tuple[Band, ...]:
    labels = [f"≥ {BAND_FLOORS[0]:.0f}"]
    labels += [f"{low:.0f}–{high:.0f}" for high, low in pairwise(BAND_FLOORS)]
    labels.append(f"< {BAND_FLOORS[-1]:.0f}")
    bands = []
    for index, label in enumerate(labels):
        bands.append(Band(index, label))
    return tuple(bands)


BANDS: Final = _bands()


def band(robustness: float) -> int:
    """Return the color band of a robustness in [0, 1], 0 = best; decided on the number as printed."""
    points = round(robustness * 100, 1)
    return sum(points < floor for floor in BAND_FLOORS)


class Range(NamedTuple):
    """Range of values that an axis shows."""

    low: float
    high: float

    @classmethod
    def holding(
        cls, values: Iterable[float | None], *, step: float, least: float, within: tuple[float, float]
    ) -> Range:
        """Return a range in whole steps that holds all values, as far as they lie within limits.

        Args:
            values: Values to show; None and values that are not finite are left out.
            step: Step of the axis; both ends are multiples of it.
            least: Smallest length of the range.
            within: Limits of the range; values beyond them are drawn at the end of the axis.
        """
        finite = []
        for value in values:
            if value is not None and math.isfinite(value):
                finite.append(value)
        held = []
        for number in finite:
            held.append(max(within[0], min(within[1], number)))
        low = math.floor(min(held, default=0.0) / step - _SLACK) * step
        high = math.ceil(max(held, default=0.0) / step + _SLACK) * step
        return cls(max(within[0], round(low, 9)), min(within[1], round(max(high, low + least), 9)))


class Scale(NamedTuple):
    """An axis: values in, user units out."""

    low: float
    """Value at `start`."""
    high: float
    """Value at `end`."""
    start: float
    """User units; greater than `end` for an axis that points up."""
    end: float

    def at(self, value: float) -> float:
        """Return the position of a value, to a tenth of a unit; values outside are drawn at the end."""
        share = (value - self.low) / (self.high - self.low)
        return round(self.start + (self.end - self.start) * min(1.0, max(0.0, share)), 1)

    def maybe(self, value: float | None) -> float | None:
        """Return the position of a value; None for no value."""
        return None if value is None else self.at(value)

    def ticks(self, values: Iterable[float], label: Callable[[float], str] | None = None) -> tuple[Tick, ...]:
        """Return grid lines at the values, labelled as plain numbers by default."""
        ticks: list[Tick] = []
        for value in values:
            ticks.append(Tick(self.at(value), (label or plain_number)(value)))
        return tuple(ticks)


class Tick(NamedTuple):
    """A grid line and its label."""

    at: float
    """User units along its axis."""
    label: str


def steps(low: float, high: float, step: float) -> list[float]:
    """Return the multiples of a step from one value to another, both included."""
    first, last = math.ceil(low / step - _SLACK), math.floor(high / step + _SLACK)
    steps = []
    for multiple in range(first, last + 1):
        steps.append(round(multiple * step, 9))
    return steps


def plain_number(value: float) -> str:
    """Return a value as the label of a tick, with a true minus sign."""
    return f"{value:g}".replace("-", _MINUS)


def path(points: Sequence[tuple[float, float]], *, closed: bool = False) -> str:
    """Return SVG path data through points; "" without any."""
    if not points:
        return ""
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points) + ("Z" if closed else "")


def ribbon(points: Sequence[tuple[float, float, float]]) -> str:
    """Return path data around (x, lower, upper) points; "" for fewer than two."""
    if len(points) < 2:  # noqa: PLR2004 - a point has no area
        return ""
    # There along the upper ends, and back along the lower ones.
    there = [(x, upper) for x, _, upper in points]
    return path(there + [(x, lower) for x, lower, _ in reversed(points)], closed=True)


def spread(wanted: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Return label positions in the given order: near the wanted ones, `gap` apart, inside if they fit."""
    # Pushed down from the first, then up from the end if that is too low, then down again from the top: what
    # does not fit sticks out below.
    order = sorted(range(len(wanted)), key=lambda i: wanted[i])
    positions = [wanted[i] for i in order]
    for before, after in pairwise(range(len(positions))):
        positions[after] = max(positions[after], positions[before] + gap)
    if positions and positions[-1] > high:
        positions[-1] = high
        for after, before in pairwise(reversed(range(len(positions)))):
            positions[before] = min(positions[before], positions[after] - gap)
    if positions and positions[0] < low:
        positions[0] = low
        for before, after in pairwise(range(len(positions))):
            positions[after] = max(positions[after], positions[before] + gap)
    position_of = dict(zip(order, positions, strict=True))
    return [round(position_of[i], 1) for i in range(len(wanted))]


def shortened(label: str, chars: int) -> str:
    """Return the label cut to what fits beside a plot; names of files and models can be long."""
    return label if len(label) <= chars else f"{label[: chars - 1]}…"
