"""Worker: takes exchanges off the queue, makes their trials, and logs a verdict for each.

Exactly once, as seen in the log: a trial's id is derived from the exchange, so whatever a dead worker had
already logged is found there and neither made nor counted again; an exchange leaves the queue only after
all its verdicts are in the log, or with a reason among the dead letters.

How the answer of every exchange that could be read looks is noted in the log as well, also when the budget is
spent and nothing is replayed.

An `Archivist` keeps exchanges that could be read, so that their answers can be approved as goldens later.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import nullcontext
from typing import TYPE_CHECKING, Final

from evenkeel.core.exchange import ProcessorTimeError
from evenkeel.core.trouble import Trouble
from evenkeel.core.verdict import INTERNAL_ERROR
from evenkeel.shadow.original import UnreadableExchange, api_headers, api_path
from evenkeel.shadow.prompt.members import counted
from evenkeel.stores.archive import ArchivedExchange

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from contextlib import AbstractContextManager

    from evenkeel.core.exchange import Exchange, ExchangeQueue, Lease
    from evenkeel.shadow.observer import WorkReport
    from evenkeel.shadow.original import Original, Reader
    from evenkeel.shadow.trial_maker import TrialMaker
    from evenkeel.stores.archive import ExchangeArchive
    from evenkeel.stores.counters import Tally


log = logging.getLogger("evenkeel.worker")

_PROCESSOR_TIME: Final = "processor_time"
# Pause between attempts to read a queue in trouble.
_REST_S: Final = 2.0
# Pause when the queue is empty.
_POLL_S: Final = 0.2
_EXCHANGES_AT_ONCE: Final = 16
# Seconds that an exchange is leased, renewed three times in that span; a dead worker's exchanges wait for it.
_LEASE_S: Final = 15.0
# Deliveries of an exchange before it is moved to the dead letters.
_ATTEMPTS: Final = 5


class Worker:
    """Works through the queue until stopped. One instance per process; it needs an event loop."""

    def __init__(
        self,
        queue: ExchangeQueue,
        reader: Reader,
        trials: TrialMaker,
        *,
        tally: Tally,
        hold: Callable[[], bool] = lambda: False,
        keep: Callable[[Original], None] | None = None,
        bounded: Callable[[str], AbstractContextManager[None]] = lambda _id: nullcontext(),
    ) -> None:
        """Wire the worker.

        While `hold` returns true nothing new is taken: what is queued waits for a scorer in trouble. `keep`
        archives an exchange that could be read; it is called in a thread, and never raises. `bounded`, given
        the id of an exchange, ends the block with `ProcessorTimeError` if computing in it takes too long.
        """
        self._queue = queue
        self._reader = reader
        self._trials = trials
        self._tally = tally
        self._hold = hold
        self._keep = keep
        self._bounded = bounded
        self._observer = trials.observer
        self._held: dict[str, asyncio.Task[None]] = {}
        self._reading = Trouble(log, "the queue cannot be read (%s); trying again")

    async def run(self, stop: asyncio.Event, *, grace_s: float = 10.0) -> None:
        """Work until `stop` is set, then finish the held exchanges.

        Release those that take longer than `grace_s`.
        """
        heartbeat = asyncio.create_task(self._heartbeat())
        try:
            while not stop.is_set():
                if self._hold() or not await self._take():
                    await _wait(stop, _POLL_S)
        finally:
            if self._held:
                await asyncio.wait(list(self._held.values()), timeout=grace_s)
            # Their ids first: a cancelled task forgets its exchange.
            unfinished = list(self._held)
            for task in list(self._held.values()):
                task.cancel()
            await asyncio.to_thread(self._queue.release, unfinished)
            heartbeat.cancel()

    async def give_up(self, over: Iterable[str]) -> None:
        """Give up exchanges for which a worker was killed. The supervisor counts them."""
        for exchange_id in over:
            await asyncio.to_thread(self._queue.bury, exchange_id, _PROCESSOR_TIME)

    async def drain(self) -> None:
        """Work until the queue has nothing to take and nothing is held."""
        while await self._take() or self._held:
            await asyncio.sleep(0)
            if self._held:
                await asyncio.wait(list(self._held.values()), return_when=asyncio.FIRST_COMPLETED)

    async def _take(self) -> int:
        """Start work on as many exchanges as there is room for. Return 0 if there was nothing to take."""
        room = _EXCHANGES_AT_ONCE - len(self._held)
        if room <= 0:
            await asyncio.wait(list(self._held.values()), return_when=asyncio.FIRST_COMPLETED)
            return 1
        leases: list[Lease] = []
        with self._reading:
            leases = await asyncio.to_thread(self._queue.reserve, room, _LEASE_S)
        if self._reading.ongoing:
            self._tally.add("worker_errors", where="reserve")
            await asyncio.sleep(_REST_S)
        for lease in leases:
            if lease.exchange.id in self._held:
                # It ran out while this process stood still or the clock jumped; this renews it.
                continue
            self._held[lease.exchange.id] = asyncio.create_task(self._work(lease))
        return len(leases)

    async def _heartbeat(self) -> None:
        trouble = Trouble(log, "leases cannot be renewed (%s)")
        while True:
            await asyncio.sleep(_LEASE_S / 3)
            with trouble:
                await asyncio.to_thread(self._queue.extend, list(self._held), _LEASE_S)
            if trouble.ongoing:
                self._tally.add("worker_errors", where="extend")

    async def _work(self, lease: Lease) -> None:
        exchange, trace_id = lease.exchange, ""
        try:
            if lease.fault:
                await self._give_up(exchange, lease.fault)
                return
            with self._observer.exchange(exchange, lease.attempt) as report:
                trace_id = report.trace_id
                try:
                    with self._bounded(exchange.id):
                        await self._try(lease, report)
                except ProcessorTimeError:
                    await self._bury(exchange, _PROCESSOR_TIME, report)
        except Exception:  # the boundary of the worker loop: the lease runs out and it is tried again
            log.exception(
                "exchange %s failed; it will be tried again",
                exchange.id,
                extra={**_about(exchange), "trace_id": trace_id},
            )
            self._tally.add("worker_errors", where="exchange")
        finally:
            self._held.pop(exchange.id, None)

    async def _try(self, lease: Lease, report: WorkReport) -> None:
        exchange = lease.exchange
        if lease.attempt > _ATTEMPTS:
            await self._bury(exchange, "too_many_attempts", report)
            return
        original = await asyncio.to_thread(self._read, exchange)
        if isinstance(original, UnreadableExchange):
            if original.dead:
                await self._bury(exchange, original.reason, report)
            else:
                await self._skip(exchange, original.reason, report)
            return
        report.read(original)
        for member in counted(original.view.left_out):
            self._tally.add("replay_members_left_out", route=exchange.route, member=member)
        if self._keep is not None:
            await asyncio.to_thread(self._keep, original)
        made = await self._trials.make(original)
        if isinstance(made, str):
            await self._skip(exchange, made, report)
        else:
            await asyncio.to_thread(self._queue.acknowledge, [exchange.id])
            self._tally.add("exchanges_scored", route=exchange.route)
            report.ended("scored")

    def _read(self, exchange: Exchange) -> Original | UnreadableExchange:
        try:
            return self._reader.read(exchange)
        except Exception:  # the boundary of the reader: another delivery would end the same way
            log.exception("exchange %s cannot be read", exchange.id, extra=_about(exchange))
            self._tally.add("worker_errors", where="read")
            return UnreadableExchange(INTERNAL_ERROR, dead=True)

    async def _skip(self, exchange: Exchange, reason: str, report: WorkReport) -> None:
        await asyncio.to_thread(self._queue.acknowledge, [exchange.id])
        self._tally.add("exchanges_skipped", route=exchange.route, reason=reason)
        report.ended("skipped", reason)

    async def _bury(self, exchange: Exchange, reason: str, report: WorkReport) -> None:
        await self._give_up(exchange, reason)
        report.ended("dead", reason)

    async def _give_up(self, exchange: Exchange, reason: str) -> None:
        await asyncio.to_thread(self._queue.bury, exchange.id, reason)
        self._tally.add("exchanges_dead", route=exchange.route, reason=reason)


async def _wait(stop: asyncio.Event, timeout_s: float) -> None:
    try:
        await asyncio.wait_for(stop.wait(), timeout_s)
    except TimeoutError:
        return


def _about(exchange: Exchange) -> dict[str, str]:
    """Return the log fields that name an exchange."""
    return {"route": exchange.route, "exchange": exchange.id}


class Archivist:
    """Stores readable exchanges in the archive."""

    def __init__(self, archive: ExchangeArchive, prefixes: Mapping[str, str], *, tally: Tally) -> None:
        self._archive = archive
        self._prefixes = prefixes
        self._tally = tally

    def keep(self, original: Original) -> None:
        """Archive an exchange. Errors are logged and counted: trials do not depend on the archive."""
        exchange = original.exchange
        try:
            kept = self._archive.put(
                ArchivedExchange(
                    id=exchange.id,
                    route=exchange.route,
                    path=api_path(exchange, self._prefixes),
                    request=original.view.body().decode(),
                    answer=original.answer,
                    model=original.model,
                    prompt_version=original.origin.prompt_version,
                    task=original.origin.task,
                    headers=api_headers(exchange),
                    received_at=exchange.received_at,
                )
            )
        except Exception:  # the boundary of the archive: it is a convenience, scoring is the purpose
            log.exception("exchange %s cannot be archived", exchange.id, extra=_about(exchange))
            self._tally.add("worker_errors", where="archive")
            return
        if kept:
            self._tally.add("exchanges_archived", route=exchange.route)
