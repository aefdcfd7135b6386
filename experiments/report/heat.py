"""The picture on the first page: models against categories, coloured by robustness."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from evenkeel.console.heatmap import band
from evenkeel.core import rewordings
from evenkeel.experiments.report import sentences as wording
from evenkeel.experiments.report.tables import BASELINE_CATEGORY

if TYPE_CHECKING:
    from evenkeel.experiments.report.findings import Report
    from evenkeel.experiments.report.tables import Line

MOST_ROWS: Final = 16
"""So that the picture and the words stand on one page."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One coloured cell."""

    score: str
    """"" where there are too few trials for a figure."""
    span: str
    trials: int
    band: int | None
    """Colour; None = uncoloured."""
    title: str


@dataclass(frozen=True, slots=True)
class Row:
    """One model of one route."""

    route: str
    model: str
    cells: tuple[Cell | None, ...]
    """None where nothing was tried."""


@dataclass(frozen=True, slots=True)
class Heat:
    """The picture."""

    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    left_out: int
    """The most robust models, for which there was no room."""


def heat_of(report: Report) -> Heat:
    """The picture: by route and model, or, where they are too many, the least robust of them."""
    tables = report.tables
    named = {line.name for lines in tables.categories.values() for line in lines}
    categories = sorted(named, key=rewordings.position)
    weakest = sorted(tables.models, key=lambda line: line.robustness.value if line.robustness else 1.0)
    kept = {(line.route, line.model) for line in weakest[:MOST_ROWS]}
    rows = []
    for whole in tables.models:
        if (whole.route, whole.model) not in kept:
            continue
        lines = {line.name: line for line in tables.categories[whole.route, whole.model]}
        cells = (
            _cell(whole, "all"),
            *(_cell(lines[one], one) if one in lines else None for one in categories),
        )
        rows.append(Row(whole.route, whole.model, cells))
    columns = ("all", *("resend" if one == BASELINE_CATEGORY else one for one in categories))
    return Heat(columns, tuple(rows), len(tables.models) - len(rows))


def _cell(line: Line, name: str) -> Cell:
    estimate = line.robustness
    where = f"{line.route}, {line.model}, {name}"
    if estimate is None:
        return Cell("", "", line.trials, None, f"{where}: {line.trials} trials, too few for a figure")
    return Cell(
        wording.points(estimate),
        wording.span(estimate),
        line.trials,
        band(estimate.value),
        f"{where}: robustness {wording.both(estimate)}, {line.trials} trials",
    )
