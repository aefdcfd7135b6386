"""Text in other words, and sentences made shorter, by rule: English only for the former."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Final

from evenkeel.lab.calibrate.degrade.engine import NotDegradableError
from evenkeel.lab.calibrate.degrade.phrases import (
    ANYWHERE,
    ENGLISH_ONLY,
    FOREIGN,
    FRAMES,
    OPENERS,
    PHRASES,
    SHARED,
    STEP_ENGLISH,
    STEP_FRAMES,
    VERBS,
)

if TYPE_CHECKING:
    import random
    from collections.abc import Collection, Iterable, Sequence


def _any_of(phrases: Iterable[str]) -> str:
    """A pattern for whole phrases, longer ones first."""
    return "(?:" + "|".join(sorted(map(re.escape, phrases), key=len, reverse=True)) + r")(?![\w'’-])"


_KNOWN: Final = re.compile(rf"(?<![\w'’-]){_any_of(PHRASES)}", re.IGNORECASE)
_VERB: Final = re.compile(_any_of(VERBS), re.IGNORECASE)
_VERB_WORDS: Final = frozenset(verb.split()[0] for verb in VERBS)
_KEPT: Final = re.compile(
    r"\"[^\"\n]{0,400}\"|“[^”\n]{0,400}”|`[^`\n]*`|\$[^$\n]{0,400}\$|https?://\S+|\]\([^()\n]{0,400}\)"
)
"""Quotations, code, formulas, addresses: said as they are."""
_ARTICLE: Final = re.compile(r"\ban?\s$", re.IGNORECASE)
_LABEL: Final = re.compile(r"(?:\*\*[^*\n]{1,80}\*\*\s*[:–-]?|[^\s:][^:.!?\n]{0,40}:)\s+")
_WORDS: Final = re.compile(r"[^\W\d_]+")
_LEAST_WORDS = 4


def reworded(text: str, rng: random.Random, *, orders: bool = False) -> str | None:
    """A sentence, item or value in other words.

    Every phrase of the table is replaced, its first letter's case kept and the article before it in tune;
    without any, "in other words" or the like is put in front. A label such as "**Note:**" stays at the front.

    Args:
        text: One unit.
        rng: Chooses among words.
        orders: Whether the text may be an instruction, whose verb at the beginning is replaced too.

    Returns: the other words, None where there is no rule: too short, or not recognisably English.
    """
    if not is_english(text):
        return None
    kept = [match.span() for match in _KEPT.finditer(text)]
    label = _LABEL.match(text)
    start = label.end() if label else 0

    def replaced(match: re.Match[str]) -> str:
        at = match.start()
        if at < start or any(begin <= at < end for begin, end in kept):
            return match[0]
        said = rng.choice(PHRASES[match[0].lower()])
        before = _ARTICLE.search(text, max(0, at - 3), at)
        if before and (said[0] in "aeiou") != (match[0][0].lower() in "aeiou"):
            return match[0]
        return _capital_like(match[0], said)

    said = _KNOWN.sub(replaced, text)
    if orders and (verb := _VERB.match(said, start)):
        other = _capital_like(verb[0], rng.choice(VERBS[verb[0].lower()]))
        said = said[:start] + other + said[verb.end() :]
    if said != text:
        return said
    rest = text[start:]
    if len(rest.split()) < _LEAST_WORDS or not rest[:1].isalpha():
        return None
    plain = uncapitalised(rest)
    return text[:start] + rng.choice(FRAMES) + (", " if plain[0].islower() else ": ") + plain


def is_english(text: str) -> bool:
    """Tell whether a text seems to be in English, by its commonest words against those of its neighbours."""
    words = Counter(_WORDS.findall(text.lower()))
    own = sum(words[word] for word in ENGLISH_ONLY)
    other = sum(words[word] for word in FOREIGN)
    return own > other or (own == other == 0 and any(words[word] for word in SHARED))


def uncapitalised(text: str) -> str:
    """A sentence without the capital it began with, unless its first word may be a name."""
    first = text.split(maxsplit=1)[0] if text.strip() else ""
    plain = first.lower()
    is_word = first[1:] == first[1:].lower() and (
        plain in STEP_ENGLISH or plain in OPENERS or plain in _VERB_WORDS
    )
    return text[:1].lower() + text[1:] if is_word else text


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
_LEAST_LEFT = 3
"""Words that stay; before a comma one more, as "in the end," is no sentence."""
_LEAST_ORDER = 2
"""Words that a main clause behind a condition has at least: \"call Anna\"."""
_LEAST_CHARACTERS = 6
"""Letters of a script that has no spaces, what counts for as much as the least number of words."""
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
        if _is_whole(plain[: cut.start()], least=_LEAST_LEFT + (not cut[0].isspace()))
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


def _is_whole(text: str, least: int = _LEAST_LEFT) -> bool:
    """Tell whether a text can stand alone: it says enough, and leaves no pair of marks open."""
    marks = ("`", "**", '"')
    pairs = ("()", "[]", "“”", "「」", "\uff08\uff09")
    return (
        _is_enough(text, least)
        and all(text.count(mark) % 2 == 0 for mark in marks)
        and all(text.count(pair[0]) == text.count(pair[1]) for pair in pairs)
    )


def _is_enough(text: str, least: int = _LEAST_LEFT) -> bool:
    words = text.split()
    wide = sum(1 for letter in text if letter >= "\u2e80")
    return len(words) >= least or wide >= _LEAST_CHARACTERS


def drawn(choice: Sequence[str], own: Collection[str], count: int, rng: random.Random) -> list[str]:
    """Draw texts that are not among `own`; each again only when all have had their turn.

    Raises:
        NotDegradableError: "nothing_foreign": the answer has them all.
    """
    free = [text for text in choice if text not in own]
    if not free:
        raise NotDegradableError("nothing_foreign", "the answer holds everything that could be added")
    texts: list[str] = []
    while len(texts) < count:
        texts += rng.sample(free, min(len(free), count - len(texts)))
    return texts


_STEP_PHRASE = re.compile(
    rf"(?:^|(?<=\band )|(?<=\bthen )|(?<=\bto )){_any_of(VERBS)}|(?<![\w'’-]){_any_of(ANYWHERE)}",
    re.IGNORECASE,
)
_STEP_QUOTED = re.compile(r"\"[^\"]*\"|“[^”]*”|`[^`]*`|\$[^$]*\$")
_STEP_WORDS = re.compile(r"[a-z]+")


def reworded_step(step: str, rng: random.Random) -> str | None:
    """A step in other words; None if it does not seem to be in English."""
    quoted = [match.span() for match in _STEP_QUOTED.finditer(step)]

    def replaced(match: re.Match[str]) -> str:
        if any(start <= match.start() < end for start, end in quoted):
            return match[0]
        phrase = match[0].lower()
        said = rng.choice(VERBS.get(phrase) or ANYWHERE[phrase])
        return _capital_like(match[0], said)

    said = _STEP_PHRASE.sub(replaced, step)
    if said != step:
        return said
    if STEP_ENGLISH.isdisjoint(_STEP_WORDS.findall(step.lower())):
        return None
    first = step.split(" ", 1)[0]
    return rng.choice(STEP_FRAMES).format(step[:1].lower() + step[1:] if first[1:].islower() else step)
