"""The tasks that the simulation makes prompts for and answers: summaries, questions on documents, slots.

A task is a class with named parts of an answer and a prompt that asks for them, and a line in the table of
tasks.
"""

from __future__ import annotations

import json
import random
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from evenkeel.simulate.cases import make_case
from evenkeel.simulate.content import Condition, put
from evenkeel.simulate.phrases import ENGLISH

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evenkeel.simulate.cases import Case
    from evenkeel.simulate.content import Items, Told
    from evenkeel.simulate.phrases import Phrases


UNKNOWN = "unknown"
"""Stands for an identifier that an answer does not know."""


class TaskName(StrEnum):
    """The tasks of the catalogue."""

    CASE_SUMMARY = "case_summary"
    CHAT_SUMMARY = "chat_summary"
    QUESTIONS = "question_answering"
    SLOT_FILLING = "slot_filling"


class Template(NamedTuple):
    """The words of a prompt that are the same in every request of a task."""

    system: str
    """"" = everything stands in the user's message."""
    before: str
    """Before the input."""
    after: str
    """After it."""


class Task(Protocol):
    """One kind of request that an application sends."""

    @property
    def name(self) -> TaskName:
        """Name of the task."""
        ...

    @property
    def template(self) -> Template:
        """Its constant words."""
        ...

    def input(self, case: Case, rng: random.Random) -> str:
        """The case as this task's input; differs from case to case."""
        ...

    def items(self, told: Told) -> Items:
        """The parts of an answer, the same names for every state."""
        ...

    def prose(self, told: Told, phrases: Phrases) -> str:
        """The same as free text."""
        ...

    def asked_by(self, words: str) -> bool:
        """Whether a prompt is of this task.

        Args:
            words: The prompt as of `spoken`.
        """
        ...


def spoken(text: str) -> str:
    """A text in lower case with single spaces, in which snake_case names are words."""
    return " ".join(text.replace("_", " ").replace("-", " ").lower().split())


def mentions(words: str, parts: Iterable[str], least: int) -> bool:
    """Whether a prompt, as of `spoken`, names at least so many of a task's parts."""
    return sum(part.replace("_", " ") in words for part in parts) >= least


class CaseSummary:
    """The main problem, the key events and the resolution of a case."""

    name: Final = TaskName.CASE_SUMMARY
    template: Final = Template(
        system="",
        before=(
            "You help a service desk to hand over its work. Read the support case below and summarise it for "
            "the engineer on the next shift.\n\n"
            "Write about these parts:\n"
            "- Main problem: what is broken, and for whom\n"
            "- Key events: what happened, in order\n"
            "- Resolution: what helped\n\n"
            "Quote identifiers exactly as they are written, and add nothing that the case does not say.\n\n"
            "Here is the case:"
        ),
        after=(
            "Respond in JSON, in this form and without anything around it:\n"
            "{\n"
            '  "ticket": "<the ticket>",\n'
            '  "main_problem": "<what is broken, and for whom>",\n'
            '  "key_events": "<what happened, in order>",\n'
            '  "resolution": "<what helped>"\n'
            "}"
        ),
    )

    def input(self, case: Case, _: random.Random) -> str:
        """The case as the service desk wrote it."""
        return case.text

    def asked_by(self, words: str) -> bool:
        """Whether two of the parts are named."""
        return mentions(words, ("main_problem", "key_events", "resolution"), 2)

    def items(self, told: Told) -> Items:
        """Ticket, problem, events and resolution."""
        return (
            ("ticket", told.ticket or UNKNOWN),
            ("main_problem", told.problem),
            ("key_events", told.event),
            ("resolution", told.fix),
        )

    def prose(self, told: Told, phrases: Phrases) -> str:
        """A good summary has a line for each part, a different one runs on."""
        return joined(told, phrases, ("Main problem", "Key events", "Resolution"))


def joined(told: Told, phrases: Phrases, titles: tuple[str, str, str]) -> str:
    """The three parts as free text, in lines with titles (English, good) or in a row."""
    parts = (told.problem, told.event, told.fix)
    if told.condition is Condition.GOOD and phrases is ENGLISH:
        first, *others = titles
        heads = (f"{first}{put(' in {}', told.ticket)}", *others)
        return "\n".join(f"{head}: {part}" for head, part in zip(heads, parts, strict=True))
    text = (" " if phrases.spaced else "").join(parts)
    return put(f"{phrases.labels.ticket} {{}}: ", told.ticket) + text


