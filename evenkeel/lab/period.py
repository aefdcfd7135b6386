"""A period of time that options name."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from evenkeel.core.figures import date, date_and_time
from evenkeel.release.kit.arguments import InputError

_DAY_S: Final = 86_400.0
_UNITS: Final = {"m": 60.0, "h": 3600.0, "d": _DAY_S, "w": 7 * _DAY_S}
_AGO: Final = re.compile(r"(\d{1,6})([mhdw])")
_DATE: Final = re.compile(r"\d{4}-\d{2}-\d{2}")
_DEFAULT: Final = "7d"


@dataclass(frozen=True, slots=True)
class Period:
    """A stretch of time, in Unix seconds; its end does not belong to it."""

    since: float
    until: float

    def covers(self, at: float) -> bool:
        """Return whether a moment lies in it."""
        return self.since <= at < self.until

    @property
    def words(self) -> str:
        """Words for people, in UTC: "1 Nov 2026 to 20 Nov 2026"; with times of day where it has any."""
        first, end = _utc(self.since), _utc(self.until)
        if self.since % _DAY_S == 0 and self.until % _DAY_S == 0:
            last = date(self.until - _DAY_S)
            return date(self.since) if self.until - _DAY_S <= self.since else f"{date(self.since)} to {last}"
        if first.date() == end.date():
            return f"{date(self.since)}, {first:%H:%M} to {end:%H:%M} UTC"
        return f"{date(self.since)} {first:%H:%M} to {date_and_time(self.until)}"

    @property
    def name(self) -> str:
        """Name for files: "2026-11-01_2026-11-20", in UTC."""
        first, last = _utc(self.since), _utc(max(self.since, self.until - 1))
        return f"{first:%Y-%m-%d}_{last:%Y-%m-%d}"


def period_of(since: str | None, until: str | None, now: float) -> Period:
    """Return the period that two options name.

    Args:
        since: A date, a date with a time of day (UTC unless it says otherwise), or how long ago ("7d",
            "36h"); none = seven days ago.
        until: The same; a date belongs to the period as a whole. None = now.
        now: Unix time in seconds.

    Raises: InputError if one cannot be read, or the end is not after the start.
    """
    start = moment("--since", since or _DEFAULT, now, whole_day=False)
    end = now if until is None else moment("--until", until, now, whole_day=True)
    if end <= start:
        raise InputError(
            f"the period ends before it starts: --since is {_iso(start)}, --until is {_iso(end)}"
        )
    return Period(start, end)


def moment(option: str, text: str, now: float, *, whole_day: bool) -> float:
    """Return the moment that an option names, in Unix seconds; of a whole day its end.

    Raises: InputError if it cannot be read.
    """
    ago = _AGO.fullmatch(text.strip())
    if ago:
        return now - int(ago[1]) * _UNITS[ago[2]]
    try:
        read = datetime.fromisoformat(text.strip())
        read = read if read.tzinfo else read.replace(tzinfo=UTC)
        at = read.timestamp()
    except (ValueError, OverflowError):
        raise InputError(
            f'{option} "{text}" is no date: give one as 2026-11-20, one with a time as 2026-11-20T14:30, or '
            "how long ago as 7d or 36h"
        ) from None
    return at + _DAY_S if whole_day and _DATE.fullmatch(text.strip()) else at


def _utc(at: float) -> datetime:
    return datetime.fromtimestamp(at, UTC)


def _iso(at: float) -> str:
    return f"{_utc(at):%Y-%m-%d %H:%M} UTC"
