"""Responses to changes (`evenkeel.monitor.changes` says what they are).

`Responder` notices that a route has changed, starts a burst of sampling and has its goldens replayed.
`ChangeResponse` connects all that in a process. If several monitors could respond, only the holder of the
lease does.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from evenkeel.core.endpoint import Upstream
from evenkeel.core.languages import load_languages
from evenkeel.core.trouble import Trouble
from evenkeel.core.verdict import BASELINE
from evenkeel.monitor.changes import kinds
from evenkeel.monitor.changes.book import ChangeBook
from evenkeel.monitor.export.prometheus import GoldenCollector
from evenkeel.release.gate.scoring import GateScoring
from evenkeel.release.gate.sides import SideEndpoint
from evenkeel.release.goldens.replay import GoldenReplayer, GoldenRoute
from evenkeel.release.reference_scores import ReferenceScores
from evenkeel.stores.changes import Override

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from evenkeel.monitor.changes import ChangeRecord
    from evenkeel.monitor.monitor import Monitor
    from evenkeel.runtime.instruments import Instruments
    from evenkeel.runtime.stores import Stores
    from evenkeel.settings import Settings
    from evenkeel.stores.changes import ChangeStore
    from evenkeel.stores.lease import RoleLease


log = logging.getLogger("evenkeel")

# Seconds for which all requests of a route are sampled after a change, or until enough are.
_BURST_S: Final = 1_800.0
# Share of a route's requests that are sampled after a change.
_BURST_RATE: Final = 1.0
# Sampled exchanges after which a burst ends before its time.
_BURST_EXCHANGES: Final = 300
# Goldens of a route that are replayed in a round, always the same ones.
_GOLDENS_PER_ROUND: Final = 50
# Age in seconds after which a change gets no response: the monitor may fold an old log from its start.
_STALE_S: Final = 3600.0
# Kinds of changes that start a burst; the usual sampling suffices for settings and judges.
_BURST_FOR: Final = frozenset(
    (
        kinds.MODEL,
        kinds.REQUESTED_MODEL,
        kinds.PROMPT,
        kinds.PARAMETERS,
        kinds.FINGERPRINT,
        kinds.RATINGS,
        kinds.REFERENCES,
    )
)
# Kinds of changes that goldens cannot show, because goldens are sent with parameters of their own.
_NOT_FOR_GOLDENS: Final = frozenset((kinds.SETTINGS, kinds.PARAMETERS))


LEASE_S: Final = 30.0
_POLL_S: Final = 2.0


class Job(NamedTuple):
    """Goldens of a route to replay."""

    route: str
    change: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Responder:
    """Checks for changes from time to time. `plan` makes all decisions, `step` acts on them."""

    records: Callable[[], Sequence[ChangeRecord]]
    """The latest changes of all routes."""
    store: ChangeStore
    """Responses made so far, and bursts."""
    goldens: GoldenReplayer
    routes: frozenset[str]
    """Routes of the settings."""
    scores: ReferenceScores
    """Scores the answers before and after silent changes. Loads what scoring needs, also before goldens are
    asked: few monitors ever do."""
    clock: Callable[[], float]
    """Unix time in seconds."""

    def plan(self) -> list[Job]:
        """Start and end bursts, and return the goldens to replay now. Blocks on storage."""
        now = self.clock()
        records = list(self.records())
        jobs = []
        for record in records:
            if record.route not in self.routes or record.at < now - _STALE_S:
                continue
            if not self.store.respond(record.id, now):
                continue
            if record.kinds & _BURST_FOR:
                self.store.put_burst(Override(record.route, _BURST_RATE, now + _BURST_S, record.id))
                about = {"route": record.route, "change": record.id}
                log.info("change %s on %s: trying more for a while", record.id, record.route, extra=about)
            if record.kinds - _NOT_FOR_GOLDENS:
                jobs.append(Job(record.route, record.id))
        since = {record.id: record.since for record in records}
        for override in self.store.bursts(now):
            if since.get(override.change, 0) >= _BURST_EXCHANGES:
                self.store.drop_burst(override.route)
        return jobs

    async def step(self) -> int:
        """Plan, and replay the goldens that are due. Return the number of runs."""
        jobs = await asyncio.to_thread(self.plan)
        if jobs:
            await asyncio.to_thread(self.scores.load)
        made = 0
        for job in jobs:
            run = await self.goldens.run(job.route, job.change)
            if run is not None:
                await asyncio.to_thread(self.store.put_run, run)
                made += 1
        return made + await self.scores.step()


class Stepper(Protocol):
    """A task that checks from time to time whether there is something to do."""

    async def step(self) -> int:
        """Do what is due, and return the number of things done."""
        ...


async def respond(stop: asyncio.Event, responder: Stepper, lease: RoleLease, what: str) -> None:
    """Step while the lease is held, until `stop` is set. An error of the store is retried.

    Args:
        stop: Ends the loop.
        responder: Makes the steps.
        lease: Held by one of several processes.
        what: Message for the log when a step fails.
    """
    trouble = Trouble(log, f"{what} (%s); trying again")
    while not stop.is_set():
        with trouble:
            # While one step takes minutes, the tasks beside it renew the lease.
            if await asyncio.to_thread(lease.hold):
                await responder.step()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), _POLL_S)
    with contextlib.suppress(Exception):  # a courtesy: the lease expires anyway
        await asyncio.to_thread(lease.leave)


def golden_routes(settings: Settings) -> dict[str, GoldenRoute]:
    """Return the endpoint of each route's goldens: its upstream, with the key of its replays."""
    keys = settings.keys
    routes: dict[str, GoldenRoute] = {}
    for route in settings.routes:
        endpoint = SideEndpoint(Upstream.parse(route.upstream), keys[route.name][0].replay_headers())
        routes[route.name] = GoldenRoute(endpoint, route.task)
    return routes


