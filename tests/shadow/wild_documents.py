"""Documents as no client should send them: JSON that is nearly valid, bytes that are nearly text."""

import functools
import gzip
import json
import zlib

from evenkeel.llm.encodings import MAX_DECODED_BYTES
from tests.cases import cases

_DRAWN = cases(__file__)
_TEXTS = (
    *_DRAWN["texts"],
    "मौसम कैसा है? هل الطقس جميل؟ \u202eabc\u202c é́́ \u200b\u200d\ufeff",
    "\ud800",
    "half \udc26 a bird \ud83d",
    "nul \x00 bell \x07 escape \x1b[31m",
    "a" * 3000,
    "word " * 400,
    "\n" * 300 + "end",
    "((((" * 200,
    '{"a":' * 480 + "1" + "}" * 480,
    "[" * 970 + "]" * 970,
    "[" * 5000,
    "9" * 5000,
    '{"n": 1e999, "m": NaN, "n": ' + "8" * 5000 + "}",
    "<a>" * 500 + "</a>" * 500,
)
_SCALARS = (*_DRAWN["scalars"], "9" * 400, "9" * 5000)
_NO_JSON = (*_DRAWN["no json"],)
_KEYS = (*_DRAWN["keys"], "\ud800")
_DEPTHS = (3, 60, 300, 480, 900, 940, 960, 970, 980, 990, 1000, 1200, 30_000)


class WildDocuments:
    """Draws texts, JSON and bytes, wilder in some documents than in others."""

    def __init__(self, rng):
        self._rng = rng
        self._wildness = 0.0
        """Chance of each value of a document to be replaced by another."""

    # --- JSON ---

    def _document(self, value):
        self._choose_wildness()
        text = self._json(value)
        if self._chance(0.04):
            text = self._one((self._junk(), *_NO_JSON))
        if self._chance(0.04):
            text = text[: self._below(len(text) + 1)]
        return text + self._one(("", "", "", "", "", "\n", " x")) if self._chance(0.1) else text

    def _choose_wildness(self):
        self._wildness = self._one((*(0.0,) * 6, 0.01, 0.05, 0.2))

    def _json(self, value):
        """JSON text of a value, with so many changes as the document is wild."""
        if self._wildness and self._chance(self._wildness):
            return self._junk()
        blank = self._one((" ", "", "\n  ", "\r\n\t")) if self._wildness else " "
        if isinstance(value, dict):
            members = [f"{self._string(key)}:{blank}{self._json(member)}" for key, member in value.items()]
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

    def _string(self, text):
        # raw surrogates are what a broken client would write; the bytes are then no UTF-8
        written = json.dumps(text, ensure_ascii=not (self._wildness and self._chance(0.3)))
        if self._wildness and text[:1].isalpha() and self._chance(0.1):
            return f'"\\u{ord(text[0]):04x}{written[2:]}' if ord(text[0]) < 128 else written
        return written

    def _junk(self, depth=3):
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

    def _text(self):
        if self._chance(0.6):
            return self._one(_TEXTS)
        return " ".join(self._one(_TEXTS) for _ in range(self._below(4)))

    # --- bytes ---

    def _wire(self, text, content_type):
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

    def _chance(self, share):
        # not by `random()`: hypothesis draws whole numbers far more evenly, and shrinks towards "no"
        return self._rng.randrange(1000) >= 1000 * (1 - share)

    def _below(self, limit):
        return self._rng.randrange(limit)

    def _one(self, choices):
        return choices[self._rng.randrange(len(choices))]

    def _several(self, make):
        return [make() for _ in range(1 + self._below(4))]


def _spoilt(rng, _text, body):
    spoilt = bytearray(body or b"x")
    for _ in range(1 + rng.randrange(4)):
        spoilt[rng.randrange(len(spoilt))] = rng.randrange(256)
    return bytes(spoilt)


def _noise(rng, _text, _body):
    return bytes(rng.randrange(256) for _ in range(rng.randrange(200)))


@functools.cache
def _bomb():
    """A few kilobytes that stand for more than any body may be."""
    return gzip.compress(bytes(MAX_DECODED_BYTES + 1), 9, mtime=0)


_MANGLED = (
    _spoilt,
    _noise,
    lambda _rng, text, _body: text.encode("utf-16", "surrogatepass"),
    lambda _rng, text, _body: text.encode("latin-1", "replace"),
    lambda _rng, _text, body: b"\xef\xbb\xbf" + body,
    lambda _rng, _text, body: b"\x00" + body,
    lambda _rng, _text, _body: b"",
)
_CODED = (
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
