"""Assignment of the items of one list to those of another: one to one, with the best total fit."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence


MOST_CELLS = 2_500
"""Most pairs of items that are compared with each other (0.1 s); beyond, callers use a simpler method."""


class ItemMatch(NamedTuple):
    """Indexes of an item in each list."""

    row: int
    column: int


def best_assignment(  # noqa: C901, PLR0912 - one algorithm, easier to check in one piece
    likeness: Sequence[Sequence[float]],
) -> list[ItemMatch]:
    """Assign rows to columns, one to one, so that the sum of their likeness is greatest.

    Written out because scipy, which has it, takes a second and 60 MB to load for lists of a
    handful of items.

    Args:
        likeness: One sequence a row, all of one length of at least 1; at least one row.

    Returns: as many assignments as the shorter side has items, ordered by row.
    Source: Hungarian method with potentials (Kuhn 1955, Jonker and Volgenant 1987), rows² · columns
        steps; its sum agrees with `scipy.optimize.linear_sum_assignment`.
    """
    if len(likeness) > len(likeness[0]):
        turned = best_assignment(list(zip(*likeness, strict=True)))
        return sorted(ItemMatch(column, row) for row, column in turned)
    rows, columns = len(likeness), len(likeness[0])
    # Index 0 stands for "none yet" on both sides, so rows and columns count from 1.
    row_potential, column_potential = [0.0] * (rows + 1), [0.0] * (columns + 1)
    row_of = [0] * (columns + 1)
    for row in range(1, rows + 1):
        row_of[0] = row
        column = 0
        nearest, came_from = [math.inf] * (columns + 1), [0] * (columns + 1)
        visited = [False] * (columns + 1)
        while row_of[column]:
            visited[column] = True
            here, step, following = row_of[column], math.inf, 0
            for other in range(1, columns + 1):
                if visited[other]:
                    continue
                cost = -likeness[here - 1][other - 1] - row_potential[here] - column_potential[other]
                if cost < nearest[other]:
                    nearest[other], came_from[other] = cost, column
                if nearest[other] < step:
                    step, following = nearest[other], other
            for other in range(columns + 1):
                if visited[other]:
                    row_potential[row_of[other]] += step
                    column_potential[other] -= step
                else:
                    nearest[other] -= step
            column = following
        while column:
            row_of[column] = row_of[came_from[column]]
            column = came_from[column]
    matches = []
    for column, row in enumerate(row_of):
        if column and row:
            matches.append(ItemMatch(row - 1, column - 1))
    return sorted(matches)
