"""Assignment of the items of one list to those of another: one to one, with the best total fit."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence


MOST_CELLS = 2_500
"""Most pairs of items that are compared with each other (0.1 s); beyond, callers use a simpler method."""


class ItemMatch(NamedTuple):
    """Indexes of an item in each list."""

    row: int
    column: int


def best_assignment(likeness: Sequence[Sequence[float]]) -> list[ItemMatch]:
    """Assign rows to columns, one to one, so that the sum of their likeness is greatest.

    Args:
        likeness: One sequence a row, all of one length of at least 1; at least one row.

    Returns: as many assignments as the shorter side has items, ordered by row.
    """
    # Most lists have one item left over. Others need scipy, which takes a second and 50 MB to load.
    if len(likeness) == 1:
        row = likeness[0]
        return [ItemMatch(0, row.index(max(row)))]
    optimize: Any = importlib.import_module("scipy.optimize")
    rows, columns = optimize.linear_sum_assignment(likeness, maximize=True)
    return [ItemMatch(int(row), int(column)) for row, column in zip(rows, columns, strict=True)]
