"""The tasks that the simulation makes prompts for and answers: one small file each."""

from __future__ import annotations

import random
from typing import Final

from evenkeel.simulate.cases import make_case
from evenkeel.simulate.tasks.conversation import ChatSummary
from evenkeel.simulate.tasks.layout import Items, Task, TaskName, Template, Value, spoken
from evenkeel.simulate.tasks.questions import Questions
from evenkeel.simulate.tasks.slots import SlotFilling
from evenkeel.simulate.tasks.summary import CaseSummary

CASE_SUMMARY: Final = CaseSummary()
TASKS: Final[tuple[Task, ...]] = (CASE_SUMMARY, ChatSummary(), Questions(), SlotFilling())
"""All of them. The first is taken where a prompt is of none."""


def task_of(text: str) -> Task:
    """The task of a prompt, by the parts that it names; case summary if it is no other."""
    words = spoken(text)
    return next((task for task in reversed(TASKS) if task.asked_by(words)), CASE_SUMMARY)


def make_prompt(task: TaskName | str, seed: int) -> list[dict[str, str]]:
    """The messages of a request as an application would send them.

    The template is the same for every seed of a task; the input is the case of the seed. It stands in
    the middle of the user's message, between the instructions and the output instructions.

    Raises: ValueError if there is no such task.
    """
    found = next(one for one in TASKS if one.name is TaskName(task))
    template = found.template
    case = make_case(seed)
    # Not the case's own generator: its draws must not depend on the task.
    text = found.input(case, random.Random(f"{found.name} {seed}"))
    user = f"{template.before}\n\n{text}\n\n{template.after}"
    system = [{"role": "system", "content": template.system}] if template.system else []
    return [*system, {"role": "user", "content": user}]


__all__ = [
    "CASE_SUMMARY",
    "TASKS",
    "Items",
    "Task",
    "TaskName",
    "Template",
    "Value",
    "make_prompt",
    "task_of",
]
