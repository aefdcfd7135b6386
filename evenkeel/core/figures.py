"""Formatting of numbers, amounts, times and counts, the same on every page and in every report.

Ratios come in as [0, 1] and go out as percent, or as points of 100. A figure that was not measured is
`MISSING`.
"""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evenkeel.core.cells import Estimate


MISSING: Final = "–"
"""Text in place of a figure that was not measured."""

WIDE: Final = (
    "Intervals are wide while trials are few: they hold whenever you look, "
    "also if requests depend on each other."
)
"""Sentence beside figures of few trials."""

_NARROW_SPACE = "\u202f"
_MINUS = "\u2212"
# Counts below this are written in full; a rounded "10" would hide 13.
_EXACT_BELOW = 20
_MINUTE_S = 60
_HOUR_S = 3600
_DAY_S = 86400
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def number(value: float, digits: int = 0) -> str:
    """Return the value rounded, with a true minus sign and never "−0"; "?" if it is not finite."""
    if not math.isfinite(value):
        return "?"
    text = f"{value:,.{digits}f}"
    if text.startswith("-"):
        # What rounds to zero has no sign.
        text = text[1:] if not text.strip("-0.,") else _MINUS + text[1:]
    return text


def rounded(count: int) -> int:
    """Return a count rounded up to two digits, where more would suggest a precision it does not have."""
    if count < _EXACT_BELOW:
        return count
    step = int(10 ** (len(str(count)) - 2))
    return -(-count // step) * step


def limit(ratio: float) -> str:
    """Return a limit in points of 100: "10", or "14.3" where it is not whole."""
    return number(ratio * 100, 1).removesuffix(".0")


def percent(ratio: float, digits: int = 0) -> str:
    """Return a ratio in percent, "31 %" for 0.31, with a space that does not break."""
    return f"{number(ratio * 100, digits)}{_NARROW_SPACE}%"


def estimate_text(estimate: Estimate) -> str:
    """Return value and interval in percent, "31 % [24, 38]"."""
    return f"{percent(estimate.value)} {points_interval(estimate, 0)}"


def estimate_of(estimate: Estimate) -> str:
    """Return value, interval and number of trials, "31 % [24, 38] of 96"."""
    return f"{estimate_text(estimate)} of {estimate.n:,}"


def share(part: float, whole: float, digits: int = 1) -> str:
    """Return a part of a whole in percent, "4.2 %"."""
    return percent(part / whole, digits) if whole else MISSING


def points(measure: Estimate | None, digits: int = 1) -> str:
    """Return a ratio in points of 100, "88.8"."""
    return MISSING if measure is None else number(measure.value * 100, digits)


def points_interval(measure: Estimate | None, digits: int = 1) -> str:
    """Return the interval in points of 100, "[86.3, 90.9]"; "" without a measure."""
    if measure is None:
        return ""
    return f"[{number(measure.lower * 100, digits)},\u00a0{number(measure.upper * 100, digits)}]"


def points_text(measure: Estimate | None, digits: int = 1) -> str:
    """Return value and interval in points of 100, "88.8 [86.3, 90.9]"."""
    return f"{points(measure, digits)} {points_interval(measure, digits)}".strip()


def difference(measure: Estimate | None) -> str:
    """Return a difference of ratios in points of 100 with its sign, "+22.2"."""
    return MISSING if measure is None else _signed(measure.value, 1)


def _signed(ratio: float, digits: int) -> str:
    text = number(ratio * 100, digits)
    return text if text.startswith(_MINUS) or not text.strip("0.") else f"+{text}"


def count(n: int, noun: str, plural: str = "") -> str:
    """Return a number with its noun, "1 route", "3 routes"."""
    return f"{number(n)} {noun if n == 1 else plural or f'{noun}s'}"


def reasons(counts: Mapping[str, int]) -> str:
    """Return counts by reason, the most frequent first: "timeout 10, rate limited 2"."""
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    parts = []
    for reason, n in ordered:
        if n:
            parts.append(f"{reason.replace('_', ' ')} {number(n)}")
    return ", ".join(parts)


def listing(parts: Sequence[str]) -> str:
    """Join to "a", "a and b", "a, b and c"."""
    if len(parts) < 2:  # noqa: PLR2004 - nothing to join
        return "".join(parts)
    return f"{', '.join(parts[:-1])} and {parts[-1]}"


def usd(amount: float) -> str:
    """Return an amount in US dollars: in cents, and with two digits where it is below ten, "$0.0043"."""
    if 0 < amount < 0.1:  # noqa: PLR2004 - ten cents
        # In cents they would look alike, or not in the proportion that is said of them: two models' prices.
        digits = 1 - math.floor(math.log10(amount))
        return f"${amount:.{digits}f}".rstrip("0")
    return f"${amount:,.2f}"


def moment(at: float, now: float) -> str:
    """Return a time of day in UTC, "14:03", with the date if it is not today's."""
    then, today = datetime.fromtimestamp(at, UTC), datetime.fromtimestamp(now, UTC)
    clock = f"{then:%H:%M}"
    return clock if then.date() == today.date() else f"{then.day} {_MONTHS[then.month - 1]} {clock}"


def date(at: float) -> str:
    """Return a day in UTC, "1 Nov 2026", whatever the locale."""
    then = datetime.fromtimestamp(at, UTC)
    return f"{then.day} {_MONTHS[then.month - 1]} {then.year}"


def date_and_time(at: float | None) -> str:
    """Return a day with the time in UTC, "20 Nov 2026 21:53 UTC"."""
    return MISSING if at is None else f"{date(at)} {datetime.fromtimestamp(at, UTC):%H:%M} UTC"


def moment_exact(at: float) -> str:
    """Return date and time to the second in UTC, for tooltips and the page of one verdict."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def iso(at: float) -> str:
    """Return a time for machines (RFC 3339, UTC)."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def duration(seconds: float) -> str:
    """Return a duration in at most its two largest units: "42 s", "12 min", "3 h 5 min", "2 d"."""
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
    """Return the text with ordinary spaces and minus signs, for files."""
    return text.replace(_NARROW_SPACE, " ").replace("\u00a0", " ").replace(_MINUS, "-")


def clients(trials: Mapping[str, int]) -> str:
    """Return the clients behind trials, "38 of 40 trials come from client 3f9a, …"; "" without trials."""
    if not trials:
        return ""
    # By name among equals, so that the sentence is the same each time.
    most = max(trials, key=lambda name: (trials[name], name))
    total, others = sum(trials.values()), len(trials) - 1
    if not others:
        return f"All {total} trials come from client {most}"
    rest = f"{total - trials[most]} from {count(others, 'other client')}"
    return f"{trials[most]} of {total} trials come from client {most}, {rest}"


NO_JUDGE: Final = "judge: none, contradictions cannot be seen; similarity only"
"""Stands wherever content is shown and no judge rates it."""


def judged_by(model: str) -> str:
    """Return the line about the judge, with the model's name or, for "", what cannot be seen without one."""
    return f"judge: {model}" if model else NO_JUDGE
