"""The mixture Shiryaev–Roberts e-detector for a bounded mean.

One gambler enters at every trial for each of several bets (`evenkeel.monitor.detect.bets`), with a stake that
makes all who enter at one trial worth 1 together. While the mean is on the harmless side of the line
nobody's money grows on average, so the money of all, the *evidence*, minus the number of trials is a
supermartingale. An alarm at evidence c therefore comes after c trials or more on average, whatever
the distribution, and if the evidence starts again from nothing at every alarm, n trials hold at most
n/c alarms on average. Neither a rate nor the size of the change has to be known.

Source: Shin, Ramdas, Rinaldo 2022, "E-detectors: a nonparametric framework for sequential change
detection".
"""

from __future__ import annotations

from math import log10
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evenkeel.monitor.detect.bets import Bets


class EDetector:
    """Evidence that the mean has gone beyond the line of its bets.

    The whole state is the money on each bet, as many floats as there are bets. Evidence only grows
    beyond the alarm level if the caller goes on after the alarm; a caller that stops there keeps
    every number finite for any number of trials.
    """

    __slots__ = ("bets", "evidence", "wealth")

    def __init__(self, bets: Bets, wealth: list[float] | None = None) -> None:
        self.bets = bets
        self.wealth = [0.0] * len(bets.stakes) if wealth is None else wealth
        """Money of all gamblers with the same bet, times the weight of that bet (all weigh the same)."""
        self.evidence = sum(self.wealth)

    def update(self, observation: float) -> float:
        """Take one observation; returns the evidence after it.

        Raises:
            ValueError: if the observation is out of the range of the bets.
        """
        # A list beats numpy here: 0.5 µs against 1.4 µs for 8 bets.
        entering = 1 / len(self.wealth)
        factors = self.bets.factors(observation)
        self.wealth = [
            (entering + wealth) * factor for wealth, factor in zip(self.wealth, factors, strict=True)
        ]
        self.evidence = sum(self.wealth)
        return self.evidence

    @property
    def evidence_log10(self) -> float:
        """log10 of the evidence, and 0 while it is below 1: there it says nothing."""
        return log10(self.evidence) if self.evidence > 1 else 0.0
