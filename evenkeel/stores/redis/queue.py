"""Distributed queue: a Redis stream with a group of workers.

Every operation is one atomic script, `scripts/queue_*.lua`. Their `KEYS`: 1 the stream of exchanges that
wait or are held, 2 the hash exchange id → "entry size", 3 the hash of figures (`bytes`, `lease_ms`,
counters), 4 the stream of dead letters. `ARGV` begins with 1 the prefix of payloads, 2 how
many dead letters are kept, 3 Unix time in seconds. Payloads are keys of their own, so that the server forgets
them when their time is over.
"""

from __future__ import annotations

import os
import random
import time
from typing import TYPE_CHECKING, Any, Final

from redis.exceptions import OutOfMemoryError, ResponseError

from evenkeel.core.backoff import Backoff
from evenkeel.core.exchange import DeadLetter, Lag, QueueBounds
from evenkeel.stores.payloads import check_readable, lease_of
from evenkeel.stores.payloads import seal_exchange as sealed
from evenkeel.stores.redis.connection import PASSING, Script, process_name, text

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from evenkeel.core.exchange import Exchange, Lease
    from evenkeel.stores.redis.connection import RedisStore, Value


_GROUP: Final = "workers"
# Idle time set on an entry that was given back: longer than any lease.
_RELEASED_MS: Final = 10 * 365 * 86_400_000


_DEAD_KEPT = 1_000
# A failover is over by then; longer, and the hand-off's own memory would overflow.
_PATIENCE_S = 10.0
_PAUSES: Final = Backoff(0.1, 2.0)
# Longer than any pause of a living worker.
_IDLE_CONSUMER_MS = 3_600_000


