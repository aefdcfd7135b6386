"""Numbers and times as people read them. Ratios come in as [0, 1] and go out as percent."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from evenkeel.core.cells import Estimate


class Bounded(Protocol):
    """What has an interval of ratios."""

    @property
    def lower(self) -> float:
        """The lower end."""

    @property
    def upper(self) -> float:
        """The upper end."""


_NARROW_SPACE = "\u202f"
_MINUS = "\u2212"
_MINUTE_S = 60
_HOUR_S = 3600
_DAY_S = 86400


def number(value: float, digits: int = 0) -> str:
    """The value rounded, with a true minus sign and never "−0"; "?" if it is not finite."""
    if not math.isfinite(value):
        return "?"
    text = f"{value:,.{digits}f}"
    if text.startswith("-"):
        text = text[1:] if not text.strip("-0.,") else _MINUS + text[1:]
    return text


def percent(ratio: float, digits: int = 0) -> str:
    """0.31 as "31 %", with a space that does not break."""
    return f"{number(ratio * 100, digits)}{_NARROW_SPACE}%"


def interval(one: Bounded, digits: int = 0) -> str:
    """Its interval in percent, "[24, 38] %"."""
    return f"[{number(one.lower * 100, digits)},\u00a0{number(one.upper * 100, digits)}]{_NARROW_SPACE}%"


def estimate_text(estimate: Estimate) -> str:
    """Value and interval in percent, "31 % [24, 38] %"."""
    return f"{percent(estimate.value)} {interval(estimate)}"


def estimate_of(estimate: Estimate) -> str:
    """Value, interval and number of trials, "31 % [24, 38] % of 96"."""
    return f"{estimate_text(estimate)} of {estimate.n:,}"


def usd(amount: float) -> str:
    """US dollars; an amount that would round to nothing says so."""
    if 0 < amount < 0.01:  # noqa: PLR2004 - a cent
        return "<$0.01"
    return f"${amount:,.2f}"


def moment(at: float, now: float) -> str:
    """A time of day in UTC, "14:03"; with the date if it is not today's."""
    then, today = datetime.fromtimestamp(at, UTC), datetime.fromtimestamp(now, UTC)
    clock = then.strftime("%H:%M")
    return clock if then.date() == today.date() else f"{then.day} {then.strftime('%b')} {clock}"


def moment_exact(at: float) -> str:
    """Date and time to the second in UTC, for tooltips and the page of one verdict."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def iso(at: float) -> str:
    """The time as a machine reads it (RFC 3339, UTC)."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def lasting(seconds: float) -> str:
    """How long something has been so: seconds would make a page change at every refresh, so "just now"."""
    return duration(seconds) if seconds >= _MINUTE_S else "just now"


def duration(seconds: float) -> str:
    """A length of time in its two largest units at most: "42 s", "12 min", "3 h 5 min", "2 d"."""
    whole = max(0, round(seconds))
    if whole < _MINUTE_S:
        return f"{whole} s"
    if whole < _HOUR_S:
        return f"{whole // _MINUTE_S} min"
    if whole < _DAY_S:
        minutes = whole % _HOUR_S // _MINUTE_S
        return f"{whole // _HOUR_S} h {minutes} min" if minutes else f"{whole // _HOUR_S} h"
    return f"{whole // _DAY_S} d"


def plain(text: str) -> str:
    """The text with ordinary spaces and minus signs, for files."""
    return text.replace(_NARROW_SPACE, " ").replace("\u00a0", " ").replace(_MINUS, "-")
