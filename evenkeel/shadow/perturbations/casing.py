"""Casing as shift keys and caps lock produce it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from evenkeel.core.pair import AS_BEFORE
from evenkeel.core.rewordings import Rewording
from evenkeel.shadow.perturbations.places import change_places
from evenkeel.shadow.perturbations.protocol import GENERAL, NOTHING

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator

    from evenkeel.shadow.perturbations.protocol import NotApplicable
    from evenkeel.shadow.prompt import PromptView

_WORD: Final = re.compile(r"(?<![A-Za-z0-9_À-ɏͰ-ԯ'’])[A-Za-zÀ-ɏͰ-ԯ'’]+(?![A-Za-z0-9_À-ɏͰ-ԯ'’])")
"""Word with its apostrophes, so that a contraction is a single word. Letters of scripts without case
separate words."""
_WITHOUT_CASE: Final = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_SHOUTABLE = 4
"""Fewest letters of a word to capitalize: shorter words would look like acronyms ("it", "us")."""
_ACRONYM = 5
"""Most letters of a word in capitals that may be an acronym."""
_TOLD_BY_CASE: Final = frozenset({
    "April", "August", "March", "May", "Polish", "Turkey",  # not march, may, polish, turkey
    "Sie", "Ihr", "Ihre", "Ihrem", "Ihren", "Ihrer", "Ihnen", "Morgen", "Recht",  # you, not she or they
})  # fmt: skip
"""Words that mean something else without their capital."""


class Casing:
    """Lower-cases sentence starts and names, puts words into capitals.

    Acronyms (in Japanese and Chinese text all words in capitals), identifiers, words of mixed case and those
    that mean something else without their capital ("May", German "Sie") stay; texts in scripts without case
    offer nothing.
    """

    name: Final = "general.casing"
    rewording: Final = Rewording(GENERAL, phrase="different capitalisation", order=40)
    version: Final = 3
    graded: Final = True
    requires: Final = NOTHING
    wanted: Final = AS_BEFORE

    def apply(self, view: PromptView, severity: float, rng: random.Random) -> PromptView | NotApplicable:
        """A variant with a share of its words in another case, as `Perturbation.apply`."""
        return change_places(view, severity, rng, find=_places, rewrite=_rewrite)


def _places(text: str) -> Iterator[re.Match[str]]:
    # Between kana and ideographs words in capitals are acronyms, however long they are.
    foreign = _WITHOUT_CASE.search(text) is not None
    return (
        match
        for match in _WORD.finditer(text)
        if _eligible(match[0]) and not (foreign and match[0].isupper())
    )


def _eligible(word: str) -> bool:
    if word.islower():
        return len(word) >= _SHOUTABLE
    if word.isupper():
        # Single capitals label things ("option B"), short ones are acronyms; "I" is just a word.
        return len(word) > _ACRONYM or word == "I"
    return word[0].isupper() and word[1:].islower() and word not in _TOLD_BY_CASE


def _rewrite(place: re.Match[str], rng: random.Random) -> str | None:
    word = place[0]
    if word.islower():
        # Capitals for the whole word twice as often as for its first letter.
        new = word.upper() if rng.randrange(3) else word[0].upper() + word[1:]
    elif word.isupper() or len(word) < _SHOUTABLE or rng.randrange(4):
        new = word.lower()
    else:
        new = word.upper()
    # Some letters have no other case ("ĸ"), or one that reads differently ("İ"): leave those words.
    return new if new != word and new.casefold() == word.casefold() else None
