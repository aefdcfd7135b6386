"""Redaction of exchanges on their way to the queue.

A value is replaced by a placeholder: the same value, the same placeholder throughout an exchange. In bodies
only string literals are replaced, in JSON and in the events of a stream, so what was JSON stays JSON, and
every other byte stays as it was. Words of the API (`type`, `role`, …) are left alone, and so are numbers
and the names of members.
"""

from __future__ import annotations

import gzip
import json
import logging
import re
from bisect import bisect
from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from evenkeel.llm.encodings import UnreadableBody, decode_body
from evenkeel.shadow.protection.detectors import API_KEY, IBAN, JWT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from evenkeel.core.exchange import Exchange, ExchangeSink
    from evenkeel.shadow.protection.detectors import Detector, SensitiveSpan
    from evenkeel.stores.counters import Tally


# Members whose values are words of the API, provided that they look like words.
_CLOSED: Final = frozenset(
    ("type", "role", "object", "model", "status", "finish_reason", "stop_reason", "service_tier")
)
_WORD: Final = re.compile(r"[A-Za-z][\w.:/-]{0,99}")
# Patterns of values that look like a word but never belong to the API.
_NO_WORDS: Final = (JWT, API_KEY, IBAN)
# Members whose values are not text and become useless if changed.
_BODY_OPAQUE: Final = frozenset(
    ("encrypted_content", "signature", "thought_signature", "b64_json", "file_data")
)
# Members whose strings continue from event to event.
_STREAMED: Final = frozenset(
    (
        *("content", "text", "arguments", "delta", "refusal", "partial_json", "thinking", "input"),
        *("reasoning", "reasoning_content"),
    )
)
# A string, or a member's name with its value if that is a string. Linear: no part can be read twice.
_LITERAL: Final = re.compile(
    r'"(?P<first>[^"\\]*(?:\\.[^"\\]*)*)"(?P<colon>\s*:\s*(?:"(?P<value>[^"\\]*(?:\\.[^"\\]*)*)")?)?',
    re.DOTALL,
)
# Members that tell the texts of a stream apart.
_DISCRIMINATORS: Final = re.compile(
    r'"(?:type|index|output_index|content_index|item_id)"\s*:\s*(?:"[^"\\]*"|\d+)'
)
_LINE_END: Final = re.compile(r"(\r\n|\n|\r)")
# Head of a line with JSON: an event, an error as llama.cpp wrote it, or a bare object, which has none.
_JSON_HEAD: Final = re.compile(r"(?:data|error): ?|(?=\{)")
_OTHER_LINE: Final = re.compile(r"(?:event|id|retry):[\w .:-]{0,200}|:.{0,200}|\[DONE\]|")
_DONE: Final = "[DONE]"


class Unredactable(ValueError):  # noqa: N818 - named as the outcome it is; callers count its reason
    """A body in which text and structure look alike. `args[0]` is the reason, in snake case."""


class _Text(NamedTuple):
    """A string of a JSON text."""

    start: int
    end: int
    """End of the literal. The span includes the quotes."""
    text: str
    name: str = ""
    """Name of the member that it is the value of; "" for other strings."""


def redact_json(body: str, redact: Callable[[str], str]) -> str:
    """Return a JSON text with its strings redacted. Raises: Unredactable("not_json")."""
    if not _is_json(body):
        raise Unredactable("not_json")
    return _redacted_strings(body, redact)


def redact_events(body: str, redact: Callable[[str], str]) -> str:
    """Return server-sent events, or lines of JSON, with their strings redacted.

    A text that comes in pieces is redacted as a whole. If that changes it, all of it comes with its first
    piece and the others are empty. Lines that are no JSON and no field of the protocol, as the last one of a
    stream that was cut off, are dropped: what stands in them cannot be looked at.
    """
    pieces = _LINE_END.split(body)
    lines: list[str] = pieces[::2]
    pieced: dict[tuple[object, ...], list[tuple[int, _Text]]] = defaultdict(list)
    changes: dict[int, list[tuple[_Text, str]]] = defaultdict(list)
    for number, line in enumerate(lines):
        head = _JSON_HEAD.match(line)
        if head is None:
            lines[number] = redact(line) if _OTHER_LINE.fullmatch(line) else ""
        elif line[head.end() :].strip() == _DONE:
            continue
        elif _is_json(line[head.end() :]):
            _collect(number, line, pieced, changes, redact)
        else:
            lines[number] = ""
    for texts in pieced.values():
        whole = "".join(text.text for _, text in texts)
        redacted = redact_text(whole, redact)
        if redacted != whole:
            for place, (number, text) in enumerate(texts):
                changes[number].append((text, redacted if place == 0 else ""))
    for number, changed in changes.items():
        lines[number] = _with_texts(lines[number], changed)
    pieces[::2] = lines
    return "".join(pieces)


