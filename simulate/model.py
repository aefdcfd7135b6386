"""The simulated model: which of its three answers a prompt gets.

Two sources of trouble are planted, and nothing else varies:

- *fragility*: a hash of the exact prompt decides, so the same bytes always get the same answer, and
  any change to the bytes is a new draw;
- *noise*: a private random draw decides, so even the same bytes may get another answer.

The model sees a prompt and nothing else: no label, no case, no seed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from evenkeel.simulate.content import Answers, Condition, case_answers, generic_answers, tell
from evenkeel.simulate.forms import fill, render, wanted_format
from evenkeel.simulate.phrases import ENGLISH, Phrases
from evenkeel.simulate.recognition import Details, find_topic, read_details, wanted_language
from evenkeel.simulate.tasks import CASE_SUMMARY, Task, task_of

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence

    from evenkeel.core.pair import Format
    from evenkeel.simulate.topics import Topic


class Message(NamedTuple):
    """One message of a prompt."""

    role: str
    text: str
    """All text of the message; parts that are not text do not count."""


class Form(NamedTuple):
    """What a request's parameters, not its words, demand of the answer."""

    format: Format | None = None
    """None = the words of the prompt decide."""
    schema: dict[str, Any] | None = None
    """JSON schema that the answer must follow; None = any JSON."""


class Reading(NamedTuple):
    """What the model understood of a prompt."""

    text: str
    """The user's words; everything if no message is the user's."""
    topic: Topic | None
    details: Details
    task: Task = CASE_SUMMARY
    format: Format = "free"
    language: Phrases = ENGLISH
    schema: dict[str, Any] | None = None
    """JSON schema that the request demands."""


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

    def answer(self, messages: Sequence[Message], rng: random.Random) -> str:
        """The model's answer to a prompt; `rng` decides the noise."""
        return say(read(messages), self.condition(messages, rng))

    def condition(self, messages: Sequence[Message], rng: random.Random) -> Condition:
        """The state of the next answer to a prompt."""
        digest = prompt_digest(messages, self.salt)
        if int.from_bytes(digest[:_HALF], "big") / _SCALE < self.fragility:
            return self._bad(int.from_bytes(digest[_HALF:], "big") / _SCALE)
        if self.noise and rng.random() < self.noise:
            return self._bad(rng.random())
        return Condition.GOOD

    def _bad(self, draw: float) -> Condition:
        return Condition.WORSE if draw < self.worse_share else Condition.DIFFERENT


def prompt_digest(messages: Sequence[Message], salt: bytes = b"") -> bytes:
    """16 bytes that depend on every byte of every role and text, and on where each ends."""
    digest = blake2b(key=salt, digest_size=2 * _HALF)
    for message in messages:
        for part in message:
            raw = part.encode("utf-8", "surrogatepass")
            digest.update(len(raw).to_bytes(8, "big"))
            digest.update(raw)
    return digest.digest()


def read(messages: Sequence[Message], form: Form | None = None) -> Reading:
    """Understand a prompt. Works for any text, none included."""
    said = [message.text for message in messages if message.role == "user"]
    text = "\n\n".join(said or [message.text for message in messages])
    topic = find_topic(text)
    # What an assistant said before is no wish, and neither is what a tool returned.
    wishes = "\n\n".join(message.text for message in messages if message.role not in {"assistant", "tool"})
    wanted = form.format if form and form.format else wanted_format(wishes, loose=topic is not None)
    return Reading(
        text=text if topic or not said else said[-1],
        topic=topic,
        details=read_details(text),
        task=task_of(wishes) if topic else CASE_SUMMARY,
        format=wanted,
        language=wanted_language(wishes) if topic else ENGLISH,
        schema=form.schema if form else None,
    )


def answers(reading: Reading) -> Answers:
    """The three things the model may say."""
    return Answers(
        *(say(reading, condition) for condition in (Condition.GOOD, Condition.WORSE, Condition.DIFFERENT))
    )


def say(reading: Reading, condition: Condition) -> str:
    """The answer in a state, in the wanted format and language.

    A prompt on no topic of the catalogue is answered in English, with a quotation from it.
    """
    if reading.topic is None:
        text = choose(generic_answers(reading.text), condition)
        if reading.schema is not None:
            return fill(reading.schema, {"answer": text}, text)
        return render((("answer", text),), text, reading.format)
    if reading.task is CASE_SUMMARY and reading.format == "free" and reading.language is ENGLISH:
        return choose(case_answers(reading.topic, reading.details), condition)
    told = tell(reading.topic, reading.details, condition, reading.language)
    items = reading.task.items(told)
    prose = reading.task.prose(told, reading.language)
    if reading.schema is not None:
        return fill(reading.schema, {**told.values(), **dict(items)}, prose)
    return render(items, prose, reading.format)


def choose(said: Answers, condition: Condition) -> str:
    """The answer in a state."""
    match condition:
        case Condition.GOOD:
            return said.good
        case Condition.WORSE:
            return said.worse
        case Condition.DIFFERENT:
            return said.different
