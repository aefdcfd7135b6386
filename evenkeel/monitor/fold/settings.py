"""Settings that control how verdicts become estimates and alerts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from evenkeel.monitor.detect import AlertRules, DriftRules, Limit, Measure

if TYPE_CHECKING:
    from collections.abc import Mapping

_THRESHOLD: Final = 0.1
_TOLERANCE: Final = 0.05
# Largest limit of a group, unless a single rewording has a larger one: beyond it no bet could win.
_LARGEST_TOGETHER: Final = 0.99
SEGMENT_MARGIN: Final = 0.2
"""Points by which a client, prompt version, task or language may be above the cell's limit, as a share."""
# Number of detectors in each cell: its alert and its drift.
_DETECTORS: Final = 2


@dataclass(frozen=True, slots=True)
class MonitorSettings:
    """Settings that control how verdicts become estimates and alerts."""

    threshold: float = _THRESHOLD
    """Largest paired excess that is tolerated, in (0, 1)."""
    mean_trials_between_false_alarms: float = 10_000
    """Average number of trials between false alarms, at least, over all cells and both detectors together, if
    blocks of forty consecutive exchanges are exchangeable."""
    drift_tolerance: float = _TOLERANCE
    """Distance of a cell's content delta from its baseline that is tolerated on either side, at least 0."""
    provisional_after: int = 100
    """Trials of a stratum after which it is compared with its earlier ones if no baseline is approved."""
    min_trials: int = 30
    """Observations below which no estimate is reported. Alerts do not wait for them: their error is
    controlled from the first trial."""
    confidence: float = 0.95
    """Probability with which an interval covers the truth at all times together, in (0, 1)."""
    max_models_per_route: int = 20
    trend_interval_s: float = 10.0
    """Seconds of verdict time between two trend points of a cell."""
    reference_level: float = 76_320.0
    """Evidence at which reference prompts show a change: see
    `evenkeel.monitor.detect.references.alarm_level`."""
    limits: Mapping[str, Mapping[Measure, Limit]] = field(default_factory=dict)
    """Limits of the alert by route, in place of the defaults; "" = all routes without limits of their own."""
    tolerances: Mapping[str, Limit] = field(default_factory=dict)
    """Tolerances by route, in place of `drift_tolerance`; "" = all routes without one of their own."""

    @property
    def level(self) -> float:
        """Evidence at which a detector alarms.

        A detector of level L raises at most one false alarm in L trials of its cell on average. A cell has
        two detectors, and each trial belongs to one cell, so all cells together raise at most two in L
        trials, however many cells there are. L is therefore twice `mean_trials_between_false_alarms`.
        """
        return _DETECTORS * self.mean_trials_between_false_alarms

    def limits_of(self, route: str, together: int = 1) -> dict[Measure, Limit]:
        """Return the limits of a route's alerts, each with where it comes from.

        Args:
            route: Its name.
            together: Number k of the rewordings of one trial. Its limit is 1 − (1 − limit)^k: that is what k
                independent rewordings, each at its own limit, add up to.
        """
        usual = {
            Measure.CONTENT: Limit(self.threshold, _source(self.threshold, _THRESHOLD)),
            Measure.SIMILARITY: Limit(0.05),
            Measure.QUALITY: Limit(0.1),
            Measure.INVALID: Limit(0.1),
        }
        limits = {**usual, **self.limits.get("", {}), **self.limits.get(route, {})}
        content = limits[Measure.CONTENT]
        limits[Measure.SEGMENT] = Limit(
            round(min(content.value + SEGMENT_MARGIN, _LARGEST_TOGETHER), 6), content.source
        )
        return (
            limits
            if together == 1
            else {measure: _together(limit, together) for measure, limit in limits.items()}
        )

    def tolerance_of(self, route: str) -> Limit:
        """Return the drift tolerance of a route, with its source."""
        usual = Limit(self.drift_tolerance, _source(self.drift_tolerance, _TOLERANCE))
        return self.tolerances.get(route) or self.tolerances.get("") or usual

    def rules(self, route: str, together: int = 1) -> AlertRules:
        """Return the rules of a route's alerts, for trials with the given number of combined rewordings."""
        return AlertRules(self.limits_of(route, together), self.level)

    def drift(self, route: str) -> DriftRules:
        """Return the rules of a route's drift detectors."""
        return DriftRules(self.tolerance_of(route).value, self.level, self.provisional_after)

    @property
    def alpha(self) -> float:
        """Probability with which an interval may ever miss the truth."""
        return 1 - self.confidence


def _together(limit: Limit, count: int) -> Limit:
    if limit.value <= 0:
        return limit
    largest = max(limit.value, _LARGEST_TOGETHER)
    value = min(largest, 1 - (1 - limit.value) ** count)
    return Limit(value, f"{limit.source} for {count} together")


def _source(value: float, usual: float) -> str:
    return "default" if value == usual else "settings"
