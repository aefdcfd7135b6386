"""What was measured, held against what was planted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evenkeel.core.verdict import BASELINE

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_TOLERATED_MISSES = 0.1


@dataclass(frozen=True, slots=True)
class Row:
    """One estimate of one cell beside the truth."""

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
        """Whether the interval holds the planted value."""
        return self.lower <= self.planted <= self.upper


@dataclass(frozen=True, slots=True)
class Comparison:
    """All cells."""

    rows: tuple[Row, ...]

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
        """Whether at most one cell in ten was missed, and any was measured."""
        return self.cells > 0 and self.missed <= _TOLERATED_MISSES * self.cells


def compare(cells: Iterable[Mapping[str, Any]], truths: Mapping[str, Mapping[str, Any]]) -> Comparison:
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
                    Row(
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
    return Comparison(tuple(rows))
