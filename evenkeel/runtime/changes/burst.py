"""A burst: for a while more of a route's requests are sampled than its settings say.

The data plane reads this module, so it imports nothing that a forwarded request does not need.
"""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from evenkeel.core.trouble import Trouble
from evenkeel.proxy.sampling import threshold

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from evenkeel.proxy.lanes import Lane
    from evenkeel.stores.sqlite import Database

log = logging.getLogger("evenkeel.proxy")

_POLL_S: Final = 2.0


class Override(NamedTuple):
    """A route is sampled more until a time."""

    route: str
    rate: float
    until: float
    """Unix time in seconds."""
    change: str
    """Id of the change that it is about."""


class Bursts(Protocol):
    """What is sampled more at the moment. Calls block on storage; several processes may share it."""

    def put(self, override: Override) -> None:
        """Sample a route more; replaces what was said about it before."""
        ...

    def drop(self, route: str) -> None:
        """Sample it as the settings say again."""
        ...

    def active(self, now: float) -> list[Override]:
        """Those that hold at a time, by route."""
        ...


class SqliteBursts:
    """`Bursts` in the file of the embedded store."""

    def __init__(self, database: Database) -> None:
        self._database = database
        database.create(
            """CREATE TABLE IF NOT EXISTS sampling_overrides (
                 route TEXT PRIMARY KEY, rate REAL NOT NULL, until REAL NOT NULL, change TEXT NOT NULL)"""
        )

    def put(self, override: Override) -> None:
        """As `Bursts`."""
        with self._database.write() as connection:
            connection.execute(
                "INSERT OR REPLACE INTO sampling_overrides (route, rate, until, change) VALUES (?, ?, ?, ?)",
                tuple(override),
            )

    def drop(self, route: str) -> None:
        """As `Bursts`."""
        with self._database.write() as connection:
            connection.execute("DELETE FROM sampling_overrides WHERE route = ?", (route,))

    def active(self, now: float) -> list[Override]:
        """As `Bursts`."""
        rows = self._database.connection().execute(
            "SELECT route, rate, until, change FROM sampling_overrides WHERE until > ? ORDER BY route", (now,)
        )
        return [Override(*row) for row in rows.fetchall()]


def apply_overrides(lanes: Mapping[str, Lane], overrides: Sequence[Override]) -> None:
    """Set the sampling rate of every lane: as its route says, or as an override says if that is more.

    May be called from any thread: the rate is one number, which a request reads once. The hot path neither
    waits nor looks anything up.
    """
    wanted = {override.route: override.rate for override in overrides}
    for name, lane in lanes.items():
        lane.bound = threshold(max(lane.route.sampling_rate, wanted.get(name, 0.0)))


def follow(lanes: Callable[[], Mapping[str, Lane]], connect: Callable[[], Bursts]) -> None:
    """Apply what the store says, every other second and for ever: the body of a thread.

    Args:
        lanes: Gives the routes at run time, which a reload replaces.
        connect: Opens the store. While it is in trouble, routes are sampled as the settings say.
    """
    bursts: Bursts | None = None
    trouble = Trouble(log, "bursts cannot be read (%s); sampling goes on as the settings say")
    while True:
        time.sleep(_POLL_S)
        with trouble:
            bursts = bursts or connect()
            apply_overrides(lanes(), bursts.active(time.time()))
        if trouble.ongoing:
            apply_overrides(lanes(), ())
