"""Where a convex curve crosses zero: how the ends of a confidence set are found."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

_TOLERANCE = 1e-10
_MOST_STEPS = 200


class Point(NamedTuple):
    """A curve at one place."""

    value: float
    slope: float


def crossing(
    curve: Callable[[float], Point],
    inside: float,
    outside: float,
    *,
    reach: float = 0.0,
    tolerance: float = _TOLERANCE,
) -> float:
    """The place between `inside` and `outside` where a convex curve reaches zero.

    Newton's method, kept between the two ends by bisection. The curve is below zero at `inside`
    and, being convex, crosses once on the way to `outside`, where it may be infinite: neither end
    is evaluated. On the outer side a tangent never overshoots, so the returned place errs outwards,
    by at most `tolerance`: a confidence set is never made too small.

    Args:
        curve: value and slope at a place strictly between the ends.
        inside: the lowest place of the curve.
        outside: a place where it is not below zero.
        reach: a guess of the distance from `inside` to the crossing, 0 if there is none, such as
            that of a parabola of the same depth and curvature. It only saves steps.
        tolerance: as a share of the width of the search.
    """
    tolerance *= abs(outside - inside)
    place = inside + min(reach or inf, abs(outside - inside) / 2) * (1 if outside > inside else -1)
    for _ in range(_MOST_STEPS):
        value, slope = curve(place)
        if value < 0:
            inside = place
        else:
            outside = place
        step = value / slope if slope else 0.0
        if abs(outside - inside) <= tolerance or (value >= 0 and slope and abs(step) <= tolerance):
            break
        newton = place - step
        between = slope and min(inside, outside) < newton < max(inside, outside)
        place = newton if between else (inside + outside) / 2
    return outside
