"""The answer in a chat-completions response: plain JSON or an event stream, as the wire carried it.

Only the first choice is read: a request with `n > 1` is compared by its choice 0.
"""

from __future__ import annotations

import importlib
import json
import re
import zlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from metrics.pair import Answer, ToolCall

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

MAX_DECODED_BYTES: Final = 16 << 20
"""Largest body that is read, after decompression."""

_LINE_END: Final = re.compile(r"\r\n|\n|\r")
_ZSTD_WINDOW_BYTES: Final = 8 << 20
"""RFC 9659: what every receiver of HTTP content must be ready for, and no more."""
_ZSTD_SLICE_BYTES: Final = 256
"""A few bytes of zstd stand for up to 128 KiB and its output can't be bounded: feed it in small slices."""
_LONGEST_INT: Final = 100
_READER: Final = json.JSONDecoder(
    parse_int=lambda digits: int(digits) if len(digits) < _LONGEST_INT else float(digits)
)
"""`int` refuses numbers of more than 4,300 digits; JSON does not."""


class UnreadableAnswer(ValueError):  # noqa: N818 - named as the outcome it is; callers count its reason
    """A body that can't be decoded, or that holds no answer to compare."""

    def __init__(self, reason: str, detail: str) -> None:
        """Keep both parts.

        Args:
            reason: Short snake_case word, usable as a label: "not_json", "no_choices", "error_body",
                "truncated_stream", "too_large", "encoding_unsupported" or "encoding_broken".
            detail: One sentence for people; holds no text of the body.
        """
        super().__init__(f"{reason}: {detail}")
        self.reason = reason
        self.detail = detail


def decode_body(headers: Mapping[str, str], body: bytes, max_decoded_bytes: int = MAX_DECODED_BYTES) -> bytes:
    """A request or response body with its content encodings undone.

    gzip and deflate (zlib or raw) always; br and zstd where the `brotli` or `zstandard` package is
    installed.

    Args:
        headers: Names in lower case.
        body: As on the wire, after removal of the transfer coding.
        max_decoded_bytes: Decoding stops here, so a small body can't fill the memory.

    Raises: UnreadableAnswer "too_large", "encoding_unsupported" (unknown, or the package is missing) or
        "encoding_broken" (corrupt or cut off).
    """
    for encoding in reversed(headers.get("content-encoding", "").lower().split(",")):
        body = _decoded(encoding.strip(), body, max_decoded_bytes)
    if len(body) > max_decoded_bytes:
        raise _too_large(max_decoded_bytes)
    return body


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

    Raises: UnreadableAnswer with any of its reasons.
    """
    decoded = decode_body(exchange_response_headers, body, max_decoded_bytes)
    text = decoded.decode("utf-8-sig", errors="replace")
    if text.lstrip()[:1] == "{":  # some servers mislabel either form, so the body decides
        return _from_json(text)
    labelled_stream = "text/event-stream" in exchange_response_headers.get("content-type", "").lower()
    return _from_stream(text, "truncated_stream" if labelled_stream else "not_json")


# --- content encodings ---


def _decoded(encoding: str, body: bytes, limit: int) -> bytes:
    match encoding:
        case "" | "identity":
            return body
        case "gzip" | "x-gzip":
            return _inflate(body, limit, zlib.MAX_WBITS | 16)
        case "deflate":
            # RFC 9110 means zlib; some servers send raw deflate. A zlib header tells them apart.
            has_header = (
                len(body) > 1 and body[0] & 0x0F == zlib.DEFLATED and (body[0] << 8 | body[1]) % 31 == 0
            )
            return _inflate(body, limit, zlib.MAX_WBITS if has_header else -zlib.MAX_WBITS)
        case "br":
            return _unbrotli(body, limit)
        case "zstd":
            return _unzstd(body, limit)
        case _:
            raise UnreadableAnswer("encoding_unsupported", f"content encoding {encoding[:40]!r} is not known")


def _inflate(body: bytes, limit: int, window_bits: int) -> bytes:
    """Inflate, several gzip members in a row included."""
    pieces: list[bytes] = []
    size = 0
    while body:
        inflater = zlib.decompressobj(window_bits)
        try:
            piece = inflater.decompress(body, limit - size + 1)
        except zlib.error as fault:
            raise UnreadableAnswer("encoding_broken", f"not valid gzip or deflate data: {fault}") from fault
        pieces.append(piece)
        size += len(piece)
        if size > limit:
            raise _too_large(limit)
        if not inflater.eof:
            raise UnreadableAnswer("encoding_broken", "the compressed data is cut off")
        body = inflater.unused_data
    return b"".join(pieces)


def _unbrotli(body: bytes, limit: int) -> bytes:
    brotli = _package("brotli", "br")
    decompressor = brotli.Decompressor()
    pieces: list[bytes] = []
    size = 0
    try:
        piece = decompressor.process(body, output_buffer_limit=limit + 1)
        while piece or not decompressor.can_accept_more_data():
            pieces.append(piece)
            size += len(piece)
            if size > limit:
                raise _too_large(limit)
            piece = decompressor.process(b"", output_buffer_limit=limit + 1)
    except TypeError as fault:
        # Older releases can't bound their output.
        raise UnreadableAnswer("encoding_unsupported", "br needs brotli 1.2 or newer") from fault
    except brotli.error as fault:
        raise UnreadableAnswer("encoding_broken", f"not valid brotli data: {fault}") from fault
    if not decompressor.is_finished():
        raise UnreadableAnswer("encoding_broken", "the compressed data is cut off")
    return b"".join(pieces)


def _unzstd(body: bytes, limit: int) -> bytes:
    """Decode zstd, several frames in a row included."""
    zstandard = _package("zstandard", "zstd")
    pieces: list[bytes] = []
    size = 0
    frame = None
    rest = memoryview(body)
    while rest or frame is not None:
        if not rest:
            raise UnreadableAnswer("encoding_broken", "the compressed data is cut off")
        frame = frame or zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW_BYTES).decompressobj()
        try:
            piece = frame.decompress(rest[:_ZSTD_SLICE_BYTES])
        except zstandard.ZstdError as fault:
            raise UnreadableAnswer("encoding_broken", f"not valid zstd data: {fault}") from fault
        rest = rest[min(len(rest), _ZSTD_SLICE_BYTES) - len(frame.unused_data) :]
        frame = None if frame.eof else frame
        pieces.append(piece)
        size += len(piece)
        if size > limit:
            raise _too_large(limit)
    return b"".join(pieces)


def _package(name: str, encoding: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as fault:
        raise UnreadableAnswer("encoding_unsupported", f"{encoding} needs the package {name!r}") from fault


def _too_large(limit: int) -> UnreadableAnswer:
    return UnreadableAnswer("too_large", f"the body is larger than {limit} bytes")


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
