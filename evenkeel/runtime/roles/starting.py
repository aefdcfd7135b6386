"""How a role starts: by itself, with new settings taken as they come, or under a supervisor."""

from __future__ import annotations

import asyncio
import logging
import time
from typing import TYPE_CHECKING, Literal

from evenkeel.runtime.data_plane import new_event_loop
from evenkeel.runtime.preflight import missing_keys
from evenkeel.runtime.process import stop_on_signal
from evenkeel.runtime.reload import Follower, Reloader, SettingsSource, renewed

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from evenkeel.settings import Settings
    from evenkeel.stores.counters import Snapshot


def run_alone(
    role: Literal["worker", "monitor"],
    written: Settings,
    settings: Settings,
    source: SettingsSource | None,
    serve: Callable[[Settings, asyncio.Event, Callable[[], Snapshot]], Awaitable[None]],
) -> None:
    """Serve until SIGINT or SIGTERM, with the settings in force.

    Args:
        role: Which one.
        written: The settings as read.
        settings: The same with the admin port's number, where one is listened on.
        source: Where they are read again; None = nowhere.
        serve: Serves with settings until an event is set, which happens also when others are in force. The
            third argument counts reloads.

    Raises:
        StoreError: as `serve`, the first time. Later it is tried again.
    """
    reloader = Reloader(source or SettingsSource(None, lambda: written), written, settings, clock=time.time)
    log = logging.getLogger(f"evenkeel.{role}")

    async def serve_once(settings: Settings, stop: asyncio.Event) -> None:
        for problem in missing_keys(settings, role):
            log.error("%s", problem)
        await serve(settings, stop, reloader.snapshot)

    async def alone() -> None:
        await renewed(serve_once, Follower(reloader), stop_on_signal(supervised=False))

    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        runner.run(alone())


def run_supervised(serve: Callable[[asyncio.Event], Awaitable[None]]) -> None:
    """Serve until the supervisor says or ends."""

    async def supervised() -> None:
        await serve(stop_on_signal(supervised=True))

    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        runner.run(supervised())