_GREETINGS: Final = (
    "Good day, this is the service desk. What can we do for you?",
    "Thank you for waiting. How may I help?",
    "Welcome to support. Please describe what you see.",
)
_CHECKS: Final = (
    "I see. Please stay with me while I look that up.",
    "Thank you, that helps. One moment.",
    "Understood. I am checking this with the colleagues.",
)
_THANKS: Final = (
    "That works, thank you very much.",
    "All good on our side now.",
    "We can go on with our work, thanks.",
)


class ChatSummary:
    """Issue, actions and outcome of a chat between a customer and an agent."""

    name: Final = TaskName.CHAT_SUMMARY
    template: Final = Template(
        system=(
            "You write short and faithful notes about support chats, for colleagues who were not there. Keep "
            "to what was said, and copy identifiers letter by letter."
        ),
        before="Please write up the chat that follows.\n\nTranscript:",
        after=(
            "Cover these sections:\n"
            "- Customer issue\n"
            "- Agent actions\n"
            "- Outcome\n\n"
            "Return a JSON object with exactly these keys:\n"
            "{\n"
            '  "case_number": "<the ticket>",\n'
            '  "customer_issue": "<what the customer reported>",\n'
            '  "agent_actions": "<what the agent found and did>",\n'
            '  "outcome": "<how it ended>"\n'
            "}"
        ),
    )

    def input(self, case: Case, rng: random.Random) -> str:
        """The case as a chat, one line a turn."""
        first, second = case.topic.first, case.topic.second
        one, two, all_of_it = case.details.first, case.details.second, case.details
        turns = (
            ("Agent", rng.choice(_GREETINGS)),
            (
                "Customer",
                (
                    f"This is {all_of_it.ticket}, open since {one.date}: {first.problem}. Host {one.host} "
                    f"on version {one.version} writes error {one.code}, and {one.people} people are affected."
                ),
            ),
            ("Agent", f"{rng.choice(_CHECKS)} At {one.time} {first.event}."),
            (
                "Customer",
                (
                    f"There is more: {second.problem}. That is host {two.host}, version {two.version}, error "
                    f"{two.code}, with {two.people} people affected by now."
                ),
            ),
            ("Agent", f"{rng.choice(_CHECKS)} At {two.time}, {second.event}."),
            (
                "Agent",
                (
                    f"Following article {all_of_it.article}, {first.fix}. Under change {all_of_it.change}, "
                    f"{second.fix}. I close the case as of {two.date}."
                ),
            ),
            ("Customer", rng.choice(_THANKS)),
        )
        return "\n".join(f"{speaker}: {words}" for speaker, words in turns)

    def asked_by(self, words: str) -> bool:
        """Whether two of the sections are named."""
        return mentions(words, ("customer_issue", "agent_actions", "outcome"), 2)

    def items(self, told: Told) -> Items:
        """Case number, issue, actions and outcome."""
        return (
            ("case_number", told.ticket or UNKNOWN),
            ("customer_issue", told.problem),
            ("agent_actions", told.event),
            ("outcome", told.fix),
        )

    def prose(self, told: Told, phrases: Phrases) -> str:
        """Good notes have a line for each section, different ones run on."""
        return joined(told, phrases, ("Customer issue", "Agent actions", "Outcome"))


_QUESTIONS: Final = (
    "What went wrong, how did it come about, and what helped?",
    "Which trouble is on record, where does it come from, and what was done about it?",
    "Can you tell me what the trouble was, what led to it and how it ended?",
)
_SOURCES: Final = {
    Condition.GOOD: ("Doc 1", "Doc 2"),
    Condition.DIFFERENT: ("Doc 3", "Doc 4"),
    Condition.WORSE: (),
}


