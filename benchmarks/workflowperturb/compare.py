"""The paper's tables with our columns beside them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from benchmarks.metrics.table import Cell, Table
from benchmarks.workflowperturb.measure import BY_LENGTH, PRINTED, WEIGHTED, Measured
from benchmarks.workflowperturb.published import METRICS, SENSITIVITY, Row, Spread

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_TAU: Final = "Kendall's τ"
_PER_SHARE: Final = 2.5
"""The mean of the two slopes between 10, 30 and 50 %: 1 / 0.4."""


def beside(
    name: str, published: Mapping[str, Row], columns: Mapping[str, Measured], notes: Sequence[str]
) -> Table:
    """Means ± standard deviations at 10 / 30 / 50 %, the paper's first.

    Args:
        name: Of the table.
        published: The paper's figures by metric.
        columns: Ours by what was done and how steps were aligned.
        notes: What one must know to read it.
    """
    rows: list[tuple[Cell, ...]] = []
    for metric, (label, spreads) in _rows(published).items():
        ours = [_shown(measured.scores.get(metric)) for measured in columns.values()]
        rows.append((label, _shown(spreads), *ours))
    for column, measured in columns.items():
        if any(measured.refused):
            counts = "/".join(str(count) for count in measured.refused)
            notes = [*notes, f"Not degradable ({column}): {counts} workflows."]
    return Table(name, ("metric", "paper", *columns), tuple(rows), notes=tuple(notes))


def sensitivities(columns: Mapping[str, Sequence[Measured]], notes: Sequence[str]) -> Table:
    """Table 5: how fast each metric falls, for missing, compressed and reworded steps.

    Args:
        columns: Ours by how steps were aligned: the three degradations in the paper's order.
        notes: What one must know to read it.
    """
    rows: list[tuple[Cell, ...]] = []
    for metric in METRICS:
        ours = []
        for measured in columns.values():
            key = WEIGHTED if metric == _TAU else metric
            found = [one.scores.get(key) for one in measured]
            slopes = [
                "–" if one is None else _signed(_PER_SHARE * (one[0].mean - one[-1].mean)) for one in found
            ]
            ours.append(" / ".join(slopes))
        rows.append((metric, " / ".join(_signed(one) for one in SENSITIVITY[metric]), *ours))
    return Table("table-5-sensitivity", ("metric", "paper", *columns), tuple(rows), notes=tuple(notes))


def _rows(published: Mapping[str, Row]) -> dict[str, tuple[str, Row | None]]:
    """Rows by our name for the metric: its label and the paper's figures."""
    found: dict[str, tuple[str, Row | None]] = {}
    for metric in METRICS:
        if metric == _TAU:
            found[WEIGHTED] = (WEIGHTED, published.get(metric))
            found[BY_LENGTH] = (BY_LENGTH, None)
            found[PRINTED] = (PRINTED, None)
        else:
            found[metric] = (metric, published.get(metric))
    return found


def _shown(spreads: Sequence[Spread] | None) -> str:
    if spreads is None:
        return "–"
    return " / ".join(f"{_signed(one.mean)} ± {one.deviation:.2f}" for one in spreads)


def _signed(value: float) -> str:
    # Adding 0.0 turns a rounded −0 into 0.
    return f"{round(value, 2) + 0.0:.2f}".replace("-", "−")
