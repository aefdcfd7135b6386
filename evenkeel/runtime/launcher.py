"""Starts roles: a supervisor, and each role in a process below it.

Whatever the role, the ports are opened first, then the store is looked at, then the role runs until SIGINT or
SIGTERM, with the settings in force: a data plane takes new ones as they come, everything else finishes what
it holds and starts again with them.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import logging
import math
import os
import socket
import sys
import threading
import time
from functools import partial
from typing import TYPE_CHECKING, Literal, NamedTuple, TextIO

from evenkeel import logs
from evenkeel.core.trouble import JudgeTrouble
from evenkeel.core.version import VERSION
from evenkeel.runtime.process import probes, publish_counters, served, threads
from evenkeel.runtime.reload import Reloader
from evenkeel.runtime.stores import checkpoint_name, connect
from evenkeel.runtime.supervisor import Briefing, Child, Supervisor, listen, listen_shared
from evenkeel.settings import SettingsError
from evenkeel.shadow.timesheet import Timesheet
from evenkeel.stores.counters import CounterStore, gauges, merge
from evenkeel.stores.errors import DamagedStoreError, StoreError
from evenkeel.stores.keys import ADMIN_TOKEN, LOGIN_CODE, METRICS_TOKEN, fresh, kept
from evenkeel.stores.sqlite.database import DATABASE_FILE, Database
from evenkeel.stores.sqlite.documents import SqliteDocuments
from evenkeel.stores.sqlite.privacy import LOCK_FILE
from evenkeel.stores.sqlite.queue import SqliteExchangeQueue

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from contextlib import AbstractAsyncContextManager
    from pathlib import Path

    from evenkeel.runtime.reload import SettingsSource
    from evenkeel.runtime.stores import Stores
    from evenkeel.settings import Settings
    from evenkeel.stores.counters import Snapshot

Role = Literal["up", "proxy", "worker", "monitor"]

log = logging.getLogger("evenkeel")
settings_log = logging.getLogger("evenkeel.settings")


def launch(role: Role, source: SettingsSource, *, admin: bool = True, say: Callable[[str], None]) -> None:
    """Run a role until SIGINT or SIGTERM.

    Args:
        role: `up` is all of them on this machine.
        source: Reads the settings, now and after changes.
        admin: True if the admin port is served.
        say: Prints the banner.

    Raises:
        SettingsError: the settings cannot be used, or the data folder is in use by another evenkeel.
        ListenError: a port cannot be listened on.
        StoreError: the data folder cannot be written or read, or the Redis not be used.
    """
    written = source.read()
    logs.configure(written.telemetry.log_level, written.telemetry.log_format)
    if role in {"worker", "monitor"}:
        _shared_at(written, role)
    # Before the store is touched: a port in use means that another evenkeel may hold it.
    at, access = written.listen, written.access
    data: list[socket.socket] = []
    if role in {"up", "proxy"}:
        data = listen_shared(at.host, at.port, at.processes, option="--port (listen.port)")
    on_admin_port = []
    if admin:
        on_admin_port.append(listen(access.host, access.port, option="--admin-port (access.port)"))
    settings = _as_started(written, data, on_admin_port)
    reloader = Reloader(source, written, settings, clock=time.time)
    if role in {"up", "monitor"} and settings.access.makes_tokens:
        for name in (ADMIN_TOKEN, METRICS_TOKEN):  # now, so that an unwritable folder is reported
            kept(settings.data_dir, name)
    shared = settings.storage.shared_at is not None
    new = not shared and not (settings.data_dir / DATABASE_FILE).exists()
    # A file has one supervisor at a time, whose counters replace those of the one before.
    # With the time, because in a container the host's name and the process id are always the same.
    source_name = f"{socket.gethostname()}:{os.getpid()} since {time.time():.0f}" if shared else "supervisor"
    supervisor = Supervisor(_children(role, source_name, settings, data, on_admin_port), data)

    with _store(role, settings, source_name) as store:
        problems = _problems(settings, role)

        def ready() -> None:
            say(_banner(role, settings, admin=admin, new=new))
            for problem in problems:
                log.error("%s", problem)

        def published() -> Snapshot:
            return merge([reloader.snapshot(), supervisor.snapshot(), store.counted()])

        # The admin port of a data plane, or of a worker; a monitor serves its own.
        probed = on_admin_port if role in {"proxy", "worker"} else []
        app = partial(probes, settings, lambda: [published()], store.held_up)
        publishing: list[Callable[[threading.Event], object]] = []
        if store.publish is not None:
            publishing.append(partial(publish_counters, publish=store.publish, snapshot=published))
        asyncio.run(_supervise(supervisor, reloader, ready, served(app, settings, probed), publishing))


class _SupervisorStore(NamedTuple):
    """The store as a supervisor uses it."""

    publish: Callable[[Snapshot], None] | None = None
    """Publishes counters; None for a proxy without a Redis: nobody else would read them."""
    counted: Callable[[], Snapshot] = dict
    """Returns further counters of the supervisor."""
    held_up: Callable[[], dict[str, str]] | None = None
    """Returns what keeps a worker from measuring, by part."""


@contextlib.contextmanager
def _store(role: Role, settings: Settings, source: str) -> Iterator[_SupervisorStore]:
    if settings.storage.shared_at is not None:
        with contextlib.closing(connect(settings)) as stores:
            # A proxy does not ask the Redis: while it is away, requests are forwarded.
            if role != "proxy":
                stores.check()
            if role in {"up", "worker"}:
                stores.queue.check_readable()
            held_up = _held_up(stores) if role == "worker" else None
            yield _SupervisorStore(partial(stores.counters.publish, source), held_up=held_up)
    elif role == "up":
        with DataFolder.taken(settings.data_dir) as folder:
            yield _SupervisorStore(partial(folder.counters.publish, source), folder.counted)
    else:
        # Requests are forwarded also where no file can be written.
        yield _SupervisorStore()


def _as_started(
    settings: Settings, data: Sequence[socket.socket], admin: Sequence[socket.socket]
) -> Settings:
    """Return the settings with the actual ports and the absolute path of the data folder."""
    changes: dict[str, object] = {"data_dir": settings.data_dir.absolute()}
    for name, sockets in (("listen", data), ("access", admin)):
        if sockets:
            port = sockets[0].getsockname()[1]
            changes[name] = getattr(settings, name).model_copy(update={"port": port})
    return settings.model_copy(update=changes)


def _children(
    role: Role,
    source: str,
    settings: Settings,
    data: Sequence[socket.socket],
    admin: Sequence[socket.socket],
) -> list[Child]:
    """Return the processes of a role: data planes, one for each socket, worker, and monitor."""
    children: list[Child] = []
    for number, sock in enumerate(data):
        name = "proxy" if number == 0 else f"proxy-{number + 1}"
        children.append(Child(name, Briefing("proxy", source, settings, (sock.fileno(),)), follows=True))
    if role in {"up", "worker"}:
        children.append(Child("worker", Briefing("worker", source, settings, ()), sheet=Timesheet.blank()))
    if role in {"up", "monitor"}:
        sockets = tuple(sock.fileno() for sock in admin)
        children.append(Child("monitor", Briefing("monitor", source, settings, sockets)))
    return children


async def _supervise(
    supervisor: Supervisor,
    reloader: Reloader,
    ready: Callable[[], None],
    serving: AbstractAsyncContextManager[None],
    publishing: Sequence[Callable[[threading.Event], object]],
) -> None:
    """Keep children alive, and give them new settings when these change."""
    warnings: set[asyncio.Task[None]] = set()

    def apply(settings: Settings) -> None:
        supervisor.renew(settings)
        task = asyncio.create_task(asyncio.to_thread(_warn, settings))
        warnings.add(task)
        task.add_done_callback(warnings.discard)

    stopping = threading.Event()
    async with serving:
        following = asyncio.create_task(reloader.follow(apply))
        try:
            with threads(stopping, [partial(body, stopping) for body in publishing]):
                await supervisor.run(ready=ready)
        finally:
            following.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await following


def _held_up(stores: Stores) -> Callable[[], dict[str, str]]:
    """Return a reader of what keeps a worker from measuring; its judge's state comes from a gauge."""
    # Loaded on demand: only a supervisor of a worker alone watches.
    from evenkeel.monitor.measuring import MeasuringWatch  # noqa: PLC0415

    def judge() -> JudgeTrouble | None:
        try:
            snapshots = stores.counters.read()
        except Exception:  # noqa: BLE001 - named boundary: the watch itself says that the store is away
            return None
        # Without a judge there is no gauge, and nothing is wrong.
        if all(gauges(snapshots, "judge_up")):
            return None
        return JudgeTrouble("", "The judge cannot be used", "The log says why.")

    watch = MeasuringWatch(stores.counters, stores.queue, judge, stores.ledger, time.time)
    return lambda: watch().problems()


