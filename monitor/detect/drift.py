"""Drift of a cell's mean from its own baseline, both ways.

A baseline is an estimate. Were the line set at what was estimated, every cell whose true mean lies a
little beyond it would alarm though nothing changed. So the line above is

    max(baseline mean + tolerance, upper end of the baseline's interval)

and the line below likewise. Two things follow, whatever the distribution:

- a mean that moved by less than the tolerance from the figure that was approved raises a false alarm
  at most once in the stated number of trials, on average;
- so does a mean that did not move at all, unless the interval missed it, which has the probability
  that the interval states (also when the moment of approval was chosen by looking at the figures).

This is a confidence bound, not a two-sample test: a test that weighs the baseline's trials against
each run of later ones would have to keep every later trial, while this keeps two e-detectors. The
price is paid where the tolerance is smaller than the interval is wide, so it vanishes with the number
of the baseline's trials.

A baseline never moves by itself. It is approved, or it is made of the first trials there are and says
so (`Baseline.provisional`); a mean that creeps away is therefore found however slowly it goes.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from math import log10
from typing import TYPE_CHECKING, Any, Final, Literal

from evenkeel.monitor.detect.e_detector import Watch
from evenkeel.monitor.estimate.bounded_mean import bounded_mean, paired_excess, proportion

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenkeel.core.cells import Estimate
    from evenkeel.monitor.detect.e_detector import Side


_SCORE_STEPS: Final = 200
"""Scores are gathered on a grid of 0.005, so that any number of them takes 201 counts at most."""


class Observable(StrEnum):
    """What is observed once a trial."""

    RATE = "rate"
    """Whether something happened: 0 or 1."""
    DIFFERENCE = "difference"
    """Of a pair, shifted(variant) − shifted(resend): −1, 0 or 1."""
    SCORE = "score"
    """A similarity or a ratio: any number in [0, 1]."""

    @property
    def low(self) -> float:
        """Smallest observation there can be."""
        return -1.0 if self is Observable.DIFFERENCE else 0.0

    @property
    def high(self) -> float:
        """Largest observation there can be."""
        return 1.0

    def place(self, observation: float) -> float:
        """The observation as it is counted: a score as the nearest of its grid.

        Raises:
            ValueError: if there can be no such observation.
        """
        if not self.low <= observation <= self.high:
            raise ValueError(f"a {self} must lie in [{self.low}, {self.high}], got {observation}")
        if self is Observable.SCORE:
            return round(observation * _SCORE_STEPS) / _SCORE_STEPS
        if observation != int(observation):
            raise ValueError(f"a {self} must be whole, got {observation}")
        return int(observation)


def estimate_of(observable: Observable, counts: Mapping[float, int], *, alpha: float) -> Estimate | None:
    """The mean of what was observed, with its confidence sequence.

    Args:
        observable: what the counts are of.
        counts: how often each value was observed, scores on their grid (`Observable.place`).
        alpha: probability with which the interval may ever miss the truth.

    Returns: an estimate in [low, high]; None without observations. The interval of a score is wider
    by half a step of the grid on each side, the most that rounding can have moved the mean.
    """
    present = {value: count for value, count in counts.items() if count}
    if observable is Observable.DIFFERENCE:
        return paired_excess(present.get(1, 0), present.get(-1, 0), present.get(0, 0), alpha=alpha)
    if observable is Observable.RATE:
        return proportion(present.get(1, 0), sum(present.values()), alpha=alpha)
    # Sorted, so that the sums inside do not depend on which value came first.
    estimate = bounded_mean(dict(sorted(present.items())), alpha=alpha)
    if estimate is None:
        return None
    half_step = 0.5 / _SCORE_STEPS
    return type(estimate)(
        estimate.value, max(0.0, estimate.lower - half_step), min(1.0, estimate.upper + half_step), estimate.n
    )


@dataclass(frozen=True, slots=True)
class Baseline:
    """A mean that was approved, or that stands in until one is."""

    mean: float
    lower: float
    """`lower` to `upper` covers the true mean with the confidence of the estimate it was taken from.
    That must be an interval for any time of looking: baselines are approved when they look good."""
    upper: float
    n: int
    provisional: bool = False
    """Made of the first trials there were, not approved by anybody."""

    @classmethod
    def of(cls, estimate: Estimate, *, provisional: bool = False) -> Baseline:
        """An estimate as a baseline."""
        return cls(estimate.value, estimate.lower, estimate.upper, estimate.n, provisional)

    def to_json(self) -> list[Any]:
        """As JSON values; floats survive exactly."""
        return [self.mean, self.lower, self.upper, self.n, self.provisional]

    @classmethod
    def from_json(cls, raw: list[Any]) -> Baseline:
        """Read what `to_json` wrote."""
        return cls(*raw)


@dataclass(frozen=True, slots=True)
class DriftRules:
    """When a mean counts as moved."""

    tolerance: float
    """Distance from the baseline's mean that is tolerated on either side, at least 0."""
    mean_trials_between_false_alarms: float
    """Evidence at which the alert changes."""
    observable: Observable = Observable.RATE
    provisional_after: int = 500
    """Trials that make the provisional baseline of a cell without an approved one."""
    alpha: float = 0.1
    """Probability with which the interval of a provisional baseline may ever miss the mean. At the one
    moment when the baseline is made it misses far more rarely: `python -m benchmarks.detection` measures
    it."""

    def to_json(self) -> list[Any]:
        """As JSON values."""
        return [
            self.tolerance,
            self.mean_trials_between_false_alarms,
            self.observable.value,
            self.provisional_after,
            self.alpha,
        ]


