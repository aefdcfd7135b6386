"""Secret of an installation with which client names are hashed."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Final, NamedTuple

from evenkeel.stores.documents import Collection, DocumentBody, Packed

if TYPE_CHECKING:
    from evenkeel.stores.documents import Documents
    from evenkeel.stores.sealing import Seal

_PLACE: Final = "salt"
_BYTES: Final = 32


class _Salt(NamedTuple):
    purpose: str
    secret: bytes


def _closed(salt: _Salt, seal: Seal) -> Packed:
    return seal.close(salt.secret, _PLACE)


def _opened(packed: Packed, seal: Seal, key: tuple[str, ...]) -> _Salt:
    assert isinstance(packed, bytes)
    return _Salt(key[0], seal.open(packed, _PLACE))


_SALT: Final = Collection(name="salts", key=("purpose",), body=DocumentBody(_closed, _opened))


def client_salt(documents: Documents) -> bytes:
    """Return the salt for client names; the first caller draws it.

    Raises: SealError if it cannot be opened.
    """
    documents.open(_SALT)
    salt = documents.find(_SALT, "clients")
    if salt is None:
        documents.add(_SALT, _Salt("clients", secrets.token_hex(_BYTES).encode()))
        salt = documents.find(_SALT, "clients")
    assert salt is not None
    return salt.secret
