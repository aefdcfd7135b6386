"""The language of an answer: the one a prompt asks for last, else the one it is written in."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from typing import Final

from evenkeel.simulate.phrases import ENGLISH, LANGUAGES, Phrases, phrases_for

_BY_NAME: Final = {name: language for language in LANGUAGES for name in language.names}
_WORD: Final = re.compile(r"[^\W\d_]+")
_KANA: Final = re.compile(r"[\u3040-\u30ff]")
_JAPANESE_SHARE: Final = 0.1
"""Share of kana among the letters from which a text is Japanese."""
_MIN_WORDS: Final = 5
"""Function words that a text must have in a language other than English to be taken for it."""
_LEAD: Final = 1.2
"""Times as many function words as English has there: most words are names and English identifiers."""


def wanted_language(text: str) -> Phrases:
    """The language in which a prompt wants its answer, as far as the simulation speaks it.

    Counting function words is coarse, but typing errors and capitals don't move it.
    """
    lowered = text.lower()
    named = [
        # The last to end, and of those the longest: "Canadian French" is not French.
        (match.end(), len(name), name)
        for name in _BY_NAME
        if name in lowered
        for match in _whole(name).finditer(lowered)
    ]
    return _BY_NAME[max(named)[2]] if named else written_language(text)


def written_language(text: str) -> Phrases:
    """The language that a text is written in; English if none is clear. Regional forms are not told apart."""
    words = [word.lower() for word in _WORD.findall(text)]
    letters = sum(map(len, words))
    if letters and len(_KANA.findall(text)) / letters > _JAPANESE_SHARE:
        japanese = phrases_for("ja")
        assert japanese is not None
        return japanese
    often = Counter(words)
    counts = [(sum(often[word] for word in language.function_words), language) for language in LANGUAGES]
    english = counts[0][0]
    # The first of equals, so French goes before its Canadian form.
    most, language = max(counts, key=lambda count: count[0])
    return language if most >= _MIN_WORDS and most > _LEAD * english else ENGLISH


@cache
def _whole(name: str) -> re.Pattern[str]:
    """Matches a name as a word of its own; where words have no spaces between them it needs no end."""
    found = re.escape(name)
    return re.compile(rf"(?<![^\W_]){found}(?![^\W_])" if name < "\u3000" else found)
