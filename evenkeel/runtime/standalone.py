"""`evenkeel proxy`: the data plane alone, in this process or in several on one port."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import threading
import time
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, generate_latest

from evenkeel import __version__
from evenkeel.monitor.export.snapshots import SnapshotCollector
from evenkeel.runtime import data_plane
from evenkeel.runtime.reload import Follower, Reloader, SettingsSource, supervised
from evenkeel.runtime.stores import connect
from evenkeel.runtime.supervisor import Briefing, Child, Supervisor, listen, listen_shared
from evenkeel.stores.counters import merge

if TYPE_CHECKING:
    import socket
    from collections.abc import AsyncIterator, Callable, Iterable, Iterator

    from evenkeel.settings import Settings
    from evenkeel.stores.counters import CounterStore, Snapshot

log = logging.getLogger("evenkeel.proxy")


def proxy(
    settings: Settings, *, admin: bool, say: Callable[[str], None], source: SettingsSource | None = None
) -> None:
    """Forward until SIGINT or SIGTERM; sampled exchanges go to the queue in the data folder.

    Args:
        settings: as for `up`; `listen.processes` says how many processes share the port.
        admin: whether to serve `/metrics` and health on the admin port.
        say: prints the banner.
        source: where the settings are read again; None = nowhere.

    Raises:
        ListenError: a port cannot be listened on.
        StoreError: with several processes, whose counters meet in the store: it cannot be written.
    """
    data = listen_data_plane(settings)
    probes = (
        listen(settings.admin.host, settings.admin.port, option="--admin-port (admin.port)")
        if admin
        else None
    )
    port = data[0].getsockname()[1]
    written = settings
    settings = settings.model_copy(
        update={
            "listen": settings.listen.model_copy(update={"port": port}),
            "data_dir": settings.data_dir.absolute(),
        }
    )
    run = _one_process if settings.listen.processes == 1 else _several_processes
    with asyncio.Runner(loop_factory=data_plane.new_event_loop) as runner:
        source = source or SettingsSource(None, lambda: written)
        follower = Follower(Reloader(source, written, settings, clock=time.time))
        runner.run(run(settings, data, probes, lambda: say(_banner(settings, probes)), follower))


async def _one_process(
    settings: Settings,
    data: list[socket.socket],
    probes: socket.socket | None,
    ready: Callable[[], None],
    follower: Follower,
) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    snapshots: list[Callable[[], Snapshot]] = [follower.reloader.snapshot]
    following: list[asyncio.Task[None]] = []

    def snapshot() -> Snapshot:
        return merge(read() for read in snapshots)

    def started(running: data_plane.Running) -> None:
        snapshots.append(running.snapshot)
        if settings.redis is None:
            snapshots.append(lambda: {"counters": [["store_recreated", {}, running.recreated()]]})

        def apply(found: Settings) -> None:
            loop.run_in_executor(None, running.follow, found)

        following.append(loop.create_task(follower.run(apply)))
        if settings.redis is not None:  # for the monitor's console
            arguments = (f"proxy.{int(time.time())}", settings, snapshot, os.getpid())
            threading.Thread(target=data_plane.publish, args=arguments, name="publish", daemon=True).start()
        ready()

    async with _probes(settings, probes, lambda: [snapshot()]):
        await data_plane.serve(settings, data, stop, started=started)
        for task in following:
            task.cancel()


async def _several_processes(
    settings: Settings,
    data: list[socket.socket],
    probes: socket.socket | None,
    ready: Callable[[], None],
    follower: Follower,
) -> None:
    with supervised_counters(settings) as counters:
        supervisor = Supervisor(data_plane_children(settings, data), ended=counters.retire)
        async with _probes(settings, probes, counters.read):
            await supervised(supervisor, follower, counters, ready=ready)


@contextlib.contextmanager
def supervised_counters(settings: Settings) -> Iterator[CounterStore]:
    """Where the counters of this supervisor's children meet, emptied.

    Raises:
        StoreError: it cannot be written.
    """
    with contextlib.closing(connect(settings)) as stores:
        stores.check()
        counters = stores.counters_of(os.getpid())
        if settings.redis is None:
            counters.clear()
        yield counters


def listen_data_plane(settings: Settings) -> list[socket.socket]:
    """A listening socket for each data-plane process, all on one port.

    Raises:
        ListenError: the port cannot be listened on.
    """
    listening = settings.listen
    return listen_shared(listening.host, listening.port, listening.processes, option="--port (listen.port)")


def data_plane_children(settings: Settings, data: list[socket.socket]) -> list[Child]:
    """The data-plane processes, one for each socket."""
    return [
        Child(
            "proxy" if number == 0 else f"proxy-{number + 1}",
            Briefing("proxy", "", settings, (sock.fileno(),)),
            follows=True,
        )
        for number, sock in enumerate(data)
    ]


@contextlib.asynccontextmanager
async def _probes(
    settings: Settings, sock: socket.socket | None, read: Callable[[], Iterable[Snapshot]]
) -> AsyncIterator[None]:
    if sock is None:
        yield
        return
    # Loaded on demand: a proxy without an admin port stays small.
    from evenkeel.console import create_probes  # noqa: PLC0415
    from evenkeel.console.access import guarded  # noqa: PLC0415
    from evenkeel.console.server import serving  # noqa: PLC0415

    registry = CollectorRegistry()
    registry.register(SnapshotCollector(read))
    app = create_probes(lambda: generate_latest(registry), dict)
    async with serving(guarded(app, settings.admin), [sock], settings.admin.tls_context()):
        yield


def _banner(settings: Settings, probes: socket.socket | None) -> str:
    lines = [f"evenkeel {__version__} proxy"]
    lines += [
        f"  base URL   {settings.base_url(route)}  →  {route.upstream}  (route {route.name})"
        for route in settings.routes
    ]
    if probes:
        host, port = probes.getsockname()[:2]
        lines.append(f"  metrics    {'https' if settings.admin.tls else 'http'}://{host}:{port}/metrics")
    return "\n".join(lines)
