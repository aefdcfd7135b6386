"""Metric of how far two answers differ in length."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from evenkeel.core.verdict import Failure
from evenkeel.metrics.identity import is_empty
from evenkeel.metrics.protocol import About
from evenkeel.metrics.similarity.words import words

if TYPE_CHECKING:
    from evenkeel.core.pair import Pair


class LengthRatio:
    """Words of the shorter answer over those of the longer one."""

    name: ClassVar[str] = "length_ratio"
    version: ClassVar[int] = 1
    about: ClassVar[About] = About("surface")

    def score(self, pair: Pair) -> float | Failure:
        """Ratio of the two answers' lengths in words. Symmetric.

        Characters count as words in scripts written without spaces.

        Returns: ratio in [0, 1]; 1 = as many words, also if neither side has any; 0.5 = one is
            twice as long; 0 = only one side has words. A `Failure` "no_text" if neither side has
            text or a tool call.
        """
        if is_empty(pair.reference) and is_empty(pair.candidate):
            return Failure(self.name, self.version, "no_text", "Neither answer has text.")
        lengths = sorted((len(words(pair.reference.text)), len(words(pair.candidate.text))))
        return lengths[0] / lengths[1] if lengths[1] else 1.0
