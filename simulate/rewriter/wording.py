"""Simulated paraphrase and tone: a few words are replaced or put before, everything else stays."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from evenkeel.simulate.rewriter.prose import open_with, rewrite_prose
from evenkeel.simulate.tongue import written_language

if TYPE_CHECKING:
    from evenkeel.simulate.phrases import Phrases


def paraphrase(text: str) -> str:
    """The text with words of equal meaning, or with an opening where it has no word that is known."""
    phrases = written_language(text)
    swaps = dict(phrases.swaps)
    pattern = _pattern(phrases)

    def swap(match: re.Match[str]) -> str:
        found = match.group()
        other = swaps[found.lower()]
        return other[0].upper() + other[1:] if found[0].isupper() else other

    changed = rewrite_prose(text, lambda prose: pattern.sub(swap, prose))
    return changed if changed != text else open_with(text, _spaced(phrases.rephrased, phrases))


def in_tone(text: str, tone: str) -> str | None:
    """The text as a sender of that tone begins it; None for an unknown tone."""
    phrases = written_language(text)
    opening = phrases.tones._asdict().get(tone)
    return None if opening is None else open_with(text, _spaced(opening, phrases))


def _pattern(phrases: Phrases) -> re.Pattern[str]:
    longest_first = sorted((word for word, _ in phrases.swaps), key=lambda word: (-len(word), word))
    found = "|".join(map(re.escape, longest_first))
    return re.compile(rf"\b(?:{found})\b" if phrases.spaced else found, re.IGNORECASE)


def _spaced(opening: str, phrases: Phrases) -> str:
    return f"{opening} " if phrases.spaced else opening
