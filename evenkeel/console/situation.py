"""Incidents and cells as all pages see them.

The detectors report that a cell's alert is up. Whether that is still news is decided by the incident: it
is over once the change is reversed, the model retired, or a person has closed it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from evenkeel.monitor.incidents import IncidentBoard

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from evenkeel.core.cells import CellReport
    from evenkeel.monitor.incidents import Incident
    from evenkeel.stores.monitor_state import MonitorStore


class Situation:
    """Current incidents and cells. Blocks on storage; can be used from any thread."""

    def __init__(self, store: MonitorStore, reports: Callable[[], list[CellReport]]) -> None:
        """Watch a monitor's store and the reports of its cells."""
        self._reports = reports
        self.board = IncidentBoard(store)

    def going(self) -> list[Incident]:
        """Return the open incidents, newest first, without those in which answers only became steadier."""
        going = []
        for incident in self.board.all():
            # Answers that became steadier are listed, but nobody has to act on them.
            if incident.state != "resolved" and incident.severity != "info":
                going.append(incident)
        return going

    def count(self) -> int:
        """Return the number of open incidents, which every page shows."""
        return len(self.going())

    def in_incidents(self) -> frozenset[tuple[str, str, str]]:
        """Return route, model and perturbation of the cells that belong to an open incident."""
        return frozenset(key for key, _ in self._alerts())

    def _alerts(self) -> Iterator[tuple[tuple[str, str, str], str]]:
        """Yield the cell and the measure of each alert that is up in an open incident."""
        for incident in self.going():
            for part in incident.up:
                raised = part.raised
                yield (raised.route, raised.model, raised.perturbation), raised.what

    def cells(self) -> list[CellReport]:
        """Return the reports of all cells; `alert` is True if its excess is part of an open incident."""
        # A cell that drifted, or a changed model, is no cell above its limit.
        up = {key for key, what in self._alerts() if what == "excess"}
        reports: list[CellReport] = []
        for report in self._reports():
            detection = replace(report.detection, alert=report.key.parts in up)
            reports.append(report if detection == report.detection else replace(report, detection=detection))
        return reports
