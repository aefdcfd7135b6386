"""An exchange without the values that must not be kept."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from evenkeel.shadow.encodings import UnreadableBody, decode_body
from evenkeel.shadow.protection.bodies import Unredactable, redact_events, redact_json
from evenkeel.shadow.protection.placeholders import Placeholders

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Callable, Sequence

    from evenkeel.core.exchange import Exchange
    from evenkeel.shadow.protection.detector import Detector

_EVENTS = "text/event-stream"
_STREAM = re.compile(r"\ufeff?\s*(?:data|event|id|retry)?:")


@dataclass(frozen=True, slots=True)
class Redacted:
    """An exchange after redaction, and what was done."""

    exchange: Exchange
    replaced: Counter[str]
    """Values replaced, by kind."""
    emptied: tuple[str, ...] = ()
    """Why bodies had to be emptied, a reason for each: "not_json", "not_text", or that of an encoding."""


class Redactor:
    """Replaces values in the bodies of exchanges, and in what the application says beside them.

    A body without such a value stays byte for byte what it was. One that cannot be read is emptied: nothing
    leaves the process that was not looked at, and the worker then gives the exchange up with a reason.
    """

    def __init__(self, detectors: Sequence[Detector]) -> None:
        """Take the detectors, in order of precedence."""
        self._detectors = tuple(detectors)

    def redact(self, exchange: Exchange) -> Redacted:
        """The exchange, with the same placeholders throughout. Never raises for what a body holds."""
        values = Placeholders(self._detectors)
        emptied: list[str] = []
        request, request_headers = _body(
            exchange.request_body, exchange.request_headers, values.redact, emptied
        )
        response, response_headers = _body(
            exchange.response_body, exchange.response_headers, values.redact, emptied
        )
        redacted = replace(
            exchange,
            request_body=request,
            request_headers=request_headers,
            response_body=response,
            response_headers=response_headers,
            task=_said(exchange.task, values),
            prompt_version=_said(exchange.prompt_version, values),
            session=_said(exchange.session, values),
        )
        return Redacted(redacted, values.replaced, tuple(emptied))


def _said(text: str | None, values: Placeholders) -> str | None:
    return None if text is None else values.redact(text)


def _body(
    body: bytes, headers: tuple[tuple[str, str], ...], redact: Callable[[str], str], emptied: list[str]
) -> tuple[bytes, tuple[tuple[str, str], ...]]:
    """A body redacted, and its headers: one that was changed is no longer compressed."""
    named = dict(headers)
    try:
        text = decode_body(named, body).decode()
        redacted = _text(text, named.get("content-type", ""), redact)
    except (UnreadableBody, Unredactable, UnicodeDecodeError) as error:
        emptied.append(_reason(error))
        return b"", headers
    if redacted == text:
        return body, headers
    return redacted.encode(), tuple(one for one in headers if one[0] != "content-encoding")


def _text(text: str, content_type: str, redact: Callable[[str], str]) -> str:
    if not text.strip():
        return text
    try:
        return redact_json(text, redact)
    except Unredactable:
        # Some servers label streams otherwise, and some label JSON as a stream.
        if _EVENTS in content_type.lower() or _STREAM.match(text):
            return redact_events(text, redact)
        raise


def _reason(error: Exception) -> str:
    if isinstance(error, UnreadableBody):
        return error.reason
    return str(error.args[0]) if isinstance(error, Unredactable) else "not_text"