def _problems(settings: Settings, role: Role) -> list[str]:
    """Find problems of valid settings: missing keys, unreachable upstreams. May block for seconds."""
    if role == "proxy":
        return []
    # Loaded on demand: it brings what a data plane never needs.
    from evenkeel.runtime.preflight import missing_keys, unreachable_upstreams  # noqa: PLC0415

    if role != "up":
        return missing_keys(settings, role)
    return [*missing_keys(settings), *unreachable_upstreams(settings)]


def _warn(settings: Settings) -> None:
    for problem in _problems(settings, "up"):
        settings_log.error("%s", problem)


# Stores


def _shared_at(settings: Settings, role: str) -> str:
    """Return the address of the store that a role shares with the others.

    Raises: SettingsError if there is none.
    """
    if settings.storage.shared_at is None:
        raise SettingsError(
            f"`evenkeel {role}` meets the other roles in a Redis: name it with --redis-url, or as "
            "storage.redis.url. On one machine `evenkeel up` does without"
        )
    return settings.storage.shared_at


class DataFolder:
    """The data folder, which this process holds while it lives."""

    def __init__(self, path: Path, held: contextlib.ExitStack) -> None:
        self._path = path
        self._held = held
        try:
            self._database = Database(path / DATABASE_FILE)
        except DamagedStoreError as error:
            self._lock = held.enter_context(_lock(path))
            self._database = _begun_anew(path / DATABASE_FILE, error)
        else:
            self._lock = held.enter_context(_lock(path))
        held.callback(self._database.close)
        SqliteExchangeQueue(self._database, time.time).check_readable()
        self.counters = CounterStore(SqliteDocuments(self._database), time.time)
        """Store for the counters of the children."""

    @classmethod
    @contextlib.contextmanager
    def taken(cls, path: Path) -> Iterator[DataFolder]:
        """Hold the folder while the block runs.

        Raises:
            SettingsError: it is in use by another evenkeel.
            StoreError: it cannot be written or read.
        """
        with contextlib.ExitStack() as held:
            yield cls(path, held)

    def counted(self) -> Snapshot:
        """Count the times that the store was found deleted and made again.

        Locks the folder again if its lock file was deleted, with the store or without.

        Raises:
            SettingsError: another evenkeel has taken the folder since.
        """
        self._database.connection()  # Notices a deletion now, and makes the folder again.
        if not _is_at(self._path / LOCK_FILE, self._lock):
            # The folder may be put back later, with the lock file that is locked until now.
            fcntl.flock(self._lock, fcntl.LOCK_UN)
            self._lock = self._held.enter_context(_lock(self._path))
        return {"counters": [["store_recreated", {}, self._database.recreated]]}


