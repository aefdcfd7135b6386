"""Charts of the pages: shares in time as lines with gaps, and sparklines. Pure.

Scales, ticks and paths are those of `evenkeel.core.geometry`; the templates draw what is laid out here.
"""

from __future__ import annotations

import math
from datetime import UTC, datetime
from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple, TypeGuard

from evenkeel.core import figures, geometry, rewordings
from evenkeel.core.geometry import Range, Scale, Tick

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkeel.core.cells import CellReport
    from evenkeel.monitor.incidents import Incident, Part
    from evenkeel.stores.monitor_state import MonitorStore, TrendPoint


MAX_MODELS = 3
"""Models drawn in one chart, newest first."""

POINTS_READ = 400
"""Trend points read per cell."""


class Trend(NamedTuple):
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
        chart=chart(series, marks, threshold=limit, now=now),
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


# The plot in user units of the SVG; the labels of axes and events stand around it.
LEFT, RIGHT, TOP, BOTTOM = 40, 370, 30, 152
MAX_POINTS: Final = 80
"""Points drawn per series; more would not be visible and would make the page heavier."""

# Distances between ticks, in seconds, that people count in.
_TICKS_S = (5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 604800)
_MAX_TIME_TICKS = 5
# Shortest time span in seconds; a shorter one would make two points look like a trend.
_SHORTEST_S = 60.0

# A pause of as many usual distances between points is a gap.
_GAP_STEPS: Final = 6.0
# A gap takes at least this part of a chart's width.
_GAP_SHARE: Final = 40.0
# Width of an alert's label, in user units.
_LABEL_WIDTH = 92
# Kinds of marks by the row of their labels.
_LABEL_ROWS: Final = ("change", "raised", "resolved")


class ChartMark(NamedTuple):
    """A moment to mark with a vertical line."""

    at: float
    label: str
    kind: str
    """CSS class: "change", "raised" or "resolved"."""


class ChartLine(NamedTuple):
    """A series as SVG path data; `band` is "" with fewer than two intervals."""

    line: str
    band: str
    end_x: float
    end_y: float
    current: bool
    """True for the newest series, which is drawn on top and in full color."""


class MarkLine(NamedTuple):
    """A vertical line with its label, placed so that it stays inside the chart."""

    x: float
    label_y: float
    anchor: str
    label: str
    kind: str


class Chart(NamedTuple):
    """Values that the SVG template prints."""

    lines: tuple[ChartLine, ...]
    threshold_y: float
    zero_y: float
    y_ticks: tuple[Tick, ...]
    x_ticks: tuple[Tick, ...]
    marks: tuple[MarkLine, ...]


def _value_range(series: Sequence[Sequence[TrendPoint]], threshold: float) -> Range:
    """Return a range that holds every value, the threshold and each series' last interval, in steps of 10 %.

    Early intervals are wide and would flatten the lines, so they may run out of the plot.
    """
    # Room above the limit, so that a line which keeps to it never looks as if it were at the top.
    values: list[float | None] = [threshold * 1.5, 0.0]
    for samples in series:
        rated = [sample for sample in samples if _finite(sample.excess)]
        values += [sample.excess for sample in rated]
        if rated:
            values += (rated[-1].excess_lower, rated[-1].excess_upper)
    return Range.holding(values, step=0.1, least=0.2, within=(-1.0, 1.0))


def chart(
    series: Sequence[Sequence[TrendPoint]],
    marks: Sequence[ChartMark],
    *,
    threshold: float,
    now: float,
) -> Chart:
    """Lay out one chart, from its first sample to now; without samples it has no time axis.

    Args:
        series: oldest model first; the last is the current one. Samples in order of time.
        marks: alerts raised and resolved.
        threshold: the largest excess allowed, in [0, 1].
        now: Unix time in seconds, the right edge, so that it is visible if a line has stopped.
    """
    times = []
    for samples in series:
        for sample in samples:
            if _finite(sample.excess):
                times.append(sample.at)
    start, end = _time_range(times, now)
    x, y = Scale(start, end, LEFT, RIGHT), Scale(*_value_range(series, threshold), BOTTOM, TOP)
    lines = []
    for samples in series:
        line = _line(samples, x, y, current=samples is series[-1])
        if line is not None:
            lines.append(line)
    placed = []
    for mark in marks:
        if start <= mark.at <= end:
            at = x.at(mark.at)
            # A row for each kind of mark, so that no label covers another's; near the right edge it is left.
            anchor = "end" if at > RIGHT - _LABEL_WIDTH else "start"
            row = 11 + 12 * _LABEL_ROWS.index(mark.kind)
            placed.append(MarkLine(at, row, anchor, mark.label, mark.kind))
    return Chart(
        lines=tuple(lines),
        threshold_y=y.at(threshold),
        zero_y=y.at(0.0),
        y_ticks=_value_ticks(y),
        x_ticks=tuple(Tick(x.at(at), label) for at, label in time_ticks(start, end)) if times else (),
        marks=tuple(placed),
    )


