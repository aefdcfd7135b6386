"""Calls that brought no answer: why, and whether and when to try again."""

from __future__ import annotations

import email.utils
import math
import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from evenkeel.core.backoff import Backoff
from evenkeel.llm.wire import MissingResponse, RawResponse

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

UNHEALTHY: Final = frozenset({"timeout", "rate_limited", "unauthorized", "connection", "server_error"})
"""Reasons that lie with the endpoint and open the breaker; the others are about one reply."""

# For servers that do not say how long to wait.
BETWEEN_ATTEMPTS: Final = Backoff(0.5, 8.0)


class Fault(NamedTuple):
    """A call that brought no answer, or none that can be used."""

    reason: str
    """Snake case: "timeout", "rate_limited", "bad_schema" …"""
    detail: str
    """A sentence for people. Holds no credentials."""
    passing: bool = False
    """True if the same call may succeed a little later."""
    throttled: bool = False
    """True if the endpoint wants fewer calls, from whomever."""
    asked_pause_s: float | None = None
    """Seconds that the endpoint asked to be left alone; None if it did not say."""
    unbilled: bool = False
    """True if the call certainly cost nothing: the endpoint refused it, or was never reached.

    An endpoint that fails (5xx) or gives up (408) may have done the work."""
    complaint: str = ""
    """The endpoint's complaint about the request, if leaving out a parameter may cure it."""
    no_room: bool = False
    """True if the endpoint has no room now for what can wait; the same call may be answered at once."""


_TIMED_OUT: Final = 408
_UNAUTHORIZED: Final = frozenset({401, 403})
# Statuses after which the same request may succeed.
_PASSING: Final = frozenset({_TIMED_OUT, 409, 429})
_REJECTED: Final = frozenset({400, 422})
_FIRST_SERVER_ERROR: Final = 500
_BAD_GATEWAY: Final = 502
_ERRORS: Final = range(400, 600)
# Characters of a server's sentence that are kept with a failure.
_DETAIL_CHARS: Final = 300
# Parameters that can be left out: a complaint about one is not about the question.
_LIMITS: Final = ("max_tokens", "max_completion_tokens", "in the completion")


def fault_of(response: RawResponse | MissingResponse, api_key: str = "") -> Fault:
    """Return why a request brought no answer. The detail never holds the key that it was sent with."""
    if isinstance(response, MissingResponse):
        passing = response.reason in UNHEALTHY
        reason = response.reason if passing else "bad_schema"
        return Fault(reason, _without(api_key, response.detail), passing, unbilled=response.is_free)
    status, error = response.status, response.error()
    if response.is_success:
        # Routers report the failure of a provider this way, with its status as the code.
        code = error.get("code")
        status = code if isinstance(code, int) and code in _ERRORS else _BAD_GATEWAY
    words = _without(api_key, " ".join(sentence_of(error).split()))[:_READ_CHARS]
    further = error.get("innererror")
    codes = (error.get("code"), error.get("type"), further.get("code") if isinstance(further, dict) else None)
    about_limit = error.get("param") in _LIMITS or any(name in words for name in _LIMITS)
    own = None if about_limit or status >= _FIRST_SERVER_ERROR else _about_request(status, codes, words)
    # Servers repeat parts of the key in this message.
    quoted = (
        words if status not in _UNAUTHORIZED else "it refuses the request" if own else "it rejected the key"
    )
    detail = f"The endpoint answered {response.status}: {quoted or 'without a message'}"[:_DETAIL_CHARS]
    if own:
        return Fault(own, detail, unbilled=response.is_free)
    if str(error.get("code")) in _BAD_GENERATION_CODES or "failed_generation" in error:
        # The model wrote something, which may be billed; the next attempt may write what was asked for.
        return Fault("bad_schema", detail, passing=True)
    asked = asked_pause_s(response.headers)
    # Some servers say themselves whether a repetition makes sense.
    advised = response.headers.get("x-should-retry")
    passing = status in _PASSING or status >= _FIRST_SERVER_ERROR
    passing = advised == "true" if advised in {"true", "false"} else passing
    return Fault(
        _reason(status),
        detail,
        passing,
        throttled=status == _TOO_MANY_STATUS or (passing and asked is not None),
        asked_pause_s=asked,
        unbilled=response.is_free,
        complaint=words or detail if status in _REJECTED else "",
        no_room=status in _FULL and bool(_NO_ROOM.search(f"{codes} {words}")),
    )


def sentence_of(error: Mapping[str, Any]) -> str:
    """Return an error's sentence; that of a structured one names the members that are rejected."""
    message = ""
    for name in ("message", "detail", "msg", "Message", "status_msg"):
        message = message or error.get(name) or ""
    provider = error.get("metadata")
    if isinstance(provider, dict) and isinstance(provider.get("raw"), str):
        # A router's own message only says that its provider failed; the provider's is in `raw`.
        message = f"{message}: {provider['raw']}"
    if isinstance(message, dict):
        message = message.get("detail", message)
    if not isinstance(message, list):
        return str(message)
    sentences = []
    for fault in message:
        if isinstance(fault, dict):
            location = fault.get("loc")
            member = ".".join(str(part) for part in location) if isinstance(location, list) else location
            sentences.append(f"{member}: {fault.get('msg')}")
    return "; ".join(sentences)


def _reason(status: int) -> str:
    if status in _UNAUTHORIZED:
        return "unauthorized"
    if status == _TOO_MANY_STATUS:
        return "rate_limited"
    return "server_error" if status >= _FIRST_SERVER_ERROR else "bad_request"


def _without(secret: str, text: str) -> str:
    return text.replace(secret, "***") if secret else text


# Errors about what the model wrote, not about the request.
_BAD_GENERATION_CODES: Final = frozenset({"json_validate_failed", "tool_use_failed"})
# Statuses with which servers say that the flex tier has no room; 498 is Groq's.
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
    r"|too many tokens|maximum context length|exceeds the maximum number of tokens"
    r"|must be <= \d+\W+given: \d+"
    r"|(?:exceeds?|larger than|longer than) the (?:\S+ ){0,4}context)\b",
    re.IGNORECASE,
)
# A request for more than the whole limit of a minute never succeeds.
_MORE_THAN_EVER: Final = re.compile(
    r"\blimit:? (\d{1,12})\b.{0,60}?\brequested:? (\d{1,12})\b", re.IGNORECASE
)
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
# Characters of a sentence that patterns search: it is somebody else's text, of any length.
_READ_CHARS: Final = 2_000


def _about_request(status: int, names: Iterable[object], message: str) -> str | None:
    """Return "too_long" or "refused" if an error is about this one request; None if it may not be.

    `names` are what the error gives as its code, type and the like.
    """
    codes = set()
    for name in names:
        if isinstance(name, str):
            codes.add(name.lower())
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
        until = email.utils.parsedate_to_datetime(headers.get("retry-after", "")).timestamp()
        now = email.utils.parsedate_to_datetime(headers.get("date", "")).timestamp()
    except (ValueError, OverflowError):
        return None
    return max(0.0, until - now)