class RedisExchangeQueue:
    """`ExchangeQueue` on Redis Streams, for any number of proxies and workers.

    An entry stays in the stream until it is acknowledged or buried, so the stream's length is the queue's.
    Leases run by the server's clock: those of the workers may differ. All workers use one length of lease.
    An exchange older than its bounds allow is no longer there to be read and becomes a dead letter,
    as "expired".
    """

    def __init__(
        self,
        store: RedisStore,
        clock: Callable[[], float],
        bounds: QueueBounds | None = None,
        *,
        dead_kept: int = _DEAD_KEPT,
        patience_s: float = _PATIENCE_S,
        pause: Callable[[float], None] = time.sleep,
        timer: Callable[[], float] = time.monotonic,
        consumer: str | None = None,
    ) -> None:
        """Open the queue; nothing is sent yet.

        Args:
            store: the Redis.
            clock: Unix time in seconds, for the age of exchanges.
            bounds: what it holds at most, and for how long.
            dead_kept: dead letters kept, the newest; those dropped are counted.
            patience_s: how long `put` tries while Redis is gone. Only the hand-off's thread waits for it.
            pause: rests for so many seconds.
            timer: seconds since some moment.
            consumer: names this worker; None = by host, process and chance.
        """
        self._store = store
        self._clock = clock
        self._bounds = bounds or QueueBounds()
        self._dead_kept = dead_kept
        self._patience_s = patience_s
        self._pause = pause
        self._timer = timer
        self._consumer = consumer or f"{process_name(os.getpid())}:{random.getrandbits(32):08x}"
        self._stream, ids, self._figures, self._dead = store.keys(
            "main", "exchanges", "exchange-ids", "queue", "dead"
        )
        self._keys = (self._stream, ids, self._figures, self._dead)
        self._prefix = store.key("main", "payload:")
        self._put = Script(store, "queue_shared", "queue_put")
        self._reserve = Script(store, "queue_shared", "queue_reserve")
        self._extend = Script(store, "queue_shared", "queue_extend")
        self._acknowledge = Script(store, "queue_shared", "queue_acknowledge")
        self._release = Script(store, "queue_shared", "queue_release")
        self._bury = Script(store, "queue_shared", "queue_bury")
        self._lag = Script(store, "queue_shared", "queue_lag")

    def put(self, exchanges: Sequence[Exchange]) -> int:
        """Store exchanges in one step; waits out a short absence of Redis, as a failover, or of its memory.

        Raises: the client's errors, once Redis has been gone for longer than that.
        """
        packed: list[Value] = []
        for exchange in exchanges:
            packed += (exchange.id, sealed(exchange, self._store.seal))
        if not packed:
            return 0
        until, failures, known_counts = self._timer() + self._patience_s, 0, 0
        bounds = round(self._bounds.kept_s * 1000), self._bounds.exchanges, self._bounds.bytes
        while True:
            try:
                return int(self._run(self._put.replicated, *bounds, known_counts, *packed))
            except (*PASSING, OutOfMemoryError):  # workers make room
                if self._timer() >= until:
                    raise
            # It may have been stored although no answer came: then what is known is what was taken.
            known_counts = 1
            failures += 1
            self._pause(_PAUSES.pause_s(failures))

    def reserve(self, limit: int, lease_s: float) -> list[Lease]:
        """Lease up to `limit` exchanges: first those whose lease ran out, then the oldest that wait."""
        rows = self._run(self._reserve, self._consumer, round(lease_s * 1000), limit)
        leases: list[Lease] = []
        for entry_id, attempt, payload in rows:
            leases.append(lease_of(text(entry_id), payload, self._store.seal, int(attempt)))
        return leases

    def check_readable(self) -> None:
        """Raise SealError, which says what to do, if the newest exchange cannot be decrypted."""
        for _, fields in self._store.client.xrevrange(self._stream, count=1):
            newest = self._store.client.get(f"{self._prefix}{text(fields[b'id'])}")
            check_readable(newest, self._store.seal)

    def extend(self, ids: Collection[str], lease_s: float) -> None:
        """Renew leases that this worker still has, for as long again as it reserved them."""
        del lease_s
        if ids:
            self._run(self._extend, self._consumer, *ids)

    def acknowledge(self, ids: Collection[str]) -> None:
        """Remove finished exchanges."""
        if ids:
            self._run(self._acknowledge, *ids)

    def release(self, ids: Collection[str]) -> None:
        """Give leases back at once; the attempt is not counted."""
        if ids:
            self._run(self._release, self._consumer, _RELEASED_MS, *ids)

    def bury(self, exchange_id: str, reason: str) -> None:
        """Move an exchange to the dead letters, of which the newest are kept."""
        self._run(self._bury, exchange_id, reason)

    def lag(self) -> Lag:
        """Count what is waiting, leased and dead."""
        total, leased, dead, oldest = self._run(self._lag)
        age_s = max(0.0, self._clock() - float(oldest)) if oldest else 0.0
        return Lag(int(total) - int(leased), int(leased), int(dead), age_s)

    def dead_letters(self, limit: int) -> list[DeadLetter]:
        """Return the newest dead letters, newest first."""
        letters: list[DeadLetter] = []
        for _, fields in self._store.client.xrevrange(self._dead, count=limit):
            letters.append(DeadLetter(text(fields[b"id"]), text(fields[b"reason"]), float(fields[b"at"])))
        return letters

    def figures(self) -> dict[str, int]:
        """Count events since the queue was made.

        Returns: `requeued`: entries that somebody had trimmed; `dead_dropped`: dead letters no longer kept.
        """
        counters = self._store.client.hgetall(self._figures)
        figures = {}
        for name in ("requeued", "dead_dropped"):
            figures[name] = int(counters.get(name.encode(), 0))
        return figures

    def forget_workers(self) -> int:
        """Remove the names of workers that hold nothing and were last seen an hour ago. Return how many."""
        self._make_group()
        client = self._store.client
        forgotten = 0
        for consumer in client.xinfo_consumers(self._stream, _GROUP):
            # Deleting a consumer drops what it holds: one with pending entries stays.
            if not consumer["pending"] and consumer["idle"] > _IDLE_CONSUMER_MS:
                client.xgroup_delconsumer(self._stream, _GROUP, consumer["name"])
                forgotten += 1
        return forgotten

    def _run(self, script: Callable[..., Any], *arguments: Value) -> Any:
        whole = (self._prefix, self._dead_kept, repr(self._clock()), *arguments)
        try:
            return script(self._keys, *whole)
        except ResponseError as error:
            if "NOGROUP" not in str(error):
                raise
        self._make_group()
        return script(self._keys, *whole)

    def _make_group(self) -> None:
        # At the start of the stream, so that entries from before count too.
        try:
            self._store.client.xgroup_create(self._stream, _GROUP, id="0", mkstream=True)
        except ResponseError as error:
            if "BUSYGROUP" not in str(error):
                raise
