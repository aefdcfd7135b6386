"""What several benchmarks need: tables as data and as Markdown, captured exchanges, and filled logs.

Measured tables stand on pages of the documentation between marks; the text around them is written by hand.
"""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from evenkeel.core.exchange import Exchange
from evenkeel.stores.sqlite.verdicts import SqliteVerdictLog

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from evenkeel.core.verdict import Verdict
    from evenkeel.stores.sqlite.database import Database


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


def captured(
    number: int,
    messages: object,
    said: str,
    *,
    route: str = "default",
    received_at: float = 0.0,
    headers: tuple[tuple[str, str], ...] = (),
) -> Exchange:
    """A chat request and its answer, as a proxy captures them."""
    choice = {"index": 0, "message": {"content": said}, "finish_reason": "stop"}
    return Exchange(
        id=f"{number:016x}",
        route=route,
        received_at=received_at,
        duration_s=0.0,
        method="POST",
        path="/v1/chat/completions",
        status=200,
        request_headers=headers,
        request_body=json.dumps({"model": "simulated-1", "messages": messages}).encode(),
        response_headers=headers,
        response_body=json.dumps({"model": "simulated-1", "choices": [choice]}).encode(),
    )


def logged(database: Database, verdicts: Iterable[Verdict]) -> SqliteVerdictLog:
    """A log that holds verdicts, written in one transaction."""
    log = SqliteVerdictLog(database)
    with database.write() as connection:
        connection.executemany(
            "INSERT INTO verdicts (id, exchange_id, route, perturbation, rating, body)"
            " VALUES (?, ?, ?, ?, ?, ?)",
            (
                (one.id, one.exchange_id, one.route, one.perturbation, one.rating, one.to_json())
                for one in verdicts
            ),
        )
    return log
