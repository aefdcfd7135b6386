"""Monitor process: folds the verdict log into estimates and alerts, and may be killed at any time.

`fold` holds the state and what a verdict does to it; here it meets the log, the store and threads.
"""

from __future__ import annotations

import logging
import threading
import time
from typing import TYPE_CHECKING, Any, TypeVar

from evenkeel.monitor.fold import CheckpointError, MonitorSettings, MonitorState
from evenkeel.stores.verdict_log import LoggedVerdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from evenkeel.core.cells import CellReport, RollupReport, RouteChanges
    from evenkeel.monitor.changes import ChangeRecord
    from evenkeel.monitor.fold import SilentReport, TrendRow
    from evenkeel.stores.counters import Snapshot
    from evenkeel.stores.monitor_state import AlertEvent, MonitorStore
    from evenkeel.stores.verdict_log import VerdictLog

__all__ = ["Monitor", "MonitorSettings", "MonitorState"]

Report = TypeVar("Report")

_LOG = logging.getLogger(__name__)
# Verdicts folded between two commits: a crash costs folding them again.
_BATCH = 2000
# Seconds that a report waits for the lock. A scrape reads several reports.
_SCRAPE_PATIENCE_S = 0.02
# Reports are made anew this often while the fold catches up.
_REFRESH_EVERY_S = 5.0
# Pause after a refresh, as a multiple of the time that the refresh took.
_RESTS = 9