def _time_range(times: Sequence[float], now: float) -> tuple[float, float]:
    start, end = min(times, default=now), max([now, *times])
    # The right edge moves in steps: an edge that moved with every second would make the page
    # change, and be sent again, at every refresh. Powers of two, because a step that followed the
    # range exactly would itself change with every second.
    step = 2.0 ** math.floor(math.log2(max(1.0, (end - start) / 60)))
    end = math.ceil(end / step) * step
    return min(start, end - _SHORTEST_S), end


def time_ticks(start: float, end: float) -> list[tuple[float, str]]:
    """Return at most five round times between two Unix times, labelled in UTC."""
    step = next((step for step in _TICKS_S if (end - start) / step <= _MAX_TIME_TICKS), _TICKS_S[-1])
    form = "%H:%M:%S" if step < 60 else "%H:%M" if step < 86400 else "%d %b"  # noqa: PLR2004 - a minute, a day
    multiples = range(math.ceil(start / step), int(end // step) + 1)
    stride = max(1, math.ceil(len(multiples) / _MAX_TIME_TICKS))
    return [(at * step, datetime.fromtimestamp(at * step, UTC).strftime(form)) for at in multiples[::stride]]


def _finite(value: float | None) -> TypeGuard[float]:
    return value is not None and math.isfinite(value)


def _segments(samples: Sequence[TrendPoint], pause_s: float) -> list[list[TrendPoint]]:
    """Split a series where nothing was measured: at points without a value, and at long pauses."""
    segments: list[list[TrendPoint]] = [[]]
    for sample in samples:
        if segments[-1] and (not _finite(sample.excess) or sample.at - segments[-1][-1].at > pause_s):
            segments.append([])
        if _finite(sample.excess):
            segments[-1].append(sample)
    return segments if segments[-1] else segments[:-1]


def _pause_s(samples: Sequence[TrendPoint], span_s: float) -> float:
    """Return the seconds without a point that count as a gap, which is wide enough to be seen."""
    between = sorted(later.at - sample.at for sample, later in pairwise(samples))
    usual = between[len(between) // 2] if between else 0.0
    return max(_GAP_STEPS * usual, span_s / _GAP_SHARE)


def _thinned(samples: Sequence[TrendPoint]) -> list[TrendPoint]:
    """Return evenly chosen samples, always including the last one."""
    if len(samples) <= MAX_POINTS:
        return list(samples)
    last = len(samples) - 1
    return [samples[round(number * last / (MAX_POINTS - 1))] for number in range(MAX_POINTS)]


def _line(samples: Sequence[TrendPoint], x: Scale, y: Scale, *, current: bool) -> ChartLine | None:
    """Lay out a series as a line with its gaps; a series without samples has none."""
    thinned = _thinned(samples)
    segments = _segments(thinned, _pause_s(thinned, x.high - x.low))
    if not segments:
        return None
    lines, bands = [], []
    for segment in segments:
        points, band = [], []
        for point in segment:
            if point.excess is not None:
                points.append((x.at(point.at), y.at(point.excess)))
            if _finite(point.excess_lower) and _finite(point.excess_upper):
                band.append((x.at(point.at), y.at(point.excess_lower), y.at(point.excess_upper)))
        # A point by itself is drawn as a dot: a line of no length with round ends.
        lines.append(geometry.path(points if len(points) > 1 else points * 2))
        bands.append(geometry.ribbon(band))
    last = segments[-1][-1]
    assert last.excess is not None
    return ChartLine("".join(lines), "".join(bands), x.at(last.at), y.at(last.excess), current=current)


def _value_ticks(y: Scale) -> tuple[Tick, ...]:
    tenths = geometry.steps(y.low, y.high, 0.1)
    step = next(step for step in (1, 2, 5, 10, 20) if len(tenths) / step <= 5)  # noqa: PLR2004 - labels that fit
    chosen = []
    for value in tenths:
        if round(value * 10) % step == 0:
            chosen.append(value)
    return y.ticks(chosen, lambda value: geometry.plain_number(round(value * 100)))


SPARK_WIDTH: Final = 76
SPARK_HEIGHT: Final = 20


class Spark(NamedTuple):
    """A course in the space of a word: the line with its gaps, and the limit."""

    line: str
    limit_y: float
    end_x: float
    end_y: float


def spark(samples: Sequence[TrendPoint], limit: float, now: float) -> Spark | None:
    """Lay out the course of a cell up to now; None without two points.

    Args:
        samples: points in order of time.
        limit: largest value allowed; it is always in the picture.
        now: Unix time in seconds: a line that ends before the right edge has stopped.
    """
    rated = [sample.at for sample in samples if _finite(sample.excess)]
    if len(rated) < 2:  # noqa: PLR2004 - a point is no course
        return None
    values = Range.holding(
        [0.0, 1.5 * limit, *(sample.excess for sample in samples)], step=0.05, least=0.1, within=(-1.0, 1.0)
    )
    x = Scale(*_time_range(rated, now), 2, SPARK_WIDTH - 2)
    y = Scale(*values, SPARK_HEIGHT - 2, 2)
    line = _line(samples, x, y, current=True)
    return Spark(line.line, y.at(limit), line.end_x, line.end_y) if line else None
