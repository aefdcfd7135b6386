"""Answers read from response bodies of any API, plain JSON or server-sent events."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from evenkeel.shadow.answer.apis import ChatReader, CompletionsReader, MessagesReader, ResponsesReader
from evenkeel.shadow.answer.draft import UnreadableAnswer, json_object
from evenkeel.shadow.encodings import MAX_DECODED_BYTES, decode_body

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from evenkeel.core.pair import Answer
    from evenkeel.shadow.answer.draft import AnswerReader
    from evenkeel.shadow.prompt.body import Api


_LINE_END: Final = re.compile(r"\r\n|\n|\r")


class Event(NamedTuple):
    """The data of one event."""

    data: str
    closed: bool
    """Whether a blank line ended it."""


def events_of(text: str) -> Iterator[Event]:
    """The events of a stream that carry data.

    Source: WHATWG HTML, section 9.2.6. An unclosed last event is given too, since servers that
    cut the final newline are common; the caller knows a cut one by its JSON.
    """
    data: list[str] = []
    for line in _LINE_END.split(text):
        if line:
            name, _, value = line.partition(":")
            if name == "data":
                data.append(value.removeprefix(" "))
        elif data:
            yield Event("\n".join(data), closed=True)
            data = []
    if data:
        yield Event("\n".join(data), closed=False)


READERS: Final[dict[Api, Callable[[], AnswerReader]]] = {
    "chat": ChatReader,
    "completions": CompletionsReader,
    "responses": ResponsesReader,
    "messages": MessagesReader,
}


def read_answer(
    exchange_response_headers: Mapping[str, str],
    body: bytes,
    *,
    api: Api = "chat",
    max_decoded_bytes: int = MAX_DECODED_BYTES,
) -> Answer:
    """The answer in a successful response.

    A streamed answer is assembled from its events; what is unknown in it is skipped. A refusal
    counts as text. All strings are well-formed.

    Args:
        exchange_response_headers: Names in lower case; content type and encoding are looked at.
        body: As on the wire, after removal of the transfer coding.
        api: What the request's path says.
        max_decoded_bytes: As `decode_body`.

    Raises: UnreadableAnswer, or UnreadableBody if it cannot be decoded.
    """
    decoded = decode_body(exchange_response_headers, body, max_decoded_bytes)
    text = decoded.decode("utf-8-sig", errors="replace")
    reader = READERS[api]()
    try:
        if text.lstrip()[:1] == "{":  # some servers mislabel either form, so the body decides
            reader.whole(json_object(text, "not_json"))
        else:
            labelled = "text/event-stream" in exchange_response_headers.get("content-type", "").lower()
            _read_stream(reader, text, "truncated_stream" if labelled else "not_json")
        return reader.answer()
    except RecursionError as fault:  # nested so deeply that it can be read but not written again
        raise UnreadableAnswer("not_json", "the response is nested too deeply to be read") from fault


def _read_stream(reader: AnswerReader, text: str, reason_if_empty: str) -> None:
    seen = False
    for data, closed in events_of(text):
        seen = True
        if data.strip() == "[DONE]":
            reader.done()
            break
        if reader.complete and not closed:
            break  # what is cut off behind the end is not missed
        reader.event(json_object(data, "not_json" if closed else "truncated_stream"))
    if not seen:
        raise UnreadableAnswer(reason_if_empty, "the body is no JSON object and holds no event")
    if not reader.complete:
        raise UnreadableAnswer("truncated_stream", "the stream ends before the answer does")
