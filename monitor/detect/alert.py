"""A two-state alert: raised by evidence of an excess, resolved by evidence that it is gone."""

from __future__ import annotations

from dataclasses import dataclass
from math import log10
from typing import TYPE_CHECKING, Any

from evenkeel.monitor.detect.e_detector import Change, Watch

if TYPE_CHECKING:
    from evenkeel.monitor.detect.e_detector import Side


@dataclass(frozen=True, slots=True)
class AlertRules:
    """When an alert is raised and resolved.

    The defaults of the range and the side are those of paired differences; scores in [0, 1] that
    must not fall take 0, 1 and `below`.
    """

    threshold: float
    """The line: the largest mean that is tolerated (the smallest, if the side is `below`), in (low, high)."""
    mean_trials_between_false_alarms: float
    """Evidence at which the alert changes; the mean run to a false alarm is at least this long."""
    low: float = -1.0
    high: float = 1.0
    side: Side = "above"
    """Of the line: the one that is not tolerated."""

    def to_json(self) -> list[Any]:
        """As JSON values."""
        return [self.threshold, self.mean_trials_between_false_alarms, self.low, self.high, self.side]


class Alert:
    """Alternates two e-detectors.

    While the alert is down, one looks for a mean beyond the threshold; its alarm raises the alert.
    From then on another looks for a mean on the tolerated side; its alarm resolves the alert, and
    the first starts again from nothing. Either of them, wrongly started, takes on average at least
    the stated number of trials to alarm, which is also what keeps an alert from flapping.
    """

    __slots__ = ("_raised_at", "_watch", "rules", "up")

    def __init__(self, rules: AlertRules, *, up: bool = False) -> None:
        self.rules = rules
        self._raised_at = 0.0
        self._restart(up=up)

    def _restart(self, *, up: bool) -> None:
        self.up = up
        side: Side = "below" if up == (self.rules.side == "above") else "above"
        self._watch = Watch(self.rules.threshold, side, self.rules.low, self.rules.high)

    @property
    def evidence(self) -> float:
        """Evidence for a mean beyond the threshold; while the alert is up, what it was when raised."""
        return self._raised_at if self.up else self._watch.detector.evidence

    @property
    def evidence_log10(self) -> float:
        """log10 of `evidence`, and 0 while that is below 1.

        At or above the alarm level exactly while the alert is up; only an alert that was raised
        together with others (`raise_now`) may be up with less.
        """
        return log10(self.evidence) if self.evidence > 1 else 0.0

    @property
    def alarm_log10(self) -> float:
        """log10 of the evidence that raises the alert."""
        return log10(self.rules.mean_trials_between_false_alarms)

    def observe(self, observation: float) -> Change | None:
        """Take one observation (for pairs −1, 0 or 1); says whether the alert changed with it.

        Raises:
            ValueError: if the observation is out of the range of the rules; nothing has changed.
        """
        if self._watch.update(observation) < self.rules.mean_trials_between_false_alarms:
            return None
        return self._changed()

    def raise_now(self) -> Change | None:
        """Raise the alert with the evidence it has: `Family` says when that is enough.

        Returns: None if the alert is up already.
        """
        return None if self.up else self._changed()

    def _changed(self) -> Change:
        change = Change("resolved" if self.up else "raised", self._watch.run.trials, self._watch.run.mean)
        self._raised_at = 0.0 if self.up else self._watch.detector.evidence
        self._restart(up=not self.up)
        return change

    def to_json(self) -> dict[str, Any]:
        """The state as JSON values; floats survive exactly."""
        return {
            "rules": self.rules.to_json(),
            "up": self.up,
            "raised_at": self._raised_at,
            "watch": self._watch.to_json(),
        }

    @classmethod
    def from_json(cls, raw: dict[str, Any], rules: AlertRules) -> Alert:
        """Read what `to_json` wrote.

        Evidence gathered under other rules says nothing under these: it starts from nothing, but an
        alert that is up stays up until evidence resolves it.
        """
        alert = cls(rules, up=raw["up"])
        alert._raised_at = raw["raised_at"]
        if raw["rules"] == rules.to_json():
            alert._watch.resume(raw["watch"])
        elif alert.up:
            alert._raised_at = rules.mean_trials_between_false_alarms
        return alert
