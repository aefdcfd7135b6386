"""Heatmaps: routes × models against perturbations, and pairs of languages, in points above noise."""

from __future__ import annotations

from dataclasses import dataclass, replace
from hashlib import blake2s
from itertools import accumulate, groupby, pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

from evenkeel.console import links
from evenkeel.console.wording import doubts
from evenkeel.core import figures, rewordings
from evenkeel.core.geometry import BAND_FLOORS, Band, band
from evenkeel.core.labels import scorer_words
from evenkeel.core.verdict import BASELINE

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from evenkeel.core.cells import CellReport, Estimate


PAIRS_IN_COLUMNS = 4
"""Language pairs that can have a column each; more than these share a column and are shown in a matrix."""

TOOLTIPS = 80
"""Cells that have tooltips, row by row from the top; the page of a route has all of its own."""

_EDGES: Final = tuple(100 - floor for floor in BAND_FLOORS)
BANDS: Final = tuple(
    Band(index, label)
    for index, label in enumerate(
        (
            f"≤ {_EDGES[0]:.0f}",
            *(f"{low:.0f}–{high:.0f}" for low, high in pairwise(_EDGES)),
            f"> {_EDGES[-1]:.0f}",
        )
    )
)
"""Color bands of points above noise, the calmest first: the bands of robustness in reverse."""


class Column(NamedTuple):
    """A perturbation, or a category that shows its perturbation furthest above noise."""

    perturbation: str
    label: str
    first_of_group: bool
    furthest_of: tuple[str, ...] = ()
    """Perturbations of the category that the column stands for; () for a column of a single perturbation."""


@dataclass(frozen=True, slots=True)
class HeatCell:
    """A report as a colored cell."""

    report: CellReport
    label: str
    href: str
    pairs: tuple[CellReport, ...] = ()
    """Language pairs that the cell stands for, by showing the furthest above noise; () for a single pair."""

    @property
    def id(self) -> str:
        """Element id; stable across refreshes, so that keyboard focus survives them."""
        return f"{cell_id(self.report)}{'-furthest' if self.pairs else ''}"

    @property
    def alert(self) -> bool:
        """True if the cell, or any of its pairs, belongs to an open incident."""
        return any(one.detection.alert for one in self.pairs or (self.report,))

    @property
    def control(self) -> bool:
        """True if the cell shows the noise floor."""
        return self.report.key.perturbation == BASELINE

    @property
    def band(self) -> int | None:
        """Color band of the cell; None for a control, and while there are too few trials for a number."""
        return None if self.control or self.measure is None else band(1 - max(0.0, self.measure.value))

    @property
    def measure(self) -> Estimate | None:
        """Points above noise, or the noise floor, since the last change as far as there are trials."""
        current = self.report.current
        return current.content_delta if self.control else current.excess

    def detail(self, minimum: int) -> list[str]:
        """Return the lines of the tooltip; a screen reader reads the first one first."""
        head = [f"furthest above noise of {len(self.pairs)} pairs of languages"] if self.pairs else []
        return head + _detail(self.report, minimum)


@dataclass(frozen=True, slots=True)
class HeatRow:
    """A model on a route; `cells` has None where a perturbation was never tried."""

    route: str
    model: str
    cells: tuple[HeatCell | None, ...]
    brief: bool = False
    """True if the cells have no tooltips, which would be most of the page's bytes in a long table."""


@dataclass(frozen=True, slots=True)
class Heatmap:
    """The whole table of the heatmap."""

    groups: tuple[tuple[str, int], ...]
    """Neighboring columns of one category, with their number."""
    columns: tuple[Column, ...]
    rows: tuple[HeatRow, ...]
    """Models that answer; those with an open incident first."""
    retired: tuple[tuple[str, str, float], ...]
    """Retired models: route, model and time of the last trial, latest first."""
    without_judge: bool
    """True if any of the ratings came from heuristics."""


