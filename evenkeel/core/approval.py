"""Approved baselines: entries of the verdict log, beside the verdicts, that a person has made.

An approval stands in the log at the place where it was made and carries the figures that were approved, so
that the monitor's fold stays a pure function of the log: after a restart, or folded again from the first
entry, each cell has the same baseline from the same verdict on.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from evenkeel.core.records import to_json

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evenkeel.core.cells import CellReport

LONGEST_NOTE = 2_000
"""Maximum number of characters of a note, and of a name."""


class ApprovalError(Exception):
    """An approval that cannot be made. The message says why."""


@dataclass(frozen=True, slots=True)
class ApprovedCell:
    """A cell's approved content delta."""

    model: str
    perturbation: str
    mean: float
    """Share of shifted answers, in [0, 1]."""
    lower: float
    """Lower end of an interval that holds at any time of looking: people approve when the numbers look good,
    for which an interval for one planned look would be too narrow."""
    upper: float
    n: int
    """Number of trials behind the figures."""

    def __post_init__(self) -> None:
        if not (0 <= self.lower <= self.mean <= self.upper <= 1 and self.n >= 1):
            raise ApprovalError(
                f"a baseline needs 0 ≤ lower ≤ mean ≤ upper ≤ 1 and a trial; {self.perturbation} of "
                f"{self.model} has {self.lower}, {self.mean}, {self.upper} of {self.n}"
            )


@dataclass(frozen=True, slots=True)
class Approval:
    """Baselines of a route's cells, approved together."""

    id: str
    """Id derived from the other fields, so that appending an approval twice changes nothing."""
    at: float
    """Unix time in seconds."""
    by: str
    """Name of the person who approved."""
    route: str
    cells: tuple[ApprovedCell, ...]
    """The approved cells, at least one."""
    note: str = ""

    @classmethod
    def of(cls, route: str, cells: Iterable[ApprovedCell], *, by: str, at: float, note: str = "") -> Approval:
        """Return an approval with an id derived from its content.

        Raises: ApprovalError without a person's name, or without a cell.
        """
        who = by.strip()[:LONGEST_NOTE]
        if not who:
            raise ApprovalError("an approval needs the name of who approves")
        # In one order, so that the same approval has the same id however it was put together.
        ordered = tuple(sorted(cells, key=lambda cell: (cell.model, cell.perturbation)))
        if not ordered:
            raise ApprovalError(f"route {route} has no cell to approve")
        draft = cls("", at, who, route, ordered, note.strip()[:LONGEST_NOTE])
        name = hashlib.sha256(to_json(draft).encode()).hexdigest()[:16]
        return replace(draft, id=name)


def approvable(
    reports: Iterable[CellReport], route: str, *, model: str | None = None, perturbation: str | None = None
) -> tuple[list[ApprovedCell], list[CellReport]]:
    """Return the cells of a route with the figures to approve: those of the trials since the last change.

    Args:
        reports: Reports of all cells, from the monitor.
        route: Route of the cells.
        model: Only cells of this model; None = of all.
        perturbation: Only cells of this perturbation; None = of all.

    Returns: the cells that can be approved, and those with too few trials since the last change.
    """
    ready: list[ApprovedCell] = []
    short: list[CellReport] = []
    for report in reports:
        key = report.key
        if (
            key.route != route
            or model not in {None, key.model}
            or perturbation not in {None, key.perturbation}
        ):
            continue
        window = report.since_change
        estimate = window.content_delta if window else None
        if estimate is None:
            short.append(report)
        else:
            figures = (estimate.value, estimate.lower, estimate.upper, estimate.n)
            ready.append(ApprovedCell(key.model, key.perturbation, *figures))
    return ready, short
