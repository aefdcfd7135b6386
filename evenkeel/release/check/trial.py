"""A trial of a check: one variant of the prompt in one round."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

FIRST: Final = "first"
"""Arm of the model or prompt that is checked."""
SECOND: Final = "second"
"""Arm of the one that it is compared with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckTrial:
    """Outcome of one variant in one round."""

    round: int
    arm: str
    category: str
    kind: str
    """Name of the perturbation."""
    moved: bool | None = None
    """True if the content moved; None if nobody could say."""
    control_moved: bool | None = None
    quality_changed: bool | None = None
    control_quality_changed: bool | None = None
    rating: int | None = None
    similarity: float | None = None
    control_similarity: float | None = None
    invalid: bool = False
    cut: bool = False
    """True if an answer reached the maximum length."""
    failure: str = ""
    """Reason why there is no outcome."""
    explanation: str = ""
    words: tuple[str, ...] = ()
    """Words of the prompt that the variant changed."""
    touched: float = 0.0
    """Share of the input's words that it changed, in [0, 1]."""
    prompt: str = ""
    variant: str = ""
    reference: str = ""
    candidate: str = ""

    @property
    def excess(self) -> float | None:
        """Return how much the variant moved the answer beyond the resend: 1, 0 or −1; None if not known."""
        if self.moved is None or self.control_moved is None:
            return None
        return float(self.moved) - float(self.control_moved)