class ChangeResponse:
    """The parts of a change response that a process runs and shows."""

    def __init__(
        self, settings: Settings, stores: Stores, instruments: Instruments, monitor: Monitor
    ) -> None:
        """Connect the parts.

        Args:
            settings: Settings of the process.
            stores: Responses made so far, bursts and goldens.
            instruments: Replay goldens and rate the answers.
            monitor: Provides the changes.
        """
        self._monitor = monitor
        self.book = ChangeBook(
            records=monitor.change_records,
            store=stores.changes,
            noise=self._noise,
            min_trials=settings.alerts.min_trials,
            clock=time.time,
        )
        self.collector = GoldenCollector(self.book.latest_runs)
        goldens = GoldenReplayer(
            golden_routes(settings),
            stores.goldens,
            stores.archive,
            stores.verdicts,
            instruments.replayer,
            GateScoring(instruments.scorer),
            instruments.ledger,
            instruments.prices,
            most=_GOLDENS_PER_ROUND,
            clock=time.time,
        )
        self.responder = Responder(
            records=monitor.change_records,
            store=stores.changes,
            goldens=goldens,
            routes=frozenset(route.name for route in settings.routes),
            scores=ReferenceScores(
                records=monitor.change_records,
                store=stores.changes,
                references=stores.references,
                scorer=instruments.scorer,
                costs=instruments.ledger,
                tasks={route.name: route.task for route in settings.routes},
                load=load_languages,
                clock=time.time,
            ),
            clock=time.time,
        )

    def _noise(self) -> dict[str, float]:
        """Return the noise floor of each route: the largest upper bound among its models."""
        noise_by_route: dict[str, float] = {}
        for report in self._monitor.reports():
            if report.key.perturbation == BASELINE and report.estimates.content_delta is not None:
                noise = noise_by_route.get(report.key.route, 0.0)
                noise_by_route[report.key.route] = max(noise, report.estimates.content_delta.upper)
        return noise_by_route
