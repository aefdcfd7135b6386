"""The backends of the stores, for suites that every one of them runs. A new one is a class here."""

from evenkeel.stores.archive import ExchangeArchive
from evenkeel.stores.counters import CounterStore
from evenkeel.stores.monitor_state import MonitorStore
from evenkeel.stores.redis.connection import RedisStore
from evenkeel.stores.redis.documents import RedisDocuments
from evenkeel.stores.redis.queue import RedisExchangeQueue
from evenkeel.stores.redis.verdicts import RedisVerdictLog
from evenkeel.stores.sqlite.database import Database
from evenkeel.stores.sqlite.documents import SqliteDocuments
from evenkeel.stores.sqlite.queue import SqliteExchangeQueue
from evenkeel.stores.sqlite.verdicts import SqliteVerdictLog
from tests.redis_server import a_store


class Clock:
    """Tells the time that a test sets."""

    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now


class ServerClock(Clock):
    """For a Redis, whose own clock leases run by: instead of that, leases grow older."""

    def __init__(self, store):
        self._store = store
        self._now = 1000.0

    @property
    def now(self):
        return self._now

    @now.setter
    def now(self, value):
        grown_ms = round((value - self._now) * 1000)
        self._now = value
        stream, client = self._store.key("main", "exchanges"), self._store.client
        if not client.exists(stream) or not client.xinfo_groups(stream):
            return  # nobody holds anything yet
        for held in client.xpending_range(stream, "workers", "-", "+", 1000):
            client.xclaim(
                stream,
                "workers",
                held["consumer"],
                0,
                [held["message_id"]],
                idle=held["time_since_delivered"] + grown_ms,
                justid=True,
            )


class Backend:
    """Opens stores over one place. `place` is the connection of a test, `opened` another process's."""

    def __init__(self, place):
        self.place = place
        self.clock = Clock()
        self._opened = [place]

    def opened(self, **options):
        """The same place again, as another process opens it."""
        self._opened.append(self._again(**options))
        return self._opened[-1]

    def close(self):
        for place in self._opened:
            place.close()

    def queue(self, place=None, **options):
        return self.Queue(place or self.place, self.clock, **options)

    def verdicts(self, place=None, **options):
        return self.Verdicts(place or self.place, **options)

    def archive(self, place=None, **options):
        return ExchangeArchive(self.documents(place), **options)

    def documents(self, place=None):
        return self.Documents(place or self.place)

    def monitor(self, name="one"):
        return MonitorStore(self.documents(), name)

    def counters(self):
        return CounterStore(self.documents(), self.clock)


class SqliteBackend(Backend):
    """A file."""

    Queue, Verdicts = SqliteExchangeQueue, SqliteVerdictLog
    Documents = SqliteDocuments

    def __init__(self, folder, **options):
        super().__init__(Database(folder / "deep" / "evenkeel.db", **options))

    def _again(self, **options):
        return Database(self.place.path, **options)

    def queue_elsewhere(self):
        """Python that opens the queue in another process."""
        return (
            "from pathlib import Path\n"
            "from evenkeel.stores.sqlite.database import Database\n"
            "from evenkeel.stores.sqlite.queue import SqliteExchangeQueue\n"
            f"queue = SqliteExchangeQueue(Database(Path({str(self.place.path)!r})), lambda: 1000.0)\n"
        )

    def contents(self):
        """All that is kept, as one text."""
        self.place.connection().execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        files = (path.read_bytes() for path in self.place.path.parent.iterdir())
        return b"".join(files).decode("latin-1")


class RedisBackend(Backend):
    """A prefix of its own on the Redis of the test process."""

    Queue, Verdicts = RedisExchangeQueue, RedisVerdictLog
    Documents = RedisDocuments

    def __init__(self, server, *, seal=None):
        place = a_store(server)
        super().__init__(place if seal is None else RedisStore(place.place, seal=seal))
        self.clock = ServerClock(self.place)

    def _again(self, **options):
        return RedisStore(self.place.place, **options)

    def queue_elsewhere(self):
        """Python that opens the queue in another process."""
        return (
            "from evenkeel.stores.redis.connection import RedisPlace, RedisStore\n"
            "from evenkeel.stores.redis.queue import RedisExchangeQueue\n"
            f"queue = RedisExchangeQueue(RedisStore({self.place.place!r}), lambda: 1000.0)\n"
        )

    def contents(self):
        """All that is kept, as one text."""
        client = self.place.client
        reading = {
            b"string": client.get,
            b"hash": client.hgetall,
            b"stream": client.xrange,
            b"list": lambda key: client.lrange(key, 0, -1),
            b"set": client.smembers,
            b"zset": lambda key: client.zrange(key, 0, -1),
        }
        keys = client.scan_iter(f"{self.place.place.prefix}:*")
        return " ".join(repr(reading[client.type(key)](key)) for key in keys)
