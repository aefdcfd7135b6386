"""Character n-grams that two texts share: a candidate for the registry, measured before it joins."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, ClassVar, Final

from evenkeel.core.verdict import Failure
from evenkeel.metrics.similarity.normalised import is_empty

if TYPE_CHECKING:
    from evenkeel.core.pair import Pair

_ORDERS: Final = range(1, 7)
_CHARACTERS: Final = 50_000


class CharacterNGrams:
    """chrF with equal weight of precision and recall, letter case ignored."""

    name: ClassVar[str] = "character_ngrams"
    version: ClassVar[int] = 1

    def score(self, pair: Pair) -> float | Failure:
        """F1 over the runs of one to six characters, spaces left out. Symmetric.

        Needs no word boundaries and forgives inflection, so it reads languages without spaces or
        with long compounds.

        Returns: ratio in [0, 1]; 1 = the same runs, also if neither side has any; 0 = no
            character in common, or only one side has any. A `Failure` "no_text" if neither side
            has text or a tool call.
        Source: Popović 2015; agrees with sacrebleu's chrF at β = 1 on texts in lower case.
        """
        if is_empty(pair.reference) and is_empty(pair.candidate):
            return Failure(self.name, self.version, "no_text", "Neither answer has text.")
        return character_f1(pair.reference.text, pair.candidate.text)


def character_f1(reference: str, candidate: str) -> float:
    """F1 of the mean precision and the mean recall over the orders that both texts have."""
    left, right = ("".join(text.lower().split())[:_CHARACTERS] for text in (reference, candidate))
    if not left or not right:
        return float(left == right)
    precision = recall = 0.0
    orders = [order for order in _ORDERS if order <= min(len(left), len(right))]
    for order in orders:
        mine, other = _runs(left, order), _runs(right, order)
        shared = (mine & other).total()
        precision += shared / other.total()
        recall += shared / mine.total()
    total = precision + recall
    return 2 * precision * recall / (total * len(orders)) if total else 0.0


def _runs(text: str, order: int) -> Counter[str]:
    return Counter(text[start : start + order] for start in range(len(text) - order + 1))
