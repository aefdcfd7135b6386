"""What all pages agree on: which incidents there are, and which cells belong to those that are open.

The detectors say of a cell that its alert is up. Whether that is still news is decided with the incident: it
is over once the change is reversed, the model retired, or a person has said so.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from evenkeel.monitor.incidents import IncidentBoard

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from evenkeel.core.cells import CellReport, Window
    from evenkeel.monitor.incidents import Incident
    from evenkeel.stores.monitor_state import MonitorStore

RETIRED_AFTER_S: Final = 60.0
"""A model this far behind the newest verdict of its route, at least, is shown as no longer answering."""
_GAPS: Final = 7
_LENGTHS_S: Final[tuple[tuple[Window, float], ...]] = (("1h", 3600.0), ("24h", 86_400.0))


class Situation:
    """The incidents and the cells as they are. Blocks on storage; for any thread."""

    def __init__(self, store: MonitorStore, reports: Callable[[], list[CellReport]]) -> None:
        """Watch a monitor's store and the reports of its cells."""
        self._reports = reports
        self.board = IncidentBoard(store)

    def going(self) -> list[Incident]:
        """The open incidents, the one opened last first; answers that only got steadier are none."""
        return [one for one in self.board.all() if one.state != "resolved" and one.severity != "info"]

    def count(self) -> int:
        """How many are open: the number on every page."""
        return len(self.going())

    def cells(self) -> list[CellReport]:
        """The reports of all cells; `alert` is whether the cell belongs to an open incident."""
        up = {
            (part.raised.route, part.raised.model, part.raised.perturbation)
            for one in self.going()
            for part in one.up
        }
        return [
            one if one.alert == (one.key.parts in up) else replace(one, alert=not one.alert)
            for one in self._reports()
        ]


def retired_models(reports: Sequence[CellReport]) -> set[tuple[str, str]]:
    """(route, model) of the models whose newest trial is well behind their route's newest.

    A model that few requests reach is behind most of the time: it is given seven times what lay between
    two of its trials in the last hour or, without any, the last day.
    """
    newest: dict[str, float] = {}
    seen: dict[tuple[str, str], float] = {}
    rates: dict[tuple[str, str], float] = {}
    for report in reports:
        at = report.last_scored_at or 0.0
        route, row = report.key.route, (report.key.route, report.key.model)
        newest[route] = max(newest.get(route, 0.0), at)
        seen[row] = max(seen.get(row, 0.0), at)
        rates[row] = max(rates.get(row, 0.0), _rate(report))
    given_s = {row: max(RETIRED_AFTER_S, _GAPS / rate if rate else 0.0) for row, rate in rates.items()}
    return {row for row, at in seen.items() if at < newest[row[0]] - given_s[row]}


def _rate(report: CellReport) -> float:
    """Trials a second, of the last hour, else of the last day; 0 without any."""
    for window, length_s in _LENGTHS_S:
        estimates = report.windows.get(window)
        if estimates and estimates.trials:
            return estimates.trials / length_s
    return 0.0
