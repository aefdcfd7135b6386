"""The prompts of an issue: one for each task, and its variants under each perturbation."""

from __future__ import annotations

import asyncio
import json
import random
import re
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Final

from evenkeel.core.pair import AS_BEFORE, AnswerForm
from evenkeel.core.verdict import BASELINE
from evenkeel.metrics.tasks import Task
from evenkeel.release.check.rounds import finished
from evenkeel.shadow.perturbations import NotApplicable, attempt, seed_for
from evenkeel.shadow.perturbations.format import FREE
from evenkeel.shadow.prompt import PromptView
from evenkeel.shadow.prompt.segments import TYPED
from evenkeel.shadow.prompt.template import fixed_template

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from evenkeel.lab.bench.items import Issue
    from evenkeel.shadow.perturbations import Outcome, Perturbation, RewriteTask
    from evenkeel.shadow.rewriter import Rejection


_SUMMARIES: Final = (Task.CASE_SUMMARY, Task.CHAT_SUMMARY)
TASKS: Final = (Task.CASE_SUMMARY, Task.CHAT_SUMMARY, Task.QUESTION_ANSWERING, Task.SLOT_FILLING)
"""Tasks in the order of the tables."""
VERSION: Final = 1
"""Raised with every change of wording: results under other words cannot be compared."""

_FIELD: Final = re.compile(r"\{([a-z_]+[0-9]?)\}")


@cache
def _template(task: Task) -> str:
    """Text that an application would write around an issue, with the issue's parts as fields in braces."""
    text = files("evenkeel.lab.bench").joinpath("data", f"{task.value}.txt").read_text("utf-8")
    return text.removesuffix("\n")


def prompt_of(item: Issue, task: Task) -> PromptView:
    """The request that puts an issue to a model, without the model's name.

    What is template and what is input is known, not guessed: the schema of the slots belongs to the form.
    """
    template = _template(task).replace("[[schema]]", _schema(item) if task is Task.SLOT_FILLING else "")
    values = _values(item)
    text = _FIELD.sub(lambda found: values.get(found[1], found[0]), template)
    body = json.dumps({"messages": [{"role": "user", "content": text}]}, ensure_ascii=False)
    view = PromptView.parse(body.encode()).classified(fixed_template([template]))
    # What is summed up is all that a user hands over; of a question's documents he wrote none.
    return view.changing(("typed", "documents") if task in _SUMMARIES else TYPED)


def _values(item: Issue) -> dict[str, str]:
    documents = {}
    for number, document in enumerate(item.documents, start=1):
        documents[f"document_{number}"] = f"{document.title}. {document.text}"
    return {
        "case": item.case,
        "chat": item.chat,
        "question": item.question,
        "message": item.message,
        **documents,
    }


def _schema(item: Issue) -> str:
    slots = {}
    for slot in item.slots:
        slots[slot.name] = (
            {"type": "string", "enum": list(slot.choices), "description": slot.description}
            if slot.choices
            else {"type": slot.type, "description": slot.description}
        )
    return json.dumps({"type": "object", "properties": slots}, indent=2, ensure_ascii=False)


_FORMAT: Final = "format."
_TROUBLES: Final = "rewriter_"


@dataclass(frozen=True, slots=True)
class TaskVariant:
    """A prompt to be answered, and what its answer is compared with."""

    kind: str
    """Name of the perturbation."""
    view: PromptView
    wanted: AnswerForm = AS_BEFORE
    to_free: bool = False
    """Compared with the free answer in place of the original's."""
    as_original: bool = False
    """The original asks for this form already: its own answer is taken."""


@dataclass(frozen=True, slots=True)
class TaskPrompt:
    """Put an issue under a task."""

    item: str
    """Id of the issue."""
    task: Task
    original: PromptView
    free: PromptView
    """The prompt for a free answer; the original if it asks for one."""
    variants: tuple[TaskVariant, ...]
    """The control first."""
    left_out: Mapping[str, str] = field(default_factory=dict)
    """Kind → why there is no variant of it."""


def first_outcome(view: PromptView, kind: Perturbation, severity: float, seed: str) -> Outcome:
    """Return what a kind makes of a prompt before any rewriting; the same for the same seed."""
    strength = severity if kind.graded else 1.0
    return attempt(kind, view, strength, random.Random(seed_for(seed, kind.name, strength, kind.version)))


def free_view(view: PromptView) -> PromptView:
    """The same prompt, asking for a free answer."""
    outcome = FREE.apply(view, 1.0, random.Random(0))
    return view if isinstance(outcome, NotApplicable) else outcome


async def make_case(
    item: str,
    task: Task,
    view: PromptView,
    kinds: Sequence[Perturbation],
    *,
    severity: float,
    seed: int,
    rewrite: Callable[[RewriteTask], Awaitable[str | Rejection]] | None,
) -> TaskPrompt:
    """All prompts of one issue under one task.

    Args:
        item: Id of the issue.
        task: The task.
        view: The original.
        kinds: What to apply; the control and the free form are there anyway.
        severity: Of the kinds that have degrees, in [0, 1].
        seed: Of all choices.
        rewrite: Writes texts anew; None = kinds that need that are left out.
    """
    variants: list[TaskVariant] = [TaskVariant(BASELINE, view)]
    left_out: dict[str, str] = {}
    for kind in kinds:
        if kind.name in (BASELINE, FREE.name):
            continue
        # Prose has no slots that could be compared: there the original's answer stands for the free one.
        to_free = kind.name.startswith(_FORMAT) and task is not Task.SLOT_FILLING
        outcome = await asyncio.to_thread(first_outcome, view, kind, severity, f"{seed}:{item}:{task}")
        made = await finished(outcome, rewrite)
        if not isinstance(made, NotApplicable):
            variants.append(TaskVariant(kind.name, made, kind.wanted, to_free))
        elif to_free and made.reason == "already_wanted":
            variants.append(TaskVariant(kind.name, view, kind.wanted, to_free, as_original=True))
        else:
            left_out[kind.name] = made.reason
    return TaskPrompt(item, task, view, free_view(view), tuple(variants), left_out)


def is_trouble(reason: str) -> bool:
    """Return whether a kind was left out because something failed, not because it does not apply."""
    return reason.startswith(_TROUBLES)
