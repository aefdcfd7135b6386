"""Tasks of answers: their names, and how the task of a prompt is recognised.

The task is the one that the application names, else the one of the route's settings, else the one that
`recognise` returns, else `Task.CHAT`.

A task is recognised by what the instructions ask for and by the shape of the data they come with; the two
must agree. Words are matched in lower case, in English, German, Spanish, French, Italian, Japanese, Dutch
and Portuguese; shapes need no language. All patterns take linear time on any text.
"""

from __future__ import annotations

import difflib
import re
import tomllib
from collections import Counter
from enum import StrEnum
from importlib.resources import files
from typing import TYPE_CHECKING, Final, NamedTuple

from evenkeel.metrics.entity import read_schema

if TYPE_CHECKING:
    from collections.abc import Iterable


class Task(StrEnum):
    """Task that a prompt sets. A StrEnum: members equal the names used in settings and headers."""

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
    """Any other task."""


def find_task(name: str | None) -> Task:
    """Return the task of a name from an untrusted source, in any case; `Task.CHAT` if there is none."""
    wanted = _plain(name or "")
    return next((task for task in Task if task == wanted), Task.CHAT)


def task_named(name: str) -> Task:
    """Return the task of a name from the settings; case, spaces and hyphens do not count.

    Raises: ValueError if there is no such task, naming the nearest one.
    """
    wanted = _plain(name)
    for task in Task:
        if task == wanted:
            return task
    raise ValueError(f"no task {name!r}; {nearest(wanted, list(Task))}")


def nearest(wrong: str, choices: list[str] | list[Task]) -> str:
    """Return 'did you mean "…"?' with the nearest known name, or else all of them in order."""
    names = sorted(map(str, choices))
    near = difflib.get_close_matches(wrong, names, n=1)
    return f'did you mean "{near[0]}"?' if near else f"there are {', '.join(names)}"


def _plain(name: str) -> str:
    return "_".join(name.lower().replace("-", " ").replace("_", " ").split())


# Patterns for the phrases of instructions, by their meaning.
_PHRASES: Final = tomllib.loads(files(__package__).joinpath("tasks.toml").read_text("utf-8"))
_SIGNS: Final = {name: re.compile("|".join(phrases)) for name, phrases in _PHRASES.items()}

_SENTENCE: Final = re.compile(r"[.!?\n\u3002\uff01\uff1f]+")
# Most characters of a sentence that are read.
#
# Instructions are shorter; data may have no full stop at all.
_LONGEST_SENTENCE: Final = 600

