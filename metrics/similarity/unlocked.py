"""Comparison of two sequences during which other threads can run.

rapidfuzz's functions for one pair keep Python's lock until they are done, which are 50 ms for texts of
50,000 letters and two seconds for 100,000 words; its function for many pairs lets the lock go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from rapidfuzz.distance import Indel, LCSseq
from rapidfuzz.process import cdist

if TYPE_CHECKING:
    from collections.abc import Sequence


def common_length(left: Sequence[str], right: Sequence[str]) -> int:
    """Length of the longest common subsequence of two sequences of words."""
    return int(cdist([left], [right], scorer=LCSseq.similarity, dtype=np.uint32)[0, 0])


def indel_similarity(left: str, right: str) -> float:
    """One minus the normalised insertion-deletion distance of two texts, in [0, 1]; 1 if both are empty."""
    return float(cdist([left], [right], scorer=Indel.normalized_similarity, dtype=np.float64)[0, 0])
