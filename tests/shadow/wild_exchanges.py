"""Exchanges as no client should send them and some do: near-valid, odd, broken, junk.

Everything is drawn from one `random.Random`, so a seed names an exchange, and hypothesis can hand
in its own generator and shrink what it finds.
"""

from __future__ import annotations

import functools
import gzip
import json
import zlib
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from shadow.encodings import MAX_DECODED_BYTES
from shadow.handoff import Exchange
from shadow.prompt.readers import READERS

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Sequence

    from shadow.prompt import Api

APIS: Final[tuple[Api, ...]] = tuple(READERS)
_PATHS: Final[dict[Api, str]] = {
    "chat": "/v1/chat/completions",
    "completions": "/openai/deployments/m/completions?api-version=1",
    "responses": "/v1/responses",
    "messages": "/anthropic/v1/messages?beta=true",
}
_OTHER_PATHS: Final = (
    "/v1/embeddings",
    "/v1/messages/count_tokens",
    "/",
    "",
    "?",
    "/v1/threads/t/messages",
    "\x00",
)
_TEXTS: Final = (
    "",
    " \n\t ",
    "Which platform does the 9:15 to Utrecht leave from?",
    "Summarise the report below.\n\nReport: the pump in hall 3 lost pressure twice; 'valve B' was replaced.",
    "Please answer in JSON with the keys name and reason.\n\n- first point\n- second point\n- third point",
    "```python\nfor n in range(3):\n    print(n)\n```\nWhat does this print, and why?",
    "# Rules\n1. Be brief.\n2. Be kind.\n\n<doc id='1'>Water boils at 100 °C.</doc>\n<doc>Ice melts.</doc>",
    "Write to ann@example.org or see https://example.org/a?b=c#d, order 4711-B, 3.14 kg, 50 %.",
    "Où est la gare ? Wo ist der Bahnhof? ¿Dónde está la estación?",
    "次の文章を要約してください。駅は北口から徒歩五分です。",
    "मौसम कैसा है? هل الطقس جميل؟ \u202eabc\u202c e\u0301\u0301\u0301 \u200b\u200d\ufeff",
    "\U0001f469\u200d\U0001f52c\U0001f1e7\U0001f1ea \U0001f6b2\ufe0f",
    "\ud800",
    "half \udc26 a bird \ud83d",
    "nul \x00 bell \x07 escape \x1b[31m",
    'Q: "Is it {open}?" {{name}} %s $PATH \\n \\',
    "a" * 3000,
    "word " * 400,
    "\n" * 300 + "end",
    "((((" * 200,
    "{" * 50 + '"a":1' + "}" * 50,
    '{"a":' * 480 + "1" + "}" * 480,
    "[" * 970 + "]" * 970,
    "[" * 5000,
    "9" * 5000,
    '{"n": 1e999, "m": NaN, "n": ' + "8" * 5000 + "}",
    "<a>" * 500 + "</a>" * 500,
    "| a | b |\n|---|---|\n| 1 | 2 |",
    "a: &x [*x, *x]\n? - b\n: !!python/none",
)
_SCALARS: Final = (
    "null",
    "true",
    "false",
    "0",
    "-0",
    "7",
    "-1",
    "0.5",
    "1e999",
    "-1e-999",
    "NaN",
    "-Infinity",
    "9" * 40,
    "9" * 400,
    "9" * 5000,
    '""',
    '"text"',
    r'"\u0000"',
    r'"\ud800"',
    r'"\ud83d\ude00"',
    "[]",
    "{}",
    "[[]]",
    "[null]",
    '{"type":null}',
    '{"":""}',
)
_NO_JSON: Final = (
    "",
    "01",
    "undefined",
    "'a'",
    '"\\x"',
    '"\n"',
    "[1,]",
    '{"a"}',
    "{a:1}",
    '"open',
    "[",
    "{",
    "//",
)
_KEYS: Final = (
    *("messages", "prompt", "input", "system", "instructions", "role", "content", "type", "text", "model"),
    *("stream", "stream_options", "store", "n", "background", "tools", "functions", "echo", "conversation"),
    *("choices", "output", "message", "delta", "index", "finish_reason", "stop_reason", "usage", "error"),
    *("tool_calls", "function", "arguments", "name", "status", "response", "item", "", "\ud800"),
)
_MODELS: Final = (
    *("m-1",) * 60,
    "m-2",
    "gpt-4o",
    "a/b:c@d",
    "",
    "\ud800",
    "m" * 300,
    "évén\x00keel",
    "*",
    "gpt-",
)
_DEPTHS: Final = (3, 60, 300, 480, 900, 940, 960, 970, 980, 990, 1000, 1200, 30_000)


