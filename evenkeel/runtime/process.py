"""What the processes behind the proxy have in common: signals, threads, the admin port, counters.

How a process with busy threads keeps its event loop on time.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import os
import signal
import sys
import threading
from typing import TYPE_CHECKING, Any

from evenkeel.core.trouble import Trouble
from evenkeel.runtime.supervisor import listen, when_orphaned
from evenkeel.settings import SettingsError

if TYPE_CHECKING:
    import socket
    from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Sequence

    from litestar.types import ASGIApp

    from evenkeel.settings import Redis, Settings
    from evenkeel.stores.counters import CounterStore, Snapshot


_TURN_S = 0.0005


def stay_responsive() -> None:
    """Keep the garbage collector from walking again and again through what lives as long as the process.

    To be called once everything is loaded and before anything is served. A full collection holds up every
    thread until it is done: about 100 ms for the modules and the tables of languages and prices alone, and
    more with an encoder. What exists by now is left out of all later ones. `python -m benchmarks.worker`
    measures the lag of the event loop.
    """
    gc.collect()
    gc.freeze()


def take_short_turns() -> None:
    """Have a thread that computes let the event loop's thread go on after half a millisecond, not five.

    For a data plane whose hand-off computes, as it does to redact: an event that arrives meanwhile waits for
    its turn. `python -m benchmarks.protection` measures how long.
    """
    sys.setswitchinterval(_TURN_S)


log = logging.getLogger("evenkeel")

_JOIN_S = 5.0
_PUBLISH_EVERY_S = 1.0
_NICENESS = 10


def redis_of(settings: Settings, role: str) -> Redis:
    """The Redis of the settings.

    Raises:
        SettingsError: there is none.
    """
    if settings.redis is None:
        raise SettingsError(
            f"`evenkeel {role}` meets the other roles in a Redis: name it with --redis-url, or as redis.url. "
            "On one machine `evenkeel up` does without"
        )
    return settings.redis


def listen_admin(settings: Settings) -> tuple[Settings, socket.socket]:
    """The admin port, open, and the settings with its number.

    Raises:
        ListenError: it cannot be listened on.
    """
    admin = listen(settings.admin.host, settings.admin.port, option="--admin-port (admin.port)")
    known = settings.admin.model_copy(update={"port": admin.getsockname()[1]})
    return settings.model_copy(update={"admin": known}), admin


def stop_on_signal(*, supervised: bool) -> asyncio.Event:
    """Set by SIGTERM or SIGINT, and by the end of the supervisor if there is one."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    if supervised:
        when_orphaned(lambda: loop.call_soon_threadsafe(stop.set))
    return stop


@contextlib.contextmanager
def threads(stopping: threading.Event, bodies: Sequence[Callable[[], object]]) -> Iterator[None]:
    """Run bodies in threads until the block ends; each of them watches `stopping`."""
    running = [threading.Thread(target=body, daemon=True) for body in bodies]
    for thread in running:
        thread.start()
    try:
        yield
    finally:
        stopping.set()
        for thread in running:
            thread.join(_JOIN_S)


def supervisor_of(*, supervised: bool) -> int:
    """Process id of who starts this role: the supervisor, or this process itself."""
    return os.getppid() if supervised else os.getpid()


def step_aside() -> None:
    """Run at a lower priority: nobody waits for trials, but somebody does for a forwarded request."""
    with contextlib.suppress(OSError):  # a container may forbid it; then the scheduler shares fairly
        os.nice(_NICENESS)


@contextlib.asynccontextmanager
async def served(
    make_app: Callable[[], ASGIApp], settings: Settings, sockets: list[socket.socket]
) -> AsyncIterator[None]:
    """Serve an application on the admin port while the block runs, guarded as the settings say.

    Without sockets nothing is served, made or loaded. Everything else should be loaded by now: what exists is
    left out of garbage collections from here on.
    """
    if not sockets:
        stay_responsive()
        yield
        return
    from evenkeel.console.access import guarded  # noqa: PLC0415 - with the web framework; see above
    from evenkeel.console.server import serving  # noqa: PLC0415

    app = guarded(make_app(), settings.admin)
    stay_responsive()
    async with serving(app, sockets, settings.admin.tls_context()):
        yield


async def attend(main: Coroutine[Any, Any, None], *beside: Coroutine[Any, Any, None]) -> None:
    """Run something to its end; what runs beside it ends with it."""
    tasks = [asyncio.create_task(one) for one in beside]
    try:
        await main
    finally:
        for task in tasks:
            task.cancel()


def publish_counters(
    stopping: threading.Event, source: str, counters: CounterStore, snapshot: Callable[[], Snapshot]
) -> None:
    """Publish the counters of this process every second until `stopping` is set, and then once more."""
    trouble = Trouble(log, "counters cannot be published (%s)")
    while True:
        last = stopping.wait(_PUBLISH_EVERY_S)
        with trouble:
            counters.publish(source, snapshot())
        if last:
            return
