"""Chart of an incident: points above noise over time.

It holds every model that has answered on the route, so that a model swap is seen as one line ending and the
next beginning.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from evenkeel.console.chart import ChartMark, chart, value_range
from evenkeel.console.overview import samples
from evenkeel.core import figures, rewordings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkeel.console.chart import Chart, ChartSample
    from evenkeel.core.cells import CellReport
    from evenkeel.core.geometry import Range
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
    """Report of the current model, which is drawn in full color."""
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
    """Build the chart of an incident: the rewording that moved furthest, with the change marked.

    Args:
        incident: incident to show.
        worst: its alert furthest beyond the limit; None if none of its alerts is about a cell.
        reports: of all cells, in any order.
        store: store of the points.
        now: Unix time in seconds.

    Returns: None while there is nothing to draw.
    """
    here = []
    for report in reports:
        key = report.key
        if worst is None:
            belongs = key.route == incident.routes[0]
        else:
            belongs = (key.route, key.perturbation) == (worst.raised.route, worst.raised.perturbation)
        if belongs and report.current.excess is not None:
            here.append(report)
    if not here:
        return None
    kind = min(here, key=_urgency).key.perturbation
    members = sorted(
        (report for report in here if report.key.perturbation == kind),
        key=lambda one: one.last_scored_at or 0.0,
    )[-MAX_MODELS:]
    series = [samples(store, report, POINTS_READ) for report in members]
    # Marks of one change carry the same time: one line for all of them.
    changed = dict.fromkeys(mark.at for mark in (*incident.marks[:1], *incident.later))
    marks = [ChartMark(at, f"change {figures.moment(at, now)}", "change") for at in changed]
    marks.append(
        ChartMark(incident.opened_at, f"▲ opened {figures.moment(incident.opened_at, now)}", "raised")
    )
    if incident.closed_at is not None:
        marks.append(
            ChartMark(incident.closed_at, f"✓ resolved {figures.moment(incident.closed_at, now)}", "resolved")
        )
    values = value_range(series, members[-1].detection.threshold)
    return _trend(members, series, marks, values, now)


def _trend(
    members: Sequence[CellReport],
    series: Sequence[Sequence[ChartSample]],
    marks: Sequence[ChartMark],
    values: Range,
    now: float,
) -> Trend:
    """Lay out one chart; the last member is the current model."""
    current = members[-1]
    return Trend(
        report=current,
        earlier=tuple(_earlier(report) for report in members[:-1]),
        alert=any(report.detection.alert for report in members),
        chart=chart(series, marks, threshold=current.detection.threshold, values=values, now=now),
        description=_description(current, marks),
    )


def _earlier(report: CellReport) -> str:
    return f"{report.key.model} (before)" if report.retired else report.key.model


def _urgency(report: CellReport) -> tuple[bool, float]:
    return not report.detection.alert, -(report.current.excess.value if report.current.excess else -1.0)


def _description(current: CellReport, marks: Sequence[ChartMark]) -> str:
    assert current.current.excess is not None
    text = (
        f"Points above noise for {rewordings.phrase(current.key.perturbation)} on {current.key.route}, "
        f"{current.key.model}: now {figures.points_text(current.current.excess, 0)}, "
        f"limit {figures.limit(current.detection.threshold)}."
    )
    moments = "; ".join(mark.label for mark in sorted(marks))
    return f"{text} {moments} UTC." if moments else text
