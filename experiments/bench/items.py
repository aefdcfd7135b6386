"""One issue of the benchmark: what happened, told in the four ways that the tasks need."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

Text = Annotated[str, Field(min_length=1, max_length=50_000, pattern=r"\S")]
SlotType = Literal["string", "number", "choice"]

DOCUMENTS = 4
"""Documents behind each question."""
_LEAST_SLOTS = 2


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


class Document(_Part):
    """An article of a knowledge base."""

    title: Text
    text: Text


class Slot(_Part):
    """One entity that may be found in a message."""

    name: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,59}$")]
    type: SlotType = "string"
    description: Text
    choices: tuple[Text, ...] = ()
    """Of a choice: the values allowed."""

    @model_validator(mode="after")
    def _choices_fit(self) -> Self:
        if (self.type == "choice") != bool(self.choices):
            raise ValueError("choices belong to the type choice, and to no other")
        return self


class Item(_Part):
    """An issue. All texts are in English: the benchmark has them translated."""

    id: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,79}$")]
    issue: Text
    """What it is about, in one line."""
    case: Text
    """Details of the support case, for the case summary."""
    chat: Text
    """Transcript, one line a turn, for the chat summary."""
    question: Text
    documents: Annotated[tuple[Document, ...], Field(min_length=DOCUMENTS, max_length=DOCUMENTS)]
    """What the question is answered from."""
    message: Text
    """What somebody writes, for slot filling."""
    slots: Annotated[tuple[Slot, ...], Field(min_length=_LEAST_SLOTS, alias="schema")]
    entities: dict[str, str | int | float]
    """The slots that the message fills, with their values."""

    @model_validator(mode="after")
    def _entities_fit(self) -> Self:
        known = {slot.name: slot for slot in self.slots}
        if len(known) != len(self.slots):
            raise ValueError("schema: names a slot twice")
        if not self.entities:
            raise ValueError("entities: is empty; the message must fill at least one slot")
        for name, value in self.entities.items():
            slot = known.get(name)
            if slot is None:
                raise ValueError(f"entities: {name!r} is no slot of the schema")
            if slot.choices and value not in slot.choices:
                raise ValueError(f"entities: {name!r} is {value!r}, which is none of its choices")
        return self
