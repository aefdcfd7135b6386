"""Responds to changes: a burst of sampling, the goldens asked again; and asks them as canaries meanwhile.

The change response where several monitors could give it: the one that holds the lease does.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from evenkeel.monitor.changes import kinds
from evenkeel.stores.bursts import Override

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from evenkeel.experiments.goldens.replay import GoldenReplayer
    from evenkeel.monitor.changes import ChangeRecord
    from evenkeel.runtime.stores import Lease
    from evenkeel.settings.replay import Changes
    from evenkeel.stores.bursts import Bursts
    from evenkeel.stores.changes import ChangeStore, Trigger


log = logging.getLogger("evenkeel")

_HOUR_S: Final = 3600.0
_MINUTE_S: Final = 60.0
_STALE_S: Final = 3600.0
"""A change that is older is not responded to: the monitor may fold an old log from its start."""
_BURST_FOR: Final = frozenset(
    (kinds.MODEL, kinds.REQUESTED_MODEL, kinds.PROMPT, kinds.FINGERPRINT, kinds.ANSWERS, kinds.RATINGS)
)
"""What asks for more samples; about other traffic, settings and judges the usual ones say enough."""


@dataclass(frozen=True, slots=True)
class Job:
    """Goldens to be asked."""

    route: str
    trigger: Trigger
    change: str = ""


class Responder:
    """Looks at the changes now and then. `plan` is all decisions, `step` acts on them."""

    def __init__(
        self,
        records: Callable[[], Sequence[ChangeRecord]],
        store: ChangeStore,
        bursts: Bursts,
        goldens: GoldenReplayer,
        settings: Changes,
        rates: Mapping[str, float],
        *,
        clock: Callable[[], float],
    ) -> None:
        """Wire it.

        Args:
            records: The latest changes of all routes.
            store: What was done already.
            bursts: What is sampled more.
            goldens: Asks them.
            settings: What is to be done.
            rates: Sampling rate of each route, as its settings say.
            clock: Unix time in seconds.
        """
        self._records = records
        self._store = store
        self._bursts = bursts
        self._goldens = goldens
        self._settings = settings
        self._rates = dict(rates)
        self._clock = clock
        self._started_at = clock()
        self._asked_at: dict[str, float] = {}

    def plan(self) -> list[Job]:
        """Start and end bursts, and say whose goldens are to be asked now. Blocks on storage."""
        now = self._clock()
        records = list(self._records())
        jobs = []
        for record in records:
            if record.route not in self._rates or record.at < now - _STALE_S:
                continue
            if not self._store.respond(record.id, now):
                continue
            if record.kinds & _BURST_FOR:
                self._burst(record, now)
            if self._settings.replay_goldens and record.kinds != {kinds.SETTINGS}:
                jobs.append(Job(record.route, "change", record.id))
        self._end_bursts(records, now)
        return jobs + self._canaries(now)

    def _burst(self, record: ChangeRecord, now: float) -> None:
        settings = self._settings
        if settings.burst_minutes == 0 or settings.burst_rate <= self._rates[record.route]:
            return
        until = now + settings.burst_minutes * _MINUTE_S
        self._bursts.put(Override(record.route, settings.burst_rate, until, record.id))
        log.info("change %s on %s: sampling more for a while", record.id, record.route)

    def _end_bursts(self, records: Sequence[ChangeRecord], now: float) -> None:
        since = {record.id: record.since for record in records}
        for override in self._bursts.active(now):
            if since.get(override.change, 0) >= self._settings.burst_exchanges:
                self._bursts.drop(override.route)

    def _canaries(self, now: float) -> list[Job]:
        every_s = self._settings.canary_hours * _HOUR_S
        if every_s == 0:
            return []
        if not self._asked_at:
            self._asked_at = dict.fromkeys(self._rates, self._started_at - every_s)
            self._asked_at |= {run.route: run.at for run in self._store.runs() if run.trigger == "canary"}
        due = []
        for route in self._rates:
            if now - self._asked_at[route] >= every_s and self._goldens.has_goldens(route):
                self._asked_at[route] = now
                due.append(Job(route, "canary"))
        return due

    async def step(self) -> int:
        """Plan, and ask what is to be asked; returns how many runs there were."""
        jobs = await asyncio.to_thread(self.plan)
        made = 0
        for job in jobs:
            run = await self._goldens.run(job.route, job.trigger, job.change)
            if run is not None:
                await asyncio.to_thread(self._store.put_run, run)
                made += 1
        return made


LEASE_S: Final = 30.0
_RENEW_S: Final = 10.0
_POLL_S: Final = 2.0


async def respond(stop: asyncio.Event, responder: Responder, lease: Lease) -> None:
    """Step while the lease is held, until `stop` is set. A store in trouble is tried again."""
    reported = ""
    while not stop.is_set():
        try:
            if await asyncio.to_thread(lease.hold):
                await _step(responder, lease)
            reported = ""
        except Exception as error:  # noqa: BLE001 - the boundary of this task: it must live on
            if repr(error) != reported:
                reported = repr(error)
                log.warning("changes cannot be responded to (%s); trying again", error)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), _POLL_S)
    with contextlib.suppress(Exception):  # a courtesy: the lease runs out anyway
        await asyncio.to_thread(lease.leave)


async def _step(responder: Responder, lease: Lease) -> None:
    """One step, which may take minutes; the lease is renewed meanwhile."""
    renewing = asyncio.create_task(_renew(lease))
    try:
        await responder.step()
    finally:
        renewing.cancel()


async def _renew(lease: Lease) -> None:
    while True:
        await asyncio.sleep(_RENEW_S)
        with contextlib.suppress(Exception):  # tried again in time; if not, another one takes over
            await asyncio.to_thread(lease.hold)
