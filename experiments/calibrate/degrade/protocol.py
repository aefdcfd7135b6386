"""What a degradation of an answer is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    import random

    from evenkeel.core.pair import Answer
    from evenkeel.experiments.calibrate.score_table import FailureMode

Form = Literal["workflow", "prose", "list", "data"]
"""What an answer is made of: steps, sentences, items, or the values of JSON, YAML or XML."""


class NotDegradableError(ValueError):
    """An answer cannot be degraded in this way. `reason` is a word usable as a label."""

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(detail or reason)
        self.reason = reason
        self.detail = detail


class AnswerDegradation(Protocol):
    """Does a known damage to an answer. Pure: the same generator state gives the same bytes."""

    @property
    def name(self) -> str:
        """Short snake_case word, unique within a form: "missing_sentences"."""
        ...

    @property
    def version(self) -> int:
        """Raised whenever the same seed may give another answer than before."""
        ...

    @property
    def form(self) -> Form:
        """The form of the answers that it takes."""
        ...

    @property
    def mode(self) -> FailureMode:
        """The failure that it plays."""
        ...

    def expected(self, severity: float) -> float:
        """What an ideal metric gives for it, in [0, 1]: 1 − severity, or 1 if nothing is lost."""
        ...

    def apply(self, given: Answer, severity: float, rng: random.Random) -> Answer:
        """The degraded answer: text and tool calls are new, everything else as it was.

        Args:
            given: What is degraded. It has the degradation's form (see `form_of`).
            severity: Share of the units, in (0, 1]; N = max(1, ⌈units · severity⌉) are touched.
            rng: Makes every choice.

        Raises:
            NotDegradableError: So many units cannot be changed in this way, or the answer lacks the form.
            ValueError: A severity outside (0, 1].
        """
        ...