def redact_text(text: str, redact: Callable[[str], str]) -> str:
    """Return a text redacted; one that is JSON itself, as the arguments of a call, within its strings."""
    if text.lstrip()[:1] in {"{", "["} and _is_json(text):
        return _redacted_strings(text, redact, within_text=True)
    return redact(text)


def _collect(
    number: int,
    line: str,
    pieced: dict[tuple[object, ...], list[tuple[int, _Text]]],
    changes: dict[int, list[tuple[_Text, str]]],
    redact: Callable[[str], str],
) -> None:
    """Sort the strings of an event into pieces of a longer text and separate strings."""
    told_apart = tuple(_DISCRIMINATORS.findall(line))
    seen: dict[str, int] = defaultdict(int)
    for text in _strings(line):
        if text.name in _STREAMED:
            seen[text.name] += 1
            pieced[text.name, seen[text.name], told_apart].append((number, text))
        else:
            redacted = redact_text(text.text, redact)
            if redacted != text.text:
                changes[number].append((text, redacted))


def _strings(body: str, *, within_text: bool = False) -> Iterator[_Text]:
    """Yield the strings of JSON in order, but for words of the API and names of its members.

    Within a text, names and words are the user's data like all of it.
    """
    for match in _LITERAL.finditer(body):
        if within_text or match["colon"] is None:
            yield _text_at(body, *match.span("first"))
        if match["value"] is not None and (within_text or not _of_the_api(match["first"], match["value"])):
            yield _text_at(body, *match.span("value"), match["first"])


def _text_at(body: str, start: int, end: int, name: str = "") -> _Text:
    text: str = json.loads(body[start - 1 : end + 1], strict=False)
    return _Text(start - 1, end + 1, text, name)


def _redacted_strings(body: str, redact: Callable[[str], str], *, within_text: bool = False) -> str:
    changed: list[tuple[_Text, str]] = []
    for text in _strings(body, within_text=within_text):
        redacted = redact_text(text.text, redact)
        if redacted != text.text:
            changed.append((text, redacted))
    return _with_texts(body, changed)


def _with_texts(body: str, changed: list[tuple[_Text, str]]) -> str:
    pieces: list[str] = []
    at = 0
    for old, text in sorted(changed):
        pieces += (body[at : old.start], json.dumps(text))
        at = old.end
    return "".join(pieces) + body[at:]


def _of_the_api(name: str, value: str) -> bool:
    if name not in _CLOSED:
        return name in _BODY_OPAQUE
    if _WORD.fullmatch(value) is None:
        return False
    return not any(list(pattern.find(value)) for pattern in _NO_WORDS)


def _is_json(text: str) -> bool:
    """Return whether a text is JSON as the worker reads it."""
    try:
        msgspec.json.decode(text, type=msgspec.Raw)  # builds nothing, but is stricter
    except (msgspec.MsgspecError, UnicodeEncodeError, RecursionError):
        try:
            json.loads(text)
        except (ValueError, RecursionError):
            return False
    return True


_SEPARATORS = re.compile(r"[\s().\-\u2010\u2011\u2013/]+")
_PLACEHOLDER = re.compile(r"\[[A-Z0-9_]+_\d+\]")
# Searches of one text. That is enough for values of different kinds that hide each other, and bounds the work
# on any text.
_MOST_SEARCHES = 4
# Characters of an exchange that are searched, far more than a worker reads (`shadow.limits`).
_MOST_CHARS = 2_000_000
# Pictures and signatures: no text, and long. What stands behind the base64 of a picture is text.
_OPAQUE = re.compile(r"[A-Za-z0-9+/=_-]{512,}|data:[\w.+-]{1,60}/[\w.+-]{1,60};base64,[A-Za-z0-9+/=_-]*")


