"""BLEU: precision of the candidate's n-grams."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar

from evenkeel.core.verdict import Failure
from evenkeel.metrics.lexical.tokens import LONGEST_ORDER, NGrams, read_ngrams
from evenkeel.metrics.similarity.normalised import is_empty

if TYPE_CHECKING:
    from evenkeel.core.pair import Pair

_EPSILON = 0.1
"""Matches that an order without any is credited with: smoothing method 1."""


class Bleu:
    """Geometric mean of the n-gram precisions, with a penalty for brevity."""

    name: ClassVar[str] = "bleu"
    version: ClassVar[int] = 1

    def score(self, pair: Pair) -> float | Failure:
        """Sentence BLEU of the candidate's text against the reference's. Not symmetric.

        Orders 1 to 4 weigh the same; a candidate of fewer than four tokens is measured by the
        orders it has. An order without a match counts as 0.1 matches.

        Returns: ratio in [0, 1]; 1 = the same tokens in the same order, also if neither side has
            any; 0 = no token in common, or only one side has tokens. A `Failure` "no_text" if
            neither side has text or a tool call; 1 if both only call tools.
        Source: Papineni and others 2002, smoothing method 1 of Chen and Cherry 2014; agrees with
            `nltk.translate.bleu_score.sentence_bleu(…, auto_reweigh=True)` to 1e-9.
        """
        if is_empty(pair.reference) and is_empty(pair.candidate):
            return Failure(self.name, self.version, "no_text", "Neither answer has text.")
        return bleu(read_ngrams(pair.reference.text), read_ngrams(pair.candidate.text))


def bleu(reference: NGrams, candidate: NGrams) -> float:
    """BLEU of a candidate, in [0, 1]; 1 if neither side has tokens, 0 if only one has."""
    if not reference.length or not candidate.length:
        return float(reference.length == candidate.length)
    orders = min(LONGEST_ORDER, candidate.length)
    matches = [(reference.counts[order] & candidate.counts[order]).total() for order in range(orders)]
    if not matches[0]:
        return 0.0
    logs = (
        math.log((matched or _EPSILON) / (candidate.length - order)) for order, matched in enumerate(matches)
    )
    brevity = min(0.0, 1 - reference.length / candidate.length)
    return min(1.0, math.exp(brevity + math.fsum(logs) / orders))
