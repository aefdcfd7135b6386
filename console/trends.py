"""Trend charts: points above noise over time, one small chart per route and perturbation.

A chart holds every model that has answered on its route, so that a model swap is seen as one line
ending and the next beginning.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from evenkeel.console.chart import Mark, Sample, chart, value_range
from evenkeel.console.heatmap import retired_models
from evenkeel.core import figures, rewordings
from evenkeel.core.verdict import BASELINE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkeel.console.chart import Chart
    from evenkeel.core.cells import CellReport
    from evenkeel.stores.monitor_state import AlertEvent, MonitorStore

MAX_CHARTS = 6
MAX_MODELS = 3
"""Models drawn in one chart, newest first."""

POINTS_READ = 400
"""Trend points read per cell."""


@dataclass(frozen=True, slots=True)
class Trend:
    """One chart with its caption."""

    id: str
    report: CellReport
    """Of the current model: the line in full colour."""
    earlier: tuple[str, ...]
    """Models drawn dimmed, oldest first; those that no longer answer are marked "(before)"."""
    alert: bool
    chart: Chart
    description: str
    """The chart in a sentence, for those who do not see it."""

    @property
    def name(self) -> str:
        """What was done to the prompts."""
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
    """Up to `limit` charts worth looking at: alerting cells first, then those with the largest excess."""
    chosen: dict[tuple[str, str], list[CellReport]] = {}
    for report in sorted(reports, key=_urgency):
        if report.excess is None or report.key.perturbation == BASELINE:
            continue
        place = (report.key.route, report.key.perturbation)
        if place in chosen or len(chosen) < limit:
            chosen.setdefault(place, []).append(report)

    drawn = []
    for members in chosen.values():
        newest = sorted(members, key=lambda report: report.last_scored_at or 0.0)[-MAX_MODELS:]
        drawn.append((newest, [_samples(report, store) for report in newest]))
    # One scale for all charts: a small wobble must not look like the alert beside it.
    values = value_range(
        [samples for _, series in drawn for samples in series],
        max((members[-1].threshold for members, _ in drawn), default=0.0),
    )
    retired = retired_models(reports)
    views: list[Trend] = []
    for members, series in drawn:
        current = members[-1]
        marks = _marks(members, events, now)
        views.append(
            Trend(
                id=f"trend-{len(views)}",
                report=current,
                earlier=tuple(_earlier(report, retired) for report in members[:-1]),
                alert=any(report.alert for report in members),
                chart=chart(series, marks, threshold=current.threshold, values=values, now=now),
                description=_description(current, marks),
            )
        )
    return tuple(views)


def _earlier(report: CellReport, retired: set[tuple[str, str]]) -> str:
    gone = (report.key.route, report.key.model) in retired
    return f"{report.key.model} (before)" if gone else report.key.model


def _urgency(report: CellReport) -> tuple[bool, float]:
    return not report.alert, -(report.excess.value if report.excess else -1.0)


def _samples(report: CellReport, store: MonitorStore) -> list[Sample]:
    key = report.key
    return [
        Sample(point.at, point.excess, point.excess_lower, point.excess_upper)
        for point in store.trend(key.route, key.model, key.perturbation, POINTS_READ)
    ]


def _marks(members: Sequence[CellReport], events: Sequence[AlertEvent], now: float) -> list[Mark]:
    keys = {(report.key.route, report.key.model, report.key.perturbation) for report in members}
    return [
        Mark(
            event.at, f"{_MARK_WORDS.get(event.kind, event.kind)} {figures.moment(event.at, now)}", event.kind
        )
        for event in events
        if event.what == "excess" and (event.route, event.model, event.perturbation) in keys
    ]


_MARK_WORDS = {"raised": "▲ alert", "resolved": "✓ resolved"}


def _description(current: CellReport, marks: Sequence[Mark]) -> str:
    assert current.excess is not None
    text = (
        f"Points above noise for {rewordings.phrase(current.key.perturbation)} on {current.key.route}, "
        f"{current.key.model}: now {figures.points_text(current.excess, 0)}, "
        f"allowed {figures.number(current.threshold * 100)}."
    )
    moments = "; ".join(mark.label for mark in sorted(marks))
    return f"{text} {moments} UTC." if moments else text