def _begun_anew(file: Path, error: DamagedStoreError) -> Database:
    """Put a damaged store aside and begin an empty one: forwarding must not wait for a repair."""
    aside = file.with_name(f"{file.name}.damaged-{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}")
    # With its journals: beside a new database they would be read as belonging to that.
    for suffix in ("", "-wal", "-shm"):
        with contextlib.suppress(FileNotFoundError):
            file.with_name(f"{file.name}{suffix}").rename(aside.with_name(f"{aside.name}{suffix}"))
    log.error("%s. It is kept as %s; an empty store is begun, so nothing is known of before", error, aside)
    return Database(file)


def _is_at(path: Path, file: TextIO) -> bool:
    """Return whether an open file is still the one at a path."""
    try:
        return os.path.samestat(path.stat(), os.fstat(file.fileno()))
    except FileNotFoundError:
        return False


def _lock(folder: Path) -> TextIO:
    """Hold the data folder for this process; the lock ends with it.

    Raises:
        SettingsError: if another process holds it.
    """
    file = (folder / LOCK_FILE).open("a+", encoding="ascii")
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
    with contextlib.suppress(OSError):  # a full disk; the process id is only for people
        file.truncate(0)
        file.write(f"{os.getpid()}\n")
        file.flush()
    return file


# What people see


