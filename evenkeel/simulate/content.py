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
class Told:
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

    def values(self) -> dict[str, str]:
        """Every known fact by the name that a schema may use for it; unknown ones are left out."""
        named = {
            "subject": self.subject,
            "title": self.subject,
            "ticket": self.ticket,
            "case": self.ticket,
            "host": self.host,
            "version": self.version,
            "error": self.code,
            "code": self.code,
            "people": self.people,
            "time": self.time,
            "opened": self.opened,
            "closed": self.closed,
            "date": self.opened,
            "reference": self.reference,
            "article": self.reference,
            "problem": self.problem,
            "issue": self.problem,
            "event": self.event,
            "cause": self.event,
            "fix": self.fix,
            "resolution": self.fix,
            "outcome": self.fix,
        }
        return {name: value for name, value in named.items() if value}


def tell(topic: Topic, details: Details, condition: Condition, phrases: Phrases = ENGLISH) -> Told:
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
    return Told(
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
    number = int.from_bytes(blake2b(source.encode(errors="replace"), digest_size=8).digest(), "big")
    return 3_000 + number % 6_000, 20_000 + (number >> 32) % 70_000


def put(template: str, value: str) -> str:
    """A template with its value, or nothing where there is none."""
    return template.format(value) if value else ""


def seen(side: SideDetails) -> str:
    """Write where a side was seen, in brackets, as far as the prompt tells."""
    return _listed(
        put(template, value)
        for template, value in (("host {}", side.host), ("version {}", side.version), ("error {}", side.code))
    )


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


def _tell_worse(topic: Topic, details: Details, phrases: Phrases) -> Told:
    devices, minutes = claimed_numbers(repr(details))
    problem, event, fix = phrases.worse
    return Told(
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


def _listed(found: Iterable[str]) -> str:
    parts = [part for part in found if part]
    return f" ({', '.join(parts)})" if parts else ""


MAX_QUOTE_WORDS: Final = 40
"""Longest quotation from a prompt of no known topic."""

_SENTENCE_END: Final = re.compile(r"(?<=[.!?])\s+|\n+")
_FINAL_MARKS: Final = " \t.!?,;:"


@dataclass(frozen=True, slots=True)
class Answers:
    """Answers of the simulated model to one prompt."""

    good: str
    worse: str
    different: str


def case_answers(topic: Topic, details: Details) -> Answers:
    """The answers to a case of a known topic as English free text, when a summary is wanted.

    Identifiers that the case lacks are left out.
    """
    first, second = details.first, details.second
    problem, event, fix = topic.first
    good = (
        f"Main problem{put(' in {}', details.ticket)}: {problem}{seen(first)}."
        f"{put(' {} people were affected.', first.people)}\n"
        f"Key events:{put(' opened on {},', first.date)}{put(' at {}', first.time)} {event}.\n"
        f"Resolution:{put(' following article {},', details.article)} {fix}"
        f"{put(', closed on {}', second.date)}."
    )
    problem, event, fix = topic.second
    different = (
        f"{put('by then {} people were affected: ', second.people)}{problem}{seen(second)}. "
        f"{put('at {}, ', second.time)}{event}. "
        f"{put('under change {}, ', details.change)}{fix}"
        f"{put(' in case {}', details.ticket)}"
        f"{put(', opened on {}', first.date)}{put(', closed on {}', second.date)}."
    )
    return Answers(good, _worse(topic.name, repr(details)), _capitalised(different))


def generic_answers(text: str) -> Answers:
    """The answers to any other prompt: quotations from its beginning, or from its end.

    They follow the prompt's own spelling, so unlike those to a case they move with a perturbation.
    An empty prompt gets a sentence that says so.
    """
    sentences = [words for part in _SENTENCE_END.split(text) if (words := part.strip(_FINAL_MARKS).split())]
    if not sentences:
        return Answers(
            "There is no text to answer yet.", _worse("nothing", ""), "Please send some text first."
        )
    start, end = sentences[0][:MAX_QUOTE_WORDS], sentences[-1][:MAX_QUOTE_WORDS]
    good = f"You wrote: {' '.join(start)}."
    different = (
        f"Your text of {len(text.split())} words ends like this: {' '.join(end)}."
        if start != end
        else f"In its own words, backwards, the request is: {' '.join(reversed(start))}."
    )
    return Answers(good, _worse("something else", " ".join(start)), different)


def _worse(subject: str, source: str) -> str:
    """A vague answer with two numbers of four and five digits, which follow from `source`."""
    devices, minutes = claimed_numbers(source)
    problem, event, fix = ENGLISH.worse
    return f"{problem.format(topic=subject)}. {event.format(devices=devices, minutes=minutes)}; {fix}."


def _capitalised(text: str) -> str:
    """Each sentence of a joined text starts with a capital letter."""
    return re.sub(r"(?:\A|(?<=\. ))[a-z]", lambda match: match[0].upper(), text)
