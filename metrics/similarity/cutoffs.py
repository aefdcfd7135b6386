"""Where the cheap rating changes."""

from __future__ import annotations

from dataclasses import dataclass

from evenkeel.metrics.similarity.embeddings import MINILM


@dataclass(frozen=True, slots=True)
class Cutoffs:
    """Where the rating changes. The defaults are set on real data: see `docs/metrics-quality.md`."""

    same_words: float = 0.65
    """From here on two texts say the same things, by the overlap of their content words."""
    same_letters: float = 0.85
    """Or by edit similarity, which survives typos, lost spaces and glued words."""
    same_values: float = 0.8
    """Or by ROUGE-L over the values that answer each other, where an answer is data."""
    same_meaning: float = 0.85
    """Or by the cosine of sentence embeddings."""
    same_details: float = 0.9
    """At least this F1 of details for a 3: one lost or added in six is seen, one in seven is not."""
    other_words: float = 0.35
    """Below it the message is another one, unless there are embeddings: then they decide."""
    other_meaning: float = 0.5
    """Below it by the cosine."""
    encoder: str = MINILM
    """Whose cosines `same_meaning` and `other_meaning` are on. Those of another one decide nothing."""
    reworded: float = 0.8
    """ROUGE-L from which texts are alike enough for a "not" or an opposite to turn the statement."""


DEFAULT_CUTOFFS = Cutoffs()
