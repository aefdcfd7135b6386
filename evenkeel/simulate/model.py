"""The simulated model: which of its three answers a prompt gets.

Two sources of trouble are planted, and nothing else varies:

- *fragility*: a hash of the exact prompt decides, so the same bytes always get the same answer, and
  any change to the bytes is a new draw;
- *noise*: a private random draw decides, so even the same bytes may get another answer.

The model sees a prompt and nothing else: no label, no case, no seed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from hashlib import blake2b
from typing import TYPE_CHECKING, Final, NamedTuple

from evenkeel.simulate.answers import Answers, case_answers, generic_answers
from evenkeel.simulate.details import Details, read_details
from evenkeel.simulate.recognition import TopicVote

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence

    from evenkeel.simulate.topics import Topic


class Message(NamedTuple):
    """One message of a prompt."""

    role: str
    text: str
    """All text of the message; parts that are not text do not count."""


class Condition(StrEnum):
    """What state an answer is in."""

    GOOD = "good"
    WORSE = "worse"
    DIFFERENT = "different"


class Reading(NamedTuple):
    """What the model understood of a prompt."""

    text: str
    """The user's words; everything if no message is the user's."""
    topic: Topic | None
    details: Details


_HALF: Final = 8
_SCALE: Final = 2.0 ** (8 * _HALF)
_VOTE: Final = TopicVote()


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
        return choose(answers(read(messages)), self.condition(messages, rng))

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


def read(messages: Sequence[Message]) -> Reading:
    """Understand a prompt. Works for any text, none included."""
    said = [message.text for message in messages if message.role == "user"]
    text = "\n\n".join(said or [message.text for message in messages])
    topic = _VOTE.recognise(text)
    return Reading(text if topic or not said else said[-1], topic, read_details(text))


def answers(reading: Reading) -> Answers:
    """The three things the model may say."""
    if reading.topic is None:
        return generic_answers(reading.text)
    return case_answers(reading.topic, reading.details)


def choose(said: Answers, condition: Condition) -> str:
    """The answer in a state."""
    match condition:
        case Condition.GOOD:
            return said.good
        case Condition.WORSE:
            return said.worse
        case Condition.DIFFERENT:
            return said.different
