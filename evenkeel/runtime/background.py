"""Worker and monitor, each in a process of its own behind the data plane.

Neither can hold up the other: a text that keeps the worker's interpreter busy delays no page of the console.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import threading
from functools import partial
from typing import TYPE_CHECKING

from evenkeel.runtime.instruments import Instruments
from evenkeel.runtime.process import (
    attend,
    new_event_loop,
    publish_counters,
    served,
    step_aside,
    take_short_turns,
    threads,
)
from evenkeel.runtime.stores import connect
from evenkeel.runtime.supervisor import when_orphaned
from evenkeel.shadow.timesheet import Timesheet
from evenkeel.stores.counters import merge

if TYPE_CHECKING:
    from evenkeel.runtime.roles.monitor import MonitorRole
    from evenkeel.runtime.roles.worker import WorkerRole
    from evenkeel.runtime.stores import Stores
    from evenkeel.runtime.supervisor import Briefing
    from evenkeel.settings import Settings
    from evenkeel.stores.counters import Snapshot

log = logging.getLogger("evenkeel")


def run(briefing: Briefing) -> None:
    """Run a role until SIGTERM or the end of the supervisor, then finish what is held.

    Raises: StoreError if the store cannot be used.
    """
    if briefing.role == "worker":
        step_aside()
    else:
        take_short_turns()
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        runner.run(_serve(briefing))


async def _serve(briefing: Briefing) -> None:
    settings, works = briefing.settings, briefing.role == "worker"
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    when_orphaned(lambda: loop.call_soon_threadsafe(stop.set))
    with contextlib.closing(await _opened(briefing.role, settings)) as stores:
        instruments = await Instruments.set_up(settings, stores)
        health = instruments.health
        role: WorkerRole | MonitorRole
        # Loaded on demand: a worker needs nothing of the console, nor a monitor the planner.
        if works:
            from evenkeel.runtime.roles.worker import WorkerRole  # noqa: PLC0415

            role = await WorkerRole.set_up(settings, stores, instruments, Timesheet(briefing.sheet))
        else:
            from evenkeel.runtime.roles.monitor import MonitorRole  # noqa: PLC0415

            own = partial(stores.counters.read, briefing.source)
            role = await asyncio.to_thread(MonitorRole, settings, stores, instruments, own)

        def published() -> Snapshot:
            return merge([instruments.counted(), *([health.snapshot()] if works else [])])

        stopping = threading.Event()
        publishing = partial(publish_counters, stopping, briefing.report, published)
        with threads(stopping, [*role.bodies(stopping), publishing]):
            # A worker has no sockets: its supervisor serves the probes.
            async with served(lambda: role.app, settings, briefing.open_sockets()):
                await attend(role.run(stop), health.run(stop, announced=works))
            await instruments.close()
        await role.close()


async def _opened(role: str, settings: Settings) -> Stores:
    # What a worker that was killed had is in the name of the next one: that of their supervisor.
    consumer = f"worker of {os.getppid()}" if role == "worker" else None
    stores = connect(settings, lost=partial(_start_again, role), consumer=consumer)
    try:
        await asyncio.to_thread(stores.check)
        if role == "worker":
            await asyncio.to_thread(stores.prepare)
    except BaseException:
        stores.close()
        raise
    return stores


def _start_again(role: str, problem: str) -> None:
    """End this process at once, so that the supervisor starts another.

    Estimates, spend and templates in memory are those of a store that is gone. Written into an empty one they
    would make a checkpoint that lacks most of its parts, at an offset that the new log reaches much later.
    """
    log.error("%s; the %s starts again", problem, role)
    os._exit(1)