_SPEAKER: Final = re.compile(
    # [10:02] Lena: …, **Agent Tom:** …, [10:02] <nick> …, 2024-03-05 10:02 - Ana: …
    r"^[ \t]*(?:[-*>] )?(?:[\[(]?[\dT:./, -]{4,24}(?:[AaPp]\.?[Mm]\.?)?[\])]?[ \t]*(?:[-\u2013|] ?)?)?"
    r"(?:<([^<>\s]{1,30})>|(?:\*\*)?([^\W\d][\w.'()| -]{0,40}?)(?:\*\*)?[:\uff1a])(?:\*\*)?(?=[ \t]|\*\*|$)",
    re.MULTILINE,
)
# Fewer are an example in a prompt, or an address.
_SPOKEN_LINES: Final = 4
_NAMED_DOCUMENT: Final = re.compile(
    # A prompt written down turn by turn has the role before its first line.
    r"^(?:(?:user|system|developer): )?\W{0,6}(?:doc(?:ument)?|source|passage|article|kb"
    r"|knowledge base(?: article)?|excerpt|snippet|chunk|reference|dokument|quelle|artikel"
    r"|documento|fuente|fonte|articolo|bron|文書|資料)"
    r"(?:[ _#-]{0,2}(\d{1,3})|[ _#-]{1,2}([a-z]))\b(?=\W|$)",
    re.MULTILINE,
)
_NUMBERED_DOCUMENT: Final = re.compile(
    r"^(?:(?:user|system|developer): )?\[(\d{1,3})\][ \t]+\S", re.MULTILINE
)
_TAGGED_DOCUMENT: Final = re.compile(
    r"<(?:document|doc|source|passage|article|excerpt)(?:[ _-]([^<>]{0,200}))?>"
)
_TAG_LABEL: Final = re.compile(r"(?:\b(?:id|index|n|number)=[\"']?)?\b(\w[\w.-]{0,39})")
_CONTEXT: Final = re.compile(
    r"<(?:context|documents|sources|knowledge)>|^\W{0,6}(?:context|documents?|sources|passages?|kontext|contexte?"
    r"|contexto|contesto)\W{0,4}:",
    re.MULTILINE,
)
_QUESTION: Final = re.compile(
    r"<(?:question|query|user_question)>"
    r"|^\W{0,6}(?:the |user'?s? )?(?:question|query|frage|pregunta|domanda|vraag|pergunta|質問)"
    r"\W{0,6}?(?:[:\uff1a]|$)|^q ?:"
    r"|\basked the following question\b|\bfollowing (?:user )?(?:question|query)\b",
    re.MULTILINE,
)
_CASE_LABEL: Final = re.compile(
    r"^[\W_]{0,6}(?:<)?(subject|title|description|short[_ ]description|comments?|history|resolution|status"
    r"|priority|category|number|urgency|impact|assignment[_ ]group|opened|closed|severity|betreff"
    r"|beschreibung|titel|titre|asunto|descripci[oó]n|oggetto|descrizione|onderwerp|omschrijving|assunto|descri[çc][aã]o|件名|説明)\b"
    r"[^:\uff1a\n>]{0,30}[:\uff1a>]",
    re.MULTILINE,
)
_CASE_HEAD: Final = re.compile(
    r"<(?:case|ticket|incident)\b[^<>]{0,80}>|^#{1,6} (?:\w+ ){0,2}(?:case|ticket)\b"
)
_FIELD_LINE: Final = re.compile(
    r"^[ \t]*[-*+][ \t]+[`*\"]{0,3}[a-z_]\w{0,40}[`*\"]{0,3}[ \t]*[:(\u2013-]", re.MULTILINE
)
_OR_EMPTY: Final = re.compile(r"\bor (?:empty|null|none|unknown)\b")
_PLAN_SHAPE: Final = re.compile(
    r"(?:^\W{0,4}|['\"`*])(nodes?|edges?)\W{0,4}:|[\"'](nodes|edges|steps|depends_on|dependencies|task_nodes|task_links"
    r"|task_steps)[\"'][ \t]*:|\b(action list)\b|\bavailable (actions|tools|steps)\b|\((start),",
    re.MULTILINE,
)
# Two bullets with colons are in many prompts that are no forms.
_FEWEST_SLOTS: Final = 3


def sentences(text: str) -> list[str]:
    """Return the sentences and lines of a lower-case text, except empty ones and the fields of a case.

    Fields are left out because a customer's words about a summary instruct nobody.
    """
    instructing = "\n".join(line for line in text.split("\n") if not _CASE_LABEL.match(line))
    sentences = []
    for piece in _SENTENCE.split(instructing):
        if sentence := piece.strip():
            sentences.append(sentence[:_LONGEST_SENTENCE])
    return sentences


def together(sentences: list[str], first: re.Pattern[str], second: re.Pattern[str]) -> bool:
    """Return whether both patterns occur in one sentence or in two neighbouring ones."""
    for at, sentence in enumerate(sentences):
        if first.search(sentence) and any(map(second.search, sentences[max(0, at - 1) : at + 2])):
            return True
    return False


def has_transcript(text: str) -> bool:
    """Return whether a text is a transcript.

    A transcript has at least two speakers; those who speak more than once have four lines or more together.
    """
    speakers = Counter((found[1] or found[2]).strip().lower() for found in _SPEAKER.finditer(text))
    lines = sum(count for speaker, count in speakers.items() if count > 1)
    return lines >= _SPOKEN_LINES and len(speakers) > 1


def document_labels(text: str) -> frozenset[str]:
    """Return the labels of the documents in a lower-case prompt, without the word before them.

    "doc 2:", "[2] …" and `<document id="2">` all give "2"; tags without a label are counted.
    """
    by_name = frozenset(found[1] or found[2] for found in _NAMED_DOCUMENT.finditer(text))
    by_number = frozenset(found[1] for found in _NUMBERED_DOCUMENT.finditer(text))
    by_tag: set[str] = set()
    for position, tag in enumerate(_TAGGED_DOCUMENT.finditer(text), start=1):
        label = _TAG_LABEL.search(tag[1] or "")
        by_tag.add(label[1] if label else str(position))
    return max(by_name, by_number, frozenset(by_tag), key=len)


