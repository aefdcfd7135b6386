"""Datasets of other tools: rows of values, prompts and expected answers, for the check and for goldens.

Read are JSON lines of requests (also batch files), datasets of OpenAI Evals (`item` or `input`, with
`ideal`), items of Langfuse datasets (`input`, `expected_output`; JSON or CSV), and promptfoo's tests
(`tests: - vars: …`; YAML, JSON or CSV).
"""

from __future__ import annotations

import csv
import io
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import yaml

from evenkeel.release.kit.arguments import InputError, read_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

_ENDINGS: Final = frozenset({".jsonl", ".ndjson", ".csv", ".yaml", ".yml"})
# Members whose object holds the values of a row, by the tool that wrote it.
_ENVELOPES: Final = ("vars", "item", "body", "input")
_EXPECTED: Final = ("ideal", "expected_output", "expectedOutput", "expected", "__expected")
# Beginning of the columns in promptfoo's CSV files that hold no variable.
_PRIVATE: Final = "__"

Cells = dict[str, Any]


@dataclass(frozen=True, slots=True)
class DatasetRow:
    """A row of a dataset."""

    place: str
    """File and row, for messages."""
    cells: Cells
    """Everything that the tool wrote."""

    @property
    def _inside(self) -> Cells | None:
        for name in _ENVELOPES:
            envelope = self.cells.get(name)
            if isinstance(envelope, dict):
                return envelope
        return None

    @property
    def values(self) -> Cells:
        """Return the values for the variables of a template, out of the envelope around them."""
        cells_read = self.cells if self._inside is None else self._inside
        values = {}
        for name, value in cells_read.items():
            if not name.startswith(_PRIVATE):
                values[name] = value
        return values

    @property
    def prompt(self) -> object | None:
        """Return the prompt that the row holds by itself: a request, messages or a text; None without one."""
        values = self.values
        # A whole request goes on as it is: its parameters are part of what was asked.
        if "messages" in values:
            return values
        prompt_value = values.get("input")
        if isinstance(prompt_value, list):
            return prompt_value
        if isinstance(prompt_value, str):
            return _from_text(prompt_value)
        for name in ("prompt", "question"):
            text = values.get(name)
            if isinstance(text, str):
                return text
        return None

    @property
    def expected(self) -> str | None:
        """Return the answer that the dataset expects; None without one that can be compared as a text."""
        for cells in (self.cells, self._inside or {}):
            answer = _asserted(cells.get("assert"))
            for name in reversed(_EXPECTED):
                answer = cells.get(name) or answer
            # Several answers are right; a golden has one.
            if isinstance(answer, list) and answer:
                answer = answer[0]
            if answer is not None:
                return answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)
        return None


def is_dataset(path: Path) -> bool:
    """Return whether a file holds several prompts or rows, by its name's ending."""
    return path.suffix.lower() in _ENDINGS


def read_rows(path: Path) -> list[DatasetRow]:
    """Return the rows of a file: one object for each set of values, or for each prompt.

    Raises: InputError with file and row.
    """
    text = read_text(path)
    ending = path.suffix.lower()
    # In a spreadsheet a row has no nesting: its columns are the variables.
    if ending == ".csv":
        table = []
        for row in csv.DictReader(io.StringIO(text)):
            # Cells beyond the last column stand under None.
            row.pop(None, None)
            row.pop("", None)
            table.append(row)
        return _rows_of(table, str(path))
    if ending in (".yaml", ".yml"):
        return _rows_of(_yaml(text, path), str(path))
    if text.lstrip()[:1] == "[":
        return _rows_of(_json(text, str(path)), str(path))
    # One object may be a whole file of promptfoo or Langfuse, or the only line of JSON lines.
    try:
        whole = json.loads(text)
    except (ValueError, RecursionError):
        whole = None
    if isinstance(whole, dict) and ("tests" in whole or "items" in whole or "data" in whole):
        return _rows_of(whole, str(path))
    return list(json_lines(text.split("\n"), str(path)))


def json_lines(lines: Iterable[str], where: str) -> Iterator[DatasetRow]:
    """Yield the row of each line that is not blank; the first may begin with a byte order mark.

    Raises: InputError for a line that is no object.
    """
    for number, line in enumerate(lines, start=1):
        text, place = line.removeprefix("\ufeff").strip(), f"{where}, line {number}"
        if not text:
            continue
        cells = _json(text, place)
        if not isinstance(cells, dict):
            raise InputError(f'{place}: is no object such as {{"question": "…"}}')
        yield DatasetRow(place, cells)


def _rows_of(read: object, where: str) -> list[DatasetRow]:
    """Return the rows of what was read: a list, or an object that holds one under a usual name."""
    if isinstance(read, dict):
        read = read.get("tests", read.get("items", read.get("data")))
    if not isinstance(read, list):
        raise InputError(f'{where}: holds no list of rows; each is an object such as {{"question": "…"}}')
    rows: list[DatasetRow] = []
    for number, row in enumerate(read, start=1):
        if not isinstance(row, dict):
            raise InputError(f'{where}, row {number}: is no object such as {{"question": "…"}}')
        rows.append(DatasetRow(f"{where}, row {number}", row))
    return rows


def _asserted(checks: object) -> object | None:
    """Return the value of the first of promptfoo's assertions that states a whole answer."""
    for check in checks if isinstance(checks, list) else ():
        if isinstance(check, dict) and check.get("type") in ("equals", "similar", "factuality"):
            return check.get("value")
    return None


def _from_text(text: str) -> object:
    """Return messages that a CSV cell holds as JSON, else the text."""
    if text.lstrip().startswith(("[", "{")):
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            return text
    return text


def _json(text: str, where: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{where}: is not JSON ({error})") from error


def _yaml(text: str, path: Path) -> Any:
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise InputError(f"{path}: is not YAML ({error})") from error
