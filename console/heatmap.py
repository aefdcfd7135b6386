"""Heatmaps: routes × models against perturbations, and pairs of languages, coloured by robustness."""

from __future__ import annotations

from dataclasses import dataclass, replace
from hashlib import blake2s
from itertools import groupby, pairwise
from typing import TYPE_CHECKING

from evenkeel.console import links
from evenkeel.core import figures, rewordings
from evenkeel.core.labels import scorer_words
from evenkeel.core.verdict import BASELINE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evenkeel.core.cells import CellReport


BAND_FLOORS = (90.0, 85.0, 80.0, 75.0, 70.0, 65.0, 60.0)
"""Lower edges of the robustness bands, in points of 100; the last band is everything below."""

PAIRS_IN_COLUMNS = 4
"""So many pairs of languages have columns of their own; more share one, and have a matrix."""

TOOLTIPS = 80
"""Cells that have them, row by row from the top; the page of a route has all of its own."""

RETIRED_AFTER_S = 60.0
"""A model this far behind the newest verdict of its route is shown as no longer answering."""


@dataclass(frozen=True, slots=True)
class Band:
    """One colour of the legend."""

    index: int
    label: str


BANDS = tuple(
    Band(index, label)
    for index, label in enumerate(
        (
            f"≥ {BAND_FLOORS[0]:.0f}",
            *(f"{low:.0f}–{high:.0f}" for high, low in pairwise(BAND_FLOORS)),
            f"< {BAND_FLOORS[-1]:.0f}",
        )
    )
)


@dataclass(frozen=True, slots=True)
class ColumnGroup:
    """Neighbouring columns of one category."""

    category: str
    span: int


@dataclass(frozen=True, slots=True)
class Column:
    """One perturbation."""

    perturbation: str
    label: str
    first_of_group: bool
    lowest_of: tuple[str, ...] = ()
    """The perturbations of which the column shows the lowest, () for a column of its own."""


@dataclass(frozen=True, slots=True)
class HeatCell:
    """One cell, ready to print. `score` is "" while there are too few trials for a number."""

    label: str
    first_of_group: bool
    href: str
    id: str
    """Stable across refreshes, so that keyboard focus survives them."""
    band: int | None
    score: str
    interval: str
    trials: int
    minimum: int
    alert: bool
    detail: tuple[str, ...]
    """What the tooltip says, a line each; the first is what a screen reader says first."""
    lowest: str = ""
    """Which of several perturbations it is, "" in a column of its own."""


@dataclass(frozen=True, slots=True)
class HeatRow:
    """One model on one route; `cells` has None where a perturbation was never tried."""

    route: str
    href: str
    """Of the route's page."""
    model: str
    retired: bool
    last_seen: str
    """When its newest trial was scored, "" if never."""
    cells: tuple[HeatCell | None, ...]
    brief: bool
    """Whether its cells go without tooltips: those of many rows would be most of the page's bytes."""


@dataclass(frozen=True, slots=True)
class Heatmap:
    """The whole table."""

    groups: tuple[ColumnGroup, ...]
    columns: tuple[Column, ...]
    rows: tuple[HeatRow, ...]
    without_judge: bool
    """Whether any rating came from cheap metrics."""


def band(robustness: float) -> int:
    """The colour band of a robustness in [0, 1], 0 = best; decided on the number as printed."""
    points = round(robustness * 100, 1)
    return sum(points < floor for floor in BAND_FLOORS)


def heatmap(reports: Sequence[CellReport], *, minimum: int, now: float) -> Heatmap:
    """Arrange the reports: alerts first among the routes' live models, retired models last.

    Args:
        reports: one per cell, in any order.
        minimum: trials below which a cell shows its progress instead of a number.
        now: Unix time in seconds.
    """
    columns = _columns(sorted({report.key.perturbation for report in reports}, key=rewordings.position))
    grouped = [
        (name, list(members))
        for name, members in groupby(
            columns, key=lambda column: rewordings.category(column.perturbation).name
        )
    ]
    rows: list[HeatRow] = []
    alerting = {report.key.route for report in reports if report.alert}
    for route in sorted(
        {report.key.route for report in reports}, key=lambda name: (name not in alerting, name)
    ):
        here = [report for report in reports if report.key.route == route]
        rows.extend(_rows_of_route(here, columns, minimum, now))
    told = 0
    for place, row in enumerate(rows):
        told += sum(cell is not None for cell in row.cells)
        rows[place] = replace(row, brief=told > TOOLTIPS)
    return Heatmap(
        groups=tuple(ColumnGroup(name, len(members)) for name, members in grouped),
        columns=columns,
        rows=tuple(rows),
        without_judge=any(report.scorer == "metrics" for report in reports),
    )


