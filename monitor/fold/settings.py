"""How verdicts become estimates and alerts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from evenkeel.monitor.detect import AlertRules, DriftRules, Limit, Measure

_DETECTORS: Final = 2
"""Of each cell: its alert and its drift."""


@dataclass(frozen=True, slots=True)
class MonitorSettings:
    """How verdicts become estimates and alerts."""

    threshold: float = 0.1
    """Largest paired excess that is tolerated, in (0, 1)."""
    mean_trials_between_false_alarms: float = 10_000
    """Of all cells and both detectors together: false alarms are on average at least so many trials apart."""
    drift_tolerance: float = 0.05
    """Distance of a cell's content delta from its baseline that is tolerated on either side, at least 0."""
    provisional_after: int = 100
    """Trials of a stratum from which on it is compared with its former ones, if no baseline is approved."""
    min_trials: int = 30
    """No estimate is reported from fewer observations. Alerts do not wait for it: their error is
    controlled from the first trial."""
    confidence: float = 0.95
    """With which an interval covers the truth at all times together, in (0, 1)."""
    max_models_per_route: int = 20
    trend_interval_s: float = 10.0
    """Of verdict time, between two trend points of a cell."""

    @property
    def level(self) -> float:
        """Evidence at which a detector alarms.

        Each trial belongs to one cell and is seen by its two detectors. A detector of level L raises one
        false alarm in L of the cell's own trials or more on average, so both raise two in L, and so do all
        cells together in L of all trials, however many cells there are. With L twice the number that is
        stated, a reader who counts every alarm sees one in so many trials at most.
        """
        return _DETECTORS * self.mean_trials_between_false_alarms

    @property
    def rules(self) -> AlertRules:
        """The part of the alert."""
        limits = {
            Measure.CONTENT: Limit(self.threshold, "settings"),
            Measure.SIMILARITY: Limit(0.05),
            Measure.INVALID: Limit(0.1),
        }
        return AlertRules(limits, self.level)

    @property
    def drift(self) -> DriftRules:
        """The part of the detector of drift."""
        return DriftRules(self.drift_tolerance, self.level, self.provisional_after)

    @property
    def alpha(self) -> float:
        """Probability with which an interval may ever miss the truth."""
        return 1 - self.confidence
