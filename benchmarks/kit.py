"""Tables as data and as Markdown, and the pages that hold them.

Measured tables stand on pages of the documentation between marks; the text around them is written by hand.
"""

from __future__ import annotations

import re
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
    """Where it stands on the page: lower-case words with hyphens."""
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
_NOT_MEASURED: Final = "*Not measured yet.*\n"
_BLOCK: Final = re.compile(r"(<!-- measured: (?P<name>[a-z-]+) -->\n).*?(<!-- end -->)", re.DOTALL)


class UnknownTableError(LookupError):
    """The page has no place for a table that was measured."""


def filled(page: str, tables: Iterable[Table], *, keep: bool = False) -> str:
    """The page with every table in its place; where none was measured, it says so, or keeps what is there.

    Raises:
        UnknownTableError: A table has no place.
    """
    texts = {one.name: one.markdown() for one in tables}
    places = {match["name"] for match in _BLOCK.finditer(page)}
    if not texts.keys() <= places:
        raise UnknownTableError(
            f"the page has places for {', '.join(sorted(places)) or 'nothing'}; "
            f"measured were {', '.join(sorted(texts)) or 'none'}"
        )

    def block(match: re.Match[str]) -> str:
        if keep and match["name"] not in texts:
            return match[0]
        return f"{match[1]}\n{texts.get(match['name'], _NOT_MEASURED)}\n{match[3]}"

    return _BLOCK.sub(block, page)
