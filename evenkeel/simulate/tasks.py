"""The tasks whose prompts the simulation answers in a form of their own: summaries, questions, slots.

`tasks.toml` has their words. A task is a table there, named parts of an answer, and a line in the table of
tasks; a class where its answers have a form of their own.
"""

from __future__ import annotations

import tomllib
from enum import StrEnum
from importlib.resources import files
from typing import TYPE_CHECKING, Final

from evenkeel.simulate.content import Condition, put
from evenkeel.simulate.phrases import ENGLISH

if TYPE_CHECKING:
    from evenkeel.simulate.content import AnswerContent, Items
    from evenkeel.simulate.phrases import Phrases


UNKNOWN = "unknown"
"""Stands for an identifier that an answer does not know."""
_WORDS: Final = tomllib.loads(files(__package__).joinpath("tasks.toml").read_text("utf-8"))


class TaskName(StrEnum):
    """The tasks of the catalogue."""

    CASE_SUMMARY = "case_summary"
    CHAT_SUMMARY = "chat_summary"
    QUESTIONS = "question_answering"
    SLOT_FILLING = "slot_filling"


def spoken(text: str) -> str:
    """A text in lower case with single spaces, in which snake_case names are words."""
    return " ".join(text.replace("_", " ").replace("-", " ").lower().split())


class PromptTask:
    """A kind of request that an application sends. Its prose is that of a summary."""

    def __init__(self, name: TaskName) -> None:
        """Take the words of a task."""
        self.name: Final = name
        self._words = _WORDS[name]

    def asked_by(self, words: str) -> bool:
        """Return whether a prompt is of this task: it names enough of its parts.

        Args:
            words: The prompt as of `spoken`.
        """
        return sum(part in words for part in self._words["asks"]) >= int(self._words["least"])

    def items(self, content: AnswerContent) -> Items:
        """The parts of an answer, the same names for every state; what it does not know is "unknown"."""
        parts: dict[str, str] = self._words["parts"]
        items = []
        for name, fact in parts.items():
            items.append((name, getattr(content, fact) or UNKNOWN))
        return tuple(items)

    def prose(self, content: AnswerContent, phrases: Phrases) -> str:
        """The same as free text: in lines with titles (English, good) or in a row."""
        parts = (content.problem, content.event, content.fix)
        if content.condition is Condition.GOOD and phrases is ENGLISH:
            first, *others = self._words["titles"]
            heads = (f"{first}{put(' in {}', content.ticket)}", *others)
            return "\n".join(f"{head}: {part}" for head, part in zip(heads, parts, strict=True))
        return _in_a_row(content, phrases)


def _in_a_row(content: AnswerContent, phrases: Phrases) -> str:
    text = (" " if phrases.spaced else "").join((content.problem, content.event, content.fix))
    return put(f"{phrases.labels.ticket} {{}}: ", content.ticket) + text


_SOURCES: Final = {
    Condition.GOOD: ("Doc 1", "Doc 2"),
    Condition.DIFFERENT: ("Doc 3", "Doc 4"),
    Condition.WORSE: (),
}


class Questions(PromptTask):
    """An answer out of four documents, with the documents that it rests on."""

    def items(self, content: AnswerContent) -> Items:
        """The answer and its sources; a worse answer has none."""
        ticket = put("{}: ", content.ticket)
        return (
            ("answer", f"{ticket}{content.problem} {content.event} {content.fix}"),
            ("sources", _SOURCES[content.condition]),
        )

    def prose(self, content: AnswerContent, phrases: Phrases) -> str:
        """The answer with its sources in brackets behind it."""
        return _in_a_row(content, phrases) + "".join(f" [{label}]" for label in _SOURCES[content.condition])


class SlotFilling(PromptTask):
    """The entities of a case, by the names of a JSON schema."""

    def items(self, content: AnswerContent) -> Items:
        """Return an item for each slot; a number of people that the answer does not know is 0."""
        values_known = dict(super().items(content))
        return tuple((values_known | {"people_affected": int(content.people or 0)}).items())

    def prose(self, content: AnswerContent, _: Phrases) -> str:
        """A line for each slot."""
        return "\n".join(f"{name}: {value}" for name, value in self.items(content))


CASE_SUMMARY: Final = PromptTask(TaskName.CASE_SUMMARY)
CHAT_SUMMARY: Final = PromptTask(TaskName.CHAT_SUMMARY)
QUESTIONS: Final = Questions(TaskName.QUESTIONS)
SLOT_FILLING: Final = SlotFilling(TaskName.SLOT_FILLING)
TASKS: Final[tuple[PromptTask, ...]] = (CASE_SUMMARY, CHAT_SUMMARY, QUESTIONS, SLOT_FILLING)
"""All of them. The first is taken where a prompt is of none."""


def task_of(text: str) -> PromptTask:
    """The task of a prompt, by the parts that it names; case summary if it is no other."""
    words = spoken(text)
    # From the last: the parts of a case summary are named in other tasks as well.
    for task in reversed(TASKS):
        if task.asked_by(words):
            return task
    return CASE_SUMMARY
