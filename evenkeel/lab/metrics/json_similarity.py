"""JSONSimilarity: closeness in meaning of the values that correspond to each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from evenkeel.core.verdict import Failure
from evenkeel.lab.metrics.json_rouge import Trees, read_pair, weight, weighted_mean
from evenkeel.lab.metrics.value_alignment import align
from evenkeel.metrics.protocol import About
from evenkeel.metrics.structured.tree import UnreadableError

if TYPE_CHECKING:
    from evenkeel.core.pair import Pair
    from evenkeel.lab.metrics.embeddings import Embeddings
    from evenkeel.lab.metrics.value_alignment import ValuePair


class JsonSimilarity:
    """Cosine of embeddings over aligned values, whatever the format of either answer."""

    name: ClassVar[str] = "json_similarity"
    version: ClassVar[int] = 1
    about: ClassVar[About] = About("structured", label="JSON similarity", needs="encoder")

    def __init__(self, meaning: Embeddings) -> None:
        self._meaning = meaning

    def score(self, pair: Pair) -> float | Failure:
        """Closeness of the values in meaning, keys and form aside.

        Values are paired and weighted as in `JsonRouge`. Equal values, letter case aside, have 1;
        a value without counterpart, and one without a letter that is not equal (a number, a
        date), has 0: encoders put all numbers close to each other. Other values have the cosine
        of their embeddings.

        Returns: ratio in [0, 1]; 1 = the same values under the same keys. A `Failure` "no_text",
            "no_structure", "too_large" or "too_deep" as in `JsonRouge`, or whatever the encoder
            gives, such as "cross_language" or "encoder_failed".
        Source: JSONSimilarity, appendix A.2 of the enterprise perturbation paper.
        """
        refused = self._meaning.refuses(pair)
        if refused is not None:
            return Failure(self.name, self.version, refused.reason, refused.detail)
        trees = read_pair(pair)
        if isinstance(trees, UnreadableError):
            return Failure(self.name, self.version, trees.reason, str(trees))
        return self._compare(trees)

    def _compare(self, trees: Trees) -> float | Failure:
        pairs = align(trees.reference, trees.candidate)
        texts = []
        for pair in pairs:
            if _needs_encoder(pair):
                texts.append((pair.reference or "", pair.candidate or ""))
        similarities = self._meaning.similarities(texts) if texts else []
        if isinstance(similarities, Failure):
            return Failure(self.name, self.version, similarities.reason, similarities.detail)
        meanings = iter(similarities)
        scores = []
        for pair in pairs:
            score = next(meanings) if _needs_encoder(pair) else float(_equal(pair))
            scores.append((weight(pair), score))
        return weighted_mean(scores)


def _equal(pair: ValuePair) -> bool:
    if pair.reference is None or pair.candidate is None:
        return False
    return pair.reference.casefold() == pair.candidate.casefold()


def _needs_encoder(pair: ValuePair) -> bool:
    texts = pair.reference or "", pair.candidate or ""
    return not _equal(pair) and all(any(map(str.isalpha, text)) for text in texts)