class DriftState(StrEnum):
    """Where the mean is, as far as the evidence says."""

    UNKNOWN = "unknown"
    """There is no baseline yet."""
    LEVEL = "level"
    RISEN = "risen"
    FALLEN = "fallen"


@dataclass(frozen=True, slots=True)
class DriftChange:
    """The mean left its baseline or came back to it."""

    kind: Literal["risen", "fallen", "recovered"]
    baseline: Baseline
    line: float
    """What the mean crossed."""
    run_trials: int
    """Trials since the change seems to have begun (see `watch.Run`)."""
    run_mean: float
    """Mean observation over them."""


class DriftAlert:
    """Watches both sides of a baseline; after an alarm, the way back.

    While the mean is level, the evidence is the mean of that for a rise and that for a fall: together
    they alarm falsely no oftener than one alone would. While it is risen or fallen, an e-detector
    looks for a mean within the line that was crossed, and its alarm ends the alert.
    """

    __slots__ = ("_counts", "_raised_at", "_watches", "baseline", "rules", "state")

    def __init__(self, rules: DriftRules, baseline: Baseline | None = None) -> None:
        self.rules = rules
        self.baseline: Baseline | None = None
        self.state = DriftState.UNKNOWN
        self._counts: dict[float, int] = {}
        self._raised_at = 0.0
        self._watches: tuple[Watch, ...] = ()
        if baseline is not None:
            self.approve(baseline)

    def approve(self, baseline: Baseline) -> None:
        """Compare with this baseline from now on; an alert against the former one is over."""
        self.baseline = baseline
        self._counts = {}
        self._enter(DriftState.LEVEL)

    def forget(self) -> None:
        """Start over, as after a change that was announced: the next trials make a provisional baseline."""
        self.baseline = None
        self._counts = {}
        self._enter(DriftState.UNKNOWN)

    @property
    def lines(self) -> tuple[float, float]:
        """The lines below and above; one at the end of the range cannot be crossed and is not watched.

        Raises:
            ValueError: if there is no baseline.
        """
        if self.baseline is None:
            raise ValueError("there is no baseline yet")
        baseline, tolerance = self.baseline, self.rules.tolerance
        return (
            max(self.rules.observable.low, min(baseline.mean - tolerance, baseline.lower)),
            min(self.rules.observable.high, max(baseline.mean + tolerance, baseline.upper)),
        )

    def _enter(self, state: DriftState) -> None:
        self.state = state
        self._watches = tuple(self._watch(line, side) for line, side in self._sides())
        if state in {DriftState.LEVEL, DriftState.UNKNOWN}:
            self._raised_at = 0.0

    def _watch(self, line: float, side: Side) -> Watch:
        return Watch(line, side, self.rules.observable.low, self.rules.observable.high)

    def _sides(self) -> list[tuple[float, Side]]:
        if self.state is DriftState.UNKNOWN:
            return []
        below, above = self.lines
        if self.state is DriftState.RISEN:
            return [(above, "below")]
        if self.state is DriftState.FALLEN:
            return [(below, "above")]
        sides: list[tuple[float, Side]] = [(below, "below")] if below > self.rules.observable.low else []
        return [*sides, (above, "above")] if above < self.rules.observable.high else sides

    @property
    def up(self) -> bool:
        """Whether the mean has left the baseline."""
        return self.state in {DriftState.RISEN, DriftState.FALLEN}

    @property
    def evidence(self) -> float:
        """Evidence that the mean has left the baseline; while the alert is up, what it was when raised."""
        return self._raised_at if self.up else self._gathered

    @property
    def evidence_log10(self) -> float:
        """log10 of `evidence`, and 0 while that is below 1."""
        return log10(self.evidence) if self.evidence > 1 else 0.0

    @property
    def alarm_log10(self) -> float:
        """log10 of the evidence that raises the alert."""
        return log10(self.rules.mean_trials_between_false_alarms)

    @property
    def _gathered(self) -> float:
        if not self._watches:
            return 0.0
        return sum(watch.detector.evidence for watch in self._watches) / len(self._watches)

    def observe(self, observation: float) -> DriftChange | None:
        """Take one trial's observation; says whether the alert changed with it.

        Raises:
            ValueError: if there can be no such observation; nothing has changed.
        """
        if self.baseline is None:
            self._gather(observation)
            return None
        evidence = [watch.update(observation) for watch in self._watches]
        if not evidence or sum(evidence) / len(evidence) < self.rules.mean_trials_between_false_alarms:
            return None
        return self._changed()

    def _gather(self, observation: float) -> None:
        place = self.rules.observable.place(observation)
        self._counts[place] = self._counts.get(place, 0) + 1
        if sum(self._counts.values()) < self.rules.provisional_after:
            return
        estimate = estimate_of(self.rules.observable, self._counts, alpha=self.rules.alpha)
        assert estimate is not None
        self.approve(Baseline.of(estimate, provisional=True))

    def raise_now(self) -> DriftChange | None:
        """Raise the alert with the evidence it has: `Family` says when that is enough.

        Returns: None if the alert is up already, or there is nothing to raise it with.
        """
        return None if self.up or not self._watches else self._changed()

    def _changed(self) -> DriftChange:
        assert self.baseline is not None
        # Both sides can only be equal while neither has any evidence.
        watch = max(self._watches, key=lambda one: one.detector.evidence)
        kind: Literal["risen", "fallen", "recovered"] = "recovered"
        if not self.up:
            kind = "risen" if watch.side == "above" else "fallen"
        change = DriftChange(kind, self.baseline, watch.detector.bets.line, watch.run.trials, watch.run.mean)
        raised_at = self._gathered
        self._enter({"risen": DriftState.RISEN, "fallen": DriftState.FALLEN}.get(kind, DriftState.LEVEL))
        if self.up:
            self._raised_at = raised_at
        return change

    def to_json(self) -> dict[str, Any]:
        """The state as JSON values; floats survive exactly."""
        return {
            "rules": self.rules.to_json(),
            "state": self.state.value,
            "baseline": self.baseline.to_json() if self.baseline else None,
            "counts": sorted([value, count] for value, count in self._counts.items()),
            "raised_at": self._raised_at,
            "watches": [watch.to_json() for watch in self._watches],
        }

    @classmethod
    def from_json(cls, raw: dict[str, Any], rules: DriftRules) -> DriftAlert:
        """Read what `to_json` wrote.

        A baseline and an alert that is up outlive other rules, evidence does not. Observations of
        another kind say nothing at all: everything starts from nothing.
        """
        alert = cls(rules)
        same_rules = raw["rules"] == rules.to_json()
        if raw["rules"][2] != rules.observable:
            return alert
        alert._counts = dict(raw["counts"])
        alert.baseline = Baseline.from_json(raw["baseline"]) if raw["baseline"] else None
        alert._enter(DriftState(raw["state"]))
        alert._raised_at = raw["raised_at"]
        if same_rules:
            for watch, state in zip(alert._watches, raw["watches"], strict=True):
                watch.resume(state)
        elif alert.up:
            alert._raised_at = rules.mean_trials_between_false_alarms
        return alert
