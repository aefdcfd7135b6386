"""What a task asks for: named parts of an answer, and prompts that ask for them."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    import random
    from collections.abc import Iterable

    from evenkeel.simulate.cases import Case
    from evenkeel.simulate.phrases import Phrases
    from evenkeel.simulate.told import Told

Value = str | int | tuple[str, ...]
Items = tuple[tuple[str, Value], ...]
"""Names of parts in snake_case with what they hold, in the order in which they are written."""

UNKNOWN = "unknown"
"""Stands for an identifier that an answer does not know."""


class TaskName(StrEnum):
    """The tasks of the catalogue."""

    CASE_SUMMARY = "case_summary"
    CHAT_SUMMARY = "chat_summary"
    QUESTIONS = "question_answering"
    SLOT_FILLING = "slot_filling"


class Template(NamedTuple):
    """The words of a prompt that are the same in every request of a task."""

    system: str
    """"" = everything stands in the user's message."""
    before: str
    """Before the input."""
    after: str
    """After it."""


class Task(Protocol):
    """One kind of request that an application sends."""

    @property
    def name(self) -> TaskName:
        """Name of the task."""
        ...

    @property
    def template(self) -> Template:
        """Its constant words."""
        ...

    def input(self, case: Case, rng: random.Random) -> str:
        """The case as this task's input; differs from case to case."""
        ...

    def items(self, told: Told) -> Items:
        """The parts of an answer, the same names for every state."""
        ...

    def prose(self, told: Told, phrases: Phrases) -> str:
        """The same as free text."""
        ...

    def asked_by(self, words: str) -> bool:
        """Whether a prompt is of this task.

        Args:
            words: The prompt as of `spoken`.
        """
        ...


def spoken(text: str) -> str:
    """A text in lower case with single spaces, in which snake_case names are words."""
    return " ".join(text.replace("_", " ").replace("-", " ").lower().split())


def mentions(words: str, parts: Iterable[str], least: int) -> bool:
    """Whether a prompt, as of `spoken`, names at least so many of a task's parts."""
    return sum(part.replace("_", " ") in words for part in parts) >= least
