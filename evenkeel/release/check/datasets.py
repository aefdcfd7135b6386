"""Datasets of other tools as prompts or as rows of values.

Read are JSON lines of requests (also batch files), datasets of OpenAI Evals (`item` or `input`), items of
Langfuse datasets (`input`, as JSON or CSV), and promptfoo's tests (`tests: - vars: …`, YAML, JSON or CSV).
Expected answers in them are left alone: a check compares a model with itself.
"""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING, Any, Final

import yaml

from evenkeel.release.kit.arguments import InputError, read_text

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_ENDINGS: Final = frozenset({".jsonl", ".ndjson", ".csv", ".yaml", ".yml"})
_EXPECTED: Final = "__"
"""Beginning of the columns in promptfoo's CSV files that hold no variable."""

Row = dict[str, Any]


def is_dataset(path: Path) -> bool:
    """Return whether a file holds several prompts or rows, by its name's ending."""
    return path.suffix.lower() in _ENDINGS


def read_rows(path: Path) -> list[Row]:
    """Return the rows of a file: one object for each set of values, or for each prompt.

    Raises: InputError with file and row.
    """
    text = read_text(path)
    ending = path.suffix.lower()
    if ending == ".csv":
        return [_without_expectations(row) for row in csv.DictReader(io.StringIO(text))]
    if ending in (".yaml", ".yml"):
        return _rows_of(_yaml(text, path), str(path))
    if text.lstrip()[:1] == "[":
        return _rows_of(_json(text, str(path)), str(path))
    try:
        whole = json.loads(text)
    except (ValueError, RecursionError):
        whole = None
    if isinstance(whole, dict) and ("tests" in whole or "items" in whole or "data" in whole):
        return _rows_of(whole, str(path))
    lines = [
        _json(line, f"{path}, line {number}")
        for number, line in enumerate(text.splitlines(), start=1)
        if line.strip()
    ]
    return _rows_of(lines, str(path))


def _rows_of(read: object, where: str) -> list[Row]:
    """Return the rows of what was read: a list, or an object that holds one under a usual name."""
    if isinstance(read, dict):
        read = next((read[name] for name in ("tests", "items", "data") if name in read), None)
    if not isinstance(read, list):
        raise InputError(f'{where}: holds no list of rows; each is an object such as {{"question": "…"}}')
    rows: list[Row] = []
    for number, row in enumerate(read, start=1):
        if not isinstance(row, dict):
            raise InputError(f'{where}, row {number}: is no object such as {{"question": "…"}}')
        rows.append(_values(row))
    return rows


def _values(row: Row) -> Row:
    """Return the values of a row, out of the envelope that its tool puts around them."""
    for envelope in ("vars", "item", "body", "input"):
        inside = row.get(envelope)
        if isinstance(inside, dict):
            return dict(inside)
    return row


def _without_expectations(row: Mapping[str | None, Any]) -> Row:
    return {name: value for name, value in row.items() if name and not name.startswith(_EXPECTED)}


def prompt_of(row: Row) -> object | None:
    """Return the prompt that a row holds by itself: a request, messages or a text; None without one."""
    if "messages" in row:
        return row
    given = row.get("input")
    if isinstance(given, (str, list)):
        return _from_text(given) if isinstance(given, str) else given
    for name in ("prompt", "question"):
        if isinstance(row.get(name), str):
            return str(row[name])
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
