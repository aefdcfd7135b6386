"""Calls that brought no completion: what they are called, and whether and when to try again."""

from __future__ import annotations

import email.utils
import math
from typing import TYPE_CHECKING, Literal, NamedTuple

import openai

if TYPE_CHECKING:
    from collections.abc import Mapping

Reason = Literal[
    "timeout", "connection", "unauthorized", "rate_limited", "server_error", "bad_request", "bad_schema"
]
"""What went wrong with a call, by its error."""

UNHEALTHY = frozenset({"timeout", "rate_limited", "unauthorized", "connection", "server_error"})
"""Reasons that lie with the endpoint and open the breaker; the others are about one reply."""

_DETAIL_CHARS = 300
_TOO_MANY = 429
_PASSING_STATUS = frozenset({408, 409, _TOO_MANY})
_SERVER_ERROR = 500
_FIRST_PAUSE_S = 0.5
_LONGEST_PAUSE_S = 8.0

_REASONS: tuple[tuple[type[Exception], Reason], ...] = (
    (openai.APITimeoutError, "timeout"),
    (openai.APIConnectionError, "connection"),
    (openai.AuthenticationError, "unauthorized"),
    (openai.PermissionDeniedError, "unauthorized"),
    (openai.RateLimitError, "rate_limited"),
    (openai.InternalServerError, "server_error"),
    (openai.APIStatusError, "bad_request"),
)
"""First match wins: a timeout is a connection error to the SDK, and everything is a status error."""


class OversizedAnswer(Exception):  # noqa: N818 - named as the outcome it is
    """An answer that is larger than any honest one, or in an encoding that cannot be bounded."""


class Fault(NamedTuple):
    """A call that brought no completion."""

    reason: str
    detail: str
    passing: bool = False
    """Whether the same call may succeed a little later."""
    throttled: bool = False
    """Whether the endpoint wants fewer calls, from whomever."""
    asked_pause_s: float | None = None
    """How long the endpoint asked to be left alone, in seconds; None if it did not say."""


def reason_of(error: Exception) -> Reason:
    """What an error of the SDK is called; one beyond its own errors is an unreadable body."""
    if isinstance(error.__cause__, OversizedAnswer):
        return "bad_schema"
    return next((reason for kind, reason in _REASONS if isinstance(error, kind)), "bad_schema")


def described(error: Exception, api_key: str) -> str:
    """An error in one line, without the key."""
    if reason_of(error) == "unauthorized":
        # Servers repeat parts of the key in this message.
        return "The endpoint rejected the key."
    if isinstance(error.__cause__, OversizedAnswer):
        return str(error.__cause__)
    detail = " ".join(f"{type(error).__name__}: {error}".split())
    if api_key:
        detail = detail.replace(api_key, "***")
    return detail[:_DETAIL_CHARS]


def fault(error: Exception, api_key: str) -> Fault:
    """What an error of the SDK means; its detail never holds the key.

    What the SDK raises beyond its own errors is an unreadable body: "bad_schema".
    """
    reason, detail = reason_of(error), described(error, api_key)
    if isinstance(error, openai.APIConnectionError) and reason != "bad_schema":
        return Fault(reason, detail, passing=True)
    if not isinstance(error, openai.APIStatusError):
        return Fault(reason, detail)
    headers = error.response.headers
    asked = asked_pause_s(headers)
    passing = error.status_code in _PASSING_STATUS or error.status_code >= _SERVER_ERROR
    # Some servers say themselves whether a repetition makes sense; the SDK heeds it as well.
    told = headers.get("x-should-retry")
    passing = told == "true" if told in {"true", "false"} else passing
    throttled = error.status_code == _TOO_MANY or (passing and asked is not None)
    return Fault(reason, detail, passing, throttled, asked)


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
