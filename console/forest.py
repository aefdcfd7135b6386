"""Intervals as bars on a common scale, one a row: geometry of the small pictures in tables."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

WIDTH: Final = 200
HEIGHT: Final = 18
_MARGIN: Final = 4


class Interval(NamedTuple):
    """A value with the ends of its interval."""

    value: float
    lower: float
    upper: float


class Span(NamedTuple):
    """The values that a column of bars shows."""

    low: float
    high: float

    def x(self, value: float) -> float:
        """User units, clamped to the picture."""
        share = (value - self.low) / (self.high - self.low)
        return round(_MARGIN + (WIDTH - 2 * _MARGIN) * min(1.0, max(0.0, share)), 1)


@dataclass(frozen=True, slots=True)
class Bar:
    """One interval."""

    low: float
    high: float
    dot: float
    ends: tuple[float, ...]
    """Where the scale has its fixed points: zero, or zero and one."""
    lines: tuple[float, ...]
    """Where something stands that it is to be compared with: what is allowed."""
    loud: bool
    """Whether it is to be drawn as an alert."""


def span_of(intervals: Iterable[Interval], *, always: Iterable[float] = ()) -> Span:
    """A range in steps of a tenth that holds all values, and the intervals as far as they are within ±1."""
    ends = [end for one in intervals for end in one if math.isfinite(end)]
    held = [max(-1.0, min(1.0, end)) for end in ends] + list(always)
    low = math.floor(min(held, default=0.0) * 10 - 1e-9) / 10
    high = math.ceil(max(held, default=1.0) * 10 + 1e-9) / 10
    return Span(low, max(high, low + 0.1))


def bar(
    interval: Interval,
    span: Span,
    *,
    ends: Iterable[float] = (0.0,),
    lines: Iterable[float] = (),
    loud: bool = False,
) -> Bar:
    """Lay one interval out."""
    return Bar(
        low=span.x(interval.lower),
        high=span.x(interval.upper),
        dot=span.x(interval.value),
        ends=tuple(span.x(end) for end in ends),
        lines=tuple(span.x(line) for line in lines),
        loud=loud,
    )
