"""The tasks that have a bundle of metrics of their own."""

from __future__ import annotations

import difflib
from enum import StrEnum


class Task(StrEnum):
    """What a prompt asks for. A StrEnum: members are equal to the names used in settings and headers."""

    CASE_SUMMARY = "case_summary"
    """Summarise a support case."""
    CHAT_SUMMARY = "chat_summary"
    """Summarise a chat between people."""
    QUESTION_ANSWERING = "question_answering"
    """Answer a question from documents that the prompt holds."""
    SLOT_FILLING = "slot_filling"
    """Fill the entities of a schema from a text."""
    WORKFLOW = "workflow"
    """Lay out steps and what each depends on."""
    CHAT = "chat"
    """Everything else."""


def find_task(name: str | None) -> Task:
    """The task of a name that anybody may have given, in any case; `Task.CHAT` if there is none."""
    wanted = _plain(name or "")
    return next((task for task in Task if task == wanted), Task.CHAT)


def task_named(name: str) -> Task:
    """The task of a name that must be right, as in the settings; case, spaces and hyphens do not count.

    Raises: ValueError if there is no such task, naming the nearest one.
    """
    wanted = _plain(name)
    for task in Task:
        if task == wanted:
            return task
    raise ValueError(f"no task {name!r}; {nearest(wanted, list(Task))}")


def nearest(wrong: str, known: list[str] | list[Task]) -> str:
    """'did you mean "…"?' with the nearest known name, or else all of them in order."""
    names = sorted(str(name) for name in known)
    near = difflib.get_close_matches(wrong, names, n=1)
    return f'did you mean "{near[0]}"?' if near else f"there are {', '.join(names)}"


def _plain(name: str) -> str:
    return "_".join(name.lower().replace("-", " ").replace("_", " ").split())
