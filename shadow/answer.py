"""The answer in a chat-completions response: plain JSON or an event stream, as the wire carried it.

Only the first choice is read: a request with `n > 1` is compared by its choice 0.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from metrics.pair import Answer, ToolCall
from shadow.encodings import MAX_DECODED_BYTES, UnreadableBody, decode_body

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_LINE_END: Final = re.compile(r"\r\n|\n|\r")
_LONGEST_INT: Final = 100
_READER: Final = json.JSONDecoder(
    parse_int=lambda digits: int(digits) if len(digits) < _LONGEST_INT else float(digits)
)
"""`int` refuses numbers of more than 4,300 digits; JSON does not."""


class UnreadableAnswer(UnreadableBody):
    """A response body that holds no answer to compare.

    Reasons: "not_json", "no_choices", "error_body", "truncated_stream".
    """


def read_answer(
    exchange_response_headers: Mapping[str, str], body: bytes, *, max_decoded_bytes: int = MAX_DECODED_BYTES
) -> Answer:
    """The answer in a successful chat-completions response.

    A streamed answer is assembled from the deltas of choice 0. A refusal counts as text. A stream
    is complete with a finish reason or `[DONE]`; some servers leave out one of them.

    Args:
        exchange_response_headers: Names in lower case; content type and encoding are looked at.
        body: As on the wire, after removal of the transfer coding.
        max_decoded_bytes: As `decode_body`.

    Raises: UnreadableAnswer, or UnreadableBody if it cannot be decoded.
    """
    decoded = decode_body(exchange_response_headers, body, max_decoded_bytes)
    text = decoded.decode("utf-8-sig", errors="replace")
    if text.lstrip()[:1] == "{":  # some servers mislabel either form, so the body decides
        return _from_json(text)
    labelled_stream = "text/event-stream" in exchange_response_headers.get("content-type", "").lower()
    return _from_stream(text, "truncated_stream" if labelled_stream else "not_json")


# --- plain JSON ---


def _from_json(text: str) -> Answer:
    body = _object(text, "not_json")
    message = _fields(_first_choice(body).get("message"))
    calls = [_call(raw) for raw in _list(message.get("tool_calls"))]
    if not calls and isinstance(message.get("function_call"), dict):  # the older form of one call
        calls = [_call(message)]
    draft = _Draft()
    draft.note(body)
    return Answer(
        text=_text(message.get("content")) or _text(message.get("refusal")),
        tool_calls=tuple(calls),
        model=draft.model,
        system_fingerprint=draft.system_fingerprint,
        finish_reason=_string(_first_choice(body).get("finish_reason")),
        prompt_tokens=draft.prompt_tokens,
        completion_tokens=draft.completion_tokens,
    )


def _first_choice(body: dict[str, Any]) -> dict[str, Any]:
    _refuse_error(body)
    choices = [_fields(choice) for choice in _list(body.get("choices"))]
    first = next((choice for choice in choices if choice.get("index", 0) == 0), None)
    if first is None:
        raise UnreadableAnswer("no_choices", "the response holds no choice 0")
    return first


def _call(raw: Any) -> ToolCall:
    call = _fields(raw)
    function = _fields(call.get("function") or call.get("function_call") or call.get("custom"))
    arguments = function.get("arguments", function.get("input", ""))
    # Some servers send the arguments as an object instead of its text.
    written = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return ToolCall(_text(function.get("name")), written)


# --- event stream ---


@dataclass(slots=True)
class _Call:
    """A tool call that arrives in pieces."""

    name: str = ""
    arguments: str = ""


@dataclass(slots=True)
class _Draft:
    """An answer that arrives in pieces."""

    text: list[str] = field(default_factory=list)
    refusal: list[str] = field(default_factory=list)
    calls: dict[int, _Call] = field(default_factory=dict)
    model: str | None = None
    system_fingerprint: str | None = None
    finish_reason: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    any_choice: bool = False

    def note(self, body: dict[str, Any]) -> None:
        """Take over what stands beside the choices; the latest statement wins."""
        usage = _fields(body.get("usage"))
        self.model = _string(body.get("model")) or self.model
        self.system_fingerprint = _string(body.get("system_fingerprint")) or self.system_fingerprint
        self.prompt_tokens = _count(usage.get("prompt_tokens"), self.prompt_tokens)
        self.completion_tokens = _count(usage.get("completion_tokens"), self.completion_tokens)

    def add(self, chunk: dict[str, Any]) -> None:
        """Append one chunk of the stream."""
        _refuse_error(chunk)
        self.note(chunk)
        for choice in map(_fields, _list(chunk.get("choices"))):
            if choice.get("index", 0) != 0:
                continue
            self.any_choice = True
            # Some servers close with a whole message in place of a delta.
            delta = _fields(choice.get("delta") or choice.get("message"))
            self.text.append(_text(delta.get("content")))
            self.refusal.append(_text(delta.get("refusal")))
            if isinstance(delta.get("function_call"), dict):
                self._add_call(0, _fields(delta["function_call"]))
            for number, raw in enumerate(_list(delta.get("tool_calls"))):
                call = _fields(raw)
                index = _count(call.get("index"), number)
                assert index is not None
                self._add_call(index, _fields(call.get("function") or call.get("custom")))
            self.finish_reason = _string(choice.get("finish_reason")) or self.finish_reason

    def _add_call(self, index: int, piece: dict[str, Any]) -> None:
        call = self.calls.setdefault(index, _Call())
        call.name += _text(piece.get("name"))
        call.arguments += _text(piece.get("arguments", piece.get("input")))

    def answer(self) -> Answer:
        """The answer as far as it came."""
        return Answer(
            text="".join(self.text) or "".join(self.refusal),
            tool_calls=tuple(ToolCall(call.name, call.arguments) for _, call in sorted(self.calls.items())),
            model=self.model,
            system_fingerprint=self.system_fingerprint,
            finish_reason=self.finish_reason,
            prompt_tokens=self.prompt_tokens,
            completion_tokens=self.completion_tokens,
        )


def _from_stream(text: str, reason_if_empty: str) -> Answer:
    draft = _Draft()
    seen = done = False
    for data, closed in _events(text):
        seen = True
        done = data.strip() == "[DONE]"
        if done or (draft.finish_reason and not closed):
            break  # what is cut off after the finish reason is not missed
        draft.add(_object(data, "not_json" if closed else "truncated_stream"))
    if not seen:
        raise UnreadableAnswer(reason_if_empty, "the body is no JSON object and holds no event")
    if not (done or draft.finish_reason):
        raise UnreadableAnswer("truncated_stream", "the stream ends without a finish reason or [DONE]")
    if not draft.any_choice:
        raise UnreadableAnswer("no_choices", "the stream holds no choice 0")
    return draft.answer()


def _events(text: str) -> Iterator[tuple[str, bool]]:
    """The data of each server-sent event, and whether the event was closed by a blank line.

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
            yield "\n".join(data), True
            data = []
    if data:
        yield "\n".join(data), False


# --- values whose type nobody guarantees ---


def _object(text: str, reason: str) -> dict[str, Any]:
    try:
        found, end = _READER.raw_decode(text, len(text) - len(text.lstrip()))
    except (ValueError, RecursionError) as fault:
        raise UnreadableAnswer(reason, "a part that should be a JSON object can't be read") from fault
    if not isinstance(found, dict) or text[end:].strip():
        raise UnreadableAnswer(reason, "a part is not one JSON object")
    return found


def _refuse_error(body: dict[str, Any]) -> None:
    error = body.get("error")
    if error and not body.get("choices"):
        named = _fields(error)
        kind = _string(named.get("code")) or _string(named.get("type")) or "no type"
        raise UnreadableAnswer("error_body", f"the endpoint reports an error ({kind[:80]})")


def _fields(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _string(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _text(value: Any) -> str:
    """A string, or the text parts of a part list, which some servers send."""
    if isinstance(value, list):
        return "".join(_text(_fields(part).get("text")) for part in value)
    return value if isinstance(value, str) else ""


def _count(value: Any, otherwise: int | None) -> int | None:
    """A whole number from 0 on; `otherwise` if it is something else."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else otherwise
