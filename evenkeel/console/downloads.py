"""Tables behind the pages, for download as CSV; programs read the API."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from litestar import Request, Response, get
from litestar.exceptions import NotFoundException

from evenkeel.console.access import require
from evenkeel.console.rendering import PathText  # noqa: TC001 - litestar reads the annotations
from evenkeel.core.text import harmless

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from litestar.handlers import HTTPRouteHandler

# Tables that only admins may download, as only they see the pages.
_FOR_ADMINS: Final = frozenset({"actions"})

Value = str | int | float | bool | None
Column: TypeAlias = str | tuple[str, "Callable[[Any], Value]"]


@dataclass(frozen=True, slots=True)
class DownloadTable:
    """Rows under named columns. Ratios are in [0, 1], times in Unix seconds, unknown values are None."""

    columns: tuple[str, ...]
    rows: Sequence[Sequence[Value]]

    @classmethod
    def of(cls, rows: Iterable[Any], *columns: Column) -> DownloadTable:
        """Build a table from nouns of one class.

        Args:
            rows: nouns in the order of the table.
            columns: each the name of an attribute, or a name with a function that returns its value.
        """
        named = [(column, attrgetter(column)) if isinstance(column, str) else column for column in columns]
        table = []
        for row in rows:
            table.append([read(row) for _, read in named])
        return cls(tuple(name for name, _ in named), table)


def estimate_columns(name: str) -> list[Column]:
    """Columns of an estimate, its interval and what it rests on; all None where it is not known."""

    def part(attribute: str) -> Callable[[Any], Value]:
        return lambda row: getattr(getattr(row, name), attribute, None)

    return [(name, part("value")), *((f"{name}_{each}", part(each)) for each in ("lower", "upper", "n"))]


def as_csv(table: DownloadTable) -> bytes:
    """Write the table as CSV (RFC 4180) in UTF-8: unknown values are empty, true and false are 1 and 0.

    Texts come from clients and models; one that a spreadsheet would take for a formula gets an apostrophe.
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(table.columns)
    for row in table.rows:
        writer.writerow([_cell(value) for value in row])
    return out.getvalue().encode("utf-8", "replace")


def _cell(value: Value) -> str | int | float:
    if value is None:
        return ""
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, str):
        return harmless(value)
    return value


def download_handlers(
    tables: Mapping[str, Callable[[Mapping[str, str]], DownloadTable]],
) -> list[HTTPRouteHandler]:
    """Handler of `/downloads/NAME.csv`.

    Args:
        tables: by name; each is called in a worker thread with the query parameters that are set.
    """

    @get("/downloads/{name:str}", sync_to_thread=True, needs="viewer")
    def download(request: Request[Any, Any, Any], name: PathText) -> Response[bytes]:
        stem, _, kind = name.rpartition(".")
        if stem not in tables or kind != "csv":
            raise NotFoundException(detail="There is no such download.")
        if stem in _FOR_ADMINS:
            require(request, "admin")
        table = tables[stem]({key: value for key, value in request.query_params.items() if value})
        response = Response(as_csv(table), media_type="text/csv; charset=utf-8")
        response.headers["content-disposition"] = f'attachment; filename="evenkeel-{name}"'
        return response

    return [download]
