"""Rows out of a JSONL, JSON, CSV or TSV file, each knowing its place, so that errors can name it."""

from __future__ import annotations

import csv
import difflib
import io
import json
from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING, Any

from evenkeel.release.kit.arguments import InputError, read_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

MISSING = frozenset({"", "na", "n/a", "nan", "null", "none", "-"})
"""Cells that mean "no rating", in lower case."""

# The csv module stops at 128 kB, which articles exceed.
_FIELD_CHARS = 10_000_000


@dataclass(frozen=True, slots=True)
class InputRow:
    """A record."""

    source: str
    """File name."""
    place: str
    """"line 3", or "entry 3" of a JSON array."""
    cells: dict[str, Any]
    """Values as the file has them, by column name in lower case with "_" for spaces and hyphens."""

    def error(self, field: str, problem: str) -> InputError:
        """An error about one field of this row."""
        return InputError(f'{self.source}, {self.place}, field "{field}": {problem}')

    def has(self, field: str) -> bool:
        """Return whether the field holds something."""
        return not is_missing(self.cells.get(field))

    def text(self, field: str, default: str | None = None) -> str:
        """The field as text; without a default it must hold something."""
        value = self.cells.get(field)
        if is_missing(value):
            if default is None:
                raise self.error(field, "is empty")
            return default
        if not isinstance(value, (str, int, float)) or isinstance(value, bool):
            raise self.error(field, "is not text")
        return str(value)

    def number(self, field: str, value: Any) -> float | None:
        """A value as a finite number, an `int` where it is whole; None if it is missing."""
        if is_missing(value):
            return None
        if isinstance(value, str):
            try:
                value = float(value.strip())
            except ValueError:
                raise self.error(field, f'"{value}" is not a number') from None
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise self.error(field, f"{json.dumps(value, default=str)[:60]} is not a number")
        if not isfinite(value):
            raise self.error(field, f"{value} is not a finite number")
        return int(value) if value == int(value) else value

    def whole(self, field: str, value: Any) -> int | None:
        """A value as a whole number; None if it is missing."""
        number = self.number(field, value)
        if isinstance(number, float):
            raise self.error(field, f"{number} is not a whole number")
        return number


def is_missing(value: Any) -> bool:
    """Return whether a cell holds nothing, or one of the usual words for nothing."""
    return (
        value is None
        or (isinstance(value, str) and value.strip().lower() in MISSING)
        or (isinstance(value, float) and value != value)  # noqa: PLR0124 - NaN
    )


def read_rows(path: Path) -> list[InputRow]:
    """All rows of a file, at least one. Suffixes: .jsonl, .json, .csv, .tsv; .gz on top of each.

    The first character says what a file without one of these suffixes holds.
    """
    text = read_text(path)
    kind = path.name.removesuffix(".gz").rpartition(".")[2].lower()
    start = text.lstrip()[:1]
    if kind in {"csv", "tsv"} or start not in {"{", "["}:
        rows = list(_table_rows(path.name, text, tabs=kind == "tsv"))
    elif start == "[":
        rows = list(_array_rows(path.name, text))
    else:
        rows = list(_line_rows(path.name, text))
    if not rows:
        raise InputError(f"{path.name}: holds no rows")
    return rows


def suggestion(wrong: str, names: Iterable[str]) -> str:
    """' (did you mean "…"?)', or "" if nothing known is close."""
    close = difflib.get_close_matches(wrong, list(names), n=1, cutoff=0.6)
    return f' (did you mean "{close[0]}"?)' if close else ""


def check_columns(rows: list[InputRow], *, required: Iterable[str], allowed: Iterable[str]) -> None:
    """Raise unless every row has the required fields; names a misspelt column with what was meant."""
    for row in rows:
        for field in required:
            if field in row.cells:
                continue
            strange = []
            for name in row.cells:
                if name not in set(allowed):
                    strange.append(name)
            close = difflib.get_close_matches(field, strange, n=1, cutoff=0.6)
            if close:
                raise row.error(close[0], f'is not known; did you mean "{field}"?')
            raise InputError(
                f'{row.source}, {row.place}: there is no field "{field}"; there are {_listed(row.cells)}'
            )


def columns_of(rows: Iterable[InputRow]) -> list[str]:
    """The columns that any row has, in order of occurrence."""
    names: dict[str, None] = {}
    for row in rows:
        names.update(dict.fromkeys(row.cells))
    return list(names)


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names) or "none"


def column_name(column: object) -> str:
    """A column's name as rows know it: lower case, "_" for spaces and hyphens."""
    return str(column).strip().lower().replace(" ", "_").replace("-", "_")


def _cells(source: str, location: str, value: Any) -> InputRow:
    if not isinstance(value, dict):
        raise InputError(
            f"{source}, {location}: {value if isinstance(value, str) else 'is not a JSON object'}"
        )
    return InputRow(source, location, {column_name(column): cell for column, cell in value.items()})


def numbered_objects(text: str) -> Iterator[tuple[int, dict[str, Any] | str]]:
    """The objects of JSON lines with their line numbers; for another line why it is none."""
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except (ValueError, RecursionError) as error:
            yield number, f"is not JSON ({error})"
        else:
            yield number, value if isinstance(value, dict) else "is not a JSON object"


def _line_rows(source: str, text: str) -> Iterator[InputRow]:
    for number, value in numbered_objects(text):
        yield _cells(source, f"line {number}", value)


def _array_rows(source: str, text: str) -> Iterator[InputRow]:
    try:
        values = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{source}: is not JSON ({error})") from error
    for number, value in enumerate(values, start=1):
        yield _cells(source, f"entry {number}", value)


def _table_rows(source: str, text: str, *, tabs: bool) -> Iterator[InputRow]:
    head = text.split("\n", 1)[0]
    delimiter = "\t" if tabs else max(",;\t", key=head.count)
    csv.field_size_limit(_FIELD_CHARS)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    columns: list[str] = []
    before = 0
    try:
        for record in reader:
            location, before = f"line {before + 1}", reader.line_num
            if not any(cell.strip() for cell in record):
                continue
            if not columns:
                columns = [column_name(cell) for cell in record]
                twice = next((name for name in columns if columns.count(name) > 1), None)
                if twice is not None:
                    raise InputError(f'{source}, {location}: two columns are named "{twice}"')
                continue
            if len(record) != len(columns):
                raise InputError(
                    f"{source}, {location}: {len(record)} cells under {len(columns)} columns; "
                    "put cells with commas or line breaks into double quotes"
                )
            yield InputRow(source, location, dict(zip(columns, record, strict=True)))
    except csv.Error as error:
        raise InputError(f"{source}, line {reader.line_num}: {error}") from error


def metric_key(name: str) -> str:
    """A metric's name as used throughout: lower case, "_" for spaces and hyphens."""
    return "_".join(name.strip().lower().replace("-", " ").replace("_", " ").split())