def _banner(role: Role, settings: Settings, *, admin: bool, new: bool) -> str:
    """Write the banner: addresses and scoring, and the first steps on a new data folder.

    The link that signs somebody in is for a person at a terminal: what else prints is kept by somebody.
    """
    url = settings.access.url
    routes = []
    for route in settings.routes:
        routes.append(f"  base URL   {settings.base_url(route)}  →  {route.upstream}  (route {route.name})")
    metrics = [f"  metrics    {url}/metrics"] if admin else []
    if admin and settings.access.makes_tokens:
        name = ADMIN_TOKEN if role in {"up", "monitor"} else METRICS_TOKEN
        if (settings.data_dir / name).exists():  # a proxy also runs if no token can be stored
            metrics.append(f"  token      in {settings.data_dir / name}")
    if role == "proxy":
        return "\n".join([f"evenkeel {VERSION} proxy", *routes, *metrics])
    if role == "worker":
        from evenkeel.runtime.notes import judge_line  # noqa: PLC0415 - as below

        queue = f"  queue      {_shared_at(settings, role)}"
        return "\n".join([f"evenkeel {VERSION} worker", queue, f"  {judge_line(settings)}", *metrics])
    console = f"  console    {url}/"
    if settings.access.makes_tokens:
        with contextlib.suppress(StoreError):  # a full disk; the token of the first start is there
            code = fresh(settings.data_dir, LOGIN_CODE)
            if sys.stdout.isatty():
                console = f"  console    {url}/login?code={code}   (signs you in, once)"
            else:
                console += "   (sign in with the token)"
    if role == "monitor":
        location = f"as {checkpoint_name(settings)}, in {_shared_at(settings, role)}"
        return "\n".join([f"evenkeel {VERSION} monitor", console, *metrics, f"  watches    {location}"])
    # Loaded on demand: it brings what a data plane never needs.
    from evenkeel.runtime.notes import judge_line  # noqa: PLC0415

    rates = ", ".join(dict.fromkeys(f"{route.sampling_rate:.0%}" for route in settings.routes))
    return "\n".join(
        [
            f"evenkeel {VERSION}" + ("   SIMULATED upstream" if settings.simulated else ""),
            *routes,
            console,
            *metrics,
            f"  sampling   {rates} of requests",
            f"  {judge_line(settings)}",
            f"  data       {settings.storage.shared_at or settings.data_dir}",
            *(_first_steps(settings) if new else ()),
        ]
    )


def _first_steps(settings: Settings) -> list[str]:
    """Tell when the first number appears, and what to do next."""
    first = settings.routes[0]
    if not first.sampling_rate:
        return [f"  first number   none: nothing of {first.name} is sampled; set its sampling_rate above 0"]
    trials = max(1, settings.alerts.min_trials)
    return [
        (
            f"  first number   after {trials} replayed requests of a route: about "
            f"{math.ceil(trials / first.sampling_rate):,} requests at {first.sampling_rate:.0%}"
        ),
        f"  set up         {settings.access.url}/setup has lines for your client",
    ]