class Placeholders:
    """Replaces values in the texts of one exchange.

    A placeholder is the kind and a number, "[EMAIL_1]": numbers are given in the order in which values are
    first met. Case, spaces, dots, dashes and brackets do not tell values apart.
    """

    def __init__(self, detectors: Sequence[Detector]) -> None:
        """Begin an exchange. The first detector that finds a piece of text names it."""
        self._detectors = detectors
        self._known: dict[tuple[str, str], str] = {}
        self._numbers: Counter[str] = Counter()
        self._searched = 0
        self.replaced: Counter[str] = Counter()
        """Values replaced so far, by kind."""

    def redact(self, text: str) -> str:
        """Return the text with placeholders; the same object if nothing has to be replaced.

        A placeholder ends what stood beside it, so it may bring to light a value that its neighbour hid: the
        text is searched again until nothing is found. So redacting it once more changes nothing.
        """
        if not text or _OPAQUE.fullmatch(text):
            return text
        self._searched += len(text)
        if self._searched > _MOST_CHARS:
            raise Unredactable("too_long")
        spans = self._found(text, ())
        for _ in range(_MOST_SEARCHES):
            if not spans:
                break
            text = self._replaced(text, spans)
            spans = self._found(text, [match.span() for match in _PLACEHOLDER.finditer(text)])
        return text

    def _found(self, text: str, placeholders: Sequence[tuple[int, int]]) -> list[SensitiveSpan]:
        """The values of a text in order, none of which lies in a placeholder or cuts one in two."""
        spans: list[SensitiveSpan] = []
        for detector in self._detectors:
            values = []
            for value in detector.find(text):
                if not _spoils(value, placeholders):
                    values.append(value)
            spans = _with_free(spans, sorted(values))
        return spans

    def _replaced(self, text: str, spans: Sequence[SensitiveSpan]) -> str:
        pieces: list[str] = []
        at = 0
        for span in spans:
            pieces += (text[at : span.start], self._placeholder(span.kind, text[span.start : span.end]))
            at = span.end
        return "".join(pieces) + text[at:]

    def _placeholder(self, kind: str, value: str) -> str:
        self.replaced[kind] += 1
        key = kind, _SEPARATORS.sub("", value).casefold()
        if key not in self._known:
            self._numbers[kind] += 1
            self._known[key] = f"[{kind.upper()}_{self._numbers[kind]}]"
        return self._known[key]


def _spoils(span: SensitiveSpan, placeholders: Sequence[tuple[int, int]]) -> bool:
    """Return whether a value lies inside a placeholder, or overlaps one without containing it."""
    at_start = bisect(placeholders, (span.start, span.start)) - 1
    at_end = bisect(placeholders, (span.end, 0)) - 1
    for at in {at_start, at_start + 1, at_end}:
        if not 0 <= at < len(placeholders):
            continue
        start, end = placeholders[at]
        apart = span.end <= start or end <= span.start
        contains = span.start <= start and end <= span.end and (span.start, span.end) != (start, end)
        if not apart and not contains:
            return True
    return False


def _with_free(chosen: list[SensitiveSpan], values: list[SensitiveSpan]) -> list[SensitiveSpan]:
    """Return an ordered list with those further ordered values that overlap no other. Takes linear time."""
    merged: list[SensitiveSpan] = []
    position = 0
    for value in values:
        while position < len(chosen) and chosen[position].start < value.end:
            merged.append(chosen[position])
            position += 1
        if not merged or merged[-1].end <= value.start:
            merged.append(value)
    return [*merged, *chosen[position:]]


_EVENTS = "text/event-stream"
_STREAM = re.compile(r"\ufeff?\s*(?:data|event|id|retry|error)?:")


