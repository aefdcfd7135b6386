"""Which topic a text is about: a weighted vote of character trigrams.

A trigram votes for the few topics whose clauses it occurs in. Typing errors, upper case and odd
spacing leave most of a text's trigrams standing, so a perturbed case is still recognised.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from evenkeel.simulate.topics import TOPICS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkeel.simulate.topics import Topic

MAX_OWNERS: Final = 3
"""A trigram of more topics than this says nothing."""
BALLOT: Final = 6
"""Votes a trigram shares out evenly among its owners; divisible by every number up to `MAX_OWNERS`."""
MIN_VOTES: Final = 120
"""Votes a topic needs: twenty trigrams that are its alone."""
MIN_LEAD: Final = 1.5
"""Times as many votes as the runner-up that a topic needs."""

_NOT_LETTERS: Final = re.compile(r"[^a-z]+")


class TopicVote:
    """Recognises the topics of a catalogue."""

    def __init__(self, topics: Sequence[Topic] = TOPICS) -> None:
        self._topics = tuple(topics)
        owners: dict[str, list[int]] = {}
        for index, topic in enumerate(self._topics):
            for trigram in trigrams(" . ".join((topic.name, *topic.first, *topic.second))):
                owners.setdefault(trigram, []).append(index)
        self._owners = {
            trigram: tuple(found) for trigram, found in owners.items() if len(found) <= MAX_OWNERS
        }
        self._voters = frozenset(self._owners)

    def count(self, text: str) -> list[tuple[Topic, int]]:
        """Every topic with its votes, most votes first; equal votes in the catalogue's order."""
        tally = [0] * len(self._topics)
        for trigram in trigrams(text) & self._voters:
            owners = self._owners[trigram]
            for index in owners:
                tally[index] += BALLOT // len(owners)
        return sorted(zip(self._topics, tally, strict=True), key=lambda vote: -vote[1])

    def recognise(self, text: str) -> Topic | None:
        """The topic of a text, None if none wins clearly (`MIN_VOTES`, `MIN_LEAD`)."""
        votes = self.count(text)
        if not votes or votes[0][1] < MIN_VOTES:
            return None
        if len(votes) > 1 and votes[0][1] < MIN_LEAD * votes[1][1]:
            return None
        return votes[0][0]


def trigrams(text: str) -> set[str]:
    """The distinct trigrams of a text in lower case, every run of other characters being one space."""
    letters = _NOT_LETTERS.sub(" ", f" {text} ".lower())
    return {letters[start : start + 3] for start in range(len(letters) - 2)}
