"""`evenkeel monitor`: folds the verdict log on Redis, exports the gauges, serves the console."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from functools import cache, partial
from typing import TYPE_CHECKING

from evenkeel import __version__
from evenkeel.runtime.instruments import Instruments
from evenkeel.runtime.process import (
    attend,
    listen_admin,
    publish_counters,
    redis_of,
    served,
    supervisor_of,
    threads,
)
from evenkeel.runtime.redis_stores import RedisStores, checkpoint_name, counter_store
from evenkeel.runtime.roles.needs import ToldNeeds
from evenkeel.runtime.roles.starting import run_alone, run_supervised
from evenkeel.runtime.watching import Watching

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable

    from evenkeel.runtime.reload import SettingsSource
    from evenkeel.runtime.supervisor import Briefing
    from evenkeel.settings import Settings
    from evenkeel.stores.counters import Snapshot


def watch(settings: Settings, *, say: Callable[[str], None], source: SettingsSource | None = None) -> None:
    """Watch and show until SIGINT or SIGTERM.

    Args:
        settings: as for `up`, with a `redis`.
        say: prints the banner.
        source: where the settings are read again; None = nowhere.

    Raises:
        SettingsError: the settings name no Redis.
        StoreError: the Redis cannot be used.
        ListenError: the admin port cannot be listened on.
    """
    redis_of(settings, "monitor")
    written = settings
    settings, admin = listen_admin(settings)
    ready = cache(partial(say, _banner(settings)))

    async def serve(settings: Settings, stop: asyncio.Event, reloaded: Callable[[], Snapshot]) -> None:
        await _serve(settings, [admin.dup()], "monitor", ready, stop, reloaded)

    run_alone("monitor", written, settings, source, serve)


def run(briefing: Briefing) -> None:
    """Watch and show under a supervisor, whose processes' counters are exported too."""
    run_supervised(
        lambda stop: _serve(
            briefing.settings, briefing.open_sockets(), briefing.source, lambda: None, stop, None
        )
    )


async def _serve(
    settings: Settings,
    sockets: list[socket.socket],
    source: str,
    ready: Callable[[], None],
    stop: asyncio.Event,
    reloaded: Callable[[], Snapshot] | None,
) -> None:
    """Watch until `stop` is set; `reloaded` says how reloads went, None = a supervisor does."""
    with contextlib.closing(RedisStores(settings)) as stores:
        await asyncio.to_thread(stores.check)
        instruments = await Instruments.set_up(settings, stores)
        health = instruments.health
        mine = counter_store(stores.store, supervisor_of(supervised=reloaded is None))

        def counted() -> list[Snapshot]:
            # Other roles export their own counters; exported here too, they would count double. Under a
            # supervisor all of its processes' are exported here, this one's among them.
            if reloaded is None:
                return mine.read()
            return [health.snapshot(), instruments.counted(), reloaded()]

        watching = await Watching.set_up(settings, stores, instruments, counted, late=True)
        stopping = threading.Event()
        needs = ToldNeeds(stores.store, watching.monitor.reports, settings.alert.min_trials)
        bodies: list[Callable[[], object]] = [*watching.bodies(stopping), partial(needs.run, stopping)]
        if reloaded is None:
            bodies.append(partial(publish_counters, stopping, source, mine, instruments.counted))
        with threads(stopping, bodies):
            async with served(lambda: watching.app, settings, sockets):
                ready()
                await attend(watching.respond(stop), health.run(stop))
            await instruments.close()
            await watching.close()


def _banner(settings: Settings) -> str:
    admin = settings.admin.url
    watched = ", ".join(settings.monitor.routes) or "all routes"
    return "\n".join(
        [
            f"evenkeel {__version__} monitor",
            f"  console    {admin}/",
            f"  metrics    {admin}/metrics",
            f"  watches    {watched}, as {checkpoint_name(settings)}, in {redis_of(settings, 'monitor').url}",
        ]
    )
