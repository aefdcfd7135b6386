"""Prompts as applications send them, for benchmarks: four tasks, twelve and more of each.

`layout` puts fields into the layouts of a task; `support`, `chats`, `questions` and `slots` hold the
layouts and the fields of one task each.
"""

from benchmarks.prompts.chats import CHAT_SUMMARIES
from benchmarks.prompts.layout import ApplicationPrompt, Layout
from benchmarks.prompts.questions import QUESTIONS
from benchmarks.prompts.slots import SLOT_FILLING
from benchmarks.prompts.support import CASE_SUMMARIES

EVERY: tuple[ApplicationPrompt, ...] = (*CASE_SUMMARIES, *CHAT_SUMMARIES, *QUESTIONS, *SLOT_FILLING)
"""All of them, task by task."""

__all__ = [
    "CASE_SUMMARIES",
    "CHAT_SUMMARIES",
    "EVERY",
    "QUESTIONS",
    "SLOT_FILLING",
    "ApplicationPrompt",
    "Layout",
]
