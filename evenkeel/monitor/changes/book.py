"""Reports of all changes, from the monitor's state and the goldens' runs."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from evenkeel.monitor.changes import Cause, kinds
from evenkeel.monitor.changes.report import GoldenHistory, history_of, reports_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from evenkeel.monitor.changes import ChangeRecord
    from evenkeel.monitor.changes.report import ChangeReport
    from evenkeel.stores.changes import ChangeStore, GoldenRun

# Several pages and scrapes ask for the same book at once; it is made anew after so many seconds.
_KEPT_S: Final = 2.0
# Causes that a headline names with the change itself.
_SAID_BY_MARKS: Final = frozenset(
    (Cause.MODEL, Cause.PROMPT, Cause.PARAMETERS, Cause.SETTINGS, Cause.NOTHING)
)


@dataclass(slots=True)
class ChangeBook:
    """Cache of the change reports, rebuilt when asked if they are older than two seconds. Thread-safe."""

    records: Callable[[], Sequence[ChangeRecord]]
    """The latest changes of all routes."""
    store: ChangeStore
    """The goldens' runs."""
    min_trials: int
    """Fewest observations for an estimate."""
    clock: Callable[[], float]
    """Unix time in seconds."""
    noise: Callable[[], Mapping[str, float]] = dict
    """Noise floor by route, which goldens may breach by chance."""
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _reports: tuple[ChangeReport, ...] = ()
    _made_at: float | None = None
    _history: GoldenHistory = field(default_factory=lambda: GoldenHistory({}, {}))
    _revision: int = -1

    def reports(self) -> tuple[ChangeReport, ...]:
        """Return all changes, the newest first."""
        with self._lock:
            now = self.clock()
            if self._made_at is None or abs(now - self._made_at) >= _KEPT_S:
                self._reports = self._make()
                self._made_at = now
            return self._reports

    def find(self, change: str) -> ChangeReport | None:
        """Return the report on one change; None if it is not known (any more)."""
        return next((report for report in self.reports() if report.id == change), None)

    def coincided(self, change: str) -> str:
        """Return possible causes of a change in a few words; "" if its marks say all, or it is not known."""
        report = self.find(change)
        return "" if report is None or report.cause in _SAID_BY_MARKS else report.coincided

    def latest_runs(self) -> Mapping[str, GoldenRun]:
        """Return the last run of each route's goldens."""
        self.reports()
        return self._history.latest

    def _make(self) -> tuple[ChangeReport, ...]:
        revision = self.store.revision()
        if revision != self._revision:
            self._history = history_of(self.store.runs(), noise=self.noise())
            self._revision = revision
        records = list(self.records())
        has_silent = any(record.silent is not None for record in records)
        return reports_of(
            records,
            self._history,
            scores=self.store.scores() if has_silent else {},
            settings=self._settings(records),
            min_trials=self.min_trials,
        )

    def _settings(self, records: Sequence[ChangeRecord]) -> dict[str, tuple[str, ...]]:
        fingerprints = {}
        for record in records:
            for mark in kinds.select(record.marks, {kinds.SETTINGS}):
                before, after = self.store.settings(mark.before), self.store.settings(mark.after)
                if before is not None and after is not None:
                    fingerprints[mark.after] = changed_settings(before, after)
        return fingerprints


def changed_settings(before: Mapping[str, str], after: Mapping[str, str]) -> tuple[str, ...]:
    """List the settings that differ, one line for each."""
    lines = []
    for name in sorted(before.keys() | after.keys()):
        if before.get(name) != after.get(name):
            lines.append(f"{name}: {before.get(name, 'not set')} → {after.get(name, 'not set')}")
    return tuple(lines)


def latest_changes(monitors: Iterable[Iterable[ChangeRecord]]) -> list[ChangeRecord]:
    """Merge the changes of several monitors; of each change, the record with the most exchanges is kept."""
    latest: dict[str, ChangeRecord] = {}
    for records in monitors:
        for record in records:
            record_before = latest.get(record.id)
            if record_before is None or record_before.since < record.since:
                latest[record.id] = record
    return list(latest.values())
