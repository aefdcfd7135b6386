"""Comparisons of answers to reference prompts, which show changes that nobody announced.

They are notes of the verdict log, so that the monitor's fold takes them in their order. None holds a word of
a prompt or an answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from typing import Final

_NAME_BYTES: Final = 8
_DRAW_BYTES: Final = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class MovedAnswers:
    """New answers to references of a requested model on a route that are unlike those before."""

    calls: int
    """Number of new answers."""
    since: float
    """Unix time in seconds of the first of them."""
    after: float
    """Unix time in seconds of an answer before, up to which there was no sign of a change."""
    likeness: float
    """Mean likeness of the new answers to the earlier ones, in [0, 1]."""
    own: float
    """Mean likeness of the earlier ones to each other, in [0, 1]."""
    models: tuple[str, ...]
    """Names that the endpoint returned with the new answers, the most frequent first."""
    fingerprints: tuple[str, ...]
    """System fingerprints that the endpoint returned with the new answers, the most frequent first."""
    references: tuple[str, ...]
    """Ids of the references whose answers moved furthest, at most eight, the furthest first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PooledComparison(MovedAnswers):
    """Comparison of the last answers to all references of a requested model on a route with those before."""

    p_value: float
    """Probability of answers at least this unlike if nothing changed, in (0, 1]."""


@dataclass(frozen=True, slots=True)
class ReferenceAnswered:
    """Rank of a new answer to a reference prompt among the other answers to the same request.

    Answers are ranked by their mean likeness to all the others, including the new one. If nothing changed,
    every rank of the new answer has the same probability, whatever the noise.
    """

    id: str
    at: float
    """Unix time in seconds."""
    route: str
    model: str
    """Model name that the endpoint returned, else the one requested."""
    requested_model: str
    reference: str
    """Id of the reference prompt."""
    compared: int = 0
    """Number of answers compared, including the new one; 0 for a failure."""
    below: int = 0
    """Number of compared answers that are less like the others than the new one is."""
    ties: int = 0
    """Number of compared answers, including the new one, that are as like the others as the new one is."""
    likeness: float = 0.0
    """Mean likeness of the new answer to the earlier ones, in [0, 1]."""
    own: float = 0.0
    """Mean likeness of the earlier ones to each other, in [0, 1]."""
    former: float | None = None
    """Mean likeness of the new answer to the answers before the last detected change, in [0, 1]; None without
    any. It shows whether that change was reverted."""
    system_fingerprint: str = ""
    failure: str = ""
    """Reason why there is no answer, in snake case; "" if there is one."""
    pooled: PooledComparison | None = None
    """Comparison over all references that followed this answer; None if none was due."""

    @property
    def p_value(self) -> float | None:
        """Probability of a rank as low, ties broken at random; uniform in (0, 1] if nothing changed.

        None for a failure, and for fewer than three answers: of two, neither can be the outlier.
        """
        if self.failure or self.compared < _FEWEST:
            return None
        return (self.below + (1 - self._lot) * self.ties) / self.compared

    @property
    def rank(self) -> int | None:
        """Rank of the new answer from 1, the least like the others, to `compared`; ties broken at random.

        Every rank has the same probability if nothing changed. None where `p_value` is None.
        """
        if self.failure or self.compared < _FEWEST:
            return None
        return 1 + self.below + int(self._lot * self.ties)

    @property
    def _lot(self) -> float:
        # From the id, so that ties are broken alike when the log is folded again.
        digest = blake2b(self.id.encode("utf-8", "surrogatepass"), digest_size=_DRAW_BYTES).digest()
        return int.from_bytes(digest, "big") / (1 << 8 * _DRAW_BYTES)


# Fewest answers that are compared, the new one included: of two, neither can be the outlier.
_FEWEST: Final = 3
REFERENCE: Final = "reference/"
"""Prefix of the ids of `ReferenceAnswered`."""


def reference_answer_id(reference: str, at: float) -> str:
    """Return the id of an answer to a reference prompt."""
    digest = blake2b(f"{reference}\0{at!r}".encode("utf-8", "surrogatepass"), digest_size=_NAME_BYTES)
    return f"{REFERENCE}{digest.hexdigest()}"