# What tools and earlier answers say is data, never an instruction.
_INSTRUCTING = frozenset(("system", "developer"))
_ASKING = "user"
# Characters that are read from either end of a prompt: instructions are at the ends.
_HALF_READ = 20_000


class Turn(NamedTuple):
    """Message of a prompt."""

    role: str
    text: str


def recognise(turns: Iterable[Turn]) -> Task | None:
    """Return the task of a prompt, or None if it is not clear.

    Only the system messages and the user's last message are read, since the answer is to the last
    question. A task is only recognised if an instruction asks for it and the data
    it works on have their shape: a transcript with speakers, a case with its fields, labelled documents
    and a question, a list of slots, the parts of a plan. Mistaking chat for a task would judge it by
    the wrong rubrics, so everything doubtful is None.

    Returns: a task other than `Task.CHAT`; None if no task is plain, or more than one is.
    """
    listed = list(turns)
    asked = [turn.text for turn in listed if turn.role == _ASKING][-1:]
    texts = [turn.text for turn in listed if turn.role in _INSTRUCTING] + asked
    text = "\n\n".join(texts)
    if len(text) > 2 * _HALF_READ:
        text = f"{text[:_HALF_READ]}\n{text[-_HALF_READ:]}"
    lower = text.lower()
    said = sentences(lower)
    tasks = []
    if _is_workflow(lower, said):
        tasks.append(Task.WORKFLOW)
    if _is_slot_filling(text, lower, said):
        tasks.append(Task.SLOT_FILLING)
    if _is_question_answering(lower, said):
        tasks.append(Task.QUESTION_ANSWERING)
    summary = _summary(text, lower, said)
    if summary is not None:
        tasks.append(summary)
    return tasks[0] if len(tasks) == 1 else None


def _is_workflow(lower: str, said: list[str]) -> bool:
    """Return whether a plan is asked for, and two of its parts are shown: nodes, edges, steps, START."""
    if not any(map(_SIGNS["plan"].search, said)):
        return False
    parts = {next(filter(None, found.groups())).rstrip("s") for found in _PLAN_SHAPE.finditer(lower)}
    return len(parts) > 1


def _is_slot_filling(text: str, lower: str, said: list[str]) -> bool:
    """Return whether three slots or more are to be filled, of a schema, one a line, or ones left empty."""
    if _SIGNS["tools"].search(lower) or any(map(_SIGNS["code"].search, said)):
        # Schemas of tools look like forms, and programs may extract fields as well.
        return False
    if len(_OR_EMPTY.findall(lower)) >= _FEWEST_SLOTS:
        return True
    if not together(said, _SIGNS["extract"], _SIGNS["fields"]):
        return False
    return len(_FIELD_LINE.findall(lower)) >= _FEWEST_SLOTS or len(read_schema(text)) >= _FEWEST_SLOTS


def _is_question_answering(lower: str, said: list[str]) -> bool:
    documents, asks = len(document_labels(lower)), _QUESTION.search(lower) is not None
    from_documents = together(said, _SIGNS["answer"], _SIGNS["material"])
    if documents > 1:
        return asks or from_documents
    return asks and from_documents and (documents == 1 or _CONTEXT.search(lower) is not None)


def _summary(text: str, lower: str, said: list[str]) -> Task | None:
    if together(said, _SIGNS["summarise"], _SIGNS["chat"]):
        return Task.CHAT_SUMMARY if has_transcript(text) else None
    for sentence in said:
        if _SIGNS["summarise"].search(sentence) and _SIGNS["other_matter"].search(sentence):
            return None
    announced = any(turn.endswith((":", "\uff1a")) and _SIGNS["case"].search(turn) for turn in said)
    if announced and any(map(_SIGNS["summarise"].search, said)):
        return Task.CASE_SUMMARY
    # A case is shown by two of its labels, a tag, or a heading.
    shown = len({found[1] for found in _CASE_LABEL.finditer(lower)}) > 1 or _CASE_HEAD.search(lower)
    if shown and together(said, _SIGNS["summarise"], _SIGNS["case"]):
        return Task.CASE_SUMMARY
    return None
