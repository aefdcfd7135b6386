"""The simulated model: which of its three answers a prompt gets.

Two sources of trouble are planted, and nothing else varies:

- *fragility*: a hash of the exact prompt decides, so the same bytes always get the same answer, and
  any change to the bytes is a new draw;
- *noise*: a private random draw decides, so even the same bytes may get another answer.

The model sees a prompt and nothing else: no label, no case, no seed.

An answer has the format that the words of a prompt ask for, or JSON if its parameters demand that.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from hashlib import blake2b
from html import escape
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol, cast

import yaml

from evenkeel.simulate.content import Condition, generic_answer, tell
from evenkeel.simulate.phrases import ENGLISH, Phrases
from evenkeel.simulate.recognition import Details, find_topic, read_details, wanted_language
from evenkeel.simulate.tasks import CASE_SUMMARY, SLOT_FILLING, PromptTask, spoken, task_of

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Iterable, Sequence

    from evenkeel.core.pair import Format
    from evenkeel.simulate.content import Items, Value
    from evenkeel.simulate.topics import Topic


_FREE: Final = (
    r"(?:plain|free|running|continuous|flowing|ordinary|normal)[\s-](?:text|prose|language|sentences)"
    r"|\b(?:in|as)\s(?:\w+\s)?prose\b|\bno\smarkup\b"
)
_NAMED: Final = re.compile(
    # What follows in a sentence on prose ("without any JSON or XML") names what is not wanted.
    rf"(?P<free>(?:{_FREE})[^.\n]*)|\b(?P<name>json|yaml|yml|xml|html|markdown)(?![a-z])",
    re.IGNORECASE,
)
_NOT: Final = (
    r"\b(?:not|without|instead\sof|rather\sthan|never|neither|nor|avoid)\b"
    # Alone, "no" is a preposition in Portuguese.
    r"|(?:[,;:(]|\b(?:and|or|with|use|contain|have)\b)\s*no\b"
)
_NEGATED: Final = re.compile(rf"(?:{_NOT})(?:[ ,/(*_`]+[\w-]+){{0,3}}[ ,/(*_`]*\Z", re.IGNORECASE)
_ASKED: Final = re.compile(
    r"\b(?:in|as|into|return|returns|reply|respond|answer|output|write|valid|format)\b\W+(?:\w+\W+){0,4}?\Z",
    re.IGNORECASE,
)
# Characters before a format's name that decide how it is meant.
_LOOK_BACK: Final = 80
_NOT_XML: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def wanted_format(text: str, *, loose: bool = True) -> Format:
    """The format that a prompt asks for last; "free" if it names none.

    Args:
        text: The words of the prompt.
        loose: Whether a bare mention counts. Otherwise only one that says what to do with it, as in
            "answer in valid JSON": a prompt on any subject may talk about formats.
    """
    wanted: Format = "free"
    for match in _NAMED.finditer(text):
        if match["free"]:
            wanted = "free"
            continue
        before = text[max(0, match.start() - _LOOK_BACK) : match.start()]
        if _NEGATED.search(before) or not (loose or _ASKED.search(before)):
            continue
        name = match["name"].lower()
        wanted = cast("Format", "yaml" if name == "yml" else name)
    return wanted


def render(items: Items, prose: str, form: Format) -> str:
    """An answer's parts in a format: valid, without fences or words around it.

    "free" is the prose as it stands.
    """
    return prose if form == "free" else _WRITERS[form](items)


def _json(items: Items) -> str:
    return json.dumps(dict(items), ensure_ascii=False, indent=2)


def _yaml(items: Items) -> str:
    plain = {}
    for name, value in items:
        plain[name] = list(value) if isinstance(value, tuple) else value
    # No line is folded, so that every part can be found as it was written.
    return str(yaml.safe_dump(plain, allow_unicode=True, sort_keys=False, width=1_000_000)).rstrip()


def _xml(items: Items) -> str:
    parts = "".join(f"  <{name}>{_xml_value(value)}</{name}>\n" for name, value in items)
    return f"<answer>\n{parts}</answer>"


def _xml_value(value: Value) -> str:
    if isinstance(value, tuple):
        return "".join(f"<item>{_xml_text(part)}</item>" for part in value)
    return _xml_text(value)


def _xml_text(value: str | float) -> str:
    return escape(_NOT_XML.sub("\ufffd", str(value)), quote=False)


def _html(items: Items) -> str:
    parts = "".join(f"  <h2>{_title(name)}</h2>\n  {_html_value(value)}\n" for name, value in items)
    return f"<article>\n{parts}</article>"


def _html_value(value: Value) -> str:
    if isinstance(value, tuple):
        return f"<ul>{''.join(f'<li>{_xml_text(part)}</li>' for part in value)}</ul>"
    return f"<p>{_xml_text(value)}</p>"


def _markdown(items: Items) -> str:
    return "\n\n".join(f"## {_title(name)}\n\n{_markdown_value(value)}" for name, value in items)


def _markdown_value(value: Value) -> str:
    return "\n".join(f"- {part}" for part in value) if isinstance(value, tuple) else str(value)


def _title(name: str) -> str:
    return name.replace("_", " ").capitalize()


_WRITERS: Final[dict[str, Callable[[Items], str]]] = {
    "json": _json,
    "yaml": _yaml,
    "xml": _xml,
    "html": _html,
    "markdown": _markdown,
}


class PromptMessage(NamedTuple):
    """A message of a prompt."""

    role: str
    text: str
    """All text of the message; parts that are not text do not count."""


class Subject(NamedTuple):
    """Known subject of prompts that are not of the catalogue."""

    topic: Topic
    """Topic of the catalogue that the answer tells instead."""
    entities: Items
    """Slots that its message fills, with their values."""


class Subjects(Protocol):
    """Subjects that the simulation answers besides its catalogue."""

    def find(self, text: str) -> Subject | None:
        """Return the subject of a text; None if it is on none of them."""


class Reading(NamedTuple):
    """Facts that the model understood of a prompt."""

    text: str
    """The user's words; everything if no message is the user's."""
    topic: Topic | None
    details: Details
    task: PromptTask = CASE_SUMMARY
    format: Format = "free"
    language: Phrases = ENGLISH
    entities: Items = ()
    """Slots that the message is known to fill; () = those of the simulation's own cases."""


