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
from typing import TYPE_CHECKING, Final

from evenkeel.simulate.phrases import ENGLISH
from evenkeel.simulate.told import claimed_numbers, put, seen

if TYPE_CHECKING:
    from evenkeel.simulate.details import Details
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
