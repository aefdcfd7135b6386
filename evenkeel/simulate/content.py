"""Content of an answer: good, worse, or different at equal quality, before it has a format.

Each is a function of the prompt alone. For a case of the catalogue it depends only on the topic and the
identifiers, so every variant of the case that keeps those gets the same three answers.

- *Good* describes the first side of the incident with the first set of identifiers.
- *Different* describes the second side with as many of the other identifiers: as faithful, as complete.
- *Worse* knows neither side, quotes no identifier, leaves the resolution out and claims numbers that the
  case does not hold.

English uses the catalogue's clauses. The other languages have stock clauses around the topic's name;
identifiers are the same everywhere, and they show which side of the incident is meant.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from hashlib import blake2b
from typing import TYPE_CHECKING, Final

from evenkeel.simulate.phrases import ENGLISH

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evenkeel.simulate.phrases import Phrases, Triple
    from evenkeel.simulate.recognition import Details, SideDetails
    from evenkeel.simulate.topics import Topic

Value = str | float | tuple[str, ...]
Items = tuple[tuple[str, Value], ...]
"""Names of parts in snake_case with what they hold, in the order in which they are written."""


class Condition(StrEnum):
    """State of an answer."""

    GOOD = "good"
    WORSE = "worse"
    DIFFERENT = "different"


@dataclass(frozen=True, slots=True)
class AnswerContent:
    """Content of a state. Identifiers that the prompt lacks are "", and all of them in a worse answer."""

    condition: Condition
    subject: str
    """Name of the topic."""
    ticket: str
    host: str
    version: str
    code: str
    people: str
    time: str
    opened: str
    closed: str
    reference: str
    """The article or the change that the remedy follows."""
    problem: str
    """Content in one or two sentences, with their marks and with the identifiers that belong there."""
    event: str
    fix: str


def tell(topic: Topic, details: Details, condition: Condition, phrases: Phrases = ENGLISH) -> AnswerContent:
    """The content of the answer to a case: of its first side, its second, or of neither."""
    if condition is Condition.WORSE:
        return _tell_worse(topic, details, phrases)
    good = condition is Condition.GOOD
    side = details.first if good else details.second
    stock = phrases.good if good else phrases.different
    problem, event, fix = (
        _english(topic, details, good=good)
        if stock is None
        else _stock(topic, details, phrases, stock, good=good)
    )
    return AnswerContent(
        condition=condition,
        subject=topic.name,
        ticket=details.ticket,
        host=side.host,
        version=side.version,
        code=side.code,
        people=side.people,
        time=side.time,
        opened=details.first.date,
        closed=details.second.date,
        reference=details.article if good else details.change,
        problem=problem,
        event=event,
        fix=fix,
    )


def claimed_numbers(source: str) -> tuple[int, int]:
    """The two numbers of four and five digits that a worse answer claims; they follow from `source`."""
    # From the prompt alone, so that a worse answer is as repeatable as a good one.
    number = int.from_bytes(blake2b(source.encode(errors="replace"), digest_size=8).digest(), "big")
    return 3_000 + number % 6_000, 20_000 + (number >> 32) % 70_000


def put(template: str, value: str) -> str:
    """A template with its value, or nothing where there is none."""
    return template.format(value) if value else ""


def seen(side: SideDetails) -> str:
    """Write where a side was seen, in brackets, as far as the prompt tells."""
    return _listed([put("host {}", side.host), put("version {}", side.version), put("error {}", side.code)])


def capitalised(text: str) -> str:
    """The text with its first letter as a capital."""
    return text[:1].upper() + text[1:]


def _english(topic: Topic, details: Details, *, good: bool) -> tuple[str, str, str]:
    first, second = details.first, details.second
    if good:
        problem, event, fix = topic.first
        return (
            f"{capitalised(problem)}{seen(first)}.{put(' {} people were affected.', first.people)}",
            capitalised(f"{put('opened on {}, ', first.date)}{put('at {} ', first.time)}{event}."),
            capitalised(
                f"{put('following article {}, ', details.article)}{fix}{put(', closed on {}', second.date)}."
            ),
        )
    problem, event, fix = topic.second
    return (
        capitalised(f"{put('by then {} people were affected: ', second.people)}{problem}{seen(second)}."),
        capitalised(f"{put('at {}, ', second.time)}{event}."),
        capitalised(
            f"{put('under change {}, ', details.change)}{fix}{put(', opened on {}', first.date)}"
            f"{put(', closed on {}', second.date)}."
        ),
    )


def _stock(
    topic: Topic, details: Details, phrases: Phrases, triple: Triple, *, good: bool
) -> tuple[str, str, str]:
    labels = phrases.labels
    side = details.first if good else details.second
    reference = (labels.article, details.article) if good else (labels.change, details.change)

    def sentence(clause: str, *found: tuple[str, str]) -> str:
        return f"{clause}{_listed(f'{label} {value}' for label, value in found if value)}{phrases.stop}"

    return (
        sentence(
            triple.problem.format(topic=topic.name),
            (labels.host, side.host),
            (labels.version, side.version),
            (labels.code, side.code),
            (labels.people, side.people),
        ),
        sentence(triple.event, (labels.opened, details.first.date), (labels.time, side.time)),
        sentence(triple.fix, reference, (labels.closed, details.second.date)),
    )


def _tell_worse(topic: Topic, details: Details, phrases: Phrases) -> AnswerContent:
    # Numbers that the case does not hold: a judge can see that they are made up.
    devices, minutes = claimed_numbers(repr(details))
    problem, event, fix = phrases.worse
    return AnswerContent(
        condition=Condition.WORSE,
        subject=topic.name,
        ticket="",
        host="",
        version="",
        code="",
        people=str(devices),
        time="",
        opened="",
        closed="",
        reference="",
        problem=f"{problem.format(topic=topic.name)}{phrases.stop}",
        event=f"{event.format(devices=devices, minutes=minutes)}{phrases.stop}",
        fix=f"{capitalised(fix)}{phrases.stop}",
    )


def _listed(names: Iterable[str]) -> str:
    parts = []
    for part in names:
        if part:
            parts.append(part)
    return f" ({', '.join(parts)})" if parts else ""


MAX_QUOTE_WORDS: Final = 40
"""Longest quotation from a prompt of no known topic."""

_SENTENCE_END: Final = re.compile(r"(?<=[.!?])\s+|\n+")
_FINAL_MARKS: Final = " \t.!?,;:"


def generic_answer(text: str, condition: Condition) -> str:
    """The answer to any other prompt: a quotation from its beginning (good), or from its end (different).

    It follows the prompt's own spelling, so unlike an answer to a case it moves with a perturbation.
    An empty prompt gets a sentence that says so.
    """
    sentences = []
    for part in _SENTENCE_END.split(text):
        if words := part.strip(_FINAL_MARKS).split():
            sentences.append(words)
    start = sentences[0][:MAX_QUOTE_WORDS] if sentences else []
    end = sentences[-1][:MAX_QUOTE_WORDS] if sentences else []
    if condition is Condition.WORSE:
        return _worse("something else" if start else "nothing", " ".join(start))
    if not sentences:
        good = condition is Condition.GOOD
        return "There is no text to answer yet." if good else "Please send some text first."
    if condition is Condition.GOOD:
        return f"You wrote: {' '.join(start)}."
    # A prompt of one sentence has one quotation; backwards it is another answer of equal length.
    if start == end:
        return f"In its own words, backwards, the request is: {' '.join(reversed(start))}."
    return f"Your text of {len(text.split())} words ends like this: {' '.join(end)}."


def _worse(subject: str, source: str) -> str:
    """A vague answer with two numbers of four and five digits, which follow from `source`."""
    devices, minutes = claimed_numbers(source)
    problem, event, fix = ENGLISH.worse
    return f"{problem.format(topic=subject)}. {event.format(devices=devices, minutes=minutes)}; {fix}."
