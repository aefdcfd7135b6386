"""The three answers to a prompt: good, worse, and different at equal quality.

Each is a function of the prompt alone. For a case of the catalogue it depends only on the topic and
the identifiers, so every variant of the case that keeps those gets the same three answers.

- *Good* tells the first side of the incident with the first set of identifiers.
- *Different* tells the second side with as many of the other identifiers: as faithful, as complete.
- *Worse* knows neither side, quotes no identifier, leaves the resolution out and claims numbers that
  the case does not hold.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from evenkeel.simulate.details import Details, SideDetails
    from evenkeel.simulate.topics import Topic

MAX_QUOTE_WORDS: Final = 40
"""Longest quotation from a prompt of no known topic."""

_SENTENCE_END: Final = re.compile(r"(?<=[.!?])\s+|\n+")
_FINAL_MARKS: Final = " \t.!?,;:"


@dataclass(frozen=True, slots=True)
class Answers:
    """What the simulated model may say to one prompt."""

    good: str
    worse: str
    different: str


def case_answers(topic: Topic, details: Details) -> Answers:
    """The answers to a case of a known topic; identifiers that the case lacks are left out."""
    first, second = details.first, details.second
    problem, event, fix = topic.first
    good = (
        f"Main problem{_put(' in {}', details.ticket)}: {problem}{_seen(first)}."
        f"{_put(' {} people were affected.', first.people)}\n"
        f"Key events:{_put(' opened on {},', first.date)}{_put(' at {}', first.time)} {event}.\n"
        f"Resolution:{_put(' following article {},', details.article)} {fix}"
        f"{_put(', closed on {}', second.date)}."
    )
    problem, event, fix = topic.second
    different = (
        f"{_put('by then {} people were affected: ', second.people)}{problem}{_seen(second)}. "
        f"{_put('at {}, ', second.time)}{event}. "
        f"{_put('under change {}, ', details.change)}{fix}"
        f"{_put(' in case {}', details.ticket)}"
        f"{_put(', opened on {}', first.date)}{_put(', closed on {}', second.date)}."
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
    number = int.from_bytes(blake2b(source.encode(errors="replace"), digest_size=8).digest(), "big")
    devices, days = 3_000 + number % 6_000, 20_000 + (number >> 32) % 70_000
    return (
        f"Somebody seems unhappy about {subject}. Roughly {devices} devices might be broken, perhaps for "
        f"{days} minutes already; nobody knows why, and no remedy exists."
    )


def _put(template: str, value: str) -> str:
    return template.format(value) if value else ""


def _seen(side: SideDetails) -> str:
    """Where a side was seen, in brackets, as far as the prompt tells."""
    found = [
        _put(template, value)
        for template, value in (("host {}", side.host), ("version {}", side.version), ("error {}", side.code))
        if value
    ]
    return f" ({', '.join(found)})" if found else ""


def _capitalised(text: str) -> str:
    """Each sentence of a joined text starts with a capital letter."""
    return re.sub(r"(?:\A|(?<=\. ))[a-z]", lambda match: match[0].upper(), text)
