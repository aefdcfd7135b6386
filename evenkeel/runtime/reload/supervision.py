"""A supervisor takes new settings: it hands them to its children."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from typing import TYPE_CHECKING, Final

from evenkeel.core.trouble import Trouble
from evenkeel.stores.counters import merge

if TYPE_CHECKING:
    from collections.abc import Callable

    from evenkeel.runtime.reload.following import Follower
    from evenkeel.runtime.supervisor import Supervisor
    from evenkeel.settings import Settings
    from evenkeel.stores.counters import CounterWriting, Snapshot

log = logging.getLogger("evenkeel.settings")

SOURCE: Final = "supervisor"
"""Under this name a supervisor publishes what it counts."""
_PUBLISH_EVERY_S: Final = 1.0


async def supervised(
    supervisor: Supervisor,
    follower: Follower,
    counters: CounterWriting,
    *,
    counted: Callable[[], Snapshot] = dict,
    ready: Callable[[], None],
) -> None:
    """Supervise until the end, and give children new settings whenever there are.

    Args:
        supervisor: Has the children.
        follower: Has the settings.
        counters: Where the outcome of reloads is published, beside the children's counters.
        counted: What else the supervisor counts.
        ready: See `Supervisor.run`.
    """
    warnings: set[asyncio.Task[None]] = set()

    def apply(settings: Settings) -> None:
        supervisor.renew(settings)
        task = asyncio.create_task(asyncio.to_thread(warn, settings))
        warnings.add(task)
        task.add_done_callback(warnings.discard)

    beside = [
        asyncio.create_task(follower.run(apply)),
        asyncio.create_task(_publish(follower, counters, counted)),
    ]
    try:
        await supervisor.run(ready=ready)
    finally:
        for task in beside:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task


def warn(settings: Settings) -> None:
    """Say what is wrong with settings that are good in themselves: keys and upstreams. Blocks for seconds."""
    # Loaded on demand: it brings what a data plane never needs, and that imports this package.
    from evenkeel.runtime.preflight import missing_keys, unreachable_upstreams  # noqa: PLC0415

    for problem in (*missing_keys(settings), *unreachable_upstreams(settings)):
        log.error("%s", problem)


async def _publish(follower: Follower, counters: CounterWriting, counted: Callable[[], Snapshot]) -> None:
    trouble = Trouble(log, "the outcome of reloads cannot be published (%s)")
    while True:
        with trouble:
            snapshots = [follower.reloader.snapshot(), counted()]
            await asyncio.to_thread(counters.publish, SOURCE, merge(snapshots))
        await asyncio.sleep(_PUBLISH_EVERY_S)
