"""`evenkeel up`: everything on one machine, under one supervisor."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import logging
import os
import sqlite3
import time
from typing import TYPE_CHECKING, TextIO

from evenkeel import __version__
from evenkeel.runtime.preflight import missing_keys, unreachable_upstreams
from evenkeel.runtime.reload import Follower, Reloader, SettingsSource, supervised
from evenkeel.runtime.standalone import data_plane_children, listen_data_plane
from evenkeel.runtime.stores import RedisStores
from evenkeel.runtime.supervisor import Briefing, Child, Supervisor, listen
from evenkeel.settings import SettingsError
from evenkeel.stores.sqlite.counters import SqliteCounterStore
from evenkeel.stores.sqlite.database import DATABASE_FILE, Database
from evenkeel.stores.sqlite.queue import SqliteExchangeQueue

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from evenkeel.settings import Settings
    from evenkeel.stores.counters import Snapshot

log = logging.getLogger("evenkeel")


def up(settings: Settings, *, say: Callable[[str], None], source: SettingsSource | None = None) -> None:
    """Serve until SIGINT or SIGTERM.

    Args:
        settings: all of them.
        say: prints the banner.
        source: where they are read again; None = nowhere.

    Raises:
        SettingsError: the data folder is in use by another evenkeel.
        ListenError: a port cannot be listened on.
        StoreError: the data folder cannot be written or read, or the Redis not be used.
    """
    data = listen_data_plane(settings)
    admin = listen(settings.admin.host, settings.admin.port, option="--admin-port (admin.port)")
    written = settings
    settings = settings.model_copy(
        update={
            "listen": settings.listen.model_copy(update={"port": data[0].getsockname()[1]}),
            "admin": settings.admin.model_copy(update={"port": admin.getsockname()[1]}),
            "data_dir": settings.data_dir.absolute(),
        }
    )
    reloader = Reloader(source or SettingsSource(None, lambda: written), written, settings, clock=time.time)
    if settings.redis is not None:
        # Loaded on demand: on SQLite it would only take memory.
        from evenkeel.runtime.roles.together import run_together  # noqa: PLC0415

        with contextlib.closing(RedisStores(settings)) as stores:
            stores.check()
            stores.queue.check_readable()
        run_together(Follower(reloader), data, admin, lambda: say(banner(settings)))
        return
    database = Database(settings.data_dir / DATABASE_FILE)
    with contextlib.ExitStack() as held:
        held.enter_context(_lock(settings.data_dir))
        locked = 0
        SqliteExchangeQueue(database, time.time).check_readable()
        counters = SqliteCounterStore(database)
        _start_from_zero(counters)
        problems = [*missing_keys(settings), *unreachable_upstreams(settings)]

        def ready() -> None:
            say(banner(settings))
            for problem in problems:
                log.error("%s", problem)

        def counted() -> Snapshot:
            nonlocal locked
            if locked != database.recreated:  # The lock went with the folder.
                held.enter_context(_lock(settings.data_dir))
                locked = database.recreated
            return {"counters": [["store_recreated", {}, database.recreated]]}

        supervisor = Supervisor(
            [
                *data_plane_children(settings, data),
                Child("worker", Briefing("worker", "", settings, (admin.fileno(),))),
            ],
            ended=counters.retire,
        )
        asyncio.run(supervised(supervisor, Follower(reloader), counters, counted=counted, ready=ready))
    database.close()


def _start_from_zero(counters: SqliteCounterStore) -> None:
    """Clear the counters; a store that is full keeps nobody from forwarding."""
    try:
        counters.clear()
    except sqlite3.OperationalError as error:
        log.warning("the store cannot be written (%s); requests are forwarded, not scored", error)


def banner(settings: Settings) -> str:
    """What a person needs to know after the start."""
    admin = settings.admin.url
    judged = (
        f"judge {settings.judge.model}"
        if settings.judge
        else "cheap metrics only (no judge set; see --judge-model)"
    )
    lines = [f"evenkeel {__version__}" + ("   SIMULATED upstream" if settings.simulated else "")]
    lines += [
        f"  base URL   {settings.base_url(route)}  →  {route.upstream}  (route {route.name})"
        for route in settings.routes
    ]
    lines += [
        f"  console    {admin}/",
        f"  metrics    {admin}/metrics",
        (
            f"  sampling   {', '.join(f'{route.sampling_rate:.0%}' for route in settings.routes)} of "
            f"requests, scored by {judged}"
        ),
        f"  data       {settings.redis.url if settings.redis else settings.data_dir}",
    ]
    return "\n".join(lines)


def _lock(folder: Path) -> TextIO:
    """Hold the data folder for this process; the lock ends with it.

    Raises:
        SettingsError: if another process holds it.
    """
    file = (folder / "lock").open("a+", encoding="ascii")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.seek(0)
        holder = file.read().strip()
        file.close()
        raise SettingsError(
            f"the data folder {folder} is in use by another evenkeel (pid {holder}); "
            "stop it, or choose another folder with --data-dir"
        ) from None
    with contextlib.suppress(OSError):  # a full disk; the number is for people only
        file.truncate(0)
        file.write(f"{os.getpid()}\n")
        file.flush()
    return file
