"""The tasks that the simulation makes prompts for and answers: summaries, questions on documents, slots.

`tasks.toml` has their words. A task is a table there, named parts of an answer, and a line in the table of
tasks; a class where its answers have a form of their own.
"""

from __future__ import annotations

import json
import random
import re
import tomllib
from enum import StrEnum
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from evenkeel.simulate.cases import make_case
from evenkeel.simulate.content import Condition, put
from evenkeel.simulate.phrases import ENGLISH

if TYPE_CHECKING:
    from evenkeel.simulate.cases import SupportCase
    from evenkeel.simulate.content import AnswerContent, Items
    from evenkeel.simulate.phrases import Phrases


UNKNOWN = "unknown"
"""Stands for an identifier that an answer does not know."""
_WORDS: Final = tomllib.loads(files(__package__).joinpath("tasks.toml").read_text("utf-8"))
_FIELD: Final = re.compile(r"\{(\w+)(?:\.(\w+))?\}")


class TaskName(StrEnum):
    """The tasks of the catalogue."""

    CASE_SUMMARY = "case_summary"
    CHAT_SUMMARY = "chat_summary"
    QUESTIONS = "question_answering"
    SLOT_FILLING = "slot_filling"


SCHEMA: Final[dict[str, Any]] = _WORDS[TaskName.SLOT_FILLING]["schema"]
"""The entities of a case, as the prompt shows them."""


class Template(NamedTuple):
    """The words of a prompt that are the same in every request of a task."""

    system: str
    """"" = everything stands in the user's message."""
    before: str
    """Words before the input."""
    after: str
    """Words after it."""


def spoken(text: str) -> str:
    """A text in lower case with single spaces, in which snake_case names are words."""
    return " ".join(text.replace("_", " ").replace("-", " ").lower().split())


class PromptTask:
    """A kind of request that an application sends. Its prose is that of a summary."""

    def __init__(self, name: TaskName) -> None:
        """Take the words of a task."""
        self.name: Final = name
        self._words = words = _WORDS[name]
        system = words["system"].replace("{schema}", json.dumps(SCHEMA, indent=2))
        self.template: Final = Template(system, words["before"], words["after"])
        """Constant words of the task."""

    def input(self, case: SupportCase, rng: random.Random) -> str:
        """The case as this task's input; differs from case to case."""
        values_known = {
            "text": case.text,
            "line": " ".join(case.text.split()),
            "first": case.topic.first,
            "second": case.topic.second,
            "one": case.details.first,
            "two": case.details.second,
            "case": case.details,
        }

        def filled(field: re.Match[str]) -> str:
            if field[1] not in values_known:
                return str(rng.choice(self._words[field[1]]))
            piece = values_known[field[1]]
            return str(getattr(piece, field[2]) if field[2] else piece)

        return _FIELD.sub(filled, self._words["input"])

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
_BY_NAME: Final = {task.name: task for task in TASKS}


def task_of(text: str) -> PromptTask:
    """The task of a prompt, by the parts that it names; case summary if it is no other."""
    words = spoken(text)
    # From the last: the parts of a case summary are named in other tasks as well.
    for task in reversed(TASKS):
        if task.asked_by(words):
            return task
    return CASE_SUMMARY


def make_prompt(task: TaskName | str, seed: int) -> list[dict[str, str]]:
    """The messages of a request as an application would send them.

    The template is the same for every seed of a task; the input is the case of the seed. It stands in
    the middle of the user's message, between the instructions and the output instructions.

    Raises: ValueError if there is no such task.
    """
    prompt_task = _BY_NAME[TaskName(task)]
    template = prompt_task.template
    case = make_case(seed)
    # Not the case's own generator: its draws must not depend on the task.
    text = prompt_task.input(case, random.Random(f"{prompt_task.name} {seed}"))
    user = f"{template.before}\n\n{text}\n\n{template.after}"
    system = [{"role": "system", "content": template.system}] if template.system else []
    return [*system, {"role": "user", "content": user}]
