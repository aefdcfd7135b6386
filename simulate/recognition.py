"""Which topic a text is about: a name in quotation marks, or a weighted vote of character trigrams.

A trigram votes for the few topics whose clauses it occurs in. Typing errors, upper case and odd
spacing leave most of a text's trigrams standing, so a perturbed case is still recognised. A simulated
translation has none of them: it carries the topic's name as a proper noun, in quotation marks.
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

_QUOTED: Final = re.compile(
    rf"[“„\"«「']\s*({'|'.join(re.escape(topic.name) for topic in TOPICS)})\s*[“”\"»」']", re.IGNORECASE
)
_BY_NAME: Final = {topic.name: topic for topic in TOPICS}
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


def find_topic(text: str) -> Topic | None:
    """The catalogue's topic of a prompt in any language; None if it has none, or names several."""
    named = {match[1].lower() for match in _QUOTED.finditer(text)}
    if named:
        return _BY_NAME[named.pop()] if len(named) == 1 else None
    return _VOTE.recognise(text)


_VOTE: Final = TopicVote()


def clauses_in(text: str) -> re.Pattern[str] | None:
    """Matches every clause of the catalogue that is in a text, in any case and with any white space.

    Returns: None if there is none.
    """
    plain = " ".join(text.lower().split())
    found = sorted(
        (clause for clause in _BY_CLAUSE if clause in plain), key=lambda clause: (-len(clause), clause)
    )
    if not found:
        return None
    return re.compile(
        "|".join(r"\s+".join(map(re.escape, clause.split())) for clause in found), re.IGNORECASE
    )


def topic_of_clause(text: str) -> Topic | None:
    """The topic of a text that is a clause of the catalogue, else None."""
    return _BY_CLAUSE.get(" ".join(text.lower().split()))


_BY_CLAUSE: Final = {
    clause: topic for topic in TOPICS for side in (topic.first, topic.second) for clause in side
}