def _columns(names: Sequence[str]) -> tuple[Column, ...]:
    found: list[Column] = []
    for category, members in groupby(names, key=lambda name: rewordings.category(name).name):
        kinds = list(members)
        if rewordings.category(category).asks_for == "languages" and len(kinds) > PAIRS_IN_COLUMNS:
            # The bare category: as a filter of verdicts it would find nothing, so the cell leads elsewhere.
            found.append(Column(category, "lowest pair", bool(found), tuple(kinds)))
            continue
        found += [
            Column(kind, rewordings.column_label(kind), bool(found) and not place)
            for place, kind in enumerate(kinds)
        ]
    return tuple(found)


def retired_models(reports: Sequence[CellReport]) -> set[tuple[str, str]]:
    """(route, model) of the models whose newest trial is well behind their route's newest."""
    newest: dict[str, float] = {}
    seen: dict[tuple[str, str], float] = {}
    for report in reports:
        at = report.last_scored_at or 0.0
        route, row = report.key.route, (report.key.route, report.key.model)
        newest[route] = max(newest.get(route, 0.0), at)
        seen[row] = max(seen.get(row, 0.0), at)
    return {row for row, at in seen.items() if at < newest[row[0]] - RETIRED_AFTER_S}


def cell_id(report: CellReport) -> str:
    """An element id for a cell: a digest of its key, which may hold any character."""
    key = report.key
    text = f"{key.route}\0{key.model}\0{key.perturbation}"
    return f"cell-{blake2s(text.encode(errors='replace'), digest_size=6).hexdigest()}"


def _rows_of_route(
    reports: list[CellReport], columns: tuple[Column, ...], minimum: int, now: float
) -> list[HeatRow]:
    retired = retired_models(reports)
    models: dict[str, dict[str, CellReport]] = {}
    for report in reports:
        models.setdefault(report.key.model, {})[report.key.perturbation] = report

    def place(model: str) -> tuple[bool, float, bool, str]:
        cells = models[model].values()
        gone = (reports[0].key.route, model) in retired
        last = max(report.last_scored_at or 0.0 for report in cells)
        # Live models are not ordered by time: two that share a route would swap rows at each refresh.
        return gone, -last if gone else 0.0, not any(report.alert for report in cells), model

    rows = []
    for model in sorted(models, key=place):
        cells = models[model]
        last = max(report.last_scored_at or 0.0 for report in cells.values())
        rows.append(
            HeatRow(
                route=reports[0].key.route,
                href=links.route_link(reports[0].key.route),
                model=model,
                retired=(reports[0].key.route, model) in retired,
                last_seen=figures.moment(last, now) if last else "",
                cells=tuple(_in_column(cells, column, minimum) for column in columns),
                brief=False,
            )
        )
    return rows


def _in_column(cells: Mapping[str, CellReport], column: Column, minimum: int) -> HeatCell | None:
    if not column.lowest_of:
        found = cells.get(column.perturbation)
        return None if found is None else heat_cell(found, column.label, minimum, edge=column.first_of_group)
    pairs = [cells[name] for name in column.lowest_of if name in cells]
    if not pairs:
        return None
    lowest = min(pairs, key=_rank)
    cell = heat_cell(lowest, column.label, minimum, edge=column.first_of_group)
    return replace(
        cell,
        href=f"{links.route_link(lowest.key.route)}#languages",
        id=f"{cell.id}-lowest",
        alert=any(report.alert for report in pairs),
        lowest=rewordings.pair_label(lowest.key.perturbation),
        detail=(f"lowest of {len(pairs)} pairs of languages", *cell.detail),
    )


def _rank(report: CellReport) -> tuple[bool, float, str]:
    """Alerts before others, and the lowest robustness first; what is still collecting comes last."""
    return not report.alert, report.robustness.value if report.robustness else 2.0, report.key.perturbation


