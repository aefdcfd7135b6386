"""Chart of an incident: points above noise over time.

It holds every model that has answered on the route, so that a model swap is seen as one line ending and the
next beginning.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from evenkeel.console.chart import ChartMark, chart, value_range
from evenkeel.core import figures, rewordings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkeel.console.chart import Chart
    from evenkeel.core.cells import CellReport
    from evenkeel.monitor.incidents import Incident, Part
    from evenkeel.stores.monitor_state import MonitorStore

MAX_MODELS = 3
"""Models drawn in one chart, newest first."""

POINTS_READ = 400
"""Trend points read per cell."""


@dataclass(frozen=True, slots=True)
class Trend:
    """A chart with its caption."""

    report: CellReport
    """Report of the current model, which is drawn in full colour."""
    earlier: tuple[str, ...]
    """Models drawn dimmed, oldest first; those that no longer answer are marked "(before)"."""
    alert: bool
    chart: Chart
    description: str
    """Description of the chart in a sentence, for people who cannot see it."""

    @property
    def name(self) -> str:
        """Label of the perturbation."""
        kind = self.report.key.perturbation
        return rewordings.pair_label(kind) if rewordings.language_pair(kind) else rewordings.label(kind)


def incident_trend(
    incident: Incident, worst: Part | None, reports: Sequence[CellReport], store: MonitorStore, now: float
) -> Trend | None:
    """Build an incident's chart for the rewording furthest beyond its limit, with the changes marked.

    `worst` is the incident's alert furthest beyond its limit; None if no alert is about a cell.

    Returns: None while there is nothing to draw.
    """
    route = worst.raised.route if worst else incident.routes[0]
    by_kind: dict[str, list[CellReport]] = {}
    for report in reports:
        if report.key.route == route and report.current.excess is not None:
            by_kind.setdefault(report.key.perturbation, []).append(report)
    kind = worst.raised.perturbation if worst else ""
    if worst is None and by_kind:
        # The incident may hold a drift alert alone: then draw the cell furthest above noise.
        kind = max(by_kind, key=lambda name: max(map(_excess, by_kind[name])))
    members = by_kind.get(kind)
    if not members:
        return None
    # The model that answered last is the one that is drawn in full colour.
    members = sorted(members, key=lambda report: report.last_scored_at or 0.0)[-MAX_MODELS:]
    current, limit = members[-1], members[-1].detection.threshold
    series = [store.trend(*report.key.parts, POINTS_READ) for report in members]
    marks = _marks(incident, now)
    moments = "; ".join(mark.label for mark in sorted(marks))
    return Trend(
        report=current,
        earlier=tuple(_earlier(report) for report in members[:-1]),
        alert=any(report.detection.alert for report in members),
        chart=chart(series, marks, threshold=limit, values=value_range(series, limit), now=now),
        description=f"Points above noise for {rewordings.phrase(kind)} on {route}, {current.key.model}: "
        f"now {figures.points_text(current.current.excess, 0)}, limit {figures.limit(limit)}. {moments} UTC.",
    )


def _marks(incident: Incident, now: float) -> list[ChartMark]:
    # Several marks of one change have the same time; one line is drawn for them.
    changed = dict.fromkeys(mark.at for mark in (*incident.marks[:1], *incident.later))
    marks = []
    for at in changed:
        marks.append(ChartMark(at, f"change {figures.moment(at, now)}", "change"))
    opened = f"▲ opened {figures.moment(incident.opened_at, now)}"
    marks.append(ChartMark(incident.opened_at, opened, "raised"))
    if incident.closed_at is not None:
        resolved = f"✓ resolved {figures.moment(incident.closed_at, now)}"
        marks.append(ChartMark(incident.closed_at, resolved, "resolved"))
    return marks


def _earlier(report: CellReport) -> str:
    # Two models may share a route: the older line is not always one that has ended.
    return f"{report.key.model} (before)" if report.retired else report.key.model


def _excess(report: CellReport) -> float:
    return report.current.excess.value if report.current.excess else -1.0
