"""Credentials on their way: recognised by a fingerprint, put in place of the client's, never shown."""

from __future__ import annotations

import re
from hashlib import sha256
from typing import TYPE_CHECKING

from evenkeel.proxy.headers import RELAY_OWNED, TOKEN, Edit, selector

if TYPE_CHECKING:
    from collections.abc import Iterable

FINGERPRINT_DIGITS = 16

_KEYS = re.compile(
    rb"\r\n(?:authorization:[ \t]*+bearer[ \t]++|(?:x-)?api-key:[ \t]*+)([^\r]*+)", re.IGNORECASE
)
_NAME = re.compile(TOKEN + rb"+")
_VALUE = re.compile(rb"[\x21-\x7e\x80-\xff](?:[\t\x20-\x7e\x80-\xff]*[\x21-\x7e\x80-\xff])?")


def fingerprint(key: bytes) -> str:
    """The first 16 hex digits of an API key's SHA-256: names a key without giving it away.

    The same on a shell: `printf %s "$KEY" | sha256sum | cut -c1-16`.
    """
    return sha256(key).hexdigest()[:FINGERPRINT_DIGITS]


def key_fingerprints(raw: bytes, end: int) -> frozenset[str]:
    """Fingerprints of the API keys in the head `raw[:end]`.

    Keys are the bearer tokens and the values of `api-key` and `x-api-key`; a request has one at most
    as a rule.
    """
    return frozenset(fingerprint(found[1].rstrip(b" \t")) for found in _KEYS.finditer(raw, 0, end))


class Injection:
    """Header fields that replace the client's of the same name on the way to the upstream."""

    __slots__ = ("_pattern", "lines")

    def __init__(self, fields: Iterable[tuple[bytes, bytes]]) -> None:
        """Check the fields.

        Raises: ValueError if a name or value can't stand in a head, or the name decides framing,
        routing or loops. The message holds no value.
        """
        fields = tuple(fields)
        for name, value in fields:
            shown = name.decode("latin-1")
            if not _NAME.fullmatch(name):
                raise ValueError(f"injected header {shown!r} is not a header name; write it like x-api-key")
            if name.lower() in RELAY_OWNED:
                raise ValueError(f"header {shown!r} can't be injected: the relay sets it itself")
            if not _VALUE.fullmatch(value):
                raise ValueError(
                    f"the value injected as {shown!r} is empty or holds line breaks, control characters or "
                    "spaces at an end; check the variable that it is read from"
                )
        self._pattern = selector(name for name, _ in fields)
        self.lines = b"".join(b"\r\n%b: %b" % field for field in fields)
        """The fields, each with the line break before it."""

    def cuts(self, raw: bytes, start: int, end: int) -> list[Edit]:
        """Edits that remove the client's fields of these names from `raw[start:end]`."""
        return [(found.start(), found.end(), b"") for found in self._pattern.finditer(raw, start, end)]
