"""What one rated trial says to the estimates, as one of 44 possible outcomes.

A window keeps outcomes as letters, so that the last 500 trials are a text of 500 letters and every
count of a window follows from how often each letter occurs.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenkeel.core.verdict import Verdict

QualityOutcome = Literal["same", "worse", "better", "mixed", "unscored"]


class Outcome(NamedTuple):
    """One rated trial."""

    letter: str
    """Names the outcome: a letter or a sign that JSON need not escape."""
    rating: Literal[1, 2, 3]
    quality: QualityOutcome | None
    """Of a shifted trial; None exactly for a rating of 3."""
    difference: Literal[-1, 0, 1] | None
    """1 = only the variant shifted, −1 = only the identical resend; None without a rated resend."""

    @property
    def shifted(self) -> bool:
        """Whether the content moved."""
        return self.quality is not None


_FIRST_LETTER: Final = "0"
_DIFFERENCES: Final[tuple[Literal[-1, 0, 1] | None, ...]] = (None, 1, -1, 0)
_QUALITIES: Final[tuple[QualityOutcome, ...]] = ("same", "worse", "better", "mixed", "unscored")
_SHIFTED: Final[tuple[Literal[1, 2], ...]] = (1, 2)
_RATED: Final[tuple[tuple[Literal[1, 2, 3], QualityOutcome | None], ...]] = (
    (3, None),
    *((rating, quality) for rating in _SHIFTED for quality in _QUALITIES),
)
_ALL: Final[Mapping[tuple[int, QualityOutcome | None, int | None], Outcome]] = {
    (rating, quality, difference): Outcome(chr(ord(_FIRST_LETTER) + number), rating, quality, difference)
    for number, ((rating, quality), difference) in enumerate(product(_RATED, _DIFFERENCES))
}
OUTCOMES: Final = {outcome.letter: outcome for outcome in _ALL.values()}
"""Every outcome by its letter. The letters are part of the monitor's checkpoint: never reassigned."""


def outcome_of(verdict: Verdict) -> Outcome | str:
    """What a verdict says; without a usable rating the reason why, in snake case."""
    shifted, rating = verdict.shifted, verdict.rating
    if shifted is None:
        return verdict.failure.reason if verdict.failure else "unrated"
    if rating not in {1, 2, 3}:
        return "rating_out_of_range"
    baseline = verdict.baseline_shifted
    difference = None if baseline is None else shifted - baseline
    return _ALL[rating, _quality(verdict) if shifted else None, difference]


def _quality(verdict: Verdict) -> QualityOutcome:
    changed = verdict.quality_changed
    if changed is None:
        return "unscored"
    return (verdict.direction or "mixed") if changed else "same"