QUIET_ROUTES: Final = tuple(f"quiet-{number}" for number in range(400))
"""Routes with so few exchanges that nothing is learned of their templates."""


class Response(NamedTuple):
    """A response as the wire carried it."""

    headers: tuple[tuple[str, str], ...]
    body: bytes


class WildExchanges:
    """Makes exchanges."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._wildness = 0.0
        """Chance of each value of a document to be replaced by another."""

    def exchange(self, number: int) -> Exchange:
        """An exchange whose id follows from the number, on the busy route or a quiet one."""
        api = self._one(APIS)
        body, request_headers = self._wire(self._document(self._request(api)), "application/json")
        response = self.response(api if self._chance(0.95) else self._one(APIS))
        return Exchange(
            id=f"{number:016x}",
            route=self._one(("busy", QUIET_ROUTES[number % len(QUIET_ROUTES)]))
            if self._chance(0.99)
            else "gone",
            received_at=1000.0,
            duration_s=0.1,
            method="POST",
            path=_PATHS[api] if self._chance(0.95) else self._one((*_PATHS.values(), *_OTHER_PATHS)),
            status=200,
            request_headers=request_headers,
            request_body=body,
            response_headers=response.headers,
            response_body=response.body,
            task=self._one((None, None, "case_summary", "no such task", "")),
        )

    def response(self, api: Api) -> Response:
        """A response of that API, whole or streamed."""
        make = {
            "chat": self._choices,
            "completions": self._choices,
            "responses": self._responses,
            "messages": self._message,
        }[api]
        whole, events = make(api)
        if self._chance(0.6):
            body, headers = self._wire(self._document(whole), "application/json")
        else:
            body, headers = self._wire(self._stream(events), "text/event-stream")
        return Response(headers, body)

    # --- requests ---

    def _request(self, api: Api) -> dict[str, Any]:
        request: dict[str, Any] = {"model": self._one(_MODELS)}
        match api:
            case "chat":
                request["messages"] = self._several(self._chat_message)
            case "completions":
                prompts: tuple[Any, ...] = (self._text(), self._text(), [self._text()], [1, 2], [[1], [2]])
                request["prompt"] = self._one((*prompts, [self._text(), self._text()]))
            case "responses":
                request["input"] = self._text() if self._chance(0.5) else self._several(self._item)
                if self._chance(0.5):
                    request["instructions"] = self._text()
            case "messages":
                request["messages"] = self._several(self._message_of_parts)
                if self._chance(0.5):
                    request["system"] = self._one((self._text(), [self._part("text")]))
        if self._chance(0.3):
            request |= self._one(
                (
                    {"stream": True, "stream_options": {"include_usage": True}},
                    {"store": True, "n": 3},
                    {"n": -1, "store": None},
                    {"tools": [{"type": "function", "function": {"name": "f", "parameters": {}}}]},
                    {"tools": [{"type": "web_search"}]},
                    {"tools": [{"name": "f", "input_schema": {}}], "background": True},
                    {"response_format": {"type": "json_object"}, "temperature": 0},
                    {"previous_response_id": "r", "conversation": {"id": "c"}},
                    {"modalities": ["audio"], "web_search_options": {}, "mcp_servers": [{}]},
                )
            )
        return request

    def _chat_message(self) -> dict[str, Any]:
        role = self._one(("system", "user", "user", "user", "assistant", "tool", "developer", "", "narrator"))
        content = self._one((self._text(), self._text(), [self._part("text"), self._part("text")], None))
        message = {"role": role, "content": content}
        if self._chance(0.1):
            call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": self._text()}}
            message["tool_calls"] = [call]
        return message

    def _item(self) -> dict[str, Any]:
        return self._one(
            (
                {"role": "user", "content": self._text()},
                {"role": "user", "content": [self._part("input_text"), self._part("input_text")]},
                {"type": "message", "role": "assistant", "content": [self._part("output_text")]},
                {"type": "function_call", "call_id": "c", "name": "f", "arguments": self._text()},
                {"type": "function_call_output", "call_id": "c", "output": self._text()},
                {"type": "reasoning", "summary": []},
                {"type": "item_reference", "id": "i"},
            )
        )

    def _message_of_parts(self) -> dict[str, Any]:
        kinds = ("text", "text", "text", "tool_result", "tool_use", "thinking")
        content = self._text() if self._chance(0.5) else [self._part(self._one(kinds)) for _ in range(3)]
        return {"role": self._one(("user", "user", "assistant")), "content": content}

    def _part(self, kind: str) -> dict[str, Any]:
        if self._chance(0.15):
            return {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
        match kind:
            case "tool_result":
                return {"type": kind, "tool_use_id": "t", "content": self._one((self._text(), [], None))}
            case "tool_use":
                return {"type": kind, "id": "t", "name": "f", "input": {"id": 7}}
            case _:
                return {"type": kind, "text": self._text()}

    # --- responses: the whole, and the events of the same as a stream ---

    def _choices(self, api: Api) -> tuple[dict[str, Any], list[Any]]:
        text, model = self._text(), self._one(_MODELS)
        call = {"index": 0, "type": "function", "function": {"name": "f", "arguments": '{"id": 7}'}}
        calls = {"tool_calls": [call]} if self._chance(0.2) else {}

        def choice(part: str, text: str, finish: str | None) -> dict[str, Any]:
            said = {"text": text} if api == "completions" else {part: {"content": text, **calls}}
            return {"index": 0, **said, "finish_reason": finish}

        usage = {"usage": {"prompt_tokens": self._count(), "completion_tokens": self._count()}}
        whole = {"model": model, "choices": [choice("message", text, "stop")], **usage}
        events: list[Any] = [
            {"model": model, "choices": [choice("delta", piece, None)]} for piece in _cut(text)
        ]
        events += [{"choices": [choice("delta", "", "stop")]}, {"choices": [], **usage}, "[DONE]"]
        return whole, events

    def _responses(self, _api: Api) -> tuple[dict[str, Any], list[Any]]:
        text = self._text()
        output: list[Any] = [{"type": "message", "content": [{"type": "output_text", "text": text}]}]
        if self._chance(0.2):
            output.append({"type": "function_call", "name": "f", "arguments": self._text()})
        whole = {
            "model": self._one(_MODELS),
            "status": self._one(("completed", "completed", "completed", "incomplete", "failed", "queued")),
            "output": output,
            "usage": {"input_tokens": self._count(), "output_tokens": self._count()},
        }
        events: list[Any] = [{"type": "response.created", "response": {"status": "in_progress"}}]
        events += [{"type": "response.output_text.delta", "delta": piece} for piece in _cut(text)]
        events.append({"type": "response.completed", "response": whole})
        return whole, events

    def _message(self, _api: Api) -> tuple[dict[str, Any], list[Any]]:
        text, model = self._text(), self._one(_MODELS)
        usage = {"input_tokens": self._count(), "cache_read_input_tokens": 3, "output_tokens": self._count()}
        content: list[Any] = [{"type": "text", "text": text}]
        if self._chance(0.2):
            content.append({"type": "tool_use", "name": "f", "input": {"id": 7}})
        whole = {"model": model, "content": content, "stop_reason": "end_turn", "usage": usage}
        events: list[Any] = [
            {"type": "message_start", "message": {"model": model, "content": [], "usage": usage}}
        ]
        events.append(
            {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
        )
        events += [
            {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": piece}}
            for piece in _cut(text)
        ]
        events += [{"type": "message_delta", "delta": {"stop_reason": "end_turn"}}, {"type": "message_stop"}]
        return whole, events

    def _count(self) -> Any:
        """A number of tokens; some servers make one up."""
        return self._one((0, -1, 2.5, None, "5", 10**6, 10**30)) if self._chance(0.1) else 10

    def _stream(self, events: list[Any]) -> str:
        self._choose_wildness()
        end = self._one(("\n", "\r\n", "\r"))
        pieces = [
            f"data: {event if isinstance(event, str) else self._json(event)}{end}{end}" for event in events
        ]
        if self._chance(0.15):
            pieces.insert(
                self._below(len(pieces) + 1),
                self._one((": ping", "data:", "event: x", "data: [", "\x00")) + end,
            )
        text = "".join(pieces)
        return text[: self._below(len(text) + 1)] if self._chance(0.1) else text

    # --- JSON ---

    def _document(self, value: Any) -> str:
        self._choose_wildness()
        text = self._json(value)
        if self._chance(0.04):
            text = self._one((self._junk(), *_NO_JSON))
        if self._chance(0.04):
            text = text[: self._below(len(text) + 1)]
        return text + self._one(("", "", "", "", "", "\n", " x")) if self._chance(0.1) else text

    def _choose_wildness(self) -> None:
        self._wildness = self._one((*(0.0,) * 6, 0.01, 0.05, 0.2))

    def _json(self, value: Any) -> str:
        """JSON text of a value, with so many changes as the document is wild."""
        if self._wildness and self._chance(self._wildness):
            return self._junk()
        blank = self._one((" ", "", "\n  ")) if self._wildness else " "
        if isinstance(value, dict):
            members = [f"{self._string(key)}:{blank}{self._json(one)}" for key, one in value.items()]
            if self._wildness and self._chance(0.1):
                members.insert(
                    self._below(len(members) + 1), f"{self._string(self._one(_KEYS))}:{self._junk()}"
                )
            if self._wildness and members and self._chance(0.1):
                members.append(self._one(members))
            return "{" + f",{blank}".join(members) + "}"
        if isinstance(value, list):
            return "[" + f",{blank}".join(map(self._json, value)) + "]"
        return self._string(value) if isinstance(value, str) else json.dumps(value)

    def _string(self, text: str) -> str:
        # raw surrogates are what a broken client would write; the bytes are then no UTF-8
        return json.dumps(text, ensure_ascii=not (self._wildness and self._chance(0.3)))

    def _junk(self, depth: int = 3) -> str:
        roll = self._below(20)
        if roll == 0:
            nesting = self._one(_DEPTHS)
            opening, closing = self._one((("[", "]"), ('{"text":[', "]}"), ('{"a":', "}")))
            middle = self._one(("0", '"a"', "{}")) if opening.endswith(":") else self._one(("", '"a"'))
            return opening * nesting + middle + closing * nesting
        if roll == 1:
            return self._one(_NO_JSON)
        if roll < 5 and depth:
            return "[" + ",".join(self._junk(depth - 1) for _ in range(self._below(4))) + "]"
        if roll < 8 and depth:
            keys = [self._one(_KEYS) for _ in range(self._below(4))]
            return "{" + ",".join(f"{json.dumps(key)}:{self._junk(depth - 1)}" for key in keys) + "}"
        return json.dumps(self._text()) if roll < 12 else self._one(_SCALARS)

    def _text(self) -> str:
        if self._chance(0.6):
            return self._one(_TEXTS)
        return " ".join(self._one(_TEXTS) for _ in range(self._below(4)))

    # --- bytes ---

    def _wire(self, text: str, content_type: str) -> tuple[bytes, tuple[tuple[str, str], ...]]:
        body = text.encode("utf-8", "surrogatepass")
        if self._chance(0.06):
            body = self._one(_MANGLED)(self._rng, text, body)
        headers = [("content-type", content_type)]
        if self._chance(0.1):
            content_type = self._one(("text/html", "", "text/event-stream", "application/json; charset=x"))
            headers = [("content-type", content_type)] if content_type else []
        if self._chance(0.1):
            body, coding = self._one(_CODED)(body)
            headers.append(("content-encoding", coding))
        return body, tuple(headers)

    # --- draws ---

    def _chance(self, share: float) -> bool:
        # not by `random()`: hypothesis draws whole numbers far more evenly, and shrinks towards "no"
        return self._rng.randrange(1000) >= 1000 * (1 - share)

    def _below(self, limit: int) -> int:
        return self._rng.randrange(limit)

    def _one(self, choices: Sequence[Any]) -> Any:
        return choices[self._rng.randrange(len(choices))]

    def _several(self, make: Callable[[], Any]) -> list[Any]:
        return [make() for _ in range(1 + self._below(4))]


def _cut(text: str) -> list[str]:
    """A text in three pieces; one may be cut inside a character of two halves."""
    third = len(text) // 3 + 1
    return [text[:third], text[third : 2 * third], text[2 * third :]]


def _spoilt(rng: random.Random, _text: str, body: bytes) -> bytes:
    spoilt = bytearray(body or b"x")
    for _ in range(1 + rng.randrange(4)):
        spoilt[rng.randrange(len(spoilt))] = rng.randrange(256)
    return bytes(spoilt)


def _noise(rng: random.Random, _text: str, _body: bytes) -> bytes:
    return bytes(rng.randrange(256) for _ in range(rng.randrange(200)))


@functools.cache
def _bomb() -> bytes:
    """A few kilobytes that stand for more than any body may be."""
    return gzip.compress(bytes(MAX_DECODED_BYTES + 1), 9, mtime=0)


_MANGLED: Final[tuple[Callable[[random.Random, str, bytes], bytes], ...]] = (
    _spoilt,
    _noise,
    lambda _rng, text, _body: text.encode("utf-16", "surrogatepass"),
    lambda _rng, text, _body: text.encode("latin-1", "replace"),
    lambda _rng, _text, body: b"\xef\xbb\xbf" + body,
    lambda _rng, _text, body: b"\x00" + body,
    lambda _rng, _text, _body: b"",
)
_CODED: Final[tuple[Callable[[bytes], tuple[bytes, str]], ...]] = (
    lambda body: (gzip.compress(body, 1, mtime=0), "gzip"),
    lambda body: (gzip.compress(body, 1, mtime=0)[:-3], "gzip"),
    lambda body: (zlib.compress(body, 1), "deflate"),
    lambda body: (gzip.compress(zlib.compress(body), mtime=0), "deflate, gzip"),
    lambda body: (body, "gzip"),
    lambda body: (body, "br"),
    lambda body: (body, "zstd"),
    lambda body: (body, "identity"),
    lambda body: (body, "unheard-of"),
    lambda _body: (_bomb(), "gzip"),
)
