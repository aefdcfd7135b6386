"""Accepted texts, kept: the same text is rewritten once, whichever variant asks for it."""

from __future__ import annotations

import hashlib
import json
import zlib
from typing import TYPE_CHECKING

from evenkeel.shadow.rewriter.prompts import VERSION

if TYPE_CHECKING:
    from evenkeel.shadow.perturbations.protocol import RewriteTask
    from evenkeel.stores.sqlite.database import Database

_KEPT = 20_000
_PRUNE_EVERY = 200


def cache_key(task: RewriteTask, models: str) -> str:
    """64 hex digits that depend on the task, the wording of the prompt and the models."""
    content = json.dumps([VERSION, models, task.kind, task.target, task.text])
    return hashlib.sha256(content.encode()).hexdigest()


class MemoryRewriteCache:
    """For one process and its life."""

    def __init__(self, *, kept: int = _KEPT) -> None:
        self._kept = kept
        self._texts: dict[str, str] = {}

    def get(self, key: str) -> str | None:
        """As `RewriteCache.get`."""
        return self._texts.get(key)

    def put(self, key: str, text: str) -> None:
        """As `RewriteCache.put`."""
        self._texts.pop(key, None)
        self._texts[key] = text
        while len(self._texts) > self._kept:
            self._texts.pop(next(iter(self._texts)))


class SqliteRewriteCache:
    """In the embedded store, shared by all processes of a machine.

    Pruned every 200 texts, so it holds at most so many more than `kept`.
    """

    def __init__(self, database: Database, *, kept: int = _KEPT) -> None:
        self._database = database
        self._kept = kept
        self._prune_every = min(_PRUNE_EVERY, kept)
        self._put = 0
        database.create(
            """CREATE TABLE IF NOT EXISTS rewrites (
                 seq INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT NOT NULL UNIQUE, body BLOB NOT NULL)"""
        )

    def get(self, key: str) -> str | None:
        """As `RewriteCache.get`."""
        row = (
            self._database.connection().execute("SELECT body FROM rewrites WHERE key = ?", (key,)).fetchone()
        )
        if row is None:
            return None
        packed = self._database.seal.open(row[0], f"rewrite/{key}")
        return zlib.decompress(packed).decode("utf-8", "surrogatepass")

    def put(self, key: str, text: str) -> None:
        """As `RewriteCache.put`."""
        packed = self._database.seal.close(
            zlib.compress(text.encode("utf-8", "surrogatepass")), f"rewrite/{key}"
        )
        with self._database.write() as connection:
            connection.execute("INSERT OR REPLACE INTO rewrites (key, body) VALUES (?, ?)", (key, packed))
            self._put += 1
            if self._put % self._prune_every == 0:
                connection.execute(
                    "DELETE FROM rewrites WHERE seq <="
                    " (SELECT seq FROM rewrites ORDER BY seq DESC LIMIT 1 OFFSET ?)",
                    (self._kept,),
                )