class Questions:
    """An answer out of four documents, with the documents that it rests on."""

    name: Final = TaskName.QUESTIONS
    template: Final = Template(
        system="",
        before=(
            "Answer the question with the help of the documents, and with nothing else. If they do not hold "
            "the answer, say so. Cite the documents that you used by their labels."
        ),
        after=(
            "Output instructions:\n"
            "- Reply in the following JSON format and with no other text.\n"
            "- Copy identifiers as they are.\n\n"
            "{\n"
            '  "answer": "<the answer>",\n'
            '  "sources": ["<label of a document used>"]\n'
            "}"
        ),
    )

    def input(self, case: Case, rng: random.Random) -> str:
        """Four documents, two for each side of the incident, and a question on them."""
        first, second = case.topic.first, case.topic.second
        one, two, all_of_it = case.details.first, case.details.second, case.details
        documents = (
            (
                f"Case {all_of_it.ticket} was opened on {one.date}. The report says that {first.problem}. "
                f"Host {one.host}, version {one.version}, logged error {one.code}; {one.people} people were "
                f"affected."
            ),
            (
                f"At {one.time} {first.event}. Following article {all_of_it.article}, {first.fix}. The "
                f"case was closed on {two.date}."
            ),
            (
                f"A later note says that {second.problem}. Host {two.host}, version {two.version}, logged "
                f"error {two.code}; by then {two.people} people were affected."
            ),
            f"At {two.time}, {second.event}. Under change {all_of_it.change}, {second.fix}.",
        )
        labelled = [f"Doc {number}: {text}" for number, text in enumerate(documents, start=1)]
        return "\n\n".join((*labelled, f"Question: {rng.choice(_QUESTIONS)}"))

    def asked_by(self, words: str) -> bool:
        """Whether two of the documents are there."""
        return mentions(words, ("doc 1", "doc 2", "doc 3", "doc 4"), 2)

    def items(self, told: Told) -> Items:
        """The answer and its sources; a worse answer has none."""
        ticket = put("{}: ", told.ticket)
        return (
            ("answer", f"{ticket}{told.problem} {told.event} {told.fix}"),
            ("sources", _SOURCES[told.condition]),
        )

    def prose(self, told: Told, phrases: Phrases) -> str:
        """The answer with its sources in brackets behind it."""
        text = (" " if phrases.spaced else "").join((told.problem, told.event, told.fix))
        sources = "".join(f" [{label}]" for label in _SOURCES[told.condition])
        return f"{put(f'{phrases.labels.ticket} {{}}: ', told.ticket)}{text}{sources}"


_WORDS: Final = {"type": "string"}
SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "subject": {"type": "string", "description": "what the case is about, in two or three words"},
        "ticket": _WORDS,
        "host_name": _WORDS,
        "software_version": _WORDS,
        "error_code": _WORDS,
        "people_affected": {"type": "integer"},
        "time_seen": _WORDS,
        "opened_on": _WORDS,
        "closed_on": _WORDS,
        "reference": {"type": "string", "description": "the article or change that the remedy follows"},
        "symptom": {"type": "string", "description": "one or two sentences"},
        "cause": {"type": "string", "description": "one sentence"},
        "remedy": {"type": "string", "description": "one sentence"},
    },
}
"""The entities of a case, as the prompt shows them."""
_OWN: Final = (
    "host_name",
    "software_version",
    "error_code",
    "people_affected",
    "time_seen",
    "opened_on",
    "closed_on",
)


class SlotFilling:
    """The entities of a case, by the names of a JSON schema."""

    name: Final = TaskName.SLOT_FILLING
    template: Final = Template(
        system=(
            "You extract entities from messages to a service desk. The schema names the slots:\n\n"
            f"{json.dumps(SCHEMA, indent=2)}"
        ),
        before=(
            "Fill every slot of the schema from the message below. Where it names several values for a slot, "
            "take those that belong together. Copy values exactly, write unknown where there is none.\n\n"
            "Message:"
        ),
        after="Respond with the filled slots as one JSON object that follows the schema.",
    )

    def input(self, case: Case, _: random.Random) -> str:
        """The case as one message without paragraphs."""
        return " ".join(case.text.split())

    def asked_by(self, words: str) -> bool:
        """Whether four of the slots are named."""
        return mentions(words, _OWN, 4)

    def items(self, told: Told) -> Items:
        """One item for each slot; those that the answer does not know are "unknown"."""
        return (
            ("subject", told.subject),
            ("ticket", told.ticket or UNKNOWN),
            ("host_name", told.host or UNKNOWN),
            ("software_version", told.version or UNKNOWN),
            ("error_code", told.code or UNKNOWN),
            ("people_affected", int(told.people or 0)),
            ("time_seen", told.time or UNKNOWN),
            ("opened_on", told.opened or UNKNOWN),
            ("closed_on", told.closed or UNKNOWN),
            ("reference", told.reference or UNKNOWN),
            ("symptom", told.problem),
            ("cause", told.event),
            ("remedy", told.fix),
        )

    def prose(self, told: Told, _: Phrases) -> str:
        """A line for each slot."""
        return "\n".join(f"{name}: {value}" for name, value in self.items(told))


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
