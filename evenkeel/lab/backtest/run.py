"""A backtest: verdicts in their order, through the monitor's own fold.

Nothing here estimates or detects anything: `MonitorState.apply` does, as it does live. What is added is
memory: every alert, every change that was noticed, and how the cells stood on the way.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from math import inf
from typing import TYPE_CHECKING, Final, NamedTuple

from evenkeel.core.verdict import BASELINE, Verdict
from evenkeel.monitor.fold import MonitorSettings, MonitorState
from evenkeel.stores.verdict_log import logged

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evenkeel.core.cells import CellReport, ChangeMark
    from evenkeel.monitor.changes import ChangeRecord
    from evenkeel.stores.monitor_state import AlertEvent
    from evenkeel.stores.verdict_log import Entry


# Entries after which the marks of changes are read: a route remembers four changes.
_LOOKED_AFTER: Final = 100
# Beyond so many snapshots every second one is dropped, and they are made half as often.
_MOST_SNAPSHOTS: Final = 96


@dataclass(frozen=True, slots=True)
class SettingsVariant:
    """Conditions of a backtest: the settings of the monitor, and a part of the traffic."""

    settings: MonitorSettings = field(default_factory=MonitorSettings)
    share: float = 1.0
    """Share of the exchanges, in (0, 1]: what a lower sampling share would have left. Chosen by the
    exchange's id, so that a smaller share is a part of a larger one."""
    only: tuple[str, ...] = ()
    """Perturbations, as patterns ("general.*"); () = all. Controls are always taken."""
    routes: tuple[str, ...] = ()
    """Routes, as patterns; () = all."""
    since: float = -inf
    """Unix seconds: earlier entries are passed over; likewise those from `until` on."""
    until: float = inf

    def takes(self, entry: Entry) -> bool:
        """Tell whether an entry is a part of this traffic."""
        if not self.since <= (entry.scored_at if isinstance(entry, Verdict) else entry.at) < self.until:
            return False
        if self.routes and not any(fnmatchcase(entry.route, pattern) for pattern in self.routes):
            return False
        if not isinstance(entry, Verdict):
            return True
        kind = entry.perturbation
        if self.only and kind != BASELINE and not any(fnmatchcase(kind, pattern) for pattern in self.only):
            return False
        return self.share >= 1 or _place(entry.exchange_id) < self.share


def _place(exchange: str) -> float:
    digest = hashlib.blake2b(exchange.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big") / 2**64


class RouteChange(NamedTuple):
    """A change, and on which route it was noticed. `mark.offset` is the trial with which it was."""

    route: str
    mark: ChangeMark


class Snapshot(NamedTuple):
    """State of all cells after a trial."""

    trial: int
    at: float
    cells: tuple[CellReport, ...]


@dataclass(frozen=True, slots=True)
class Backtest:
    """Results of a log under one variant.

    Trials are numbered as they stand in the log, from 1, whether the variant takes them or not.
    """

    variant: SettingsVariant
    trials: int
    """Taken, the controls and those without an outcome among them."""
    first_at: float
    """Unix seconds of the first trial; likewise the last. 0 without trials."""
    last_at: float
    alerts: tuple[AlertEvent, ...]
    """Raised and resolved, in their order; `offset` is the number of the trial."""
    cells: tuple[CellReport, ...]
    """The cells at the end."""
    changes: tuple[RouteChange, ...]
    """Every one that was noticed, in their order."""
    records: tuple[ChangeRecord, ...]
    """The latest four of each route, with the traffic on both sides."""
    snapshots: tuple[Snapshot, ...]

    @property
    def raised(self) -> tuple[AlertEvent, ...]:
        """The alerts without those that were resolved."""
        alerts: list[AlertEvent] = []
        for alert in self.alerts:
            if alert.kind == "raised":
                alerts.append(alert)
        return tuple(alerts)

    @property
    def trials_between_alerts(self) -> float | None:
        """Trials of all cells for each alert that was raised; None without an alert."""
        return self.trials / len(self.raised) if self.raised else None


class BacktestRun:
    """A variant's fold of a log that is read once for all of them."""

    def __init__(self, variant: SettingsVariant, *, plotted: bool = False) -> None:
        """Begin with nothing.

        Args:
            variant: Settings and traffic.
            plotted: Keep snapshots of how the cells stood, spread over the log.
        """
        self._variant = variant
        # Trend points are for the console; to make them takes longer than everything else.
        self._state = MonitorState(replace(variant.settings, trend_interval_s=inf))
        self._every = 1 if plotted else None
        self._trials = 0
        self._first_at = self._last_at = 0.0
        self._alerts: list[AlertEvent] = []
        self._marks: dict[tuple[str, str, int], RouteChange] = {}
        self._snapshots: list[Snapshot] = []

    def add(self, number: int, entry: Entry) -> list[AlertEvent]:
        """Take the entry with this number; returns the alerts it gave rise to."""
        events: list[AlertEvent] = []
        if self._variant.takes(entry):
            events = self._state.apply(logged(number, entry)).events
            if isinstance(entry, Verdict):
                self._first_at = self._first_at if self._trials else entry.scored_at
                self._last_at = entry.scored_at
                self._trials += 1
            self._alerts += events
        if number % _LOOKED_AFTER == 0:
            self._look()
        if self._every is not None and number % self._every == 0:
            self._snapshots.append(Snapshot(number, self._last_at, tuple(self._state.reports())))
            if len(self._snapshots) > _MOST_SNAPSHOTS:
                self._snapshots = self._snapshots[1::2]
                self._every *= 2
        return events

    def _look(self) -> None:
        for route in self._state.changes():
            for mark in route.latest:
                key = (route.route, mark.kind, mark.offset)
                self._marks.setdefault(key, RouteChange(route.route, mark))

    def finish(self) -> Backtest:
        """Return the results."""
        self._look()
        return Backtest(
            variant=self._variant,
            trials=self._trials,
            first_at=self._first_at,
            last_at=self._last_at,
            alerts=tuple(self._alerts),
            cells=tuple(self._state.reports()),
            changes=tuple(
                sorted(self._marks.values(), key=lambda change: (change.mark.offset, change.route))
            ),
            records=tuple(self._state.change_records()),
            snapshots=tuple(self._snapshots),
        )


def backtest(entries: Iterable[Entry], variant: SettingsVariant | None = None) -> Backtest:
    """Fold a log, in its order, and say what came of it under a variant, by default that of `up`."""
    run = BacktestRun(variant or SettingsVariant())
    for number, entry in enumerate(entries, start=1):
        run.add(number, entry)
    return run.finish()
