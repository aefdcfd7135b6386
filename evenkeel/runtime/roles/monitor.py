"""The monitor: folds the verdict log, notifies, responds to changes, exports gauges, serves the console."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from functools import partial
from typing import TYPE_CHECKING, Any

from evenkeel.console import ConsoleSources, JudgeSetup, PipelineView, ReferenceSetup, RouteSetup, create_app
from evenkeel.metrics.registry import publish_labels
from evenkeel.monitor.changes.prompt_edit import edits_of
from evenkeel.monitor.detect.references import FALSE_ALARMS_PER_YEAR
from evenkeel.monitor.export.exposition import Exposition
from evenkeel.monitor.export.incidents import IncidentCollector
from evenkeel.monitor.export.prometheus import SilentCollector
from evenkeel.monitor.export.snapshots import coverage
from evenkeel.monitor.incidents import IncidentBoard, worst_trials
from evenkeel.monitor.labels import LabelCollector
from evenkeel.monitor.measuring import MeasuringWatch, known
from evenkeel.monitor.monitor import Monitor
from evenkeel.monitor.notify import Channel, Notifier, Writer
from evenkeel.release.challenge.board import ChallengeBoard, ChallengeCollector, ChallengeWatch
from evenkeel.runtime import choices, references
from evenkeel.runtime.changes import LEASE_S, ChangeResponse, respond
from evenkeel.runtime.limits import monitor_settings
from evenkeel.runtime.notifications import SIMULATED_WINDOW_S, WINDOW_S, challenger_link, contacts, sinks
from evenkeel.runtime.replays import route_plans, unavailable
from evenkeel.runtime.stores import budgets
from evenkeel.settings.settings import settings_in_effect
from evenkeel.settings.types import without_credentials
from evenkeel.shadow.needs import NeedsPublisher
from evenkeel.shadow.references.pace import BURST_CALLS
from evenkeel.stores.counters import RouteFlow, UntriedPerturbation, gauges, merge, route_flows, untried

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable

    from litestar.types import ASGIApp

    from evenkeel.core.exchange import ExchangeQueue
    from evenkeel.runtime.changes import Stepper
    from evenkeel.runtime.instruments import Instruments
    from evenkeel.runtime.stores import Stores
    from evenkeel.settings import Settings
    from evenkeel.stores.budget import SharedCostTracker
    from evenkeel.stores.counters import CounterStore, Snapshot


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


def route_setups(settings: Settings) -> tuple[RouteSetup, ...]:
    """Return the settings of each route that decide how its requests become trials."""
    plans = route_plans(settings)
    setups = []
    for route in settings.routes:
        setup = RouteSetup(
            route.name,
            settings.base_url(route),
            without_credentials(route.upstream),
            route.sampling_rate,
            route.trials.per_exchange,
            len(plans[route.name].perturbations),
        )
        setups.append(setup)
    return tuple(setups)


def judge_setup(settings: Settings) -> JudgeSetup | None:
    """Return the settings of the judge; None without one."""
    judge = settings.judge
    if judge is None:
        return None
    return JudgeSetup(judge.title, without_credentials(judge.base_url) or "this machine")


class Pipeline:
    """Reads queue, counters and budget each time it is called."""

    def __init__(
        self,
        settings: Settings,
        counters: CounterStore,
        queue: ExchangeQueue,
        ledger: SharedCostTracker,
    ) -> None:
        self._settings = settings
        self._counters = counters
        self._queue = queue
        self._ledger = ledger
        self._unavailable = unavailable(settings)

    def snapshot(self) -> Snapshot:
        """Return the current gauges."""
        lag = self._queue.lag()
        spent = self._ledger.today()
        current = {
            "queue_waiting": lag.waiting,
            "queue_leased": lag.leased,
            "queue_dead": lag.dead,
            "queue_oldest_seconds": lag.oldest_s,
            "spend_today_tokens": spent.tokens,
            "spend_today_usd": spent.usd,
        }
        budget = self._ledger.budget
        limits = {"tokens": budget.tokens_per_day, "usd": budget.usd_per_day}
        for unit, limit in limits.items():
            if limit is not None:
                current[f"budget_{unit}_per_day"] = limit
        rows: list[list[Any]] = []
        for name, number in current.items():
            rows.append([name, {}, number])
        for (route, kind), spend in self._ledger.by_route_and_kind().items():
            for unit, amount in spend._asdict().items():
                rows.append([f"spend_today_by_purpose_{unit}", {"route": route, "purpose": kind}, amount])
        # Data planes count requests, workers count verdicts; only here are both known.
        for route, share in coverage(merge(self._counters.read())).items():
            rows.append(["sampling_coverage_ratio", {"route": route}, share])
        return {"counters": [], "gauges": rows}

    def view(self) -> PipelineView:
        """Return everything that the console shows of the pipeline."""
        settings = self._settings
        lag = self._queue.lag()
        spent = self._ledger.today()
        budget = self._ledger.budget
        counted = self._counters.read()
        notices = []
        if 0 in gauges(counted, "settings_reload_success"):
            notices.append(
                "The settings were changed and refused: older ones are in force. The log says what is wrong; "
                "`evenkeel check-config` says whether it is put right."
            )
        if any(name == "store_recreated" and number for name, _, number in merge(counted)["counters"]):
            notices.append(
                "The data folder was deleted or replaced while evenkeel ran: nothing is known of before. "
                "To have it back, stop evenkeel and put the former folder in its place."
            )
        flows = route_flows(counted)
        shown = []
        for route in settings.routes:
            none = RouteFlow(route.name, eligible=0, sampled=0, queued=0, scored=0)
            shown.append(flows.get(route.name, none))
        # First the rewordings that can never run, then those not tried, by frequency.
        never = []
        for name, reasons in self._unavailable.items():
            for kind, reason in reasons.items():
                never.append(UntriedPerturbation(name, kind, reason, None))
        return PipelineView(
            base_url=settings.base_url(settings.routes[0]),
            routes=tuple(shown),
            waiting=lag.waiting,
            leased=lag.leased,
            dead=lag.dead,
            oldest_s=lag.oldest_s,
            tokens_today=spent.tokens,
            usd_today=spent.usd,
            budget_tokens=budget.tokens_per_day,
            budget_usd=budget.usd_per_day,
            judge=settings.judge.title if settings.judge else "",
            simulated=settings.simulated,
            untried=(*never, *untried(counted)),
            notices=tuple(notices),
        )
