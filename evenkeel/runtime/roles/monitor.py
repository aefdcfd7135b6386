"""The monitor: folds the verdict log, notifies, responds to changes, exports gauges, serves the console."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from functools import partial
from typing import TYPE_CHECKING

from evenkeel.console import ConsoleSources, ReferenceSetup, create_app
from evenkeel.metrics.registry import publish_labels
from evenkeel.monitor.changes.prompt_edit import edits_of
from evenkeel.monitor.detect.references import FALSE_ALARMS_PER_YEAR
from evenkeel.monitor.export.exposition import Exposition
from evenkeel.monitor.export.incidents import IncidentCollector
from evenkeel.monitor.export.prometheus import SilentCollector
from evenkeel.monitor.incidents import IncidentBoard, worst_trials
from evenkeel.monitor.labels import LabelCollector
from evenkeel.monitor.measuring import MeasuringWatch, known
from evenkeel.monitor.monitor import Monitor
from evenkeel.monitor.notify import Channel, Notifier, Writer
from evenkeel.release.challenge.board import ChallengeBoard, ChallengeCollector, ChallengeWatch
from evenkeel.runtime import choices, references
from evenkeel.runtime.changes import LEASE_S, ChangeResponse, respond
from evenkeel.runtime.console_sources import Pipeline, judge_setup, route_setups
from evenkeel.runtime.limits import monitor_settings
from evenkeel.runtime.notifications import SIMULATED_WINDOW_S, WINDOW_S, challenger_link, contacts, sinks
from evenkeel.runtime.stores import budgets
from evenkeel.settings.settings import settings_in_effect
from evenkeel.shadow.needs import NeedsPublisher
from evenkeel.shadow.references.pace import BURST_CALLS

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable

    from litestar.types import ASGIApp

    from evenkeel.runtime.changes import Stepper
    from evenkeel.runtime.instruments import Instruments
    from evenkeel.runtime.stores import Stores
    from evenkeel.settings import Settings
    from evenkeel.stores.counters import Snapshot


log = logging.getLogger("evenkeel")

_POLL_S = 0.5


class MonitorRole:
    """The monitor of a process, and its background tasks."""

    def __init__(
        self,
        settings: Settings,
        stores: Stores,
        instruments: Instruments,
        counted: Callable[[], list[Snapshot]],
    ) -> None:
        """Connect the parts. Blocks on storage.

        Args:
            settings: Limits of alerts, channels, and responses to changes.
            stores: Where verdicts come from and everything learned from them is kept.
            instruments: Replay goldens and rate the answers.
            counted: Counters to export beside those of the monitor; may read the stores.
        """
        self._settings = settings
        self._stores = stores
        self._folding = monitor_settings(settings)
        self.monitor = Monitor(stores.verdicts, stores.monitor, self._folding, clock=time.time)
        self._watch = MeasuringWatch(
            stores.counters,
            stores.queue,
            instruments.health.trouble,
            instruments.ledger,
            time.time,
            fold=self.monitor,
            figures_known=lambda: any(known(report) for report in self.monitor.reports()),
        )
        self._changes = ChangeResponse(settings, stores, instruments, self.monitor)
        book = self._changes.book
        self._writer = Writer(
            contacts(settings),
            settings.alerts.console_url or "",
            self.monitor.reports,
            partial(worst_trials, stores.verdicts),
            partial(edits_of, stores.verdicts),
            lambda: self._watch().thinned,
            book.coincided,
        )
        self._pipeline = Pipeline(settings, stores.counters, stores.queue, instruments.ledger)
        self._board = ChallengeBoard(stores.challenges, time.time)
        self._notifying = stores.lease("notify")
        # Held by the one of several monitors that calls models and changes what is stored.
        self._leading = stores.lease("respond", LEASE_S)
        self._notifier = self._open_notifier()
        self._exposition = self._open_exposition(counted)
        publish_labels()
        choices.perturbations(settings)  # registers the names that the console shows
        self.app: ASGIApp = create_app(self._console_sources())
        """Application with console and metrics."""
        self.asker = references.asker(settings, stores, instruments, self.monitor)
        self._panel = references.judge_panel(settings, stores, instruments, self.monitor)
        self._challenges = ChallengeWatch(
            self._board, partial(sinks, settings, announce), partial(challenger_link, settings)
        )
        self._needs = NeedsPublisher(
            stores.documents,
            self.monitor.reports,
            settings.alerts.min_trials,
            lambda: frozenset(burst.route for burst in stores.changes.bursts(time.time())),
        )

    def _open_notifier(self) -> Notifier:
        window_s = SIMULATED_WINDOW_S if self._settings.simulated else WINDOW_S
        store, watch = self._stores.monitor, self._watch
        channels = []
        for sink in sinks(self._settings, announce):
            channel = Channel(
                sink, store, self._writer, announce, time.monotonic, lambda: watch().causes, window_s
            )
            channels.append(channel)
        return Notifier(IncidentBoard(store), announce, channels, self._notifying.hold)

    def _open_exposition(self, counted: Callable[[], list[Snapshot]]) -> Exposition:
        stores = self._stores
        incidents = IncidentBoard(stores.monitor).all
        return Exposition(
            self.monitor,
            (
                self._changes.collector,
                SilentCollector(self.monitor.silent),
                LabelCollector(stores.labels),
                ChallengeCollector(self._board.states),
            ),
            IncidentCollector(incidents, self.monitor.reports, contacts(self._settings)),
            lambda: [self._pipeline.snapshot(), stores.losses(), *counted()],
            lambda: self._watch().snapshot(),
        )

    def _console_sources(self) -> ConsoleSources:
        settings, stores, monitor = self._settings, self._stores, self.monitor
        asked = settings.replays.references
        book = self._changes.book
        return ConsoleSources(
            reports=monitor.reports,
            rollups=monitor.rollups,
            changes=monitor.changes,
            log=stores.verdicts,
            monitor_store=stores.monitor,
            exposition=self._exposition,
            measuring=self._watch,
            pipeline=self._pipeline.view,
            clock=time.time,
            change_reports=book.reports,
            releases=stores.changes.releases,
            writer=self._writer,
            goldens=stores.goldens,
            archive=stores.archive,
            golden_runs=book.latest_runs,
            references=stores.references,
            reference_setup=ReferenceSetup(
                asked.calls_per_day, BURST_CALLS, asked.usd_per_day, FALSE_ALARMS_PER_YEAR
            ),
            silent=monitor.silent,
            spent=stores.ledger.by_route_and_kind,
            budgets=budgets(settings).routes,
            dead_letters=stores.queue.dead_letters,
            setup=route_setups(settings),
            judge=judge_setup(settings),
            settings=partial(settings_in_effect, settings),
            labels=stores.labels,
            challengers=self._board,
            actions=stores.actions,
            trace_url=settings.telemetry.trace_url,
            thresholds=self._folding,
            signs_in=not settings.access.open_on_loopback,
        )

    def bodies(self, stopping: threading.Event) -> tuple[Callable[[], object], ...]:
        """Return the bodies of the threads, which end when `stopping` is set."""
        return (
            partial(self.monitor.run, stopping, _POLL_S, self._exposition.refresh),
            partial(self._notifier.run, stopping, _POLL_S),
            partial(self._needs.run, stopping),
            *self._exposition.readers(stopping),
        )

    async def run(self, stop: asyncio.Event) -> None:
        """Respond to changes, ask references and the judge's panel, and report challengers, until `stop`."""
        tasks: list[tuple[Stepper, str]] = [
            (self._changes.responder, "changes cannot be responded to"),
            (self.asker, "reference prompts cannot be asked"),
            (self._challenges, "challengers cannot be reported"),
        ]
        if self._panel is not None:
            tasks.append((self._panel, "the judge's panel cannot be asked"))
        # Side by side: goldens may take minutes, and reference prompts must not wait for them.
        await asyncio.gather(*[respond(stop, task, self._leading, problem) for task, problem in tasks])

    async def close(self) -> None:
        """Let another monitor take over."""
        with contextlib.suppress(Exception):  # a courtesy to the other monitor: the lease expires anyway
            await asyncio.to_thread(self._notifying.leave)


def announce(text: str) -> None:
    """Write a line to the log for people."""
    log.warning("%s", text)
