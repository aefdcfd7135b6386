"""Whether a statement was turned around: a negation added or lost, or a word put for its opposite.

English, and by spelling: it sees what a reader stumbles over in wording that is otherwise the same,
and nothing of a conclusion that is turned in other words.
"""

from __future__ import annotations

from collections import Counter

from rapidfuzz.distance import OSA

from evenkeel.metrics.similarity.words import GLUE, NEGATIONS, negation_count, stem, words

_PREFIXES = ("un", "in", "im", "ir", "il", "non", "dis", "de", "mis")
_ROOT_LENGTH = 4
_OPPOSITES = """
accept reject|accepted rejected|added removed|after before|all none|allow block|allowed blocked
allow deny|allowed denied|always never|approve deny|approved denied|approve reject|approved rejected
available gone|best worst|better worse|cheaper dearer|closed open|connected disconnected|decrease increase
down up|enable disable|enabled disabled|exclude include|external internal|fail pass|failed passed
failed succeeded|failed successful|failing working|false true|faster slower|first last|gain loss
greater smaller|healthy unhealthy|higher lower|inbound outbound|inside outside|less more|longer shorter
maximum minimum|max min|negative positive|no yes|off on|offline online|old new|over under|fall rise
right wrong|safe unsafe|same different|source target|start stop|started stopped|success failure|with without
"""
_OPPOSED = frozenset(
    frozenset(stem(word) for word in both.split())
    for both in _OPPOSITES.replace("\n", "|").split("|")
    if both
)
_SWAPPED_LENGTH = 3
"""A negation this short is only taken for mistyped if two of its letters changed places: "nto"."""


def is_turned(reference: str, candidate: str) -> bool:
    """Whether texts of otherwise equal wording differ in a negation or in a word and its opposite.

    Mistyped negations ("nto", "withuot") are negations. Opposites are those of a short list, or
    words that differ by a negating prefix ("available", "unavailable").
    """
    own, others = Counter(words(reference)), Counter(words(candidate))
    negated = negation_count(reference) + _mistyped_count(own, others)
    if negated != negation_count(candidate) + _mistyped_count(others, own):
        return True
    left, right = frozenset(map(stem, own)), frozenset(map(stem, others))
    return _has_opposite(left - right, right - left)


def _mistyped_count(own: Counter[str], others: Counter[str]) -> int:
    """Negations that are mistyped in one text and spelled out in the other."""
    spelled = [word for word in NEGATIONS if others[word] > own[word]]
    if not spelled:
        return 0
    return sum(
        count
        for word, count in (own - others).items()
        if word not in NEGATIONS and any(_mistyped(word, negation) for negation in spelled)
    )


def _mistyped(word: str, negation: str) -> bool:
    if word in GLUE or word[0] != negation[0] or abs(len(word) - len(negation)) > 1:
        return False
    if len(negation) <= _SWAPPED_LENGTH:
        return sorted(word) == sorted(negation)
    return OSA.distance(word, negation, score_cutoff=1) <= 1


def _has_opposite(left: frozenset[str], right: frozenset[str]) -> bool:
    if not (left and right):
        return False
    if any(not left.isdisjoint(both) and not right.isdisjoint(both) for both in _OPPOSED):
        return True
    return _negated(left, right) or _negated(right, left)


def _negated(some: frozenset[str], others: frozenset[str]) -> bool:
    """Whether a word of `others` is one of `some` behind a negating prefix."""
    return any(prefix + word in others for word in some if len(word) >= _ROOT_LENGTH for prefix in _PREFIXES)
