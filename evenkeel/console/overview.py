"""Cells at a glance: what each says of its limit, its figure, and its course over the last day."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from hashlib import blake2s
from itertools import groupby
from typing import TYPE_CHECKING, Final, NamedTuple

from evenkeel.console import links
from evenkeel.console.chart import spark
from evenkeel.console.wording import doubts, trials_left
from evenkeel.core import figures, rewordings
from evenkeel.core.cells import STANDINGS
from evenkeel.core.labels import scorer_words
from evenkeel.core.verdict import BASELINE

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from evenkeel.console.chart import Spark
    from evenkeel.core.cells import CellReport, Estimate
    from evenkeel.stores.monitor_state import MonitorStore

SPARKS: Final = 150
"""Cells that are drawn with their course, row by row from the top; it would be most of a long page."""
# Points read for a sparkline, more than its pixels can show.
_SPARK_POINTS: Final = 120
_DAY_S: Final = 86_400.0
# Width of an interval, as a share, above which people ask why.
_WIDE: Final = 0.3


class OverviewColumn(NamedTuple):
    """A perturbation."""

    label: str
    perturbation: str
    group: str
    first_of_group: bool


@dataclass(frozen=True, slots=True)
class OverviewCell:
    """A report as a cell of the table."""

    report: CellReport
    label: str
    href: str
    alert: bool
    """True if the cell belongs to an open incident."""
    spark: Spark | None = None

    @property
    def control(self) -> bool:
        """True if the cell shows the noise floor."""
        return self.report.key.perturbation == BASELINE

    @property
    def tone(self) -> str:
        """Class of its color: what it says of its limit, never how large its value is."""
        return "floor" if self.control else f"is-{self.report.standing}"

    @property
    def measure(self) -> Estimate | None:
        """Points above noise, or the noise floor, since the last change as far as there are trials."""
        current = self.report.current
        return current.content_delta if self.control else current.excess

    @property
    def note(self) -> str:
        """Short reason why there is no figure, or about how much is missing; "" where neither is."""
        if self.control:
            return "" if self.measure else "collecting"
        if self.report.standing == "unmeasured":
            return self.report.unmeasured_because
        more = self.report.more_trials
        return f"~{figures.rounded(more):,} more" if more else ""

    @property
    def detail(self) -> str:
        """Tooltip; a screen reader reads its first line first."""
        return "\n".join(_detail(self.report, alert=self.alert))


class Row(NamedTuple):
    """A model on a route; `cells` has None where a perturbation was never tried."""

    route: str
    model: str
    cells: tuple[OverviewCell | None, ...]
    said: str
    """Number of its cells that are within their limits, over them …"""


@dataclass(frozen=True, slots=True)
class Overview:
    """The table of all cells that answer."""

    groups: tuple[tuple[str, int], ...]
    """Neighboring columns of one category, with their number."""
    columns: tuple[OverviewColumn, ...]
    rows: tuple[Row, ...]
    """Models that answer; those with an open incident first."""
    retired: tuple[tuple[str, str, float], ...]
    """Retired models: route, model and time of the last trial, latest first."""
    wide: str
    """Why intervals are wide, while one that leaves the limit open is; else ""."""


def overview(
    reports: Sequence[CellReport],
    store: MonitorStore,
    now: float,
    in_incidents: Collection[tuple[str, str, str]] = (),
) -> Overview:
    """Arrange the reports: routes with an incident first; retired models are only named. Blocks on the store.

    `in_incidents` are the keys of the cells that belong to an open incident.
    """
    live = []
    for report in reports:
        if not report.retired:
            live.append(report)
    columns = _columns(sorted({report.key.perturbation for report in live}, key=rewordings.position))
    groups = groupby(columns, key=lambda column: column.group)
    models: dict[tuple[str, str], dict[str, CellReport]] = {}
    for report in live:
        models.setdefault(report.key.parts[:2], {})[report.key.perturbation] = report
    alerting = {route for route, _, _ in in_incidents}
    rows: list[Row] = []
    drawn = 0
    for (route, model), cells in sorted(
        models.items(), key=lambda item: (item[0][0] not in alerting, item[0])
    ):
        # The limit counts whole rows: half a row of sparklines would look like missing data.
        with_course = drawn < SPARKS
        drawn += len(cells)
        shown = []
        for column in columns:
            shown.append(_cell(cells, column, in_incidents, store if with_course else None, now))
        rows.append(Row(route, model, tuple(shown), counted(cells.values())))
    last: dict[tuple[str, str], float] = {}
    for report in reports:
        if report.retired:
            row_key = (report.key.route, report.key.model)
            last[row_key] = max(last.get(row_key, 0.0), report.last_scored_at or 0.0)
    return Overview(
        tuple((name, len(list(members))) for name, members in groups),
        columns,
        tuple(rows),
        tuple((*row_key, at) for row_key, at in sorted(last.items(), key=lambda item: -item[1])),
        why_wide(live),
    )


def counted(reports: Iterable[CellReport]) -> str:
    """Count cells by what they say of their limits: "15 cells: 11 within their limits, 4 not known yet"."""
    standings = Counter[str]()
    for report in reports:
        # The noise floor has no limit.
        if report.key.perturbation != BASELINE:
            standings[report.standing] += 1
    words = {
        "within": f"within {'its limit' if standings['within'] == 1 else 'their limits'}",
        "over": "over",
        "unknown": "not known yet",
        "unmeasured": "unmeasured",
    }
    parts = []
    for name, each in words.items():
        if standings[name]:
            parts.append(f"{standings[name]} {each}")
    summary = ", ".join(parts)
    return f"{figures.count(standings.total(), 'cell')}: {summary}" if summary else ""


def why_wide(reports: Iterable[CellReport]) -> str:
    """Say why intervals are wide, while one that leaves the limit open is; else ""."""
    for report in reports:
        excess = report.current.excess
        if report.standing == "unknown" and excess and excess.upper - excess.lower > _WIDE:
            return figures.WIDE
    return ""


def cell_id(report: CellReport) -> str:
    """Return an element id for a cell: a digest of its key, because keys may hold any character."""
    text = "\0".join(report.key.parts)
    return f"cell-{blake2s(text.encode(errors='replace'), digest_size=6).hexdigest()}"


def course(store: MonitorStore, report: CellReport, now: float) -> Spark | None:
    """Lay out the last day of a cell; None for a noise floor, which has no limit to come near to."""
    if report.key.perturbation == BASELINE:
        return None
    points = store.trend(*report.key.parts, _SPARK_POINTS)
    latest = [point for point in points if point.at > now - _DAY_S]
    return spark(latest, report.detection.threshold, now)


def _columns(names: Sequence[str]) -> tuple[OverviewColumn, ...]:
    columns: list[OverviewColumn] = []
    for name in names:
        group = rewordings.category(name).name
        first_of_group = bool(columns) and columns[-1].group != group
        columns.append(OverviewColumn(rewordings.column_label(name), name, group, first_of_group))
    return tuple(columns)


def _cell(
    cells: Mapping[str, CellReport],
    column: OverviewColumn,
    in_incidents: Collection[tuple[str, str, str]],
    store: MonitorStore | None,
    now: float,
) -> OverviewCell | None:
    report = cells.get(column.perturbation)
    if report is None:
        return None
    return OverviewCell(
        report,
        column.label,
        links.cell_link(report.key),
        report.key.parts in in_incidents,
        course(store, report, now) if store is not None else None,
    )


def _detail(report: CellReport, *, alert: bool) -> list[str]:
    key, current, control = report.key, report.current, report.key.perturbation == BASELINE
    lines = [f"{rewordings.label(key.perturbation)}, {key.route}, {key.model}"]
    lines.append("noise floor: the same prompt sent again" if control else report.standing_words)
    if trials_left(report) and not control:
        lines.append(f"decided after {trials_left(report)}")
    if alert:
        lines.append("part of an open incident")
    if current.excess and not control:
        limit = figures.limit(report.detection.threshold)
        lines.append(
            f"{figures.points_text(current.excess, 0)} points above noise in {current.excess.n:,} trials, "
            f"limit {limit}"
        )
    if current.content_delta:
        lines.append(f"content changed in {figures.estimate_text(current.content_delta)}")
    if doubts(report):
        lines.append(doubts(report))
    if report.counts.failures:
        lines.append(f"not rated: {figures.reasons(report.counts.failures)}")
    lines.append(scorer_words(report.scorer))
    return lines


LEGEND: Final = tuple((f"is-{standing}", words) for standing, words in STANDINGS.items())
"""Meaning of the colours, by class."""
