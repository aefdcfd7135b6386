"""Recognition of the benchmark's own issues in a prompt, so that `evenkeel simulate` answers them."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Final

from evenkeel.simulate.model import Subject
from evenkeel.simulate.topics import TOPICS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkeel.lab.bench.items import Issue

_WORD: Final = re.compile(r"[^\W_][\w.:/-]*[^\W_]|[^\W_]")
# A word of more issues than this says nothing.
_MOST_OWNERS: Final = 3
# One shared name may be chance.
_LEAST_WORDS: Final = 3
# Times as many words as the runner-up that an issue needs.
_LEAD: Final = 2


class IssueSubjects:
    """Finds the issue that a prompt is about, and gives it a topic of the simulation's catalogue.

    Words that few issues have decide: most of them survive every perturbation, and names and numbers survive
    a translation.
    """

    def __init__(self, items: Sequence[Issue]) -> None:
        """Take the issues."""
        self._subjects = []
        for number, item in enumerate(items):
            self._subjects.append(Subject(TOPICS[number % len(TOPICS)], tuple(item.entities.items())))
        owners: dict[str, set[int]] = {}
        for number, item in enumerate(items):
            documents = (f"{document.title} {document.text}" for document in item.documents)
            slots = (f"{slot.name} {slot.description}" for slot in item.slots)
            texts = (item.case, item.chat, item.question, item.message, *documents, *slots)
            for word in _words(" ".join(texts)):
                owners.setdefault(word, set()).add(number)
        self._owners: dict[str, set[int]] = {}
        for word, numbers in owners.items():
            if len(numbers) <= _MOST_OWNERS:
                self._owners[word] = numbers

    def find(self, text: str) -> Subject | None:
        """Return the subject of a text; None if no issue has clearly more of its rare words."""
        votes: Counter[int] = Counter()
        for word in _words(text):
            votes.update(self._owners.get(word, ()))
        ranked = votes.most_common(2)
        if not ranked or ranked[0][1] < _LEAST_WORDS:
            return None
        if len(ranked) > 1 and ranked[0][1] < _LEAD * ranked[1][1]:
            return None
        return self._subjects[ranked[0][0]]


def _words(text: str) -> set[str]:
    return {word.lower() for word in _WORD.findall(text)}
