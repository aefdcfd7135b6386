"""Prompts as applications send them, for benchmarks: four tasks, twelve and more of each.

`layout` puts fields into the layouts of a task; `support`, `chats`, `questions` and `slots` hold the
layouts and the fields of one task each.
"""

from bench.prompts.chats import CHAT_SUMMARIES
from bench.prompts.layout import ApplicationPrompt, Layout
from bench.prompts.questions import QUESTIONS
from bench.prompts.slots import SLOT_FILLING
from bench.prompts.support import CASE_SUMMARIES

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
