"""Lays a grid of figures out for a terminal of any width: whole, on its side, or in parts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from rich.cells import cell_len
from rich.table import Table

if TYPE_CHECKING:
    from collections.abc import Iterator

_FRAME: Final = 3
"""Columns that a border with its padding takes."""
_HEAD: Final = 22
"""Columns within which names of rows are broken if there is no room for them."""


@dataclass(frozen=True, slots=True)
class Grid:
    """Figures by row and column, each with lines of its own."""

    title: str
    corner: str
    """What the rows are."""
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[str, ...]], ...]

    def turned(self, corner: str) -> Grid:
        """Rows as columns."""
        rows = tuple(
            (name, tuple(cells[place] for _, cells in self.rows)) for place, name in enumerate(self.columns)
        )
        return Grid(self.title, corner, tuple(name for name, _ in self.rows), rows)

    def part(self, first: int, last: int) -> Grid:
        """Some of the columns."""
        rows = tuple((name, cells[first:last]) for name, cells in self.rows)
        return Grid(self.title, self.corner, self.columns[first:last], rows)

    def width(self) -> int:
        """Columns of a terminal that it needs at least, with no figure cut or broken."""
        return self._head() + sum(self._cells()) + _FRAME * (len(self.columns) + 1) + 1

    def table(self) -> Table:
        """To be printed. Names may be broken, figures are not."""
        table = Table(title=self.title, title_justify="left")
        table.add_column(self.corner, min_width=self._head(), overflow="fold")
        for name, width in zip(self.columns, self._cells(), strict=True):
            table.add_column(name, justify="right", min_width=width, overflow="fold")
        for name, cells in self.rows:
            table.add_row(name, *cells)
        return table

    def _head(self) -> int:
        return max(min(_HEAD, _longest(name)) for name in (self.corner, *(name for name, _ in self.rows)))

    def _cells(self) -> list[int]:
        return [
            max(
                max(map(_longest, name.split()), default=0),
                *(_longest(cells[place]) for _, cells in self.rows),
            )
            for place, name in enumerate(self.columns)
        ]


def laid_out(grid: Grid, width: int, turned: str) -> Iterator[Table]:
    """Tables that show a grid in a terminal.

    Args:
        grid: The figures.
        width: Columns of the terminal.
        turned: What the columns are, should they become rows.

    Returns: the grid as it is; on its side if only that fits; else in parts side by side.
    """
    if not grid.rows:
        return
    chosen = grid if grid.width() <= width else grid.turned(turned)
    first = 0
    while first < len(chosen.columns):
        last = first + 1
        while last < len(chosen.columns) and chosen.part(first, last + 1).width() <= width:
            last += 1
        yield chosen.part(first, last).table()
        first = last


def _longest(text: str) -> int:
    return max((cell_len(line) for line in text.splitlines()), default=0)
