"""GLEU: n-grams that two texts share."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from evenkeel.core.verdict import Failure
from evenkeel.metrics.lexical.tokens import NGrams, read_ngrams
from evenkeel.metrics.similarity.normalised import is_empty

if TYPE_CHECKING:
    from evenkeel.core.pair import Pair


class Gleu:
    """The lower of precision and recall over all n-grams up to four tokens."""

    name: ClassVar[str] = "gleu"
    version: ClassVar[int] = 1

    def score(self, pair: Pair) -> float | Failure:
        """Sentence GLEU of the two texts. Symmetric.

        Returns: ratio in [0, 1]; 1 = the same n-grams, also if neither side has any; 0 = no token
            in common, or only one side has tokens. A `Failure` "no_text" if neither side has text
            or a tool call; 1 if both only call tools.
        Source: Wu and others 2016, section 4.3; agrees with
            `nltk.translate.gleu_score.sentence_gleu` to 1e-9.
        """
        if is_empty(pair.reference) and is_empty(pair.candidate):
            return Failure(self.name, self.version, "no_text", "Neither answer has text.")
        return gleu(read_ngrams(pair.reference.text), read_ngrams(pair.candidate.text))


def gleu(reference: NGrams, candidate: NGrams) -> float:
    """Shared n-grams over the n-grams of the side that has more, in [0, 1]; 1 if neither has any."""
    most = max(sum(counts.total() for counts in side.counts) for side in (reference, candidate))
    if not most:
        return 1.0
    both = zip(reference.counts, candidate.counts, strict=True)
    return sum((left & right).total() for left, right in both) / most
