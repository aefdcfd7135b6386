"""The data-plane process: the relay, the hand-off to the queue, and nothing else."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import signal
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

from evenkeel.children import when_orphaned
from evenkeel.settings import route_table
from metrics.stores.counters import CounterStore
from metrics.stores.sqlite import Database
from proxy.counters import Counters
from proxy.handoff import HandOff
from proxy.memory import keep_freed_memory
from proxy.server import DataPlane
from shadow.queues.sqlite import SqliteExchangeQueue

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Sequence

    from evenkeel.children import Briefing
    from evenkeel.settings import Settings
    from shadow.handoff import Exchange, ExchangeSink

log = logging.getLogger("evenkeel.proxy")

DATABASE_FILE = "evenkeel.db"
_HANDOFF_BYTES = 32 << 20
_DRAIN_S = 20.0
_PUBLISH_EVERY_S = 1.0
_LAST_SPANS_S = 3.0


def new_event_loop() -> asyncio.AbstractEventLoop:
    """A uvloop event loop, or asyncio's own where uvloop is missing."""
    try:
        import uvloop  # noqa: PLC0415 - optional: not built for every platform
    except ImportError:
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()


class _OpenedWhenUsed:
    """The queue, opened at the first `put`: a store in trouble must not keep the proxy from starting.

    Only the hand-off thread calls it; an exception there is counted and forwarding goes on.
    """

    def __init__(self, open_queue: Callable[[], SqliteExchangeQueue]) -> None:
        self._open = open_queue
        self._queue: SqliteExchangeQueue | None = None

    def put(self, exchanges: Sequence[Exchange]) -> int:
        """As `ExchangeQueue.put`."""
        if self._queue is None:
            self._queue = self._open()
        return self._queue.put(exchanges)


def open_queue(settings: Settings) -> SqliteExchangeQueue:
    """The exchange queue in the settings' data folder."""
    return SqliteExchangeQueue(Database(Path(settings.data_dir) / DATABASE_FILE), time.time)


def run(briefing: Briefing) -> None:
    """Serve under the supervisor until SIGTERM, or until the supervisor is gone; then drain."""
    settings = briefing.settings

    def started(plane: DataPlane) -> None:
        arguments = (briefing.source, settings, plane)
        threading.Thread(target=_publish, args=arguments, name="publish", daemon=True).start()

    async def serve_until_stopped() -> None:
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGTERM, stop.set)
        when_orphaned(lambda: loop.call_soon_threadsafe(stop.set))
        plane = await serve(settings, briefing.open_sockets(), stop, started=started)
        with contextlib.suppress(Exception):  # a last snapshot is a courtesy; the process ends either way
            _publish_once(briefing.source, settings, plane)

    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        runner.run(serve_until_stopped())


async def serve(
    settings: Settings,
    sockets: Sequence[socket.socket],
    stop: asyncio.Event,
    *,
    started: Callable[[DataPlane], None],
) -> DataPlane:
    """Forward until `stop` is set, then drain and empty the hand-off.

    Args:
        settings: routes and store.
        sockets: bound and listening.
        stop: ends it.
        started: called once requests are accepted.
    """
    sink, finish = _traced(_OpenedWhenUsed(lambda: open_queue(settings)), settings)
    handoff = HandOff(sink, Counters(), max_bytes=_HANDOFF_BYTES)
    plane = DataPlane(route_table(settings.routes), handoff)
    handoff.start()
    keep_freed_memory()
    await plane.serve(sockets)
    started(plane)
    # What is alive now lives as long as the process; the collector need not walk it again.
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)
    await stop.wait()
    await plane.drain(_DRAIN_S)
    await asyncio.to_thread(handoff.close, _DRAIN_S)
    # A thread of its own: one that waits for a dead collector must not hold up the end of the process.
    finishing = threading.Thread(target=finish, daemon=True)
    finishing.start()
    await asyncio.to_thread(finishing.join, _LAST_SPANS_S)
    return plane


def _traced(sink: ExchangeSink, settings: Settings) -> tuple[ExchangeSink, Callable[[], None]]:
    """The sink that also reports spans, if that is wanted, and what sends the last of them."""
    if not settings.telemetry.traces:
        return sink, lambda: None
    try:
        from evenkeel.tracing import TracedSink, otlp_provider  # noqa: PLC0415 - an optional extra
    except ImportError:
        log.warning('no traces: they need pip install "evenkeel[otel]"; forwarding goes on')
        return sink, lambda: None
    provider = otlp_provider()
    return TracedSink(sink, provider.get_tracer("evenkeel")), provider.shutdown


def _publish_once(source: str, settings: Settings, plane: DataPlane) -> None:
    database = Database(Path(settings.data_dir) / DATABASE_FILE)
    try:
        CounterStore(database).publish(source, plane.snapshot())
    finally:
        database.close()


def _publish(source: str, settings: Settings, plane: DataPlane) -> None:
    """Copy the relay's counters to the store every second; the admin process exports them."""
    store: CounterStore | None = None
    reported = False
    while True:
        time.sleep(_PUBLISH_EVERY_S)
        try:
            store = store or CounterStore(Database(Path(settings.data_dir) / DATABASE_FILE))
            store.publish(source, plane.snapshot())
            reported = False
        except Exception as error:  # noqa: BLE001 - telemetry never stops the relay
            if not reported:
                log.warning("counters cannot be published (%s); forwarding goes on", error)
                reported = True
