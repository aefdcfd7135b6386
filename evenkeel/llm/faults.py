"""Calls that brought no answer: why, and whether and when to try again. Loads no SDK."""

from __future__ import annotations

import email.utils
import math
import re
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

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
    no_room: bool = False
    """Whether the endpoint has no room now for what can wait; the same call may be answered at once."""


_FULL: Final = frozenset({429, 498, 503})
_NO_ROOM: Final = re.compile(r"resource.{0,3}unavailable|capacity", re.IGNORECASE)
_TOO_LARGE_STATUS: Final = 413
_TOO_MANY_STATUS: Final = 429
_UNLAWFUL_STATUS: Final = 451
_TOO_LONG_CODES: Final = frozenset(
    {
        "context_length_exceeded",
        "exceed_context_size_error",
        "request_too_large",
        "string_above_max_length",
        "tokens_limit_reached",
    }
)
_TOO_LONG: Final = re.compile(
    r"\b(?:request (?:is )?too large|(?:prompt|input|message) is too long|string too long"
    r"|maximum context length|(?:exceeds?|larger than|longer than) the (?:\S+ ){0,4}context)\b",
    re.IGNORECASE,
)
_MORE_THAN_EVER: Final = re.compile(
    r"\blimit:? (\d{1,12})\b.{0,60}?\brequested:? (\d{1,12})\b", re.IGNORECASE
)
"""Of a limit per minute: a request for more than all of it is not cured by waiting."""
_FILTER_CODES: Final = frozenset(
    {
        "content_filter",
        "content_policy_violation",
        "data_inspection_failed",
        "invalid_prompt",
        "moderation_blocked",
        "responsibleaipolicyviolation",
    }
)
_FILTERED: Final = re.compile(
    r"\b(?:content[ _]filter|content (?:management )?policy|usage polic(?:y|ies)|safety (?:system|filter)"
    r"|flagged (?:as|by|for))",
    re.IGNORECASE,
)
_READ_CHARS: Final = 2_000


def has_no_room(status: int, words: str) -> bool:
    """Whether an error says that the flex tier has no room now.

    Args:
        status: Of the response.
        words: Code, type and sentence of the error.
    """
    return status in _FULL and bool(_NO_ROOM.search(words[:_READ_CHARS]))


def about_request(status: int, names: Iterable[object], message: str) -> str | None:
    """Whether an error is about what this one request says: "too_long" or "refused"; None if it may not be.

    Args:
        status: Of the response.
        names: What the error gives as its code, type and the like.
        message: Its sentence.
    """
    codes = {name.lower() for name in names if isinstance(name, str)}
    message = message[:_READ_CHARS]
    limit = _MORE_THAN_EVER.search(message) if status == _TOO_MANY_STATUS else None
    if (
        status == _TOO_LARGE_STATUS
        or codes & _TOO_LONG_CODES
        or _TOO_LONG.search(message)
        or (limit and int(limit[2]) > int(limit[1]))
    ):
        return "too_long"
    if status == _UNLAWFUL_STATUS or codes & _FILTER_CODES:
        return "refused"
    return "refused" if status != _TOO_MANY_STATUS and _FILTERED.search(message) else None


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
