"""Panel of a judge: stored pairs of answers that it rates again every day, the only evidence that it changed.

A new round is compared with the first three. If the judge is the same, the new rating of a pair is as likely
as each of the earlier ones to be any of the four, so the sum of the new ratings has an exact distribution,
whatever the judge's noise.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

YARDSTICK: Final = 3
"""Rounds that later ones are compared with."""
LEVEL: Final = 0.001
"""Probability that a round calls a judge changed that is not: with a round a day, once in 2.7 years."""
AS_BEFORE: Final = 0.2
"""Probability from which on a round says that the judge rates as before."""
FEWEST: Final = 20
"""Pairs without which a round says nothing."""
PANEL: Final = "panel/"
"""Prefix of the ids of rounds."""


@dataclass(frozen=True, slots=True)
class PairRated:
    """Ratings of one pair of a panel."""

    earlier: tuple[int, ...]
    """Ratings of the first rounds."""
    now: int


@dataclass(frozen=True, slots=True)
class PanelRated:
    """Round of a judge's panel. It holds no word of a prompt or an answer."""

    id: str
    at: float
    """Unix time in seconds."""
    route: str
    """Route whose answers the judge rates; a round is noted for each."""
    judge: str
    """Model of the judge and version of the wording that it rates under."""
    since: float
    """Unix time in seconds of the last round that was as before."""
    pairs: tuple[PairRated, ...]

    @property
    def stricter(self) -> int:
        """Number of pairs that the judge rates lower than it did on average."""
        return sum(pair.now * len(pair.earlier) < sum(pair.earlier) for pair in self.pairs)

    @property
    def lenient(self) -> int:
        """Number of pairs that it rates higher than it did on average."""
        return sum(pair.now * len(pair.earlier) > sum(pair.earlier) for pair in self.pairs)

    @property
    def p_value(self) -> float:
        """Two-sided probability of a sum at least as far off from a judge that did not change. Exact."""
        sums = {0: 1.0}
        for pair in self.pairs:
            ratings = (*pair.earlier, pair.now)
            longer: dict[int, float] = {}
            for total, chance in sums.items():
                for rating in ratings:
                    longer[total + rating] = longer.get(total + rating, 0.0) + chance / len(ratings)
            sums = longer
        seen = sum(pair.now for pair in self.pairs)
        below = sum(chance for total, chance in sums.items() if total <= seen)
        above = sum(chance for total, chance in sums.items() if total >= seen)
        return min(1.0, 2 * min(below, above))

    @property
    def measured(self) -> bool:
        """True if enough pairs were rated."""
        return len(self.pairs) >= FEWEST

    @property
    def shows_change(self) -> bool:
        """True if the judge rates lower or higher than in the first rounds, beyond chance."""
        return self.measured and self.p_value <= LEVEL

    @property
    def is_as_before(self) -> bool:
        """True if nothing hints at a judge that rates differently."""
        return self.measured and self.p_value >= AS_BEFORE
