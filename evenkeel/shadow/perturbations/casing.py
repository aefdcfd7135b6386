"""Casing as shift keys and caps lock produce it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from evenkeel.core.rewordings import Rewording
from evenkeel.shadow.perturbations.places import change_places, is_label, opens_a_sentence
from evenkeel.shadow.perturbations.protocol import GENERAL, PerturbationBase

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator

    from evenkeel.shadow.perturbations.protocol import NotApplicable
    from evenkeel.shadow.prompt import PromptView

# Word with its apostrophes, so that a contraction is a single word. Letters of scripts without case separate
# words.
_WORD: Final = re.compile(r"(?<![A-Za-z0-9_À-ɏͰ-ԯ'’])[A-Za-zÀ-ɏͰ-ԯ'’]+(?![A-Za-z0-9_À-ɏͰ-ԯ'’])")
# Fewest letters of a word to capitalize: shorter words would look like acronyms ("it", "us").
_SHOUTABLE = 4
# Words that mean something else with a capital: German "ihnen" is them, and "Ihnen" you.
_TOLD_BY_CASE: Final = frozenset({
    "april", "august", "march", "may", "polish", "turkey",
    "ihnen", "ihre", "ihrem", "ihren", "ihrer", "ihres",
})  # fmt: skip


class Casing(PerturbationBase):
    """Lower-cases the small words that open sentences, puts words into capitals.

    Names keep their capital, and so does every other word that has one inside a sentence; acronyms,
    identifiers and words of mixed case stay. Texts in scripts without case offer nothing.
    """

    name: Final = "general.casing"
    rewording: Final = Rewording(GENERAL, phrase="different capitalisation", order=40)
    version = 10
    graded = True

    def apply(self, view: PromptView, severity: float, rng: random.Random) -> PromptView | NotApplicable:
        """A variant with a share of its words in another case, as `Perturbation.apply`."""
        return change_places(view, severity, rng, find=_places, rewrite=_rewrite)


# Letters of Turkish, in which the capital of "i" has a dot and another vowel has none.
_TURKISH: Final = frozenset("ğışĞİŞ")


def _places(text: str) -> Iterator[re.Match[str]]:
    dotted = not _TURKISH.isdisjoint(text)
    return (match for match in _WORD.finditer(text) if _eligible(match, dotted=dotted))


def _eligible(match: re.Match[str], *, dotted: bool) -> bool:
    word = match[0]
    if dotted and "i" in word:
        return False
    if word.islower():
        named = word.isalpha() and is_label(match)
        return len(word) >= _SHOUTABLE and word not in _TOLD_BY_CASE and not named
    return (word == "I" and not match.string.isupper()) or opens_a_sentence(match)


def _rewrite(match: re.Match[str], rng: random.Random) -> str | None:
    word = match[0]
    if word.islower():
        # Capitals for the whole word twice as often as for its first letter.
        new = word.upper() if rng.randrange(3) else word[0].upper() + word[1:]
    elif len(word) < _SHOUTABLE or rng.randrange(4):
        new = word.lower()
    else:
        new = word.upper()
    # Some letters have no other case ("ĸ"), or one that reads differently ("İ"): leave those words.
    return new if new != word and new.casefold() == word.casefold() else None
