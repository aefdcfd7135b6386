"""Calls that brought no answer: why, and whether and when to try again. Loads no SDK."""

from __future__ import annotations

import email.utils
import math
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

UNHEALTHY: Final = frozenset({"timeout", "rate_limited", "unauthorized", "connection", "server_error"})
"""Reasons that lie with the endpoint and open the breaker; the others are about one reply."""

_FIRST_PAUSE_S: Final = 0.5
_LONGEST_PAUSE_S: Final = 8.0


class Fault(NamedTuple):
    """A call that brought no answer, or none that can be used."""

    reason: str
    """In snake case: "timeout", "rate_limited", "bad_schema" …"""
    detail: str
    """One sentence for people. Holds no credentials."""
    passing: bool = False
    """Whether the same call may succeed a little later."""
    throttled: bool = False
    """Whether the endpoint wants fewer calls, from whomever."""
    asked_pause_s: float | None = None
    """How long the endpoint asked to be left alone, in seconds; None if it did not say."""
    unbilled: bool = False
    """Whether the call certainly cost nothing: the endpoint refused it, or was never reached.

    An endpoint that fails (5xx) or gives up (408) may have done the work."""
    complaint: str = ""
    """What the endpoint says is wrong with the request, if leaving out a parameter may cure it."""


def asked_pause_s(headers: Mapping[str, str]) -> float | None:
    """Seconds that `retry-after-ms` or `Retry-After` ask to wait, at least 0; None if unreadable or absent.

    A date is read against the response's own `Date`, so that clocks which differ do not matter.
    """
    for name, unit_s in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            seconds = float(headers.get(name, "")) * unit_s
        except ValueError:
            continue
        if math.isfinite(seconds):
            return max(0.0, seconds)
    try:
        until, now = (
            email.utils.parsedate_to_datetime(headers.get(name, "")).timestamp()
            for name in ("retry-after", "date")
        )
    except (ValueError, OverflowError):
        return None
    return max(0.0, until - now)


def pause_s(attempt: int) -> float:
    """Seconds to wait after a failed attempt, the first being 0: half a second, doubling, at most eight."""
    return min(_FIRST_PAUSE_S * 2.0**attempt, _LONGEST_PAUSE_S)
