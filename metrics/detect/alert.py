"""A two-state alert: raised by evidence of an excess, resolved by evidence that it is gone."""

from __future__ import annotations

from dataclasses import dataclass
from math import log10
from typing import Any, Literal

from metrics.detect.e_detector import EDetector, bets_against


@dataclass(frozen=True, slots=True)
class Change:
    """An alert was raised or resolved."""

    kind: Literal["raised", "resolved"]
    run_trials: int
    """Trials since the change seems to have begun (see `Run`)."""
    run_mean: float
    """Mean difference over them, in [−1, 1]."""


@dataclass(frozen=True, slots=True)
class AlertRules:
    """When an alert is raised and resolved."""

    threshold: float
    """Largest mean difference that is tolerated, in (−1, 1)."""
    mean_trials_between_false_alarms: float
    """Evidence at which the alert changes; the mean run to a false alarm is at least this long."""


@dataclass(slots=True)
class Run:
    """The trials since the change began, as far as that can be told.

    The start is the last time when the sum of (difference − threshold), in the direction looked
    for, was at its lowest: the estimate that CUSUM gives. It is chosen in hindsight, so its mean
    errs towards the change: good for explaining an alert to people, not an estimate.
    """

    trials: int = 0
    total: int = 0
    drift: float = 0.0

    @property
    def mean(self) -> float:
        """Mean difference of the run, 0 if it is empty."""
        return self.total / self.trials if self.trials else 0.0

    def update(self, difference: int, drift: float) -> None:
        """Take one trial, whose step towards the change is `drift`."""
        self.drift += drift
        self.trials += 1
        self.total += difference
        if self.drift <= 0:
            self.trials, self.total, self.drift = 0, 0, 0.0


class Alert:
    """Alternates two e-detectors.

    While the alert is down, one looks for a mean difference above the threshold; its alarm raises
    the alert. From then on another, with the signs turned, looks for a mean below the threshold;
    its alarm resolves the alert, and the first starts again from nothing. Either of them, wrongly
    started, takes on average at least the stated number of trials to alarm.
    """

    __slots__ = ("_detector", "_raised_log10", "_run", "rules", "up")

    def __init__(self, rules: AlertRules, *, up: bool = False) -> None:
        self.rules = rules
        self._raised_log10 = 0.0
        self._restart(up=up)

    def _restart(self, *, up: bool, wealth: list[float] | None = None, run: Run | None = None) -> None:
        self.up = up
        threshold = -self.rules.threshold if up else self.rules.threshold
        self._detector = EDetector(bets_against(threshold), wealth)
        self._run = run or Run()

    @property
    def evidence_log10(self) -> float:
        """log10 of the evidence for a mean above the threshold, 0 while there is none.

        While the alert is up this stays at the value that raised it, so it is at or above the alarm
        level exactly while the alert is up.
        """
        return self._raised_log10 if self.up else self._detector.evidence_log10

    @property
    def alarm_log10(self) -> float:
        """log10 of the evidence that raises the alert."""
        return log10(self.rules.mean_trials_between_false_alarms)

    def observe(self, difference: int) -> Change | None:
        """Take one pair's difference (−1, 0 or 1); says whether the alert changed with it."""
        sign = -1 if self.up else 1
        self._run.update(difference, sign * (difference - self.rules.threshold))
        if self._detector.update(sign * difference) < self.rules.mean_trials_between_false_alarms:
            return None
        change = Change("resolved" if self.up else "raised", self._run.trials, self._run.mean)
        self._raised_log10 = 0.0 if self.up else self._detector.evidence_log10
        self._restart(up=not self.up)
        return change

    def to_json(self) -> dict[str, Any]:
        """The state as JSON values; floats survive exactly."""
        return {
            "rules": [self.rules.threshold, self.rules.mean_trials_between_false_alarms],
            "up": self.up,
            "raised_log10": self._raised_log10,
            "wealth": self._detector.wealth,
            "run": [self._run.trials, self._run.total, self._run.drift],
        }

    @classmethod
    def from_json(cls, raw: dict[str, Any], rules: AlertRules) -> Alert:
        """Read what `to_json` wrote.

        Evidence gathered under other rules, or by other bets, says nothing under these: it starts
        from nothing, but an alert that is up stays up until evidence resolves it.
        """
        alert = cls(rules, up=raw["up"])
        alert._raised_log10 = raw["raised_log10"]
        same_rules = raw["rules"] == [rules.threshold, rules.mean_trials_between_false_alarms]
        if same_rules and len(raw["wealth"]) == len(alert._detector.wealth):
            alert._restart(up=raw["up"], wealth=raw["wealth"], run=Run(*raw["run"]))
        elif alert.up:
            alert._raised_log10 = alert.alarm_log10
        return alert