def heat_cell(report: CellReport, label: str, minimum: int, *, edge: bool = False) -> HeatCell:
    """One report as a coloured cell."""
    robustness = report.robustness
    return HeatCell(
        label=label,
        first_of_group=edge,
        href=links.verdicts_link(route=report.key.route, perturbation=report.key.perturbation),
        id=cell_id(report),
        band=band(robustness.value) if robustness else None,
        score=figures.number(robustness.value * 100, 1) if robustness else "",
        interval=f"{figures.number(robustness.lower * 100)}–{figures.number(robustness.upper * 100)}"
        if robustness
        else "",
        trials=report.trials,
        minimum=minimum,
        alert=report.alert,
        detail=tuple(_detail(report, minimum)),
    )


def _detail(report: CellReport, minimum: int) -> list[str]:
    key = report.key
    lines = [f"{rewordings.label(key.perturbation)}, {key.route}, {key.model}"]
    if report.alert:
        lines.append("ALERT: answers move more than allowed")
    if report.robustness:
        score = report.robustness
        lines.append(
            f"robustness {figures.number(score.value * 100, 1)} of 100 "
            f"[{figures.number(score.lower * 100)}, {figures.number(score.upper * 100)}], "
            f"{report.trials} trials"
        )
    else:
        lines.append(f"collecting: {report.trials} of {minimum} trials")
    if report.content_delta:
        lines.append(f"content moved in {figures.estimate_text(report.content_delta)}")
    if report.quality_delta:
        quality = report.quality_delta
        lines.append(f"quality changed in {figures.estimate_text(quality)} of {quality.n} moved answers")
    if report.excess:
        lines.append(
            f"excess over noise {figures.estimate_text(report.excess)}, "
            f"allowed {figures.percent(report.threshold)}"
        )
    if key.perturbation != BASELINE and report.alarm_log10 > 0:
        lines.append(
            f"evidence 10^{figures.number(report.evidence_log10, 1)}, "
            f"alert at 10^{figures.number(report.alarm_log10, 1)}"
        )
    if report.failures:
        reasons = ", ".join(f"{count} {reason}" for reason, count in sorted(report.failures.items()))
        lines.append(f"not rated: {reasons}")
    lines.append(scorer_words(report.scorer))
    return lines


@dataclass(frozen=True, slots=True)
class MatrixRow:
    """Prompts in one language; None where a pair was never tried."""

    language: str
    cells: tuple[HeatCell | None, ...]


@dataclass(frozen=True, slots=True)
class LanguageMatrix:
    """One route and model."""

    id: str
    route: str
    href: str
    model: str
    retired: bool
    languages: tuple[str, ...]
    """Of the answers, the heads of the columns."""
    rows: tuple[MatrixRow, ...]
    alerts: int


def language_matrices(reports: Sequence[CellReport], *, minimum: int) -> tuple[LanguageMatrix, ...]:
    """One matrix for each route and model with more pairs than fit into columns.

    Those with an alert come first, then by route and model; models that no longer answer come last.
    """
    retired = retired_models(reports)
    groups: dict[tuple[str, str], dict[tuple[str, str], CellReport]] = {}
    for report in reports:
        pair = rewordings.language_pair(report.key.perturbation)
        if pair is not None:
            groups.setdefault((report.key.route, report.key.model), {})[pair] = report

    def place(group: tuple[str, str]) -> tuple[bool, bool, tuple[str, str]]:
        return group in retired, not any(one.alert for one in groups[group].values()), group

    wide = [group for group in sorted(groups, key=place) if len(groups[group]) > PAIRS_IN_COLUMNS]
    return tuple(
        _matrix(f"languages-{number}", *group, groups[group], minimum, retired=group in retired)
        for number, group in enumerate(wide)
    )


def _matrix(
    element: str,
    route: str,
    model: str,
    pairs: dict[tuple[str, str], CellReport],
    minimum: int,
    *,
    retired: bool,
) -> LanguageMatrix:
    sources = sorted({source for source, _ in pairs}, key=_order)
    targets = sorted({target for _, target in pairs}, key=_order)

    def cell(source: str, target: str) -> HeatCell | None:
        report = pairs.get((source, target))
        if report is None:
            return None
        trials = links.trials_link(route=route, model=model, perturbation=report.key.perturbation)
        return replace(heat_cell(report, f"{source} → {target}", minimum), href=trials)

    return LanguageMatrix(
        id=element,
        route=route,
        href=links.route_link(route),
        model=model,
        retired=retired,
        languages=tuple(targets),
        rows=tuple(
            MatrixRow(source, tuple(cell(source, target) for target in targets)) for source in sources
        ),
        alerts=sum(report.alert for report in pairs.values()),
    )


def _order(language: str) -> tuple[bool, str]:
    """English first: it is what most prompts are in."""
    return language != "en", language
