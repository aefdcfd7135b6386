"""Pairs of languages as a matrix: the prompt's language down, the answer's across."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from evenkeel.console import links
from evenkeel.console.heatmap import PAIRS_IN_COLUMNS, heat_cell, retired_models
from evenkeel.core import rewordings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkeel.console.heatmap import HeatCell
    from evenkeel.core.cells import CellReport


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