def heatmap(reports: Sequence[CellReport]) -> Heatmap:
    """Arrange the reports, in any order: routes with an incident first; retired models are only named."""
    live = [report for report in reports if not report.retired]
    columns = _columns(sorted({report.key.perturbation for report in live}, key=rewordings.position))
    groups = groupby(columns, key=lambda column: rewordings.category(column.perturbation).name)
    rows: list[HeatRow] = []
    alerting = {report.key.route for report in live if report.detection.alert}
    for route in sorted({report.key.route for report in live}, key=lambda name: (name not in alerting, name)):
        rows += _rows_of_route([report for report in live if report.key.route == route], columns)
    shown = accumulate(sum(cell is not None for cell in row.cells) for row in rows)
    last: dict[tuple[str, str], float] = {}
    for report in reports:
        if report.retired:
            place = (report.key.route, report.key.model)
            last[place] = max(last.get(place, 0.0), report.last_scored_at or 0.0)
    return Heatmap(
        groups=tuple((name, len(list(members))) for name, members in groups),
        columns=columns,
        rows=tuple(replace(row, brief=so_far > TOOLTIPS) for row, so_far in zip(rows, shown, strict=True)),
        retired=tuple((*place, at) for place, at in sorted(last.items(), key=lambda one: -one[1])),
        without_judge=any(report.scorer == "metrics" for report in live),
    )


def _columns(names: Sequence[str]) -> tuple[Column, ...]:
    found: list[Column] = []
    for category, members in groupby(names, key=lambda name: rewordings.category(name).name):
        kinds = list(members)
        if rewordings.category(category).asks_for == "languages" and len(kinds) > PAIRS_IN_COLUMNS:
            # The bare category would match nothing as a filter of verdicts, so the cell links elsewhere.
            found.append(Column(category, "furthest pair", bool(found), tuple(kinds)))
            continue
        found += [
            Column(kind, rewordings.column_label(kind), bool(found) and not place)
            for place, kind in enumerate(kinds)
        ]
    return tuple(found)


def cell_id(report: CellReport) -> str:
    """Return an element id for a cell: a digest of its key, because keys may hold any character."""
    key = report.key
    text = f"{key.route}\0{key.model}\0{key.perturbation}"
    return f"cell-{blake2s(text.encode(errors='replace'), digest_size=6).hexdigest()}"


def by_model(reports: Iterable[CellReport]) -> list[tuple[str, float, bool, list[CellReport]]]:
    """Group the cells of a route by model: name, time of the last trial, retired, reports."""
    models: dict[str, list[CellReport]] = {}
    for report in reports:
        models.setdefault(report.key.model, []).append(report)
    found = [
        (model, max(report.last_scored_at or 0.0 for report in own), own[0].retired, own)
        for model, own in models.items()
    ]
    # Live models are not ordered by time: two that share a route would swap rows at each refresh.
    return sorted(found, key=lambda one: (one[2], -one[1] if one[2] else 0.0, one[0]))


def _rows_of_route(reports: Sequence[CellReport], columns: tuple[Column, ...]) -> list[HeatRow]:
    rows = []
    for model, _, _, own in by_model(reports):
        cells = {report.key.perturbation: report for report in own}
        rows.append(HeatRow(own[0].key.route, model, tuple(_in_column(cells, column) for column in columns)))
    # Sorting is stable, so rows without an alert keep their order.
    return sorted(rows, key=lambda row: not any(cell and cell.alert for cell in row.cells))


def _in_column(cells: Mapping[str, CellReport], column: Column) -> HeatCell | None:
    if not column.furthest_of:
        found = cells.get(column.perturbation)
        if found is None:
            return None
        return HeatCell(found, column.label, links.cell_link(found.key))
    pairs = tuple(cells[name] for name in column.furthest_of if name in cells)
    if not pairs:
        return None
    furthest = min(pairs, key=_rank)
    return HeatCell(furthest, column.label, f"{links.route_link(furthest.key.route)}#languages", pairs)


def _rank(report: CellReport) -> tuple[bool, float, str]:
    """Return the sort key of a report: open incidents first, then furthest above noise; no figure last."""
    excess = report.current.excess
    return not report.detection.alert, -excess.value if excess else 2.0, report.key.perturbation


