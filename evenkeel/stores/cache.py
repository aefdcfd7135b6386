"""Caches of model answers: rulings of a judge, texts of the rewriter, and the answers in a journal."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from evenkeel.stores.documents import Collection, sealed

if TYPE_CHECKING:
    from evenkeel.stores.documents import Documents


class _CachedBody(NamedTuple):
    key: str
    body: bytes


class DocumentCache:
    """`Cache` that outlives the process, and is shared by all who use the store."""

    def __init__(self, documents: Documents, name: str, *, kept: int = 20_000) -> None:
        """Open the cache of a name; it keeps about `kept` bodies, the newest."""
        self._documents = documents
        body = sealed(_CachedBody, name, lambda entry: entry.key)
        self._entries = Collection(name=name, key=("key",), kept=kept, body=body)
        documents.open(self._entries)

    def get(self, key: str) -> bytes | None:
        """Return the body of a key; None if there is none. Raises: SealError if it cannot be opened."""
        entry = self._documents.find(self._entries, key)
        return None if entry is None else entry.body

    def put(self, key: str, body: bytes) -> None:
        """Keep a body as the newest."""
        self._documents.put(self._entries, _CachedBody(key, body))
