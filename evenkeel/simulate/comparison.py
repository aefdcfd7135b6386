"""Comparison of measured figures with the planted ones, which the demo prints at its end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from rich import box
from rich.table import Table

from evenkeel.core.verdict import BASELINE

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

# Share of the cells that may have an interval without the planted value: two of the 15 in the demo.
_TOLERATED_MISSES: Final = 0.15


QUANTITIES: Final = ("content_delta", "quality_delta", "robustness", "excess")
"""Estimates of a cell that have a planted truth."""


class CellFigure(NamedTuple):
    """Estimate of a cell, with the planted value."""

    cell: tuple[str, str, str]
    """Route, model and perturbation."""
    quantity: str
    planted: float
    estimate: Mapping[str, Any]
    """`value`, `lower`, `upper` and `n`, as `/api/cells` gives them."""

    @property
    def covered(self) -> bool:
        """Return whether the interval contains the planted value."""
        return bool(self.estimate["lower"] <= self.planted <= self.estimate["upper"])


@dataclass(frozen=True, slots=True)
class TruthComparison:
    """Comparison of all cells."""

    rows: tuple[CellFigure, ...]

    @property
    def cells(self) -> int:
        """Number of cells with an estimate."""
        return len({row.cell for row in self.rows})

    @property
    def missed(self) -> int:
        """Number of cells with an interval that does not contain the planted value."""
        return len({row.cell for row in self.rows if not row.covered})

    @property
    def good(self) -> bool:
        """Return whether cells were measured and at most 15 % of them were missed."""
        return self.cells > 0 and self.missed <= _TOLERATED_MISSES * self.cells


def compare(cells: Iterable[Mapping[str, Any]], truths: Mapping[str, Mapping[str, Any]]) -> TruthComparison:
    """Compare the estimates of cells with the planted values.

    Args:
        cells: Cells in the form of `/api/cells`.
        truths: Response of `/simulate/truth` while a model answered, by the model name that it returns.
    """
    rows = []
    for cell in cells:
        # The resend of a prompt repeats its draw of the hash, so another truth holds for it.
        arm = "baseline" if cell["perturbation"] == BASELINE else "perturbed"
        truth = truths[cell["model"]]
        for quantity in QUANTITIES:
            planted = truth["excess" if quantity == "excess" else f"{arm}_{quantity}"]
            if cell[quantity] is not None and planted is not None:
                key = (cell["route"], cell["model"], cell["perturbation"])
                rows.append(CellFigure(key, quantity, planted, cell[quantity]))
    return TruthComparison(tuple(rows))


def table(comparison: TruthComparison) -> Table:
    """Return a table of planted and measured values in per cent, with a row for each cell."""
    title = "planted | measured \\[95 % interval], in %"
    table = Table(title=title, box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for heading in ("route", "model", "perturbation"):
        table.add_column(heading)
    table.add_column("n", justify="right")
    for quantity in QUANTITIES:
        heading = "points above noise" if quantity == "excess" else quantity.replace("_", " ")
        table.add_column(heading, no_wrap=True)
    cells: dict[tuple[str, str, str], dict[str, CellFigure]] = {}
    for row in comparison.rows:
        cells.setdefault(row.cell, {})[row.quantity] = row
    previous: tuple[str, str] | None = None
    for (route, model, perturbation), cell in sorted(cells.items()):
        shown_cell = (route, model) if (route, model) != previous else ("", "")
        previous = (route, model)
        trials = str(cell["content_delta"].estimate["n"]) if "content_delta" in cell else ""
        entries = []
        for quantity in QUANTITIES:
            entries.append(_entry(cell.get(quantity)))
        table.add_row(*shown_cell, perturbation.partition(".")[2], trials, *entries)
    return table


def _entry(row: CellFigure | None) -> str:
    if row is None:
        return "-"
    mark = "" if row.covered else " [red]✗[/]"
    estimate = row.estimate
    value, lower, upper = 100 * estimate["value"], 100 * estimate["lower"], 100 * estimate["upper"]
    return f"{row.planted * 100:.0f} | {value:.0f} \\[{lower:.0f}, {upper:.0f}]{mark}"