class Monitor:
    """Owner of the fold's state and its checkpoint, which it keeps consistent.

    What `reports` shows is always what the store holds: a batch of verdicts is folded and committed
    under one lock, and if the commit fails the state is read again from the store, so that nothing
    is counted twice or lost. One monitor at a time may write to a store.
    """

    def __init__(
        self,
        log: VerdictLog,
        store: MonitorStore,
        settings: MonitorSettings | None = None,
        *,
        clock: Callable[[], float] = time.time,
        batch: int = _BATCH,
    ) -> None:
        """Wire the monitor.

        Args:
            log: Log that is folded.
            store: Store of the state.
            settings: Settings of the fold.
            clock: Unix time in seconds.
            batch: Entries folded at once.
        """
        self._log = log
        self._store = store
        self._settings = settings or MonitorSettings()
        self._clock = clock
        self._batch = batch
        self._started_at = clock()
        self._lock = threading.Lock()
        self._state: MonitorState | None = None
        # Last reports read from the state, by the name of the method.
        self._shown: dict[str, list[Any]] = {}
        self._folded = 0
        self._failures = 0
        self._failure = ""
        self._stepped_at: float | None = None

    def step(self) -> int:
        """Fold the next batch of verdicts and approvals and commit; return how many there were.

        Raises:
            Exception: whatever the log or the store raises. The monitor is then as the store has
                it, and the next step tries again.
        """
        state = self._loaded()
        entries = self._log.entries_after(state.offset, self._batch)
        if entries:
            events: list[AlertEvent] = []
            trend: list[TrendRow] = []
            with self._lock:
                # Gone until the commit is known to have happened; an error leaves it so, and the
                # next step reads the store, which knows.
                self._state = None
                for logged in entries:
                    applied = state.apply(logged)
                    events += applied.events
                    trend += applied.trend
                checkpoint = state.checkpoint()
                self._store.commit(
                    checkpoint.head,
                    state.offset,
                    events,
                    trend,
                    incidents=checkpoint.incidents,
                    parts=checkpoint.parts,
                    whole=checkpoint.whole,
                )
                self._state = state
            self._folded += sum(isinstance(entry, LoggedVerdict) for entry in entries)
        elif not self._store.is_current():
            # A commit would tell as well, but the next verdict may be long in coming.
            _LOG.warning("the checkpoint is no longer the one written last; reading it again")
            with self._lock:
                self._state = None
            self._loaded()
        self._stepped_at = self._clock()
        return len(entries)

    def _loaded(self) -> MonitorState:
        if self._state is not None:
            return self._state
        state = MonitorState(self._settings)
        saved = self._store.load()
        if saved.state is not None:
            try:
                state = MonitorState.restored(saved.state, saved.parts, self._settings)
            except CheckpointError as error:
                _LOG.warning("%s; folding the verdict log again from its start", error)
        with self._lock:
            self._state = state
        return state

    def reports(self) -> list[CellReport]:
        """Return every cell's report, as of the last commit. May be called from any thread.

        While a batch is folded or a commit waits for the store, the reports of the previous call
        are given at once, so that a scrape does not hang with it.
        """
        return self._committed(MonitorState.reports)

    def rollups(self) -> list[RollupReport]:
        """Return every roll-up's report, as of the last commit."""
        return self._committed(MonitorState.rollups)

    def changes(self) -> list[RouteChanges]:
        """Return the changes of every route, as of the last commit."""
        return self._committed(MonitorState.changes)

    def silent(self) -> list[SilentReport]:
        """Return the state of the tests for silent changes, as of the last commit."""
        return self._committed(MonitorState.silent)

    def change_records(self) -> list[ChangeRecord]:
        """Return the latest changes with the traffic on both sides; costs more than `changes`."""
        return self._committed(MonitorState.change_records)

    def _committed(self, read: Callable[[MonitorState], list[Report]]) -> list[Report]:
        """Return a fresh reading of the state if nothing is folding, else the last one."""
        if self._lock.acquire(timeout=_SCRAPE_PATIENCE_S):
            try:
                if self._state is not None:
                    self._shown[read.__name__] = read(self._state)
            finally:
                self._lock.release()
        return self._shown.get(read.__name__, [])

    def run(
        self, stop: threading.Event, poll_s: float = 1.0, refresh: Callable[[], None] | None = None
    ) -> None:
        """Step until `stop` is set, resting `poll_s` seconds whenever the log is exhausted.

        Then `refresh` is called if anything was folded, to prepare what is shown to others; every five
        seconds while a long log is caught up with, and never for more than a tenth of the time.

        A failing log or store is counted, reported once for each new message, and tried again.
        """
        reported, stale = "", False
        refreshed_at, took_s = self._clock(), 0.0
        while not stop.is_set():
            folded = 0
            try:
                folded = self.step()
                stale = stale or folded > 0
                rested_s = self._clock() - refreshed_at
                due = folded < self._batch or rested_s >= _REFRESH_EVERY_S
                if refresh is not None and stale and due and rested_s >= _RESTS * took_s:
                    begun_at = self._clock()
                    refresh()
                    refreshed_at, stale = self._clock(), False
                    took_s = refreshed_at - begun_at
                if reported:
                    _LOG.warning("the monitor folds the verdict log again")
                reported = self._failure = ""
            except Exception as error:  # noqa: BLE001 - the boundary of this thread: it must live on
                self._failures += 1
                self._failure = str(error) or type(error).__name__
                if repr(error) != reported:
                    reported = repr(error)
                    _LOG.exception("the monitor could not fold the verdict log; trying again")
            # A whole batch means that more is waiting.
            if folded < self._batch:
                stop.wait(poll_s)

    @property
    def stepped_at(self) -> float | None:
        """Unix time in seconds of the last step that succeeded, None before the first."""
        return self._stepped_at

    @property
    def failure(self) -> str:
        """Why the last step failed; "" if it did not."""
        return self._failure

    def snapshot(self) -> Snapshot:
        """Return the monitor's own counters since the start of the process, for `SnapshotCollector`.

        Before the first step its start stands for it, so that a monitor that never steps is seen.
        """
        last = self._started_at if self._stepped_at is None else self._stepped_at
        return {
            "counters": [
                ["monitor_verdicts", {}, self._folded],
                ["monitor_failures", {}, self._failures],
            ],
            "gauges": [["monitor_last_step_timestamp_seconds", {}, last]],
        }


def stored_states(stores: Iterable[MonitorStore], settings: MonitorSettings) -> Iterator[MonitorState]:
    """Yield the state of each monitor's last checkpoint; monitors without one are left out. Blocks.

    Raises: CheckpointError if one is of another version.
    """
    for store in stores:
        saved = store.load()
        if saved.state is not None:
            yield MonitorState.restored(saved.state, saved.parts, settings)
