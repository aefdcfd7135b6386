"""Answers from response bodies: plain JSON or an event stream, as the wire carried them.

`read_answer` decides which of the two a body is, and gives its objects to the reader of the API.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from evenkeel.llm.answer import UnreadableAnswer, error_body, fields
from evenkeel.llm.encodings import MAX_DECODED_BYTES, decode_body

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from evenkeel.core.pair import Answer
    from evenkeel.llm.answer import AnswerReader

# Python refuses to read integers of thousands of digits, and no answer means them.
_LONGEST_INT: Final = 100
# JSON decoder that reads huge numbers as floats: `int` refuses more than 4,300 digits, JSON does not.
_READER: Final = json.JSONDecoder(
    parse_int=lambda digits: int(digits) if len(digits) < _LONGEST_INT else float(digits)
)
_DONE: Final = "[DONE]"
# Ends of a stream of bare JSON objects; the second also stands behind whole answers (9router).
_END_MARKS: Final = (_DONE, f"data: {_DONE}")
_BLANKS: Final = re.compile(r"\s*")
# Far more events than the longest answer that is compared (`limits`) can come in.
_MOST_EVENTS: Final = 500_000
_LINE_END: Final = re.compile(r"\r\n|\n|\r")


class Event(NamedTuple):
    """Event of a stream."""

    name: str
    """Type of the event, "" if it states none."""
    data: str
    closed: bool
    """True if a blank line ended the event."""


def events_of(text: str) -> Iterator[Event]:
    """Yield the events of a stream that carry data.

    Source: WHATWG HTML, section 9.2.6. An unclosed last event is given too, since servers that
    cut the final newline are common; the caller knows a cut one by its JSON.
    """
    name = ""
    data: list[str] = []
    for line in _LINE_END.split(text):
        if line:
            field_name, _, value = line.partition(":")
            if field_name == "data":
                data.append(value.removeprefix(" "))
            elif field_name == "event":
                name = value.strip()
            elif field_name == "error":  # llama.cpp until 2025: no event has such a field
                name = "error"
                data.append(value.removeprefix(" "))
            continue
        for event in _separated(data):
            yield Event(name, event, closed=True)
        name, data = "", []
    *earlier, last = _separated(data) or [""]
    for event in earlier:
        yield Event(name, event, closed=True)
    if last:
        yield Event(name, last, closed=False)


def _separated(data: Sequence[str]) -> list[str]:
    """Return the data of one event, or of several that no blank line parts, as some servers write them."""
    if not data:
        return []
    for line in data:
        # A pretty-printed object in several lines has one that opens no object.
        if line.lstrip()[:1] != "{" and line.strip() != _DONE:
            return ["\n".join(data)]
    return list(data)


def read_answer(
    exchange_response_headers: Mapping[str, str],
    body: bytes,
    reader: AnswerReader,
) -> Answer:
    """Return the answer of a successful response.

    A streamed answer is assembled from its events; what is unknown in it is skipped. A refusal counts as
    text. All strings are well-formed. Names of headers are in lower case; content type and encoding are
    looked at. The body is as on the wire, after removal of the transfer coding.

    Raises: UnreadableAnswer, or UnreadableBody if it cannot be decoded.
    """
    decoded = decode_body(exchange_response_headers, body, MAX_DECODED_BYTES)
    text = decoded.decode("utf-8-sig", errors="replace")
    try:
        begin = text.lstrip()[:1]
        if begin == "{":  # some servers mislabel either form, so the body decides
            streamed = _read_objects(reader, text)
            return replace(reader.answer(), streamed=streamed)
        if begin == "[":  # Gemini's stream where no server-sent events are asked for
            for event in _json_object(f'{{"events": {text}}}', "truncated_stream")["events"]:
                reader.event(fields(event))
        else:
            labelled = "text/event-stream" in exchange_response_headers.get("content-type", "").lower()
            _read_stream(reader, text, "truncated_stream" if labelled else "not_json")
        return replace(reader.answer(), streamed=True)
    except RecursionError as fault:  # nested so deeply that it can be read but not written again
        raise UnreadableAnswer("not_json", "the response is nested too deeply to be read") from fault


def _json_object(text: str, reason: str) -> dict[str, Any]:
    """Return the single JSON object that `text` contains.

    Raises: UnreadableAnswer with the given reason if it is something else.
    """
    try:
        value, end = _READER.raw_decode(text, len(text) - len(text.lstrip()))
    except (ValueError, RecursionError) as fault:
        raise UnreadableAnswer(reason, "a part that should be a JSON object can't be read") from fault
    if not isinstance(value, dict) or text[end:].strip():
        raise UnreadableAnswer(reason, "a part is not one JSON object")
    return value


def _read_objects(reader: AnswerReader, text: str) -> bool:
    """Read a whole answer, or a stream of JSON objects without a prefix; return whether it is a stream."""
    objects: list[dict[str, Any]] = []
    at = len(text) - len(text.lstrip())
    while text.startswith("{", at):
        try:
            value, end = _READER.raw_decode(text, at)
        except (ValueError, RecursionError):
            break
        objects.append(value)
        _require_few(len(objects))
        blanks = _BLANKS.match(text, end)
        at = blanks.end() if blanks else end
    rest = text[at:].rstrip()
    ended = rest in _END_MARKS
    cut_off = rest.startswith("{")
    if not objects or (rest and not ended and not cut_off):
        raise UnreadableAnswer("not_json", "the body is not made of JSON objects")
    if len(objects) == 1 and not cut_off:
        reader.whole(objects[0])
        return False
    for data in objects:
        reader.event(data)
    if ended:
        reader.done()
    _require_complete(reader)
    return True


def _require_few(events: int) -> None:
    # Empty events take a byte or two each, and reading 16 MB of them takes longer than an exchange may.
    if events > _MOST_EVENTS:
        raise UnreadableAnswer("too_large", f"the stream has more than {_MOST_EVENTS:,} events")


def _require_complete(reader: AnswerReader) -> None:
    if not reader.complete:
        raise UnreadableAnswer("truncated_stream", "the stream ends before the answer does")


def _read_stream(reader: AnswerReader, text: str, reason_if_empty: str) -> None:
    seen = 0
    for name, data, closed in events_of(text):
        seen += 1
        _require_few(seen)
        if data.strip() == _DONE:
            reader.done()
            break
        if data.lstrip()[:1] != "{":
            continue  # blank, "ping", "null": sent to keep the connection open
        if reader.complete and not closed:
            break  # what is cut off behind the end is not missed
        event = _json_object(data, "not_json" if closed else "truncated_stream")
        if name == "error":
            raise error_body(event.get("error") or event)
        if name and not event.get("error"):
            event.setdefault("type", name)  # some gateways name the type of an event in its field alone
        reader.event(event)
    if not seen:
        raise UnreadableAnswer(reason_if_empty, "the body is no JSON object and holds no event")
    _require_complete(reader)
