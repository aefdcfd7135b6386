"""Documents as no client should send them: JSON that is nearly valid, bytes that are nearly text."""

from __future__ import annotations

import functools
import gzip
import json
import zlib
from typing import TYPE_CHECKING, Any, Final

from evenkeel.shadow.encodings import MAX_DECODED_BYTES

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Sequence

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
_DEPTHS: Final = (3, 60, 300, 480, 900, 940, 960, 970, 980, 990, 1000, 1200, 30_000)


class WildDocuments:
    """Draws texts, JSON and bytes, wilder in some documents than in others."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._wildness = 0.0
        """Chance of each value of a document to be replaced by another."""

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
        blank = self._one((" ", "", "\n  ", "\r\n\t")) if self._wildness else " "
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
        written = json.dumps(text, ensure_ascii=not (self._wildness and self._chance(0.3)))
        if self._wildness and text[:1].isalpha() and self._chance(0.1):
            return f'"\\u{ord(text[0]):04x}{written[2:]}' if ord(text[0]) < 128 else written
        return written

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
