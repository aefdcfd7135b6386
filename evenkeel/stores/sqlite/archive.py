"""Archive of sampled exchanges in a SQLite file."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING

from evenkeel.stores.archive import (
    KEPT_BYTES,
    KEPT_PER_ROUTE,
    KEPT_S,
    LARGEST_BYTES,
    pack_archived,
    unpack_archived,
)
from evenkeel.stores.payloads import storable

if TYPE_CHECKING:
    from collections.abc import Callable

    from evenkeel.stores.archive import ArchivedExchange
    from evenkeel.stores.sqlite.database import Database

_PRUNE_EVERY = 50
_PRUNE_EVERY_S = 600.0


class SqliteExchangeArchive:
    """`ExchangeArchive` on SQLite. Any number of processes may share it.

    At most `per_route` exchanges of a route are kept and `total_bytes` of all, the newest; up to 50 more
    between two prunings, which are at most ten minutes apart as long as exchanges come.
    """

    def __init__(
        self,
        database: Database,
        *,
        per_route: int = KEPT_PER_ROUTE,
        total_bytes: int = KEPT_BYTES,
        kept_s: float = KEPT_S,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Open the archive.

        Args:
            database: the store's file.
            per_route: exchanges kept of each route; 0 keeps none and drops those there are with `prune`.
            total_bytes: what they may take, packed.
            kept_s: and how long they are kept.
            clock: Unix time in seconds.
        """
        self._database = database
        self._per_route = per_route
        self._total_bytes = total_bytes
        self._kept_s = kept_s
        self._clock = clock
        self._since_pruned = 0
        self._pruned_at = -math.inf
        database.create(
            """CREATE TABLE IF NOT EXISTS archived_exchanges (
                 seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, route TEXT NOT NULL,
                 bytes INTEGER NOT NULL, body BLOB NOT NULL)""",
            # Covers what pruning reads, so that it never touches the bodies.
            "CREATE INDEX IF NOT EXISTS archived_exchanges_route ON archived_exchanges (route, seq, bytes)",
            "CREATE TABLE IF NOT EXISTS archived_times (seq INTEGER PRIMARY KEY, kept_at REAL NOT NULL)",
        )

    def put(self, exchange: ArchivedExchange) -> bool:
        """Keep an exchange. See `ExchangeArchive.put`."""
        if self._per_route == 0:
            return False
        packed = pack_archived(exchange, self._database.seal)
        if len(packed) > LARGEST_BYTES:
            return False
        with self._database.write() as connection:
            cursor = connection.execute(
                "INSERT OR IGNORE INTO archived_exchanges (id, route, bytes, body) VALUES (?, ?, ?, ?)",
                (storable(exchange.id), storable(exchange.route), len(packed), packed),
            )
            if cursor.rowcount:
                times = "INSERT OR REPLACE INTO archived_times (seq, kept_at) VALUES (?, ?)"
                connection.execute(times, (cursor.lastrowid, self._clock()))
        self._since_pruned += cursor.rowcount
        due = self._clock() - self._pruned_at > min(_PRUNE_EVERY_S, self._kept_s)
        if self._since_pruned >= _PRUNE_EVERY or due:
            self.prune()
        return cursor.rowcount > 0

    def prune(self) -> int:
        """Drop exchanges beyond the limits, oldest first. Return how many were dropped."""
        self._since_pruned = 0
        self._pruned_at = self._clock()
        with self._database.write() as connection:
            # What was kept before times were noted goes with the oldest that has one.
            dropped = connection.execute(
                "DELETE FROM archived_exchanges WHERE seq <= (SELECT max(seq) FROM archived_times"
                " WHERE kept_at <= ?)",
                (self._pruned_at - self._kept_s,),
            ).rowcount
            routes = connection.execute("SELECT DISTINCT route FROM archived_exchanges").fetchall()
            for (route,) in routes:
                dropped += connection.execute(
                    "DELETE FROM archived_exchanges WHERE route = ?1 AND seq <= ("
                    " SELECT seq FROM archived_exchanges WHERE route = ?1"
                    " ORDER BY seq DESC LIMIT 1 OFFSET ?2)",
                    (route, self._per_route),
                ).rowcount
            (held,) = connection.execute("SELECT TOTAL(bytes) FROM archived_exchanges").fetchone()
            if held > self._total_bytes:
                dropped += connection.execute(
                    "DELETE FROM archived_exchanges WHERE seq IN (SELECT seq FROM ("
                    " SELECT seq, SUM(bytes) OVER (ORDER BY seq DESC) AS held FROM archived_exchanges)"
                    " WHERE held > ?)",
                    (self._total_bytes,),
                ).rowcount
            connection.execute(
                "DELETE FROM archived_times"
                " WHERE seq < (SELECT coalesce(min(seq), 0) FROM archived_exchanges)"
            )
        return dropped

    def find(self, exchange_id: str) -> ArchivedExchange | None:
        """Return one exchange. See `ExchangeArchive.find`."""
        row = self._database.row(
            "SELECT body FROM archived_exchanges WHERE id = ?",
            (storable(exchange_id),),
        )
        return unpack_archived(row[0], self._database.seal, exchange_id) if row else None

    def latest(self, limit: int | None = None, *, route: str | None = None) -> list[ArchivedExchange]:
        """Return the newest exchanges. See `ExchangeArchive.latest`."""
        rows = self._database.rows(
            "SELECT body FROM archived_exchanges WHERE (?1 IS NULL OR route = ?1) ORDER BY seq DESC LIMIT ?2",
            (route and storable(route), -1 if limit is None else limit),
        )
        return [unpack_archived(body, self._database.seal) for (body,) in rows]
