"""How verdicts become estimates and alerts."""

from __future__ import annotations

from dataclasses import dataclass

from evenkeel.monitor.detect import AlertRules, DriftRules


@dataclass(frozen=True, slots=True)
class MonitorSettings:
    """How verdicts become estimates and alerts."""

    threshold: float = 0.1
    """Largest paired excess that is tolerated, in (0, 1)."""
    mean_trials_between_false_alarms: float = 10_000
    """Of all cells together: false alarms are on average at least so many trials apart (see
    `evenkeel.monitor.detect.family`; a trial that both detectors of its cell look at counts twice)."""
    drift_tolerance: float = 0.05
    """Distance of a cell's content delta from its baseline that is tolerated on either side, at least 0."""
    provisional_after: int = 500
    """Trials since the last change that make a cell's baseline until one is approved."""
    min_trials: int = 30
    """No estimate is reported from fewer observations. Alerts do not wait for it: their error is
    controlled from the first trial."""
    confidence: float = 0.95
    """With which an interval covers the truth at all times together, in (0, 1)."""
    max_models_per_route: int = 20
    trend_interval_s: float = 10.0
    """Of verdict time, between two trend points of a cell."""

    @property
    def rules(self) -> AlertRules:
        """The detector's part."""
        return AlertRules(self.threshold, self.mean_trials_between_false_alarms)

    @property
    def drift(self) -> DriftRules:
        """The part of the detector of drift."""
        return DriftRules(
            self.drift_tolerance,
            self.mean_trials_between_false_alarms,
            provisional_after=self.provisional_after,
        )

    @property
    def alpha(self) -> float:
        """Probability with which an interval may ever miss the truth."""
        return 1 - self.confidence
