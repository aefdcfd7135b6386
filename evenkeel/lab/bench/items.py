"""An issue of the benchmark, told in the four ways that the tasks need, and issues from JSONL files."""

from __future__ import annotations

from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from evenkeel.lab.rows import numbered_objects
from evenkeel.release.kit.arguments import InputError, read_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pydantic_core import ErrorDetails


Text = Annotated[str, Field(min_length=1, max_length=50_000, pattern=r"\S")]
SlotType = Literal["string", "number", "choice"]

DOCUMENTS = 4
"""Documents behind each question."""
# With one slot an answer is all right or all wrong.
_LEAST_SLOTS = 2


class _IssuePart(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


class IssueDocument(_IssuePart):
    """An article of a knowledge base."""

    title: Text
    text: Text


class EntitySlot(_IssuePart):
    """An entity that may be found in a message."""

    name: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,59}$")]
    type: SlotType = "string"
    description: Text
    choices: tuple[Text, ...] = ()
    """Values allowed for a choice."""

    @model_validator(mode="after")
    def _choices_fit(self) -> Self:
        if (self.type == "choice") != bool(self.choices):
            raise ValueError("choices belong to the type choice, and to no other")
        return self


class Issue(_IssuePart):
    """An issue. All texts are in English: the benchmark has them translated."""

    id: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,79}$")]
    issue: Text
    """Subject, in one line."""
    case: Text
    """Details of the support case, for the case summary."""
    chat: Text
    """Transcript, one line a turn, for the chat summary."""
    question: Text
    documents: Annotated[tuple[IssueDocument, ...], Field(min_length=DOCUMENTS, max_length=DOCUMENTS)]
    """Articles that the question is answered from."""
    message: Text
    """Message of a user, for slot filling."""
    slots: Annotated[tuple[EntitySlot, ...], Field(min_length=_LEAST_SLOTS, alias="schema")]
    entities: dict[str, str | int | float]
    """The slots that the message fills, with their values."""

    @model_validator(mode="after")
    def _entities_fit(self) -> Self:
        slot_by_name = {slot.name: slot for slot in self.slots}
        if len(slot_by_name) != len(self.slots):
            raise ValueError("schema: names a slot twice")
        if not self.entities:
            raise ValueError("entities: is empty; the message must fill at least one slot")
        for name, value in self.entities.items():
            slot = slot_by_name.get(name)
            if slot is None:
                raise ValueError(f"entities: {name!r} is no slot of the schema")
            if slot.choices and value not in slot.choices:
                raise ValueError(f"entities: {name!r} is {value!r}, which is none of its choices")
        return self


BUILTIN = "evenkeel's own issues"


class ItemError(InputError):
    """Issues that cannot be used. The message names file, line and field."""


def read_items(paths: Iterable[Path]) -> tuple[Issue, ...]:
    """The issues of some files, in order.

    Raises: ItemError with file, line and field of the first fault; also for an id that occurs twice.
    """
    issues: dict[str, tuple[Issue, str]] = {}
    for path in paths:
        for number, row in numbered_objects(read_text(path)):
            where = f"{path.name}, line {number}"
            item = item_of(row, where)
            if item.id in issues:
                raise ItemError(f'{where}, field "id": {item.id!r} occurs in {issues[item.id][1]} already')
            issues[item.id] = (item, where)
    if not issues:
        raise ItemError(f"{', '.join(path.name for path in paths)}: holds no issue; give one a line, as JSON")
    return tuple(item for item, _ in issues.values())


def builtin_items() -> tuple[Issue, ...]:
    """The issues that come along, under the licence of the project."""
    with as_file(files("evenkeel.lab.bench").joinpath("data")) as folder:
        return read_items(sorted(Path(folder).glob("*.jsonl")))


def item_of(row: dict[str, Any] | str, where: str) -> Issue:
    """An issue from its JSON object, or from why there is none.

    Args:
        row: One object.
        where: Names its place in messages.

    Raises: ItemError.
    """
    if isinstance(row, str):
        raise ItemError(f"{where}: {row}")
    try:
        return Issue.model_validate(row)
    except ValidationError as error:
        raise ItemError(f"{where}, {described(error.errors())}") from error


def described(faults: Sequence[ErrorDetails]) -> str:
    """The first fault of an issue, by its field, and how many more there are."""
    fault = faults[0]
    message = fault["msg"].removeprefix("Value error, ")
    path = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in fault["loc"]).lstrip(".")
    if not path:
        # Of the whole issue: the message begins with the field.
        path, _, message = message.partition(": ")
    more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
    return f'field "{path}": {message}{more}'
