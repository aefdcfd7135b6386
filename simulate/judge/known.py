"""Recognises what the simulated model said: which of its three answers, on what, in any form."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from evenkeel.simulate.condition import Condition
from evenkeel.simulate.details import Details, read_details
from evenkeel.simulate.phrases import LANGUAGES
from evenkeel.simulate.topics import TOPICS

if TYPE_CHECKING:
    from collections.abc import Iterator


class Known(NamedTuple):
    """An answer of the simulated model."""

    condition: Condition
    topic: str
    """Name of the topic; "" if it answers a prompt that has none, and quotes from it."""
    details: Details
    """The identifiers that it quotes."""


_NAMES: Final = "|".join(re.escape(topic.name) for topic in TOPICS)
_QUOTING: Final = {
    Condition.GOOD: re.compile(r"\byou wrote: "),
    Condition.DIFFERENT: re.compile(
        r"\byour text of \d+ words ends like this: |\bin its own words, backwards, the request is: "
        r"|\bplease send some text first"
    ),
    Condition.WORSE: re.compile(r"\bsomebody seems unhappy about (?:something else|nothing)\b"),
}


def recognise(text: str) -> Known | None:
    """The simulated model's answer in a text of any format and language; None if it is not one.

    A text that tells both sides of an incident is a case, not an answer to one.
    """
    plain = " ".join(text.lower().split())
    found = set(_told(plain))
    if not found:
        found = {("", condition) for condition, pattern in _QUOTING.items() if pattern.search(plain)}
    if len(found) != 1:
        return None
    topic, condition = found.pop()
    return Known(condition, topic, read_details(text))


def _told(plain: str) -> Iterator[tuple[str, Condition]]:
    for topic in TOPICS:
        for side, condition in ((topic.first, Condition.GOOD), (topic.second, Condition.DIFFERENT)):
            if any(clause in plain for clause in side):
                yield topic.name, condition
    for condition, pattern in _STOCK:
        for match in pattern.finditer(plain):
            yield match["topic"], condition


def _stock_patterns() -> Iterator[tuple[Condition, re.Pattern[str]]]:
    for language in LANGUAGES:
        for condition, triple in (
            (Condition.GOOD, language.good),
            (Condition.DIFFERENT, language.different),
            (Condition.WORSE, language.worse),
        ):
            if triple is not None:
                around = [
                    re.escape(" ".join(part.lower().split())) for part in triple.problem.split("{topic}")
                ]
                # Where a template is cut, the space beside the topic went with it.
                yield condition, re.compile(rf"{around[0]}\s?(?P<topic>{_NAMES})\s?{around[1]}")


_STOCK: Final = tuple(_stock_patterns())
