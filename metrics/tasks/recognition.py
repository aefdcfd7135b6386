"""Which task a prompt sets, by rule: what its instructions ask for and the data it brings must agree."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from evenkeel.metrics.tasks import signs
from evenkeel.metrics.tasks.names import Task

if TYPE_CHECKING:
    from collections.abc import Iterable

_INSTRUCTING = frozenset(("system", "developer"))
_ASKING = "user"
_HALF_READ = 20_000
"""Characters that are read from either end of a prompt: instructions stand at the ends."""


class Turn(NamedTuple):
    """One message of a prompt."""

    role: str
    text: str


def recognise(turns: Iterable[Turn]) -> Task | None:
    """The task of a prompt, if it is plain.

    Read are the system messages and the last message of the user: in a conversation that goes on, only
    its last question is being answered. A task is only told if an instruction asks for it and the data
    it works on have their shape: a transcript with speakers, a case with its fields, labelled documents
    and a question, a list of slots, the parts of a plan. Mistaking chat for a task would judge it by
    the wrong rubrics, so everything doubtful is None.

    Returns: a task other than `Task.CHAT`; None if no task is plain, or more than one is.
    """
    listed = list(turns)
    asked = [turn.text for turn in listed if turn.role == _ASKING][-1:]
    texts = [turn.text for turn in listed if turn.role in _INSTRUCTING] + asked
    text = _ends("\n\n".join(texts))
    lower = text.lower()
    said = signs.sentences(lower)
    found = [
        task
        for task, is_set in (
            (Task.WORKFLOW, _is_workflow(lower, said)),
            (Task.SLOT_FILLING, _is_slot_filling(text, lower, said)),
            (Task.QUESTION_ANSWERING, _is_question_answering(lower, said)),
            (_summary(text, lower, said), True),
        )
        if is_set and task is not None
    ]
    return found[0] if len(found) == 1 else None


def _ends(text: str) -> str:
    return text if len(text) <= 2 * _HALF_READ else f"{text[:_HALF_READ]}\n{text[-_HALF_READ:]}"


def _is_workflow(lower: str, said: list[str]) -> bool:
    return any(signs.PLAN.search(sentence) for sentence in said) and signs.has_plan(lower)


def _is_slot_filling(text: str, lower: str, said: list[str]) -> bool:
    if signs.TOOLS.search(lower) or any(signs.CODE.search(sentence) for sentence in said):
        # Schemas of tools look like forms, and programs may extract fields as well.
        return False
    if signs.together(said, signs.EXTRACT, signs.FIELDS):
        return signs.has_form(text) or signs.has_blanks(lower)
    return signs.has_blanks(lower)


def _is_question_answering(lower: str, said: list[str]) -> bool:
    documents, asks = len(signs.document_labels(lower)), signs.has_question(lower)
    from_documents = signs.together(said, signs.ANSWER, signs.MATERIAL)
    if documents > 1:
        return asks or from_documents
    return asks and from_documents and (documents == 1 or signs.has_context(lower))


def _summary(text: str, lower: str, said: list[str]) -> Task | None:
    if signs.together(said, signs.SUMMARISE, signs.CHAT):
        return Task.CHAT_SUMMARY if signs.has_transcript(text) else None
    summarising = [sentence for sentence in said if signs.SUMMARISE.search(sentence)]
    if any(signs.OTHER_MATTER.search(sentence) for sentence in summarising):
        return None
    if summarising and signs.leads_to_case(said):
        return Task.CASE_SUMMARY
    if signs.together(said, signs.SUMMARISE, signs.CASE) and signs.has_case(lower):
        return Task.CASE_SUMMARY
    return None
