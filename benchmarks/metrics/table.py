"""A measured table, as data and as Markdown."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

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

    def as_json(self) -> dict[str, Any]:
        """What `from_json` reads."""
        return asdict(self)

    @classmethod
    def from_json(cls, raw: dict[str, Any]) -> Table:
        """Read what `as_json` wrote."""
        return cls(
            raw["name"],
            tuple(raw["columns"]),
            tuple(tuple(row) for row in raw["rows"]),
            raw["digits"],
            tuple(raw["notes"]),
        )

    def markdown(self) -> str:
        """The table, and a line for its notes."""
        lines = [
            _line(self.columns),
            _line(["---", *["---:"] * (len(self.columns) - 1)]),
            *(_line([self._shown(cell) for cell in row]) for row in self.rows),
        ]
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


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
