"""What the roles have in common: signals, threads, and the probes' page."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import threading
from typing import TYPE_CHECKING

from evenkeel.children import when_orphaned
from evenkeel.settings import SettingsError
from evenkeel.supervisor import listen

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Iterator, Sequence

    from evenkeel.settings import Redis, Settings

_JOIN_S = 5.0


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
