"""Header fields: which of them concern only one connection, and how to find them.

A head is never taken apart and put together again. The few fields that must change are found in
the raw bytes and cut out or replaced there; all others keep their case, order, spacing and
duplicates because nobody touches them.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from evenkeel.core.exchange import LOOP_GUARD_HEADER

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

Edit = tuple[int, int, bytes]
"""Replace `raw[start:end]` by a text: (start, end, text). A bare tuple, because a named one costs
1 % of a request."""

TOKEN = rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]"
"""Character of a method or field name (RFC 9110, 5.6.2)."""

FIELD_LINES = rb"(?>(?:\r\n" + TOKEN + rb"++:[\t\x20-\x7e\x80-\xff]*+)*)"
"""Pattern of any number of fields, each with the line break before it. No folding, no bare line feed, no
space before the colon: anything that two readers could take differently does not match."""

PRIVATE_PREFIX = b"x-evenkeel-"
"""Prefix of request fields meant for evenkeel. They are removed, except for the loop guard."""

_NAMES = (
    rb"connection|content-length|keep-alive|proxy-(?:authenticate|authorization|connection)"
    rb"|te|trailer|transfer-encoding|upgrade"
)
_REST = TOKEN + rb"*+:[\t\x20-\x7e\x80-\xff]*+"


def _other(letters: bytes, specials: bytes) -> bytes:
    """Return a pattern of fields that begin with one of the letters but are no special field."""
    return rb"[" + letters + rb"](?!(?i:" + specials + rb"))" + _REST


ORDINARY = rb"|".join(
    (
        rb"[!#$%&'*+\-.^_`|~0-9ABDEFGIJLMNOQRSVWYZabdefgijlmnoqrsvwyz]" + _REST,
        _other(rb"Xx", rb"-evenkeel-"),
        _other(rb"Cc", rb"ontent-length:|onnection:"),
        _other(rb"Uu", rb"pgrade:"),
        _other(rb"Hh", rb"ost:"),
        _other(rb"Tt", rb"e:|railer:|ransfer-encoding:"),
        _other(rb"Pp", rb"roxy-"),
        _other(rb"Kk", rb"eep-alive:"),
    )
)
"""Pattern of a field that the relay need not look at: none of the specials below. Sorted by first letters
because alternatives that cannot begin with the next byte cost nearly nothing."""


def once(group: int, field: bytes) -> bytes:
    """Return a pattern of a field with a capturing group of that number, which matches only once."""
    return rb"(?(%d)(?!))" % group + field


LENGTH_FIELD = rb"[Cc][Oo][Nn][Tt][Ee][Nn][Tt]-[Ll][Ee][Nn][Gg][Tt][Hh]:[ \t]*+([0-9]{1,18}+)(?=\r)"
KEEP_ALIVE_FIELD = (
    rb"([Cc][Oo][Nn][Nn][Ee][Cc][Tt][Ii][Oo][Nn]: ?+[Kk][Ee][Ee][Pp]-[Aa][Ll][Ii][Vv][Ee])(?=\r)"
)

REQUEST_SPECIALS = re.compile(
    rb"\r\n(" + _NAMES + rb"|host|x-evenkeel-[^:]*+):[ \t]*+([^\r]*+)", re.IGNORECASE
)
"""The request fields the relay must look at, each with its line break. Groups: name, value."""

RESPONSE_SPECIALS = re.compile(rb"\r\n(" + _NAMES + rb"):[ \t]*+([^\r]*+)", re.IGNORECASE)
"""Response fields that the relay must look at, each with its line break. Groups: name, value."""

Known = tuple[bytes, int, bytes]
"""A head without the digits of its length: the part before them, the index of their end, and the part after
them. A bare tuple, see `Edit`."""

KNOWN_BYTES = 4 << 10
"""Size of the largest head that is kept. A kept head takes its memory for as long as its connection lives."""


Fields = tuple[tuple[str, str], ...]
"""Names in lower case and values of some fields, in order."""


def known(raw: bytes, digits: tuple[int, int], end: int) -> Known | None:
    """Return the key that `length_if_known` compares heads with; None for a head that is too large.

    Args:
        raw: Received bytes that start with a head.
        digits: Start and end of the digits of its length.
        end: Index at which the head ends.
    """
    start, stop = digits
    return (raw[:start], stop, raw[stop:end]) if end <= KNOWN_BYTES else None


def length_if_known(data: bytes, head: Known) -> int:
    """Return the length in the head that starts `data` if the rest equals a known head; else 0.

    Most senders repeat the same head on a connection, so it need not be parsed again.
    """
    before, stop, behind = head
    if data.startswith(before) and data.startswith(behind, stop):
        digits = data[len(before) : stop]
        if digits.isdigit():
            return int(digits)
    return 0


ANY_FIELD = re.compile(rb"\r\n([^:\r]++):[ \t]*+([^\r]*+)")
"""Any field, with its line break. Groups: name, value."""
_IDEMPOTENCY_KEY = re.compile(rb"\r\nidempotency-key:", re.IGNORECASE)

RELAY_OWNED = frozenset(
    {
        *(b"connection", b"content-length", b"expect", b"host", b"keep-alive", b"proxy-authenticate"),
        *(b"proxy-authorization", b"proxy-connection", b"te", b"trailer", b"transfer-encoding", b"upgrade"),
        LOOP_GUARD_HEADER,
    }
)
"""Fields that decide framing, routing, loops or one connection: no setting may set them."""

_ORDINARY_OPTIONS = frozenset({b"", b"close", b"keep-alive", b"upgrade"})
# Fields that decide framing, routing or loops: naming them in `Connection` does not remove them.
_NEVER_NAMED = frozenset({b"connection", b"content-length", b"host", b"transfer-encoding", LOOP_GUARD_HEADER})


def connection_options(value: bytes) -> set[bytes]:
    """Return the lower-case options of a `Connection` value."""
    options = set()
    for option in value.lower().split(b","):
        options.add(option.strip(b" \t"))
    return options


def named_fields(options: Iterable[bytes]) -> set[bytes]:
    """Return the fields that connection options declare to be for this connection alone."""
    return set(options) - _ORDINARY_OPTIONS - _NEVER_NAMED


def cuts_of(raw: bytes, start: int, end: int, names: Collection[bytes]) -> list[Edit]:
    """Return edits that cut every field with one of the lower-case names out of `raw[start:end]`."""
    cuts: list[Edit] = []
    for match in ANY_FIELD.finditer(raw, start, end):
        if match[1].lower() in names:
            cuts.append((match.start(), match.end(), b""))
    return cuts


def merged(first: Iterable[Edit], second: Iterable[Edit]) -> list[Edit]:
    """Return edits ordered by position; where two share a position, the first one's stands."""
    by_place = {edit[0]: edit for edit in second}
    by_place.update((edit[0], edit) for edit in first)
    return [by_place[start] for start in sorted(by_place)]


def selector(names: Iterable[bytes]) -> re.Pattern[bytes]:
    """Return a pattern for `selected` that finds the fields with one of the names."""
    return re.compile(rb"\r\n(" + b"|".join(map(re.escape, names)) + rb"):[ \t]*+([^\r]*+)", re.IGNORECASE)


def selected(head: bytes, pattern: re.Pattern[bytes]) -> Fields:
    """Return the fields of a head that a selector finds, in order, names in lower case."""
    fields: list[tuple[str, str]] = []
    for match in pattern.finditer(head):
        fields.append((match[1].decode("latin-1").lower(), match[2].decode("latin-1").rstrip(" \t")))
    return tuple(fields)


def has_idempotency_key(raw: bytes, end: int) -> bool:
    """Return whether the head `raw[:end]` has an idempotency key, so that its request may be repeated."""
    return _IDEMPOTENCY_KEY.search(raw, 0, end) is not None
