"""Sentences made shorter by rule: what explains, qualifies or lists is cut."""

from __future__ import annotations

import re
from typing import Final

_ASIDE: Final = re.compile(
    r"\s\([^()]{1,300}\)|\uff08[^\uff08\uff09]{1,300}\uff09|\s\[[^\[\]]{1,80}\](?![(\[])|\[\d{1,3}\]"
)
_CLAUSE: Final = re.compile(
    r"[,;:](?=\s)|\s[–—-](?=\s)|[\uff0c\uff1b、\uff1a]"
    r"|\s(?=(?:because|which|who|whose|where|so that|such as|including|although|though|while|whereas|unless|"
    r"if|when|after|before|until|in order to|as well as)\s)"
)
_CONDITION: Final = re.compile(
    r"(?:If|When|Once|While|After|Before|Although|Though|Because|Since|Unless|As|To|In order to|For)\s"
    r"[^,]{3,200},\s+",
    re.IGNORECASE,
)
"""A clause in front that depends on what follows."""
_PHRASE: Final = re.compile(r"\s(?=(?:with|without|for|from|by|during|at|on|in|within|into|through)\s)")
_ENDING: Final = re.compile(r"[.!?…;:,。\uff01\uff1f\uff1b\uff0c、][\"'”’»)\]*_」』\uff09]*\s*$")
_HANGING: Final = frozenset((
    "a", "an", "and", "as", "at", "but", "by", "for", "from", "in", "into", "is", "of", "on", "or",
    "than", "that", "the", "to", "was", "when", "which", "who", "with",
))  # fmt: skip
_LONGEST_PHRASE = 5
"""Words: what is longer is no phrase but half of the sentence."""
_LEAST_WORDS = 3
"""Words that stay; before a comma one more, as "in the end," is no sentence."""
_LEAST_ORDER = 2
"""Words that a main clause behind a condition has at least: \"call Anna\"."""
_LEAST_CHARACTERS = 6
"""Of a script that has no spaces, what counts for as much as the least number of words."""
_SEEN = 12


def shortened(sentence: str) -> str:
    """The sentence without some of its detail; itself where no rule finds anything to cut.

    What stands in brackets goes; then, in English, a condition in front, or else all behind the first clause,
    or else, in English, the last phrase that a preposition opens. At least three words stay, of a main clause
    two. What is in quotes or code is cut only as a whole.
    """
    body, ending = without_ending(sentence)
    plain = _ASIDE.sub("", body)
    if not _is_enough(plain):
        plain = body
    opening = _CONDITION.match(plain)
    start = opening.end() if opening else 0
    if opening and _is_whole(plain[start:], least=_LEAST_ORDER):
        return _capital_like(plain, plain[start:]) + ending
    cuts = [
        cut.start()
        for cut in _CLAUSE.finditer(plain, start)
        if _is_whole(plain[: cut.start()], least=_LEAST_WORDS + (not cut[0].isspace()))
    ]
    if not cuts:
        cuts = [cut.start() for cut in _PHRASE.finditer(plain) if _is_whole(plain[: cut.start()])]
        cuts = [cut for cut in cuts[-1:] if len(plain[cut:].split()) <= _LONGEST_PHRASE]
    return (without_hanging(plain[: cuts[0]]) if cuts else plain.rstrip()) + ending


def without_hanging(text: str) -> str:
    """A text cut off somewhere, without the small English words that then hang at its end."""
    words = text.split()
    while len(words) > 1 and words[-1].lower() in _HANGING:
        text = text.rstrip()[: -len(words.pop())]
    return text.rstrip()


def _capital_like(first: str, text: str) -> str:
    return text[:1].upper() + text[1:] if first[:1].isupper() else text


def without_ending(sentence: str) -> tuple[str, str]:
    """A sentence, and the mark that ends it with whatever closes behind that."""
    start = max(0, len(sentence) - _SEEN)
    ending = _ENDING.search(sentence, start)
    at = ending.start() if ending else len(sentence)
    return sentence[:at], sentence[at:].rstrip()


def _is_whole(text: str, least: int = _LEAST_WORDS) -> bool:
    """Whether a text can stand alone: it says enough, and leaves no pair of marks open."""
    marks = ("`", "**", '"')
    pairs = ("()", "[]", "“”", "「」", "\uff08\uff09")
    return (
        _is_enough(text, least)
        and all(text.count(mark) % 2 == 0 for mark in marks)
        and all(text.count(pair[0]) == text.count(pair[1]) for pair in pairs)
    )


def _is_enough(text: str, least: int = _LEAST_WORDS) -> bool:
    words = text.split()
    wide = sum(1 for letter in text if letter >= "\u2e80")
    return len(words) >= least or wide >= _LEAST_CHARACTERS
