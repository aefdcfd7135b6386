"""A role without a supervisor takes new settings: it finishes what it holds and starts again."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
from typing import TYPE_CHECKING, Final

from evenkeel.stores.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from evenkeel.runtime.reload.following import Follower
    from evenkeel.settings import Settings


log = logging.getLogger("evenkeel.settings")

_PAUSE_S: Final = 5.0


async def renewed(
    serve: Callable[[Settings, asyncio.Event], Awaitable[None]], follower: Follower, ended: asyncio.Event
) -> None:
    """Serve until the end, with the settings in force.

    Args:
        serve: Serves with settings until an event is set, which happens also when others are in force.
        follower: Has the settings.
        ended: Set when the process is to end.

    Raises:
        StoreError: as `serve`, the first time. Later it is tried again.
    """
    stop = asyncio.Event()
    served = False
    following = asyncio.create_task(follower.run(lambda _: stop.set()))
    ending = asyncio.create_task(ended.wait())
    ending.add_done_callback(lambda _: stop.set())
    await asyncio.sleep(0)  # From here on a hang-up is heard; before it would end the process.
    try:
        while not ended.is_set():
            stop.clear()
            try:
                await serve(follower.reloader.running, stop)
            except StoreError as error:
                # At the start somebody is there to read it; later the store may come back.
                if not served:
                    raise
                log.error("%s; trying again", error)  # noqa: TRY400 - a line says it
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(ended.wait(), _PAUSE_S)
            served = True
            # What has served is garbage now, also where it was taken for permanent.
            gc.unfreeze()
            gc.collect()
    finally:
        for task in (following, ending):
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
