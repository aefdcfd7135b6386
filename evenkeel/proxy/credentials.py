"""Credentials in requests: recognised by a fingerprint, replaced, kept to their origin, never shown."""

from __future__ import annotations

import re
from hashlib import sha256
from typing import TYPE_CHECKING
from urllib.parse import unquote_to_bytes

from evenkeel.proxy.headers import ANY_FIELD, RELAY_OWNED, TOKEN, Edit, selector

if TYPE_CHECKING:
    from collections.abc import Iterable

FINGERPRINT_DIGITS = 16

_KEYS = re.compile(
    rb"\r\n(?:authorization:[ \t]*+bearer[ \t]++|(?:x-)?api-key:[ \t]*+)([^\r]*+)", re.IGNORECASE
)
_NAME = re.compile(TOKEN + rb"+")
CREDENTIAL_PARAMETER = re.compile(
    rb"(?:.*[^a-z])?(?:[a-z]*key(?:[-_.]?id)?|auth|authorization|bearer|code|[a-z]*credentials?|jwt|"
    rb"pass(?:wd|phrase)?|[a-z]*password|pat|pwd|sas|[a-z]*secret|sess(?:ion)?(?:[-_.]?id)?|sid|sig|signature|"
    rb"[a-z]*tokens?)(?:[^a-z].*)?"
)
"""Names, in lower case, of query parameters that carry a credential in some API: "api-key", "access_token",
"x-amz-signature", "sig" … Kept out of what is stored; the request itself passes as it is."""
_PARAMETER = re.compile(rb"(^|[&;])([^&;]*)")
# Names, in lower case, of further fields that carry a credential.
_FURTHER = re.compile(rb"(?:.*[^a-z])?(?:cookie2?|authentication|dpop)(?:[^a-z].*)?")
_NO_CREDENTIALS = frozenset({b"idempotency-key", b"sec-websocket-key"})
_SUBPROTOCOLS = b"sec-websocket-protocol"
# Subprotocol that carries a key. Browsers can set no field on a WebSocket, so keys travel this way.
_KEY_AS_SUBPROTOCOL = re.compile(rb"key|token|bearer|auth", re.IGNORECASE)
_VALUE = re.compile(rb"[\x21-\x7e\x80-\xff](?:[\t\x20-\x7e\x80-\xff]*[\x21-\x7e\x80-\xff])?")


def fingerprint(key: bytes) -> str:
    """Return the first 16 hex digits of an API key's SHA-256, which name the key without revealing it.

    The same on a shell: `printf %s "$KEY" | sha256sum | cut -c1-16`.
    """
    return sha256(key).hexdigest()[:FINGERPRINT_DIGITS]


def key_fingerprints(raw: bytes, end: int) -> frozenset[str]:
    """Return the fingerprints of the API keys in the head `raw[:end]`.

    Keys are the bearer tokens and the values of `api-key` and `x-api-key`; a request has one at most
    as a rule.
    """
    fingerprints = set()
    for match in _KEYS.finditer(raw, 0, end):
        fingerprints.add(fingerprint(match[1].rstrip(b" \t")))
    return frozenset(fingerprints)


def is_credential(name: bytes, value: bytes) -> bool:
    """Return whether a header field, its name in lower case, carries a credential of the client."""
    if name == _SUBPROTOCOLS:
        return _KEY_AS_SUBPROTOCOL.search(value) is not None
    if name in _NO_CREDENTIALS:
        return False
    return bool(CREDENTIAL_PARAMETER.fullmatch(name) or _FURTHER.fullmatch(name))


def redacted(target: bytes) -> str:
    """Return a request target without query parameters that look like credentials."""
    path, mark, query = target.partition(b"?")
    if mark:
        # Some servers part parameters by semicolons as well: each one goes with the mark before it.
        kept = b""
        for separator, parameter in _PARAMETER.findall(query):
            name = unquote_to_bytes(parameter.partition(b"=")[0]).lower()
            if not CREDENTIAL_PARAMETER.fullmatch(name):
                kept += (separator if kept else b"?") + parameter
        path += kept
    return path.decode("latin-1")


class Injection:
    """Header fields that replace the client's of the same name on the way to the upstream."""

    __slots__ = ("_names", "_pattern", "exclusive", "lines")

    def __init__(
        self,
        fields: Iterable[tuple[bytes, bytes]],
        *,
        replaced: Iterable[bytes] = (),
        exclusive: bool = False,
    ) -> None:
        """Check the fields.

        Args:
            fields: Fields that the upstream is sent.
            replaced: Further names whose fields of the client are removed.
            exclusive: True if no credential of the client may reach the upstream: its origin is not
                the one that they are for.

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
        names = {name.lower() for name, _ in fields}
        names.update(name.lower() for name in replaced)
        self._names = frozenset(names)
        self._pattern = selector(sorted(names))
        self.exclusive = exclusive
        """True if all credentials of the client are removed, whatever their names."""
        self.lines = b"".join(b"\r\n%b: %b" % field for field in fields)
        """Lines of the fields, each with the line break before it."""

    def cuts(self, raw: bytes, start: int, end: int) -> list[Edit]:
        """Return edits that remove the client's versions of the fields from `raw[start:end]`."""
        if not self.exclusive:
            return [(field.start(), field.end(), b"") for field in self._pattern.finditer(raw, start, end)]
        cuts: list[Edit] = []
        for field in ANY_FIELD.finditer(raw, start, end):
            name = field[1].lower()
            if name in self._names or is_credential(name, field[2]):
                cuts.append((field.start(), field.end(), b""))
        return cuts