def _detail(report: CellReport, minimum: int) -> list[str]:
    key = report.key
    lines = [f"{rewordings.label(key.perturbation)}, {key.route}, {key.model}"]
    if report.detection.alert:
        lines.append("part of an open incident")
    if report.is_blind:
        lines.append("BLIND: the same prompt changes its answer as often")
    current = report.current
    lines += _headline(report, minimum)
    if current.content_delta:
        lines.append(f"content changed in {figures.estimate_text(current.content_delta)}")
    if doubts(report):
        lines.append(doubts(report))
    if report.estimates.quality_delta:
        quality = report.estimates.quality_delta
        lines.append(f"quality changed in {figures.estimate_text(quality)} of {quality.n} changed answers")
    if key.perturbation != BASELINE and report.detection.alarm_log10 > 0:
        lines.append(
            f"evidence 10^{figures.number(report.detection.evidence_log10, 1)}, "
            f"alert at 10^{figures.number(report.detection.alarm_log10, 1)}"
        )
    if report.counts.failures:
        reasons = ", ".join(f"{count} {reason}" for reason, count in sorted(report.counts.failures.items()))
        lines.append(f"not rated: {reasons}")
    lines.append(scorer_words(report.scorer))
    return lines


def _headline(report: CellReport, minimum: int) -> list[str]:
    """Describe points above noise and the noise floor, or how many trials are missing for them."""
    current = report.current
    if current.content_delta is None:
        return [f"collecting: {report.counts.effective} of {minimum} trials"]
    if report.key.perturbation == BASELINE:
        return ["noise floor: the same prompt sent again"]
    if current.excess is None:
        return []
    said = (
        f"{figures.points_text(current.excess, 0)} points above noise in {current.excess.n:,} trials, "
        f"limit {figures.number(report.detection.threshold * 100)}"
    )
    floor = report.noise_floor
    return [said, f"noise floor {figures.estimate_text(floor)}"] if floor else [said]


@dataclass(frozen=True, slots=True)
class LanguageMatrix:
    """Language pairs of a route and model."""

    id: str
    route: str
    model: str
    retired: bool
    languages: tuple[str, ...]
    """Languages of the answers, which head the columns."""
    rows: tuple[tuple[str, tuple[HeatCell | None, ...]], ...]
    """Languages of the prompts, each with its cells; None where a pair was never tried."""
    alerts: int


def language_matrices(reports: Sequence[CellReport]) -> tuple[LanguageMatrix, ...]:
    """Build a matrix for each route and model that has more language pairs than fit into columns.

    Those of an open incident come first, then by route and model; models that no longer answer come last.
    """
    retired = {report.key.parts[:2] for report in reports if report.retired}
    groups: dict[tuple[str, str], dict[tuple[str, str], CellReport]] = {}
    for report in reports:
        pair = rewordings.language_pair(report.key.perturbation)
        if pair is not None:
            groups.setdefault((report.key.route, report.key.model), {})[pair] = report

    def place(group: tuple[str, str]) -> tuple[bool, bool, tuple[str, str]]:
        return group in retired, not any(one.detection.alert for one in groups[group].values()), group

    wide = [group for group in sorted(groups, key=place) if len(groups[group]) > PAIRS_IN_COLUMNS]
    return tuple(
        _matrix(f"languages-{number}", group, groups[group], retired=group in retired)
        for number, group in enumerate(wide)
    )


def _matrix(
    element: str, group: tuple[str, str], pairs: Mapping[tuple[str, str], CellReport], *, retired: bool
) -> LanguageMatrix:
    route, model = group
    sources = sorted({source for source, _ in pairs}, key=_order)
    targets = sorted({target for _, target in pairs}, key=_order)

    def cell(source: str, target: str) -> HeatCell | None:
        report = pairs.get((source, target))
        if report is None:
            return None
        return HeatCell(report, f"{source} → {target}", links.cell_link(report.key))

    return LanguageMatrix(
        id=element,
        route=route,
        model=model,
        retired=retired,
        languages=tuple(targets),
        rows=tuple((source, tuple(cell(source, target) for target in targets)) for source in sources),
        alerts=sum(report.detection.alert for report in pairs.values()),
    )


def _order(language: str) -> tuple[bool, str]:
    """Return the sort key of a language: English first, since most prompts are in English."""
    return language != "en", language
