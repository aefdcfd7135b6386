"""The secret of an installation that names of clients are hashed with."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Final

from evenkeel.stores.documents import Body, Collection

if TYPE_CHECKING:
    from evenkeel.stores.documents import Documents
    from evenkeel.stores.sealing import Seal

_PLACE: Final = "salt"
_BYTES: Final = 32


def _closed(salt: bytes, seal: Seal) -> Body:
    return seal.close(salt, _PLACE)


def _opened(body: Body, seal: Seal, _name: tuple[str, ...]) -> bytes:
    assert isinstance(body, bytes)
    return seal.open(body, _PLACE)


_SALT: Final = Collection(
    schema=("CREATE TABLE IF NOT EXISTS salts (id TEXT PRIMARY KEY, body BLOB NOT NULL)",),
    table="salts",
    key=("id",),
    tag="salt",
    layout="keys",
    name="{}",
    pack=_closed,
    unpack=_opened,
    key_of=lambda _salt: ("clients",),
)


def client_salt(documents: Documents) -> bytes:
    """The salt for names of clients, drawn by who asks first. Raises: SealError if it cannot be opened."""
    documents.open(_SALT)
    found = documents.find(_SALT, "clients")
    if found is None:
        documents.add(_SALT, secrets.token_hex(_BYTES).encode())
        found = documents.find(_SALT, "clients")
    assert found is not None
    return found
