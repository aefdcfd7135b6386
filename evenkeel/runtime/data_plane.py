"""The data-plane process: the relay, the hand-off to the queue, and nothing else."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import resource
import signal
import threading
import time
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Final

from evenkeel import logs
from evenkeel.core import network
from evenkeel.core.trouble import Trouble
from evenkeel.proxy.callers import Callers
from evenkeel.proxy.clients import ClientNames
from evenkeel.proxy.counters import Counters
from evenkeel.proxy.handoff import HandOff
from evenkeel.proxy.lanes import threshold
from evenkeel.proxy.limits import Limits
from evenkeel.proxy.memory import keep_freed_memory
from evenkeel.proxy.server import DataPlane
from evenkeel.runtime.process import new_event_loop, publish_counters, take_short_turns, threads
from evenkeel.runtime.stores import connect
from evenkeel.runtime.supervisor import when_orphaned
from evenkeel.settings import route_table
from evenkeel.stores.counters import Tally, merge
from evenkeel.stores.salt import client_salt
from evenkeel.tracing import LAST_SPANS_S, open_spans

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from evenkeel.core.exchange import Exchange, ExchangeQueue, ExchangeSink
    from evenkeel.proxy.lanes import Lane
    from evenkeel.runtime.supervisor import Briefing
    from evenkeel.settings import Settings
    from evenkeel.settings.storage import Redaction
    from evenkeel.shadow.protection import Redactor
    from evenkeel.stores.changes import ChangeStore, Override
    from evenkeel.stores.counters import Snapshot


log = logging.getLogger("evenkeel.proxy")

_POLL_S: Final = 2.0


# Taken where the system has no limit: more than one process can make use of.
_MOST_FILES = 262_144
_MOST_CONNECTIONS = 65_536
# Files per client: its connection, one to the upstream, and one for everything else: idle connections to
# upstreams, the store, clients that are turned away, and name resolution.
_FILES_OF_ONE = 3
# Exchanges wait here for the store; what does not fit is skipped and counted, never waited for.
_HANDOFF_BYTES = 32 << 20
# Streams may go on for so long after a stop; orchestrators kill after 30 s by default.
_DRAIN_S = 20.0


def apply_overrides(lanes: Mapping[str, Lane], overrides: Sequence[Override]) -> None:
    """Set the sampling rate of every lane: that of its route, or of an override if that is higher.

    May be called from any thread: the rate is one number, which a request reads once. The hot path neither
    waits nor looks anything up.
    """
    wanted = {}
    for override in overrides:
        wanted[override.route] = override.rate
    for name, lane in lanes.items():
        lane.bound = threshold(max(lane.route.sampling_rate, wanted.get(name, 0.0)))


def follow_bursts(
    stopping: threading.Event, lanes: Callable[[], Mapping[str, Lane]], connect: Callable[[], ChangeStore]
) -> None:
    """Apply the store's bursts every other second: the body of a thread.

    A burst has more of a route's requests sampled for a while than its settings say.

    Args:
        stopping: Ends the loop.
        lanes: Returns the routes at run time, which a reload replaces.
        connect: Opens the store. While it fails, routes are sampled as the settings say.
    """
    store: ChangeStore | None = None
    trouble = Trouble(log, "bursts cannot be read (%s); sampling goes on as the settings say")
    while not stopping.wait(_POLL_S):
        with trouble:
            store = store or connect()
            apply_overrides(lanes(), store.bursts(time.time()))
        if trouble.ongoing:
            # Otherwise a burst would go on for as long as the store is away.
            apply_overrides(lanes(), ())


def raised_limit() -> int:
    """Raise the limit of open files as far as allowed, and return it."""
    # Most systems allow 1,024 files at first and many more to who asks.
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = _MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, _MOST_FILES)
    if soft == resource.RLIM_INFINITY or soft >= most:
        return _MOST_FILES if soft == resource.RLIM_INFINITY else soft
    with contextlib.suppress(OSError, ValueError):  # some systems do not grant the stated maximum
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
        return most
    return soft


def connections_within(files: int) -> int:
    """Return the number of client connections for which a number of open files leaves room."""
    return min(_MOST_CONNECTIONS, max(1, files // _FILES_OF_ONE))


def redactor(settings: Redaction) -> Redactor:
    """Build the redactor: own patterns first, then the built-in ones, then Presidio.

    Raises: ProtectionError if Presidio cannot be loaded, or a pattern not be used.
    """
    # Loaded on demand, here and below: a proxy that redacts nothing stays small.
    from evenkeel.shadow.protection import BUILTIN, Detector, Redactor  # noqa: PLC0415
    from evenkeel.shadow.protection.detectors import (  # noqa: PLC0415
        OwnPattern,
        PresidioDetector,
        load_analyser,
    )

    detectors: list[Detector] = []
    for kind, pattern in settings.patterns.items():
        detectors.append(OwnPattern(kind, pattern))
    detectors += (kind for kind in BUILTIN if kind.kind in settings.kinds)
    if settings.presidio is not None:
        chosen = settings.presidio
        analyser = load_analyser(chosen.language)
        detectors.append(PresidioDetector(analyser, language=chosen.language, entities=chosen.entities))
    return Redactor(detectors)


def redacting(settings: Redaction, sink: ExchangeSink, tally: Tally) -> ExchangeSink:
    """Return the sink, with redaction before it if there is any, in a process of its own.

    Raises: ProtectionError, as `redactor`.
    """
    if not settings.active:
        return sink
    from evenkeel.shadow.protection import RedactedSink  # noqa: PLC0415 - as above
    from evenkeel.shadow.protection.process import RedactionProcess  # noqa: PLC0415 - as above

    process = RedactionProcess(partial(redactor, settings))
    process.start()
    return RedactedSink(sink, process.redact, tally)


class _OpenedWhenUsed:
    """The queue, opened at the first `put`: a store in trouble must not keep the proxy from starting.

    Only the hand-off thread calls it; an exception there is counted and forwarding goes on.
    """

    def __init__(self, open_queue: Callable[[], ExchangeQueue]) -> None:
        self._open = open_queue
        self._queue: ExchangeQueue | None = None

    def put(self, exchanges: Sequence[Exchange]) -> int:
        """Put exchanges into the queue, as `ExchangeQueue.put` does."""
        # An error here leaves it None, and the next exchange tries again.
        if self._queue is None:
            self._queue = self._open()
        return self._queue.put(exchanges)


def run(briefing: Briefing) -> None:
    """Serve under the supervisor until SIGTERM, or until the supervisor is gone; then drain."""
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        runner.run(_serve(briefing))


async def _serve(briefing: Briefing) -> None:
    settings, loop = briefing.settings, asyncio.get_running_loop()
    stop = asyncio.Event()
    loop.add_signal_handler(signal.SIGTERM, stop.set)
    spans = open_spans(settings)
    tally = Tally()
    queued = _OpenedWhenUsed(lambda: connect(settings).queue)
    sink = redacting(settings.storage.redaction, spans.sink(queued), tally)
    listen = settings.listen
    names = ClientNames(partial(_salt, settings), listen.proxies, listen.session_header)
    handoff = HandOff(sink, Counters(), max_bytes=_HANDOFF_BYTES, names=names)
    handoff.client_quota = settings.replays.client_exchanges_per_hour
    plane = DataPlane(
        route_table(settings.routes),
        handoff,
        limits=Limits(max_connections=connections_within(raised_limit())),
        callers=Callers(listen.host, listen.hosts, listen.origins),
    )

    def snapshot() -> Snapshot:
        return merge([plane.snapshot(), spans.snapshot(), tally.snapshot()])

    def follow(briefed: Briefing) -> None:
        """Make new requests use the routes of other settings. Blocks for some milliseconds."""
        other = briefed.settings
        logs.configure(other.telemetry.log_level, other.telemetry.log_format)
        try:
            routes = route_table(other.routes)
            upstreams = chain.from_iterable(route.upstreams for route in routes.routes)
            # Read here, because reading files would hold up the event loop.
            tls = network.trust() if any(upstream.tls for upstream in upstreams) else None
            loop.call_soon_threadsafe(plane.reroute, routes, tls)
            handoff.client_quota = other.replays.client_exchanges_per_hour
        except Exception:  # the boundary of a reload: if it fails, requests continue as before
            log.exception("the new routes cannot be taken; the old ones stay in force")

    keep_freed_memory()
    take_short_turns()
    handoff.start()
    await plane.serve(briefing.open_sockets())
    stopping = threading.Event()
    bodies = [
        partial(publish_counters, stopping, briefing.report, snapshot),
        partial(follow_bursts, stopping, lambda: plane.lanes, lambda: connect(settings).changes),
    ]
    with threads(stopping, bodies):
        when_orphaned(lambda: loop.call_soon_threadsafe(stop.set), follow)
        # What is alive now lives as long as the process; the collector need not walk it again.
        gc.collect()
        gc.freeze()
        gc.set_threshold(50_000, 20, 100)
        await stop.wait()
        # In this order: what is drained last is still handed off, and its spans are sent.
        await plane.drain(_DRAIN_S)
        await asyncio.to_thread(handoff.close, _DRAIN_S)
        await asyncio.to_thread(spans.finish, LAST_SPANS_S)


def _salt(settings: Settings) -> bytes:
    with contextlib.closing(connect(settings)) as stores:
        return client_salt(stores.documents)
