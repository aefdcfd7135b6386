"""Clusters of goldens whose prompts are nearly equal: what one of them is answered, all of them may be."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from evenkeel.core.figures import count, number
from evenkeel.core.verdict import Failure
from evenkeel.metrics.similarity.words import words
from evenkeel.release.gate.sides import view_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkeel.stores.goldens import Golden

SHARED: Final = 0.5
"""Share of the words of two prompts together that nearly equal prompts have in common.

Measured on public data: the 80 questions of MT-Bench are 80 clusters, 500 questions of one form
("Is 17077 a prime number?") are one.
"""


def clusters(goldens: Sequence[Golden]) -> dict[str, str]:
    """Return the name of each golden's cluster by its id.

    A golden's own `cluster` decides. Otherwise the golden joins the first cluster with whose first golden its
    last user message shares at least half of the words of both; digits do not count as words. A cluster is
    named after its first golden, in the order of ids.
    """
    by_golden: dict[str, str] = {}
    texts: dict[str, frozenset[str]] = {}
    # By id, so that the order of a file changes nothing.
    for golden in sorted(goldens, key=lambda golden: golden.id):
        if golden.cluster is not None:
            by_golden[golden.id] = f"cluster {golden.cluster}"
        else:
            texts[golden.id] = _words(golden)
    uses = Counter(word for golden_words in texts.values() for word in golden_words)
    # Leaders by their rare words, so that not all of thousands are compared with each other.
    leaders: dict[str, list[str]] = {}
    for name, golden_words in texts.items():
        # Of two texts that share half of the words of both, the rarer halves share one, too.
        rare = sorted(golden_words, key=lambda word: (uses[word], word))[: len(golden_words) // 2 + 1]
        near = {leader for word in rare for leader in leaders.get(word, ())}
        equal = [leader for leader in near if nearly_equal(golden_words, texts[leader])]
        by_golden[name] = min(equal, default=name)
        if not equal:
            for word in rare:
                leaders.setdefault(word, []).append(name)
    return by_golden


def sentence(sizes: Counter[str]) -> str:
    """Say how many clusters the goldens form; "" if each is one of its own."""
    largest = max(sizes.values(), default=0)
    if largest <= 1:
        return ""
    return (
        f"{number(sizes.total())} goldens form {count(len(sizes), 'cluster')} of nearly equal prompts, the "
        f"largest of {number(largest)}. Each cluster counts once; where that is wrong, give goldens a "
        '"cluster" of their own.'
    )


def _words(golden: Golden) -> frozenset[str]:
    view = view_of(golden)
    if isinstance(view, Failure):
        # A golden that cannot be read is like no other.
        return frozenset({golden.id})
    for message in reversed(view.messages):
        if message.role == "user":
            return word_set(message.text)
    return word_set(view.text)


def word_set(text: str) -> frozenset[str]:
    """Return the words of a text that tell it from others; digits do not."""
    return frozenset(word for word in words(text) if not word.isdigit()) or frozenset({text})


def nearly_equal(first: frozenset[str], second: frozenset[str]) -> bool:
    """Return whether two texts share at least half of the words of both."""
    common = len(first & second)
    return common >= SHARED * (len(first) + len(second) - common)
