"""Tables of benchmarks, as data and as Markdown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


Cell = float | int | str | None


@dataclass(frozen=True, slots=True)
class ResultTable:
    """Rows under named columns; the first cell of a row names it."""

    name: str
    """Name in lower-case words with hyphens."""
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    digits: int = 2
    """Digits after the point of floating-point numbers."""
    notes: tuple[str, ...] = ()
    """Notes that readers need, such as the number of runs."""

    def markdown(self) -> str:
        """Return the table, and a line with its notes."""
        lines = table(self.columns, [list(map(self._format, row)) for row in self.rows])
        if self.notes:
            lines += ["", " ".join(self.notes)]
        return "\n".join(lines) + "\n"

    def _format(self, cell: Cell) -> str:
        match cell:
            case None:
                return "–"
            case float():
                # A minus sign is as wide as a digit; a hyphen is not.
                text = f"{cell:,.{self.digits}f}"
                return text.replace("-", "\u2212")
            case int():
                return f"{cell:,}"
            case _:
                return cell


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return the lines of a Markdown table with a text column and number columns."""
    rule = ["---", *["---:"] * (len(head) - 1)]
    return [f"| {' | '.join(cells)} |" for cells in (head, rule, *rows)]
