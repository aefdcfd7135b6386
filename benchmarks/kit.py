"""Tables as data and as Markdown."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


Cell = float | int | str | None


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under named columns; the first cell of a row names it."""

    name: str
    """What the program prints above it: lower-case words with hyphens."""
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    digits: int = 2
    """Behind the point."""
    notes: tuple[str, ...] = ()
    """What one must know to read it: how many pairs, how certain."""

    def markdown(self) -> str:
        """The table, and a line for its notes."""
        lines = table(self.columns, [[self._shown(cell) for cell in row] for row in self.rows])
        if self.notes:
            lines += ["", " ".join(note for note in self.notes if note)]
        return "\n".join(lines) + "\n"

    def _shown(self, cell: Cell) -> str:
        match cell:
            case None:
                return "–"
            case float():
                text = f"{cell:,.{self.digits}f}"
                return text.replace("-", "\u2212")
            case int():
                return f"{cell:,}"
            case _:
                return cell


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """The lines of a Markdown table whose first column is text and whose others are numbers."""
    rule = ["---", *["---:"] * (len(head) - 1)]
    return [f"| {' | '.join(cells)} |" for cells in (head, rule, *rows)]


DOCS: Final = Path(__file__).resolve().parents[1] / "docs"
