"""Embedded queue: a table in the store's SQLite file."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from evenkeel.core.exchange import DeadLetter, Lag, QueueBounds
from evenkeel.stores.payloads import (
    check_readable,
    lease_of,
)
from evenkeel.stores.payloads import (
    seal_exchange as sealed,
)

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Collection, Sequence

    from evenkeel.core.exchange import Exchange, Lease
    from evenkeel.stores.sqlite.database import Database

_DEAD_KEPT = 1_000
# A lease that ends more than this many lease times from now counts as expired: it was taken while the clock
# was ahead. Two lease times, so that small clock corrections expire none.
_LEASES_AHEAD = 2
# Looking for old bodies costs two queries, so not every put does it.
_FORGET_EVERY_S = 60.0


class SqliteExchangeQueue:
    """`ExchangeQueue` on SQLite. Any number of processes may share it."""

    def __init__(
        self,
        database: Database,
        clock: Callable[[], float],
        bounds: QueueBounds | None = None,
    ) -> None:
        """Open the queue.

        Args:
            database: The store's file.
            clock: Unix time in seconds.
            bounds: What it holds at most, and for how long, counted from when an exchange was queued, for a
                dead letter from when it was buried.
        """
        self._bounds = bounds or QueueBounds()
        self._forget_at = 0.0
        self._database = database
        self._clock = clock
        database.create(
            """CREATE TABLE IF NOT EXISTS exchanges (
                 seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, queued_at REAL NOT NULL,
                 lease_until REAL NOT NULL DEFAULT 0, attempt INTEGER NOT NULL DEFAULT 0,
                 size INTEGER NOT NULL, payload BLOB NOT NULL, client TEXT NOT NULL DEFAULT '')""",
            "CREATE INDEX IF NOT EXISTS exchanges_size ON exchanges (size)",
            "CREATE INDEX IF NOT EXISTS exchanges_turns ON exchanges (client, seq, lease_until)",
            """CREATE TABLE IF NOT EXISTS dead_exchanges (
                 id TEXT PRIMARY KEY, reason TEXT NOT NULL, buried_at REAL NOT NULL)""",
        )

    def put(self, exchanges: Sequence[Exchange]) -> int:
        """Store exchanges in one transaction; returns how many were added.

        When the queue is full, an exchange of another client replaces the newest waiting one of the client
        with most exchanges. The dropped one is subtracted from the result.
        """
        self._forget_now_and_then()
        # Before the write lock is taken: two proxies together may be over the bound by a batch.
        held, used = self._database.row("SELECT count(*), coalesce(sum(size), 0) FROM exchanges")
        now = self._clock()
        values: list[str | float | bytes] = []
        rows = dropped = 0
        waiting: Counter[str] | None = None
        for exchange in exchanges:
            if held + rows - dropped >= self._bounds.exchanges or used >= self._bounds.bytes:
                # Counted once for a batch, since that reads the whole queue.
                waiting = self._waiting(now) if waiting is None else waiting
                freed = self._make_room(exchange.client, waiting, now)
                if not freed:
                    continue
                dropped += 1
                used -= freed
            # Packed outside the transaction, because compressing takes longer than writing.
            payload = sealed(exchange, self._database.seal)
            values += (exchange.id, now, len(payload), payload, exchange.client)
            used += len(payload)
            rows += 1
        if not rows:
            return 0
        rows_of_marks = ",".join(["(?, ?, ?, ?, ?)"] * rows)
        # One statement for the batch: `executemany` steps through it row by row.
        insert = (
            f"INSERT OR IGNORE INTO exchanges (id, queued_at, size, payload, client) VALUES {rows_of_marks}"  # noqa: S608 - placeholders only
        )
        with self._database.write() as connection:
            return max(0, connection.execute(insert, values).rowcount - dropped)

    def _waiting(self, now: float) -> Counter[str]:
        """Count the waiting exchanges of each client."""
        rows = self._database.rows(
            "SELECT client, count(*) FROM exchanges WHERE lease_until <= ? GROUP BY client", (now,)
        )
        return Counter({str(client): int(count) for client, count in rows})

    def _make_room(self, client: str, waiting: Counter[str], now: float) -> int:
        """Drop the newest waiting exchange of the client with the most, to make room for `client`.

        Args:
            client: Name of the client.
            waiting: Waiting exchanges of each client; changed here.
            now: Unix time in seconds.

        Returns: its size in bytes; 0 if none was dropped, because `client` would then have as many itself.
        """
        # The first by name among equals, so that two proxies drop from the same client.
        heaviest = min(waiting, key=lambda name: (-waiting[name], name), default="")
        if waiting[client] + 1 >= waiting[heaviest]:
            return 0
        # The newest has waited least, and of one client's burst the older ones stand for it.
        newest = "SELECT max(seq) FROM exchanges WHERE client = ? AND lease_until <= ?"
        with self._database.write() as connection:
            dropped = connection.execute(
                f"DELETE FROM exchanges WHERE seq = ({newest}) RETURNING size",  # noqa: S608 - a constant
                (heaviest, now),
            ).fetchone()
        waiting[heaviest] -= 1
        # A worker may have taken the last one meanwhile.
        if dropped is None:
            return 0
        waiting[client] += 1
        # 0 would say that nothing was dropped.
        return max(1, int(dropped[0]))

    def reserve(self, limit: int, lease_s: float) -> list[Lease]:
        """Lease up to `limit` exchanges: clients take turns, each with its oldest exchange first.

        A lease that ends far too late was taken while the clock was ahead. It counts as expired; otherwise
        setting the clock back by hours would block its exchange for hours.
        """
        now = self._clock()
        self._forget_now_and_then()
        free = "SELECT seq FROM exchanges WHERE lease_until <= ?1 OR lease_until > ?2 ORDER BY seq LIMIT ?3"
        if self._several:
            free = (
                "SELECT seq FROM (SELECT seq, row_number() OVER (PARTITION BY client ORDER BY seq) AS turn"
                " FROM exchanges WHERE lease_until <= ?1 OR lease_until > ?2) ORDER BY turn, seq LIMIT ?3"
            )
        bounds = (now, now + _LEASES_AHEAD * lease_s)
        if self._database.row(free, (*bounds, 1)) is None:
            return []  # an idle worker must not take the write lock on every poll
        with self._database.write() as connection:
            rows = connection.execute(
                f"UPDATE exchanges SET lease_until = ?4, attempt = attempt + 1 WHERE seq IN ({free})"  # noqa: S608 - a constant
                " RETURNING seq, id, attempt, payload",
                (*bounds, limit, now + lease_s),
            ).fetchall()
        leases: list[Lease] = []
        # RETURNING gives the rows in no order.
        for _, exchange_id, attempt, payload in sorted(rows):
            leases.append(lease_of(exchange_id, payload, self._database.seal, attempt))
        return leases

    @property
    def _several(self) -> bool:
        # Turns matter only with several clients, and finding them costs a sort of the whole queue.
        first, other = (
            "SELECT client FROM exchanges ORDER BY client LIMIT 1",
            "SELECT max(client) FROM exchanges",
        )
        row = self._database.row(f"SELECT ({first}) < ({other})")
        return bool(row and row[0])

    def forget(self) -> None:
        """Delete bodies older than `kept_s`; runs at most once a minute while the queue is in use.

        A waiting exchange without bodies reaches a worker as "expired".
        """
        before = self._clock() - self._bounds.kept_s
        # Looked for first: a write would wait for, and hold up, all other writers of the file.
        if self._database.row("SELECT 1 FROM exchanges WHERE queued_at <= ? AND size > 0 LIMIT 1", (before,)):
            with self._database.write() as connection:
                connection.execute(
                    "UPDATE exchanges SET payload = x'', size = 0 WHERE queued_at <= ? AND size > 0",
                    (before,),
                )

    def _forget_now_and_then(self) -> None:
        now = self._clock()
        if now >= self._forget_at:
            self._forget_at = now + min(_FORGET_EVERY_S, self._bounds.kept_s)
            self.forget()

    def check_readable(self) -> None:
        """Raise SealError, which says what to do, if the newest exchange cannot be decrypted."""
        newest = "SELECT payload FROM exchanges ORDER BY seq DESC LIMIT 1"
        row = self._database.row(newest)
        check_readable(row[0] if row else None, self._database.seal)

    def extend(self, ids: Collection[str], lease_s: float) -> None:
        """Renew leases."""
        until = self._clock() + lease_s
        self._for_each("UPDATE exchanges SET lease_until = ?1 WHERE id = ?2", ids, until)

    def acknowledge(self, ids: Collection[str]) -> None:
        """Remove finished exchanges."""
        # `?1` is bound for all statements of `_for_each`; here it is only true.
        self._for_each("DELETE FROM exchanges WHERE ?1 AND id = ?2", ids, 1)

    def release(self, ids: Collection[str]) -> None:
        """Give leases back at once; the attempt is not counted."""
        self._for_each("UPDATE exchanges SET lease_until = ?1, attempt = attempt - 1 WHERE id = ?2", ids, 0)

    def bury(self, exchange_id: str, reason: str) -> None:
        """Move an exchange to the dead letters, of which the newest 1,000 are kept."""
        with self._database.write() as connection:
            connection.execute(
                "INSERT OR REPLACE INTO dead_exchanges (id, reason, buried_at)"
                " SELECT id, ?, ? FROM exchanges WHERE id = ?",
                (reason, self._clock(), exchange_id),
            )
            connection.execute("DELETE FROM exchanges WHERE id = ?", (exchange_id,))
            connection.execute(
                "DELETE FROM dead_exchanges WHERE rowid <= (SELECT max(rowid) FROM dead_exchanges) - ?",
                (_DEAD_KEPT,),
            )

    def dead_letters(self, limit: int) -> list[DeadLetter]:
        """Return the newest dead letters, newest first."""
        rows = self._database.rows(
            "SELECT id, reason, buried_at FROM dead_exchanges ORDER BY rowid DESC LIMIT ?", (limit,)
        )
        return [DeadLetter(*row) for row in rows]

    def lag(self) -> Lag:
        """Count what is waiting, leased and dead."""
        connection: sqlite3.Connection = self._database.connection()
        now = self._clock()
        total, leased, oldest = connection.execute(
            "SELECT count(*), coalesce(sum(lease_until > ?), 0), min(queued_at) FROM exchanges", (now,)
        ).fetchone()
        (dead,) = connection.execute("SELECT count(*) FROM dead_exchanges").fetchone()
        return Lag(total - leased, leased, dead, 0.0 if oldest is None else max(0.0, now - oldest))

    def _for_each(self, statement: str, ids: Collection[str], value: float) -> None:
        if ids:
            with self._database.write() as connection:
                connection.executemany(statement, [(value, exchange_id) for exchange_id in ids])
