"""Planted figures held against measured ones, as the demo does at its end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from rich import box
from rich.table import Table

from evenkeel.core.verdict import BASELINE

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_TOLERATED_MISSES: Final = 0.15
"""Share of the cells of which an interval may miss the truth: two of the 15 that the demo has."""


@dataclass(frozen=True, slots=True)
class CellFigure:
    """An estimate of a cell beside the truth."""

    route: str
    model: str
    perturbation: str
    quantity: str
    planted: float
    value: float
    lower: float
    upper: float
    n: int

    @property
    def covered(self) -> bool:
        """Tell whether the interval holds the planted value."""
        return self.lower <= self.planted <= self.upper


@dataclass(frozen=True, slots=True)
class TruthComparison:
    """All cells."""

    rows: tuple[CellFigure, ...]

    @property
    def cells(self) -> int:
        """Cells with an estimate."""
        return len({(row.route, row.model, row.perturbation) for row in self.rows})

    @property
    def missed(self) -> int:
        """Cells with at least one interval that does not hold the planted value."""
        return len({(row.route, row.model, row.perturbation) for row in self.rows if not row.covered})

    @property
    def good(self) -> bool:
        """Tell whether few cells were missed, and any was measured."""
        return self.cells > 0 and self.missed <= _TOLERATED_MISSES * self.cells


def compare(cells: Iterable[Mapping[str, Any]], truths: Mapping[str, Mapping[str, Any]]) -> TruthComparison:
    """Hold cells against the truth.

    Args:
        cells: as `/api/cells` gives them.
        truths: returned model name → as `/simulate/truth` gave it while that model answered.
    """
    rows = []
    for cell in cells:
        arm = "baseline" if cell["perturbation"] == BASELINE else "perturbed"
        truth = truths[cell["model"]]
        planted = {
            "content_delta": truth[f"{arm}_content_delta"],
            "quality_delta": truth[f"{arm}_quality_delta"],
            "robustness": truth[f"{arm}_robustness"],
            "excess": truth["excess"],
        }
        for quantity, value in planted.items():
            estimate = cell[quantity]
            if estimate is not None and value is not None:
                rows.append(
                    CellFigure(
                        cell["route"],
                        cell["model"],
                        cell["perturbation"],
                        quantity,
                        value,
                        estimate["value"],
                        estimate["lower"],
                        estimate["upper"],
                        estimate["n"],
                    )
                )
    return TruthComparison(tuple(rows))


def table(comparison: TruthComparison) -> Table:
    """Planted and measured values in per cent, one row a cell."""
    title = "planted | measured \\[95 % interval], in %"
    table = Table(title=title, box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    quantities = ("content_delta", "quality_delta", "robustness", "excess")
    for heading in ("route", "model", "perturbation"):
        table.add_column(heading)
    table.add_column("n", justify="right")
    for quantity in quantities:
        heading = "points above noise" if quantity == "excess" else quantity.replace("_", " ")
        table.add_column(heading, no_wrap=True)
    cells: dict[tuple[str, str, str], dict[str, CellFigure]] = {}
    for row in comparison.rows:
        cells.setdefault((row.route, row.model, row.perturbation), {})[row.quantity] = row
    previous: tuple[str, str] | None = None
    for (route, model, perturbation), found in sorted(cells.items()):
        place = (route, model) if (route, model) != previous else ("", "")
        previous = (route, model)
        trials = str(found["content_delta"].n) if "content_delta" in found else ""
        entries = [_entry(found.get(quantity)) for quantity in quantities]
        table.add_row(*place, perturbation.partition(".")[2], trials, *entries)
    return table


def _entry(row: CellFigure | None) -> str:
    if row is None:
        return "-"
    mark = "" if row.covered else " [red]✗[/]"
    interval = f"\\[{row.lower * 100:.0f}, {row.upper * 100:.0f}]"
    return f"{row.planted * 100:.0f} | {row.value * 100:.0f} {interval}{mark}"
