"""Bets on the mean of bounded observations.

A gambler who believes that the mean of observations in [low, high] is above a line stakes λ on
every one: their money is multiplied by 1 + λ(x − line). While the mean is at most the line it does
not grow on average, whatever the distribution and however the observations depend on earlier ones.
With λ < 1/(line − low) it never goes broke. Against a mean below the line the signs are turned.

For a bounded mean these bets are the only admissible ones (Clerico 2024, "On the optimality of
coin-betting for mean estimation").
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, Literal

Side = Literal["above", "below"]
"""Where the mean has gone, compared with the line."""

SHARES: Final = tuple(0.06 * (0.8 / 0.06) ** (number / 7) for number in range(8))
"""Bets as shares of the largest that cannot go broke: 0.06 to 0.8, evenly spaced in their logarithms.

The best share for a rate that rises by s above the line m is s/(1 − m), and s/m for one that falls.
Measured by `python -m benchmarks.detection`: twice as many bets shorten the delays by 1 %, half as many
lengthen them by 1.5 %; a range of 0.03 to 0.98 lengthens them by 3 %, and one that starts at 0.12 lets a
rise of 0.05 wait a fifth longer.
"""

_COMMON: Final = (0, 1, -1)
"""Observations whose factors are kept: all that rates and paired differences have."""


@dataclass(frozen=True, slots=True)
class Bets:
    """What each gambler's money is multiplied by, for an observation."""

    line: float
    low: float
    high: float
    stakes: tuple[float, ...]
    """λ of each bet; below 0 for bets on a mean below the line."""
    table: dict[float, tuple[float, ...]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        common = [value for value in _COMMON if self.low <= value <= self.high]
        object.__setattr__(self, "table", {value: self._computed(value) for value in common})

    def _computed(self, observation: float) -> tuple[float, ...]:
        gain = observation - self.line
        return tuple([1 + stake * gain for stake in self.stakes])

    def factors(self, observation: float) -> tuple[float, ...]:
        """Of each bet, above 0.

        Raises:
            ValueError: if the observation is not in [low, high]: then the bets promise nothing.
        """
        factors = self.table.get(observation)
        if factors is None:
            if not self.low <= observation <= self.high:
                raise ValueError(f"observation must lie in [{self.low}, {self.high}], got {observation}")
            factors = self._computed(observation)
        return factors


@lru_cache(maxsize=4096)
def bets_against(line: float, side: Side = "above", low: float = -1.0, high: float = 1.0) -> Bets:
    """Bets against "the mean is at most `line`" (side `above`) or "at least `line`" (`below`).

    Args:
        line: in (low, high).
        side: where the mean is believed to have gone.
        low: smallest observation there can be; the default range is that of paired differences.
        high: largest.

    Raises:
        ValueError: if the line is not inside the range.
    """
    if not low < line < high:
        raise ValueError(f"the line must lie in ({low}, {high}), got {line}")
    largest = 1 / (line - low) if side == "above" else 1 / (line - high)
    return Bets(line, low, high, tuple(share * largest for share in SHARES))
