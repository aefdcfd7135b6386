"""Issues from JSONL files: the user's own, and those that come along."""

from __future__ import annotations

import json
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import ValidationError

from evenkeel.experiments.bench.items import Item

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pydantic_core import ErrorDetails

BUILTIN = "evenkeel's own issues"


class ItemError(ValueError):
    """Issues that cannot be used. The message names file, line and field."""


def read_items(paths: Iterable[Path]) -> tuple[Item, ...]:
    """The issues of some files, in order.

    Raises: ItemError with file, line and field of the first fault; also for an id that occurs twice.
    """
    found: dict[str, tuple[Item, str]] = {}
    for path in paths:
        for number, line in enumerate(_lines(path), start=1):
            if not line.strip():
                continue
            where = f"{path.name}, line {number}"
            item = item_of(line, where)
            if item.id in found:
                raise ItemError(f'{where}, field "id": {item.id!r} occurs in {found[item.id][1]} already')
            found[item.id] = (item, where)
    if not found:
        raise ItemError(f"{', '.join(path.name for path in paths)}: holds no issue; give one a line, as JSON")
    return tuple(item for item, _ in found.values())


def builtin_items() -> tuple[Item, ...]:
    """The issues that come along, under the licence of the project."""
    with as_file(files("evenkeel.experiments.bench").joinpath("data")) as folder:
        return read_items(sorted(Path(folder).glob("*.jsonl")))


def item_of(text: str, where: str) -> Item:
    """An issue from its JSON.

    Args:
        text: One object.
        where: Names its place in messages.

    Raises: ItemError.
    """
    try:
        row = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ItemError(f"{where}: is not JSON: {error}") from error
    if not isinstance(row, dict):
        raise ItemError(f"{where}: is not an object with the fields of an issue")
    try:
        return Item.model_validate(row)
    except ValidationError as error:
        raise ItemError(f"{where}, {described(error.errors())}") from error


def described(faults: Sequence[ErrorDetails]) -> str:
    """The first fault of an issue, by its field, and how many more there are."""
    fault = faults[0]
    message = fault["msg"].removeprefix("Value error, ")
    place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in fault["loc"]).lstrip(".")
    if not place:
        # Of the whole issue: the message begins with the field.
        place, _, message = message.partition(": ")
    more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
    return f'field "{place}": {message}{more}'


def written(item: Item) -> str:
    """An issue as one line of JSON, which `item_of` reads."""
    return item.model_dump_json(by_alias=True, exclude_defaults=True)


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8-sig").split("\n")
    except OSError as error:
        raise ItemError(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ItemError(f"{path}: is not UTF-8 (byte {error.start}); save it as UTF-8") from error
