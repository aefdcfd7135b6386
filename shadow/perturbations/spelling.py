"""Typing errors and common misspellings."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from metrics.pair import AS_BEFORE
from shadow.perturbations.places import change_places
from shadow.perturbations.protocol import NOTHING
from shadow.perturbations.slips import FREQUENT, MISSPELLED, NEIGHBOURS

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator

    from shadow.perturbations.protocol import NotApplicable
    from shadow.prompt import PromptView

# Latin, Greek and Cyrillic words outside contractions. In scripts without spaces a "word" is a
# clause, and a lost character is a lost word.
_LETTER: Final = "A-Za-zÀ-ÖØ-öø-ɏͰ-ϿЀ-ԯ"
_WORD: Final = re.compile(rf"[{_LETTER}]{{4,}}+(?![\w'’])")
_INSIDE_A_WORD: Final = frozenset("'’_0123456789")
_TRIES: Final = 4


class Spelling:
    """Misspells words: a neighbouring key, two letters swapped, one left out or doubled, or a known slip.

    Only words of four letters and more, whose first letter stays; names (capitals inside a
    sentence), acronyms and contractions stay, and no slip makes another frequent word.
    """

    name: Final = "general.spelling"
    version: Final = 1
    graded: Final = True
    requires: Final = NOTHING
    wanted: Final = AS_BEFORE

    def apply(self, view: PromptView, severity: float, rng: random.Random) -> PromptView | NotApplicable:
        """A variant with a share of its words misspelt, as `Perturbation.apply`."""
        return change_places(view, severity, rng, find=_places, rewrite=_rewrite)


def _places(text: str) -> Iterator[re.Match[str]]:
    for match in _WORD.finditer(text):
        word = match[0]
        start = match.start()
        if start and text[start - 1] in _INSIDE_A_WORD:
            continue
        if word.islower() or (word[1:].islower() and _opens_sentence(text, start)):
            yield match


def _opens_sentence(text: str, start: int) -> bool:
    before = text[max(0, start - 4) : start].rstrip(" \t\"'“\u2018«(*_#>-•¿¡")
    return not before or before[-1] in ".!?:\n。\uff01\uff1f"


def _rewrite(place: re.Match[str], rng: random.Random) -> str | None:
    word = place[0]
    lower = word.lower()
    known = MISSPELLED.get(lower)
    if known is not None and rng.randrange(2):
        return word[0] + known[1:]
    for _ in range(_TRIES):
        slip = _slip(word, rng)
        if slip != word and slip.lower() not in FREQUENT:
            return slip
    return None


def _slip(word: str, rng: random.Random) -> str:
    """One slip behind the first letter; may be the word itself."""
    at = rng.randrange(1, len(word))
    match rng.randrange(4):
        case 0:
            near = NEIGHBOURS.get(word[at])
            return word[:at] + rng.choice(near) + word[at + 1 :] if near else word
        case 1:
            at = min(at, len(word) - 2)
            return word[:at] + word[at + 1] + word[at] + word[at + 2 :]
        case 2:
            return word[:at] + word[at + 1 :]
        case _:
            return word[:at] + word[at] + word[at:]
