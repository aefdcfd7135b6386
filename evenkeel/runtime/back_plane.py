"""The process nobody waits for: worker, monitor and console, at a lower priority than the relay."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import threading
from functools import partial
from typing import TYPE_CHECKING

from evenkeel.runtime import replays
from evenkeel.runtime.data_plane import new_event_loop
from evenkeel.runtime.instruments import Instruments
from evenkeel.runtime.process import (
    attend,
    publish_counters,
    served,
    step_aside,
    stop_on_signal,
    threads,
)
from evenkeel.runtime.roles.monitor import Watching
from evenkeel.runtime.roles.worker import Working
from evenkeel.runtime.stores import SqliteStores

if TYPE_CHECKING:
    from collections.abc import Callable

    from evenkeel.runtime.supervisor import Briefing
    from evenkeel.stores.counters import Snapshot

log = logging.getLogger("evenkeel")


def run(briefing: Briefing) -> None:
    """Work, watch and show until SIGTERM or the end of the supervisor."""
    step_aside()
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        runner.run(_serve(briefing))


async def _serve(briefing: Briefing) -> None:
    settings = briefing.settings
    with contextlib.closing(SqliteStores(settings, lost=_start_again)) as stores:
        await asyncio.to_thread(stores.archive.prune)
        await asyncio.to_thread(stores.verdicts.trim)
        instruments = await Instruments.set_up(settings, stores)
        health = instruments.health

        def counted() -> list[Snapshot]:
            return [health.snapshot(), *stores.counters.read()]

        watching = await Watching.set_up(settings, stores, instruments, counted, late=False)
        needs = replays.Needs(watching.monitor.reports, settings.alert.min_trials)
        working = await Working.set_up(settings, stores, instruments, needs)
        stop, stopping = stop_on_signal(supervised=True), threading.Event()
        bodies: tuple[Callable[[], object], ...] = (
            *watching.bodies(stopping),
            partial(publish_counters, stopping, briefing.source, stores.counters, instruments.counted),
            partial(working.keep_templates, stopping),
        )
        with threads(stopping, bodies):
            async with served(lambda: watching.app, settings, briefing.open_sockets()):
                await attend(working.worker.run(stop), health.run(stop), watching.respond(stop))
            await working.close()
            await instruments.close()
        await watching.close()


def _start_again(problem: str) -> None:
    """End this process at once; the supervisor starts another.

    Estimates, spend and templates in memory are those of a store that is gone. Written into an empty one they
    would make a checkpoint that lacks most of its parts, at an offset that the new log reaches much later.
    """
    log.error("%s; the back plane starts again", problem)
    os._exit(1)
