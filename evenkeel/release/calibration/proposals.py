"""Limits that a monitor proposes: once a route has been quiet for long enough to place them."""

from __future__ import annotations

import logging
from collections import Counter
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, NamedTuple

from evenkeel.core.trouble import Trouble
from evenkeel.core.verdict import BASELINE

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Iterator

    from evenkeel.core.cells import CellReport, RouteChanges
    from evenkeel.core.verdict import Verdict
    from evenkeel.monitor.fold import MonitorSettings
    from evenkeel.monitor.monitor import Monitor
    from evenkeel.stores.monitor_state import MonitorStore
    from evenkeel.stores.verdict_log import VerdictLog

log = logging.getLogger("evenkeel")

ENOUGH: Final = 2_000
"""Effective trials since the last change and the last alert."""
_EVERY_S: Final = 300.0
_BATCH: Final = 2_000
_EVENTS: Final = 1_000


class LimitProposal(NamedTuple):
    """Limits that a route's quiet traffic would allow."""

    route: str
    limits: str
    """Such as "content 0.05, drift 0.03"."""
    source: str
    """Trials that they rest on."""
    command: str
    """Places them."""


class LimitProposals:
    """Looks for routes without calibrated limits whose traffic has been quiet, and proposes limits once."""

    def __init__(
        self,
        monitor: Monitor,
        verdicts: VerdictLog,
        store: MonitorStore,
        settings: MonitorSettings,
        *,
        clock: Callable[[], float],
    ) -> None:
        """Wire it.

        Args:
            monitor: Knows which routes are quiet.
            verdicts: What limits are placed on.
            store: Knows when alerts were over.
            settings: The limits in effect.
            clock: Unix time in seconds.
        """
        self._monitor = monitor
        self._verdicts = verdicts
        self._store = store
        self._settings = settings
        self._clock = clock
        # Trials of a route when its verdicts were last read.
        self._read: dict[str, int] = {}
        self._found: dict[str, LimitProposal] = {}

    def proposals(self) -> tuple[LimitProposal, ...]:
        """Proposed limits, by route."""
        return tuple(self._found[route] for route in sorted(self._found))

    def run(self, stopping: threading.Event) -> None:
        """Body of a thread: look every five minutes until `stopping` is set."""
        trouble = Trouble(log, "quiet traffic cannot be read for limits (%s)")
        while not stopping.wait(_EVERY_S):
            with trouble:
                self.look()

    def look(self) -> None:
        """Propose limits for the routes that are ready for them."""
        reports = self._monitor.reports()
        noisy = {report.key.route for report in reports if _is_up(report)}
        trials: Counter[str] = Counter()
        for report in reports:
            if report.key.perturbation != BASELINE:
                trials[report.key.route] += report.windows["since_change"].trials
        changes = {change.route: change for change in self._monitor.changes()}
        for route, count in trials.items():
            has_proposal = route in self._settings.limits or route in self._found or route in noisy
            # A route whose trials are mostly bursts is read again after as many again.
            if not has_proposal and count >= max(ENOUGH, 2 * self._read.get(route, 0)):
                self._read[route] = count
                self._propose(route, changes.get(route))

    def _propose(self, route: str, changes: RouteChanges | None) -> None:
        # Loaded on demand: brings numpy.
        from evenkeel.release.calibration.limits import place_limits  # noqa: PLC0415
        from evenkeel.release.calibration.quiet import QuietTraffic  # noqa: PLC0415

        quiet = QuietTraffic.of(self._quiet(route, changes))
        if quiet.trials < ENOUGH:
            return
        placed = place_limits(
            route,
            quiet,
            trials_between_false_alerts=self._settings.mean_trials_between_false_alarms,
            today=datetime.fromtimestamp(self._clock(), UTC).date(),
        )
        if not placed.limits:
            return
        values = ", ".join(f"{limit.measure} {limit.value:g}" for limit in placed.limits)
        command = (
            f"evenkeel calibrate --limits limits.json --from-store --config evenkeel.yaml --route {route}"
        )
        self._found[route] = LimitProposal(route, values, placed.limits[0].source, command)
        log.warning(
            "enough quiet traffic for limits of route %s (%s): %s",
            route,
            values,
            command,
            extra={"route": route},
        )

    def _quiet(self, route: str, changes: RouteChanges | None) -> Iterator[Verdict]:
        """The route's verdicts since its last change and its last alert."""
        ended = [event.offset for event in self._store.events(_EVENTS) if event.route == route]
        changed = [mark.offset for mark in changes.latest] if changes else []
        after = max((*ended, *changed), default=0)
        while entries := self._verdicts.read_after(after, _BATCH):
            yield from (entry.verdict for entry in entries if entry.verdict.route == route)
            after = entries[-1].offset


def _is_up(report: CellReport) -> bool:
    return report.detection.alert or (
        report.detection.drift is not None and report.detection.drift.state in {"risen", "fallen"}
    )
