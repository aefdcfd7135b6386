"""Cells at a glance: the table of routes and rewordings, and the counts of what cells say of their limits."""

from __future__ import annotations

from collections import Counter
from hashlib import blake2s
from itertools import groupby
from typing import TYPE_CHECKING, Final, NamedTuple

from evenkeel.console.chart import spark
from evenkeel.core import figures, rewordings
from evenkeel.core.verdict import BASELINE

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from evenkeel.console.chart import Spark
    from evenkeel.core.cells import CellReport
    from evenkeel.stores.monitor_state import MonitorStore

# Points read for a sparkline, more than its pixels can show.
_SPARK_POINTS: Final = 120
_DAY_S: Final = 86_400.0
# Cells that are drawn with their course, in whole rows from the top; it would be most of a long page.
_SPARKS: Final = 150
# Width of an interval, as a share, above which people ask why.
_WIDE: Final = 0.3


class Row(NamedTuple):
    """A model on a route; `cells` are its reports by perturbation."""

    route: str
    model: str
    cells: dict[str, CellReport]


class Overview(NamedTuple):
    """The table of all cells that answer."""

    groups: list[tuple[str, list[str]]]
    """Perturbations in order, by category: the columns."""
    rows: list[Row]
    """Models that answer; those with an open incident first."""
    drawn: int
    """Rows that are drawn with the course of their cells."""
    retired: list[tuple[str, str, float]]
    """Retired models: route, model and time of the last trial, latest first."""


def overview(reports: Sequence[CellReport], in_incidents: Collection[tuple[str, str, str]] = ()) -> Overview:
    """Arrange the reports: routes with an incident first; retired models are only named.

    `in_incidents` are the keys of the cells that belong to an open incident.
    """
    models: dict[tuple[str, str], dict[str, CellReport]] = {}
    last: dict[tuple[str, str], float] = {}
    kinds = set()
    for report in reports:
        route, model, kind = report.key.parts
        if report.retired:
            last[route, model] = max(last.get((route, model), 0.0), report.last_scored_at or 0.0)
        else:
            models.setdefault((route, model), {})[kind] = report
            kinds.add(kind)
    columns = groupby(sorted(kinds, key=rewordings.position), key=lambda kind: rewordings.category(kind).name)
    rows = [Row(*parts, cells) for parts, cells in models.items()]
    alerting = {route for route, _, _ in in_incidents}
    rows.sort(key=lambda row: (row.route not in alerting, row.route, row.model))
    return Overview(
        [(category, list(members)) for category, members in columns],
        rows,
        _SPARKS // max(1, len(kinds)),
        [(*parts, at) for parts, at in sorted(last.items(), key=lambda item: -item[1])],
    )


def course(store: MonitorStore, report: CellReport, now: float) -> Spark | None:
    """Lay out the last day of a cell; None for a noise floor, which has no limit to come near to."""
    if report.key.perturbation == BASELINE:
        return None
    points = store.trend(*report.key.parts, _SPARK_POINTS)
    return spark([point for point in points if point.at > now - _DAY_S], report.detection.threshold, now)


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
