"""Encryption of prompts and answers where they are kept: AES-256-GCM, with keys from the environment.

Every store seals what holds text of prompts or answers on its way in and opens it on its way out. Without a
key nothing changes: bytes pass as they are. What was written before there was a key stays readable.

A sealed payload is `MAGIC`, four bytes that name the key, a random nonce of twelve bytes, and what AES-GCM
makes of the payload, its tag of sixteen bytes included. The place it belongs to is authenticated with it, so
a payload that somebody moved to another place cannot be opened.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from evenkeel.stores.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

KEY_VARIABLE: Final = "EVENKEEL_PAYLOAD_KEY"
"""Variable with the keys: the first seals, all open. The word `plain` in place of the first seals nothing."""
MAGIC: Final = b"\x00ek1"
"""Prefix of a sealed payload; nothing that is stored plain begins with a zero byte."""

_PLAIN: Final = "plain"
_KEY_BYTES: Final = 32
_ID_BYTES: Final = 4
_NONCE_BYTES: Final = 12
_HEAD_BYTES: Final = len(MAGIC) + _ID_BYTES + _NONCE_BYTES


class SealError(StoreError):
    """Failure to open a payload or to use a key. The message names keys by their id only."""


class PayloadKey(NamedTuple):
    """Key for AES-256-GCM."""

    secret: bytes
    """32 bytes."""

    @property
    def id(self) -> bytes:
        """Four bytes that name the key and reveal nothing about it."""
        return hashlib.sha256(b"evenkeel payload key\0" + self.secret).digest()[:_ID_BYTES]

    def __repr__(self) -> str:
        return f"PayloadKey(id={self.id.hex()})"


class Seal:
    """Seals with the first of some keys and opens with any of them. Safe to use from threads."""

    def __init__(
        self, keys: Sequence[PayloadKey] = (), *, sealing: bool = True, required: bool = False
    ) -> None:
        """Take the keys.

        Args:
            keys: The first seals. None at all: what is stored stays plain, what is sealed stays closed.
            sealing: False only opens, as while a store is being turned back to plain.
            required: True refuses to leave a payload plain.

        Raises: SealError if there are keys and the `cryptography` package is not installed.
        """
        self._ciphers = {key.id: _cipher(key) for key in keys}
        # Keys are turned over by putting a new one in front: the others go on opening what they sealed.
        self._sealing_id = keys[0].id if keys and sealing else None
        self._required = required

    def __repr__(self) -> str:
        return f"Seal(keys={[cipher.hex() for cipher in self._ciphers]}, active={self.active})"

    @property
    def active(self) -> bool:
        """True if new payloads are encrypted."""
        return self._sealing_id is not None

    def check(self) -> None:
        """Raise SealError if payloads must be encrypted and there is no key."""
        if self._required and not self.active:
            raise SealError(
                f"storage.encrypted is set, but {KEY_VARIABLE} holds no key; make one with: "
                "openssl rand -base64 32"
            )

    def close(self, payload: bytes, place: str) -> bytes:
        """Seal a payload for a place, such as "evidence/ID"; without a key it is returned unchanged.

        Raises: SealError without a key that is required.
        """
        if self._sealing_id is None:
            self.check()
            return payload
        # A nonce must not repeat under one key: 96 random bits do for 2**32 payloads (NIST SP 800-38D).
        nonce = os.urandom(_NONCE_BYTES)
        head = MAGIC + self._sealing_id + nonce
        sealed: bytes = self._ciphers[self._sealing_id].encrypt(nonce, payload, _bound(head, place))
        return head + sealed

    def open(self, payload: bytes, place: str) -> bytes:
        """Open a payload that was closed for that place; plain bytes are returned unchanged.

        Raises: SealError if the key is missing, or the payload was changed or belongs elsewhere.
        """
        if not payload.startswith(MAGIC):
            return payload
        head = bytes(payload[:_HEAD_BYTES])
        key_id, nonce = head[len(MAGIC) : -_NONCE_BYTES], head[-_NONCE_BYTES:]
        cipher = self._ciphers.get(key_id)
        if cipher is None:
            raise SealError(
                f"a stored payload is encrypted with the key {key_id.hex()}, which is not in {KEY_VARIABLE}; "
                "put that key there, behind the one in use"
            )
        try:
            opened: bytes = cipher.decrypt(nonce, payload[_HEAD_BYTES:], _bound(head, place))
        except Exception as error:  # the library's own error, which is not imported without a key
            raise SealError(
                f"a stored payload ({place.partition('/')[0]}) was changed after it was encrypted with the "
                f"key {key_id.hex()}, or belongs to another place; restore it from a backup or delete it"
            ) from error
        return opened


def check_name(inside: str, asked_for: str, place: str) -> None:
    """Raise SealError if an opened document is not the one that its row is named for.

    What is sealed holds its own name, which nobody without the key can change: this finds documents
    that somebody moved between rows, whichever release wrote them.
    """
    if inside.encode("utf-8", "replace") != asked_for.encode("utf-8", "replace"):
        raise SealError(
            f"a stored payload ({place}) belongs to another document of its kind; restore it from a backup "
            "or delete it"
        )


def payload_keys(written: str) -> tuple[PayloadKey, ...]:
    """Return the keys in a variable's text: 32 bytes each in base64, separated by commas or white space.

    Raises: SealError, without the text, if an entry is no such key.
    """
    keys = []
    for position, entry in enumerate(written.replace(",", " ").split(), start=1):
        if position == 1 and entry == _PLAIN:
            continue
        try:
            # Tools write keys in either alphabet of base64.
            secret = base64.b64decode(entry.replace("-", "+").replace("_", "/"), validate=True)
        except (binascii.Error, ValueError):
            secret = b""
        if len(secret) != _KEY_BYTES:
            raise SealError(
                f"entry {position} of {KEY_VARIABLE} is not a key of 32 bytes in base64; "
                "make one with: openssl rand -base64 32"
            )
        keys.append(PayloadKey(secret))
    return tuple(keys)


def seal_of(environment: Mapping[str, str], *, required: bool = False) -> Seal:
    """Return the seal that an environment asks for; without a key one that leaves payloads plain.

    With `required` it refuses to leave them plain. Raises: SealError for keys that cannot be used.
    """
    written = environment.get(KEY_VARIABLE, "")
    plain = written.replace(",", " ").split()[:1] == [_PLAIN]
    return Seal(payload_keys(written), sealing=not plain, required=required)


def _bound(head: bytes, place: str) -> bytes:
    return head + place.encode("utf-8", "surrogatepass")


def _cipher(key: PayloadKey) -> Any:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415 - only where a key is set

    return AESGCM(key.secret)
