"""One side watched: the evidence that the mean has gone there, and since when."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Self

from evenkeel.monitor.detect.bets import bets_against
from evenkeel.monitor.detect.e_detector import EDetector

if TYPE_CHECKING:
    from evenkeel.monitor.detect.bets import Side


@dataclass(frozen=True, slots=True)
class Change:
    """An alert was raised or resolved."""

    kind: Literal["raised", "resolved"]
    run_trials: int
    """Trials since the change seems to have begun (see `Run`)."""
    run_mean: float
    """Mean observation over them, in the range of the observations."""


@dataclass(slots=True)
class Run:
    """The trials since the change began, as far as that can be told.

    The start is the last time when the sum of (observation − line), in the direction looked for,
    was at its lowest: the estimate that CUSUM gives. It is chosen in hindsight, so its mean errs
    towards the change: good for explaining an alert to people, not an estimate.
    """

    trials: int = 0
    total: float = 0
    drift: float = 0.0

    @property
    def mean(self) -> float:
        """Mean observation of the run, 0 if it is empty."""
        return self.total / self.trials if self.trials else 0.0

    def update(self, observation: float, drift: float) -> None:
        """Take one trial, whose step towards the change is `drift`."""
        self.drift += drift
        self.trials += 1
        self.total += observation
        if self.drift <= 0:
            self.trials, self.total, self.drift = 0, 0, 0.0


class Watch:
    """An e-detector of one side of a line, and the run of trials on that side."""

    __slots__ = ("detector", "run", "side")

    def __init__(self, line: float, side: Side, low: float, high: float) -> None:
        self.side = side
        self.detector = EDetector(bets_against(line, side, low, high))
        self.run = Run()

    def update(self, observation: float) -> None:
        """Take one observation.

        Raises:
            ValueError: if it is out of the range; the watch is then as it was.
        """
        self.detector.update(observation)
        above = observation - self.detector.bets.line
        self.run.update(observation, above if self.side == "above" else -above)

    def to_json(self) -> list[Any]:
        """The state as JSON values; floats survive exactly."""
        return [self.detector.wealth, [self.run.trials, self.run.total, self.run.drift]]

    def resume(self, raw: list[Any]) -> Self:
        """Go on from what `to_json` wrote for the same line, unless the number of bets differs."""
        wealth, run = raw
        if len(wealth) == len(self.detector.wealth):
            self.detector = EDetector(self.detector.bets, wealth)
            self.run = Run(*run)
        return self
