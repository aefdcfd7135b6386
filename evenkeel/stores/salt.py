"""Secret of an installation with which client names are hashed."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Final, NamedTuple

from evenkeel.stores.documents import Collection, sealed

if TYPE_CHECKING:
    from evenkeel.stores.documents import Documents

_BYTES: Final = 32


class _Salt(NamedTuple):
    purpose: str
    secret: str
    """Hexadecimal digits."""


_SALT: Final = Collection(
    name="salts", key=("purpose",), body=sealed(_Salt, "salt", lambda salt: salt.purpose)
)


def client_salt(documents: Documents) -> bytes:
    """Return the salt for client names; the first caller draws it.

    Raises: SealError if it cannot be opened.
    """
    documents.open(_SALT)
    salt = documents.find(_SALT, "clients")
    if salt is None:
        # Another process may be drawing one at this moment: the first to add its own wins.
        documents.add(_SALT, _Salt("clients", secrets.token_hex(_BYTES)))
        salt = documents.find(_SALT, "clients")
    assert salt is not None
    return salt.secret.encode()
