"""Panel of a judge: stored pairs of answers that it rates again every day, the only evidence that it changed.

A new round is compared with the first three. If the judge is the same, the new rating of a pair is as likely
as each of the earlier ones to be any of the four, so the sum of the new ratings has an exact distribution,
whatever the judge's noise. So has the sum of their distances from the others, which also grows with a judge
that rates some pairs higher and as many lower.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

YARDSTICK: Final = 3
"""Rounds that later ones are compared with."""
LEVEL: Final = 0.001
"""Probability that a round calls a judge changed that is not: with a round a day, once in 2.7 years."""
AS_BEFORE: Final = 0.2
"""Probability from which on a round says that the judge rates as before."""
FEWEST: Final = 20
"""Pairs without which a round says nothing."""
MOST: Final = 60
"""Pairs of a panel."""
PANEL: Final = "panel/"
"""Prefix of the ids of rounds."""


@dataclass(frozen=True, slots=True)
class PairRated:
    """Ratings of one pair of a panel."""

    earlier: tuple[int, ...]
    """Ratings of the first rounds."""
    now: int

    @property
    def all(self) -> tuple[int, ...]:
        """Earlier ratings and the new one."""
        return (*self.earlier, self.now)

    def apart(self, rating: int) -> int:
        """Return the sum of the distances of a rating from all ratings of the pair."""
        return sum(abs(rating - other) for other in self.all)


class _Tails:
    """Tails of a sum of which each term is as likely any of its possible values."""

    def __init__(self, terms: Sequence[tuple[int, Sequence[int]]]) -> None:
        """Add up terms, each the value seen and the possible ones."""
        sums = {0: 1.0}
        for _, possible in terms:
            longer: dict[int, float] = {}
            for total, chance in sums.items():
                for value in possible:
                    longer[total + value] = longer.get(total + value, 0.0) + chance / len(possible)
            sums = longer
        seen = sum(value for value, _ in terms)
        self.below = sum(chance for total, chance in sums.items() if total <= seen)
        self.above = sum(chance for total, chance in sums.items() if total >= seen)


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
        """Probability of ratings at least as low, as high or as far off from a judge that did not change.

        Exact, times three for the three ways.
        """
        lower = _Tails([(pair.now, pair.all) for pair in self.pairs])
        apart = _Tails([(pair.apart(pair.now), tuple(map(pair.apart, pair.all))) for pair in self.pairs])
        return min(1.0, 3 * min(lower.below, lower.above, apart.above))

    @property
    def measured(self) -> bool:
        """True if enough pairs were rated."""
        return len(self.pairs) >= FEWEST

    @property
    def shows_change(self) -> bool:
        """True if the judge rates otherwise than in the first rounds, beyond chance."""
        return self.measured and self.p_value <= LEVEL

    @property
    def is_as_before(self) -> bool:
        """True if nothing hints at a judge that rates differently."""
        return self.measured and self.p_value >= AS_BEFORE
