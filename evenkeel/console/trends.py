"""Trend charts: points above noise over time, one small chart per route and perturbation.

A chart holds every model that has answered on its route, so that a model swap is seen as one line
ending and the next beginning.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from evenkeel.console.chart import ChartMark, chart, value_range
from evenkeel.console.overview import samples
from evenkeel.core import figures, rewordings
from evenkeel.core.verdict import BASELINE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkeel.console.chart import Chart, ChartSample
    from evenkeel.core.cells import CellReport
    from evenkeel.core.geometry import Range
    from evenkeel.monitor.incidents import Incident, Part
    from evenkeel.stores.monitor_state import AlertEvent, MonitorStore

MAX_CHARTS = 6
MAX_MODELS = 3
"""Models drawn in one chart, newest first."""

POINTS_READ = 400
"""Trend points read per cell."""


@dataclass(frozen=True, slots=True)
class Trend:
    """A chart with its caption."""

    id: str
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


def trends(
    reports: Sequence[CellReport],
    events: Sequence[AlertEvent],
    store: MonitorStore,
    now: float,
    *,
    limit: int = MAX_CHARTS,
) -> tuple[Trend, ...]:
    """Build up to `limit` charts: cells of an incident first, then those furthest above noise."""
    chosen: dict[tuple[str, str], list[CellReport]] = {}
    for report in sorted(reports, key=_urgency):
        if report.current.excess is None or report.key.perturbation == BASELINE:
            continue
        key = (report.key.route, report.key.perturbation)
        # Earlier models of a chosen cell join its chart even when the charts are full.
        if key in chosen or len(chosen) < limit:
            chosen.setdefault(key, []).append(report)

    drawn = []
    for members in chosen.values():
        newest = sorted(members, key=lambda report: report.last_scored_at or 0.0)[-MAX_MODELS:]
        drawn.append((newest, [samples(store, report, POINTS_READ) for report in newest]))
    # All charts share a scale: a small wobble must not look like the alert next to it.
    values = value_range(
        [line for _, series in drawn for line in series],
        max((members[-1].detection.threshold for members, _ in drawn), default=0.0),
    )
    return tuple(
        _trend(f"trend-{key}", members, series, _marks(members, events, now), values, now)
        for key, (members, series) in enumerate(drawn)
    )


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
    return _trend("trend", members, series, marks, values, now)


def _trend(
    element: str,
    members: Sequence[CellReport],
    series: Sequence[Sequence[ChartSample]],
    marks: Sequence[ChartMark],
    values: Range,
    now: float,
) -> Trend:
    """Lay out one chart; the last member is the current model."""
    current = members[-1]
    return Trend(
        id=element,
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


def _marks(members: Sequence[CellReport], events: Sequence[AlertEvent], now: float) -> list[ChartMark]:
    keys = {(report.key.route, report.key.model, report.key.perturbation) for report in members}
    marks = []
    for event in events:
        if event.what == "excess" and (event.route, event.model, event.perturbation) in keys:
            words = _MARK_WORDS.get(event.kind, event.kind)
            marks.append(ChartMark(event.at, f"{words} {figures.moment(event.at, now)}", event.kind))
    return marks


_MARK_WORDS = {"raised": "▲ alert", "resolved": "✓ resolved"}


def _description(current: CellReport, marks: Sequence[ChartMark]) -> str:
    assert current.current.excess is not None
    text = (
        f"Points above noise for {rewordings.phrase(current.key.perturbation)} on {current.key.route}, "
        f"{current.key.model}: now {figures.points_text(current.current.excess, 0)}, "
        f"limit {figures.limit(current.detection.threshold)}."
    )
    moments = "; ".join(mark.label for mark in sorted(marks))
    return f"{text} {moments} UTC." if moments else text
