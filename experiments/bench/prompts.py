"""The prompts of the four tasks: what an application would write around an issue."""

from __future__ import annotations

import json
import re
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from evenkeel.metrics.tasks import Task
from evenkeel.shadow.prompt import PromptView
from evenkeel.shadow.prompt.template import fixed_template

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenkeel.experiments.bench.items import Item

TASKS: Final = (Task.CASE_SUMMARY, Task.CHAT_SUMMARY, Task.QUESTION_ANSWERING, Task.SLOT_FILLING)
"""In the order of the tables."""
VERSION: Final = 1
"""Raised with every change of wording: results under other words cannot be compared."""

_FIELD: Final = re.compile(r"\{([a-z_]+[0-9]?)\}")

_CASE_SUMMARY: Final = """\
You take over open work from a colleague at an IT service desk. Read the case below and write a short \
summary of it for the team.

Case details:
{case}

Write about these sections and no others:
- Main problem: what does not work, and for whom
- Key events: what happened and what was tried, in order
- Resolution: what solved it, or what is still open

Keep names, numbers and error messages exactly as they are written. Add nothing that the case does not say.

Respond with JSON in this form and nothing around it:
{
  "main_problem": "<what does not work, and for whom>",
  "key_events": ["<one event>"],
  "resolution": "<what solved it, or what is still open>"
}"""

_CHAT_SUMMARY: Final = """\
Read the support chat below and write it up for colleagues who were not there.

Transcript:
{chat}

Write about these sections and no others:
- Customer issue: what the customer reported
- Agent actions: what the agent found out and did
- Outcome: how it ended, and what was agreed
- People: who took part

Keep to what was said. Copy names, numbers and error messages letter by letter.

Respond with JSON in this form and nothing around it:
{
  "customer_issue": "<what the customer reported>",
  "agent_actions": ["<one action>"],
  "outcome": "<how it ended, and what was agreed>",
  "people": ["<one name>"]
}"""

_QUESTION_ANSWERING: Final = """\
Answer the question of a user from the documents below, and from nothing else.

Documents:

Doc 1: {document_1}

Doc 2: {document_2}

Doc 3: {document_3}

Doc 4: {document_4}

Question: {question}

Rules:
- Use only what the documents say, even if you know more.
- Name the document behind each statement, in brackets, like [Doc 2].
- If the documents do not hold the answer, say so.
- Be brief.

Respond with JSON in this form and nothing around it:
{
  "answer": "<the answer, with documents in brackets>",
  "sources": ["<label of a document used>"]
}"""

_SLOT_FILLING: Final = """\
Fill a form from what a user wrote to an IT service desk. These are its slots, as a JSON schema:

[[schema]]

Message:
{message}

Rules:
- Fill every slot whose value the message says, and leave out all others.
- Copy values exactly as they are written. For a slot with fixed choices take one of them.
- Guess nothing.

Respond in JSON, with the filled slots by their names in the schema, and nothing around it."""

_TEXTS: Final[Mapping[Task, str]] = MappingProxyType(
    {
        Task.CASE_SUMMARY: _CASE_SUMMARY,
        Task.CHAT_SUMMARY: _CHAT_SUMMARY,
        Task.QUESTION_ANSWERING: _QUESTION_ANSWERING,
        Task.SLOT_FILLING: _SLOT_FILLING,
    }
)


def prompt_of(item: Item, task: Task) -> PromptView:
    """The request that puts an issue to a model, without the model's name.

    What is template and what is input is known, not guessed: the schema of the slots belongs to the form.
    """
    template = _TEXTS[task].replace("[[schema]]", _schema(item) if task is Task.SLOT_FILLING else "")
    values = _values(item)
    text = _FIELD.sub(lambda found: values.get(found[1], found[0]), template)
    body = json.dumps({"messages": [{"role": "user", "content": text}]}, ensure_ascii=False)
    return PromptView.parse(body.encode()).classified(fixed_template([template]))


def _values(item: Item) -> dict[str, str]:
    documents = {
        f"document_{number}": f"{document.title}. {document.text}"
        for number, document in enumerate(item.documents, start=1)
    }
    return {
        "case": item.case,
        "chat": item.chat,
        "question": item.question,
        "message": item.message,
        **documents,
    }


def _schema(item: Item) -> str:
    slots = {
        slot.name: {"type": "string", "enum": list(slot.choices), "description": slot.description}
        if slot.choices
        else {"type": slot.type, "description": slot.description}
        for slot in item.slots
    }
    return json.dumps({"type": "object", "properties": slots}, indent=2, ensure_ascii=False)
