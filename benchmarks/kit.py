"""A measured table, as data and as Markdown.

The measured tables on the page, between marks; what stands around them is written by hand.
"""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

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


DOCS: Final = Path(__file__).resolve().parents[2] / "docs"
PAGE: Final = DOCS / "metrics-quality.md"
MEASURED: Final = DOCS / "metrics-measured.json"
_NOT_MEASURED: Final = "*Not measured yet.*\n"
_BLOCK: Final = re.compile(r"(<!-- measured: (?P<name>[a-z-]+) -->\n).*?(<!-- end -->)", re.DOTALL)


class UnknownTableError(LookupError):
    """The page has no place for a table that was measured."""


def filled(page: str, tables: Iterable[Table]) -> str:
    """The page with every table in its place; where none was measured, it says so.

    Raises:
        UnknownTableError: A table has no place.
    """
    texts = {table.name: table.markdown() for table in tables}
    places = {match["name"] for match in _BLOCK.finditer(page)}
    if not texts.keys() <= places:
        raise UnknownTableError(
            f"the page has places for {', '.join(sorted(places)) or 'nothing'}; "
            f"measured were {', '.join(sorted(texts)) or 'none'}"
        )
    return _BLOCK.sub(
        lambda match: f"{match[1]}\n{texts.get(match['name'], _NOT_MEASURED)}\n{match[3]}", page
    )


def read(path: Path = MEASURED) -> list[Table]:
    """The tables that were written last."""
    raw: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return [Table.from_json(one) for one in raw["tables"]]


def write(path: Path, tables: Sequence[Table], **about: Any) -> None:
    """Write tables as JSON, and how they were measured."""
    content = {**about, "tables": [table.as_json() for table in tables]}
    path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
