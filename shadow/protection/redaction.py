"""Exchanges without the values that must not be kept, on their way to the queue.

A value is replaced by a placeholder: the same value, the same placeholder throughout an exchange.
"""

from __future__ import annotations

import logging
import re
from bisect import bisect
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from evenkeel.shadow.encodings import UnreadableBody, decode_body
from evenkeel.shadow.protection.bodies import Unredactable, redact_events, redact_json

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from evenkeel.core.exchange import Exchange, ExchangeSink
    from evenkeel.shadow.protection.detectors import Detector, Found
    from evenkeel.stores.counters import Tally


_SEPARATORS = re.compile(r"[\s().\-/]+")
_PLACEHOLDER = re.compile(r"\[[A-Z0-9_]+_\d+\]")
_MOST_SEARCHES = 4
"""Of one text: enough for what values of different kinds hide from each other, and no more for any text."""
_OPAQUE = re.compile(r"[A-Za-z0-9+/=_-]{512,}|data:[\w.+-]{1,60}/[\w.+-]{1,60};base64,[\s\S]*")
"""Pictures and signatures: no text, and long."""


class Placeholders:
    """Replaces values in the texts of one exchange.

    A placeholder is the kind and a number, "[EMAIL_1]": numbers are given in the order in which values are
    first met. Case, spaces, dots, dashes and brackets do not tell values apart.
    """

    def __init__(self, detectors: Sequence[Detector]) -> None:
        """Begin an exchange.

        Args:
            detectors: Find the values; the first one that finds a piece of text names it.
        """
        self._detectors = detectors
        self._known: dict[tuple[str, str], str] = {}
        self._numbers: Counter[str] = Counter()
        self.replaced: Counter[str] = Counter()
        """Values replaced so far, by kind."""

    def redact(self, text: str) -> str:
        """The text with placeholders; the very same text if there is nothing to replace.

        A placeholder ends what stood beside it, so it may bring to light a value that its neighbour hid: the
        text is searched again until nothing is found. So redacting it once more changes nothing.
        """
        if not text or _OPAQUE.fullmatch(text):
            return text
        found = self._found(text, ())
        for _ in range(_MOST_SEARCHES):
            if not found:
                break
            text = self._replaced(text, found)
            found = self._found(text, [match.span() for match in _PLACEHOLDER.finditer(text)])
        return text

    def _found(self, text: str, placeholders: Sequence[tuple[int, int]]) -> list[Found]:
        """The values of a text in order, none of which lies in a placeholder or cuts one in two."""
        found: list[Found] = []
        for detector in self._detectors:
            for one in detector.find(text):
                if not _spoils(one, placeholders):
                    _add_if_free(found, one)
        return found

    def _replaced(self, text: str, found: Sequence[Found]) -> str:
        pieces: list[str] = []
        at = 0
        for one in found:
            pieces += (text[at : one.start], self._placeholder(one.kind, text[one.start : one.end]))
            at = one.end
        return "".join(pieces) + text[at:]

    def _placeholder(self, kind: str, value: str) -> str:
        self.replaced[kind] += 1
        key = kind, _SEPARATORS.sub("", value).casefold()
        if key not in self._known:
            self._numbers[kind] += 1
            self._known[key] = f"[{kind.upper()}_{self._numbers[kind]}]"
        return self._known[key]


def _spoils(one: Found, placeholders: Sequence[tuple[int, int]]) -> bool:
    """Whether a value lies in a placeholder, or overlaps with one that it does not contain."""
    at_start = bisect(placeholders, (one.start, one.start)) - 1
    at_end = bisect(placeholders, (one.end, 0)) - 1
    for start, end in {
        placeholders[at] for at in (at_start, at_start + 1, at_end) if 0 <= at < len(placeholders)
    }:
        apart = one.end <= start or end <= one.start
        contains = one.start <= start and end <= one.end and (one.start, one.end) != (start, end)
        if not apart and not contains:
            return True
    return False


def _add_if_free(chosen: list[Found], one: Found) -> None:
    """Add a value to those chosen, which stay in order, unless it overlaps with one of them."""
    place = bisect(chosen, one)
    before_it = place == 0 or chosen[place - 1].end <= one.start
    if before_it and (place == len(chosen) or one.end <= chosen[place].start):
        chosen.insert(place, one)


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


log = logging.getLogger("evenkeel.proxy")


class RedactedSink:
    """Redacts exchanges and passes them on. Called in the hand-off's thread, never on the event loop."""

    def __init__(self, sink: ExchangeSink, redactor: Redactor, tally: Tally) -> None:
        """Wire it.

        Args:
            sink: Where exchanges go.
            redactor: Redacts.
            tally: Counts values by kind, and bodies that had to be emptied by reason.
        """
        self._sink = sink
        self._redactor = redactor
        self._tally = tally

    def put(self, exchanges: Sequence[Exchange]) -> int:
        """As `ExchangeSink.put`. An exchange that cannot be redacted goes on without its bodies."""
        return self._sink.put([self._redacted(exchange) for exchange in exchanges])

    def _redacted(self, exchange: Exchange) -> Exchange:
        try:
            redacted = self._redactor.redact(exchange)
        except Exception as error:  # noqa: BLE001 - named boundary: what a detector stumbles over stays here
            # The error itself may hold text.
            log.error("exchange %s is queued without bodies: %s", exchange.id, type(error).__name__)  # noqa: TRY400
            self._tally.add("redaction_failures", reason="error")
            return replace(
                exchange, request_body=b"", response_body=b"", task=None, prompt_version=None, session=None
            )
        for kind, count in redacted.replaced.items():
            self._tally.add("redactions", count, kind=kind)
        for reason in redacted.emptied:
            self._tally.add("redaction_failures", reason=reason)
        return redacted.exchange