_HALF: Final = 8
_SCALE: Final = 2.0 ** (8 * _HALF)


@dataclass(frozen=True, slots=True)
class SimulatedModel:
    """A model of planted fragility. All three shares are probabilities in [0, 1]."""

    fragility: float = 0.0
    """Share of all prompts that are answered badly, always."""
    noise: float = 0.0
    """Share of the other calls that are answered badly, by chance."""
    worse_share: float = 0.5
    """Share of bad answers that are worse; the others are different at equal quality."""
    salt: bytes = field(default=b"", repr=False)
    """Decides which prompts are fragile. At most 64 bytes."""

    def answer(self, messages: Sequence[PromptMessage], rng: random.Random) -> str:
        """The model's answer to a prompt; `rng` decides the noise."""
        return say(read(messages), self.condition(messages, rng))

    def condition(self, messages: Sequence[PromptMessage], rng: random.Random) -> Condition:
        """The state of the next answer to a prompt."""
        digest = prompt_digest(messages, self.salt)
        if int.from_bytes(digest[:_HALF], "big") / _SCALE < self.fragility:
            return self._bad(int.from_bytes(digest[_HALF:], "big") / _SCALE)
        if self.noise and rng.random() < self.noise:
            return self._bad(rng.random())
        return Condition.GOOD

    def _bad(self, draw: float) -> Condition:
        return Condition.WORSE if draw < self.worse_share else Condition.DIFFERENT


def prompt_digest(messages: Sequence[PromptMessage], salt: bytes = b"") -> bytes:
    """16 bytes that depend on every byte of every role and text, and on where each ends."""
    digest = blake2b(key=salt, digest_size=2 * _HALF)
    for message in messages:
        for part in message:
            raw = part.encode("utf-8", "surrogatepass")
            # With the length: "ab" and "c" are other texts than "a" and "bc".
            digest.update(len(raw).to_bytes(8, "big"))
            digest.update(raw)
    return digest.digest()


def read(
    messages: Sequence[PromptMessage], form: Format | None = None, subjects: Subjects | None = None
) -> Reading:
    """Understand a prompt. Works for any text, none included.

    Args:
        messages: The prompt.
        form: Format that the request's parameters demand; None = the words of the prompt decide.
        subjects: Known besides the catalogue's topics.
    """
    user_texts = []
    for message in messages:
        if message.role == "user":
            user_texts.append(message.text)
    text = "\n\n".join(user_texts or _texts_of(messages))
    subject = subjects.find(text) if subjects else None
    topic = subject.topic if subject else find_topic(text)
    # What an assistant said before is no wish, and neither is what a tool returned.
    wishes = "\n\n".join(_texts_of(messages, without=("assistant", "tool")))
    wanted = form or wanted_format(wishes, loose=topic is not None)
    return Reading(
        text=text if topic or not user_texts else user_texts[-1],
        topic=topic,
        details=read_details(text),
        task=_task(wishes, subject) if topic else CASE_SUMMARY,
        format=wanted,
        language=wanted_language(wishes) if topic else ENGLISH,
        entities=subject.entities if subject else (),
    )


def _texts_of(messages: Iterable[PromptMessage], without: tuple[str, ...] = ()) -> list[str]:
    return [message.text for message in messages if message.role not in without]


def _task(wishes: str, subject: Subject | None) -> PromptTask:
    task = task_of(wishes)
    if task is CASE_SUMMARY and subject and not task.asked_by(spoken(wishes)):
        named = sum(name in wishes for name, _ in subject.entities)
        if named > len(subject.entities) / 2:
            return SLOT_FILLING  # the schema of its own slots is there
    return task


def say(reading: Reading, condition: Condition) -> str:
    """The answer in a state, in the wanted format and language.

    A prompt on no topic of the catalogue is answered in English, with a quotation from it.
    """
    if reading.topic is None:
        text = generic_answer(reading.text, condition)
        return render((("answer", text),), text, reading.format)
    content = tell(reading.topic, reading.details, condition, reading.language)
    items = reading.task.items(content)
    prose = reading.task.prose(content, reading.language)
    if reading.entities and reading.task is SLOT_FILLING:
        items = _filled(reading.entities, condition)
        prose = "\n".join(f"{name}: {value}" for name, value in items)
    return render(items, prose, reading.format)


def _filled(entities: Items, condition: Condition) -> Items:
    """All slots, without the first half of them if the answer is worse, without the second if different."""
    half = (len(entities) + 1) // 2
    match condition:
        case Condition.GOOD:
            return entities
        case Condition.WORSE:
            return entities[half:]
        case Condition.DIFFERENT:
            return entities[:half]