@dataclass(frozen=True, slots=True)
class RedactedExchange:
    """Redacted exchange, with a summary of the changes."""

    exchange: Exchange
    replaced: Counter[str]
    """Values replaced, by kind."""
    emptied: tuple[str, ...] = ()
    """Why bodies had to be emptied, a reason for each: "not_json", "not_text", or that of an encoding."""


class Redactor:
    """Replaces values in the bodies of exchanges and in the fields that the application sets.

    A body without such a value stays byte for byte what it was. One that cannot be read is emptied: nothing
    leaves the process that was not looked at, and the worker then gives the exchange up with a reason.
    """

    def __init__(self, detectors: Sequence[Detector]) -> None:
        """Take the detectors, in order of precedence."""
        self._detectors = tuple(detectors)

    def redact(self, exchange: Exchange) -> RedactedExchange:
        """Return the exchange with the same placeholders throughout.

        Never raises for any content of a body.
        """
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
        return RedactedExchange(redacted, values.replaced, tuple(emptied))


def _said(text: str | None, values: Placeholders) -> str | None:
    return None if text is None else values.redact(text)


def _body(
    body: bytes, headers: tuple[tuple[str, str], ...], redact: Callable[[str], str], emptied: list[str]
) -> tuple[bytes, tuple[tuple[str, str], ...]]:
    """Return a body redacted, and its headers. One that was compressed stays so, if by another method."""
    named = dict(headers)
    try:
        text = decode_body(named, body).decode()
        redacted = _text(text, named.get("content-type", ""), redact)
    except (UnreadableBody, Unredactable, UnicodeDecodeError) as error:
        emptied.append(_reason(error))
        return b"", headers
    if redacted == text:
        return body, headers
    if not named.get("content-encoding"):
        return redacted.encode(), headers
    kept = (header for header in headers if header[0] != "content-encoding")
    return gzip.compress(redacted.encode(), 1, mtime=0), (*kept, ("content-encoding", "gzip"))


def _text(text: str, content_type: str, redact: Callable[[str], str]) -> str:
    if not text.strip():
        return text
    try:
        return redact_json(text, redact)
    except Unredactable:
        # Some servers label streams otherwise, some label JSON as a stream, and some send lines of JSON.
        first_line = text.lstrip().partition("\n")[0]
        of_objects = first_line.startswith("{") and _is_json(first_line)
        if _EVENTS in content_type.lower() or _STREAM.match(text) or of_objects:
            return redact_events(text, redact)
        raise


def _reason(error: Exception) -> str:
    if isinstance(error, UnreadableBody):
        return error.reason
    return str(error.args[0]) if isinstance(error, Unredactable) else "not_text"


log = logging.getLogger("evenkeel.proxy")


class RedactedSink:
    """Redacts exchanges and passes them on. Called in the hand-off's thread, never on the event loop."""

    def __init__(
        self, sink: ExchangeSink, redact: Callable[[Exchange], RedactedExchange], tally: Tally
    ) -> None:
        """Pass exchanges on to `sink`, redacted in this process or another."""
        self._sink = sink
        self._redact = redact
        self._tally = tally

    def put(self, exchanges: Sequence[Exchange]) -> int:
        """Implement `ExchangeSink.put`.

        An exchange that cannot be redacted is passed on without its bodies.
        """
        return self._sink.put([self._redacted(exchange) for exchange in exchanges])

    def _redacted(self, exchange: Exchange) -> Exchange:
        try:
            redacted = self._redact(exchange)
        except Exception as error:  # noqa: BLE001 - named boundary: what a detector stumbles over stays here
            # The error itself may hold text.
            log.error("exchange %s is queued without bodies: %s", exchange.id, type(error).__name__)  # noqa: TRY400
            reason = "too_slow" if isinstance(error, TimeoutError) else "error"
            self._tally.add("redaction_failures", reason=reason)
            return replace(
                exchange, request_body=b"", response_body=b"", task=None, prompt_version=None, session=None
            )
        for kind, count in redacted.replaced.items():
            self._tally.add("redactions", count, kind=kind)
        for reason in redacted.emptied:
            self._tally.add("redaction_failures", reason=reason)
        return redacted.exchange
