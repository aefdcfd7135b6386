"""State of one cell of the monitor: counts, detectors, and its report.

The report compares the cell's own figures with those of its control and of its judge.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct, field

from evenkeel.core.cells import (
    CellCounts,
    CellKey,
    CellReport,
    Detection,
    DriftReport,
    SegmentReport,
    WindowEstimates,
    is_unrated,
)
from evenkeel.core.together import together_count
from evenkeel.core.verdict import Scorer  # noqa: TC001 - msgspec reads the annotations
from evenkeel.monitor.detect import Alert, DriftAlert, Measure, blind_measures
from evenkeel.monitor.estimate import (
    Counts,
    ToolCounts,
    weight_of,
    weight_sign,
    weighted_mean,
)
from evenkeel.monitor.fold.measures import observations, segments_of

if TYPE_CHECKING:
    from evenkeel.core.cells import CellEstimates, Estimate, JudgeEstimates, Limit
    from evenkeel.core.verdict import Verdict
    from evenkeel.monitor.detect import AlertChange, AlertRules
    from evenkeel.monitor.estimate import RatedOutcome
    from evenkeel.monitor.fold.settings import MonitorSettings


class ReportContext(NamedTuple):
    """Part of a cell's report that other cells know."""

    era: int
    """Number of the route's changes."""
    noise_floor: Estimate | None
    """Content delta of the identical resend."""
    judge: JudgeEstimates
    """Judge of the cell's route and model."""
    retired: bool
    """True if its model does not answer any more."""


class Cell(Struct, dict=True, eq=False):
    """Cell with its counts, detectors and cached estimates."""

    key: CellKey
    alert: Alert | None
    """Alert on the measures; None for the identical resend, with which the others are compared."""
    drift: DriftAlert
    """Detector of drift in the share of shifted answers; the identical resend has one, too."""
    counts: Counts = field(default_factory=Counts)
    era: int = 0
    """Number of the route's changes before the latest trial."""
    since: dict[str, int] = field(default_factory=dict)
    """Trials since the last of these changes, by the word of their outcome."""
    since_failures: dict[str, int] = field(default_factory=dict)
    """Failed trials since then, by reason."""
    tools: ToolCounts = field(default_factory=ToolCounts)
    """Changes in tool calls since then."""
    scorer: Scorer = "metrics"
    scored_at: float | None = None
    trend_at: float | None = None
    revision: int = 0

    def __post_init__(self) -> None:
        self.changed = True
        """True if it changed since the last checkpoint."""
        self._estimates: CellEstimates | None = None
        # Last report, kept as long as nothing in it changes.
        self._shown: CellReport | None = None
        self._shown_beside: ReportContext | None = None

    def add(self, verdict: Verdict, outcome: RatedOutcome | str, era: int) -> AlertChange | None:
        """Count a verdict, and pass it to the alert; return the change of the alert, if any."""
        weight = 1.0 if isinstance(outcome, str) else verdict.weight
        effect = self.counts.effects.bets
        self.counts.count(outcome, verdict, weight)
        self._estimates = None
        self.touch()
        if era != self.era:
            self.era, self.since, self.since_failures, self.tools = era, {}, {}, ToolCounts()
        if isinstance(outcome, str):
            self.since_failures[outcome] = self.since_failures.get(outcome, 0) + 1
            unrated = verdict.is_answered and is_unrated(outcome) and not verdict.selection.split_of
            if self.alert is not None and unrated:
                self.alert.observe_unrated(effect)
            return None
        self.tools.add(verdict)
        self.scorer = verdict.scoring.scorer
        # The latest in the log, not the largest: one clock that ran ahead must not hide that
        # scoring has stopped.
        self.scored_at = verdict.scored_at
        word = outcome.letter + weight_sign(weight)
        self.since[word] = self.since.get(word, 0) + 1
        # It was tried because its group had moved: no bet on it would be fair.
        if verdict.selection.split_of:
            return None
        change = None
        if self.alert is not None:
            stake = weight_of(weight_sign(verdict.selection.exchange_weight))
            observed = observations(verdict, outcome)
            change = self.alert.observe(observed, segments_of(verdict), stake, effect)
        return change

    def touch(self) -> None:
        """Mark the cell as changed by something other than one of its verdicts."""
        self.revision += 1
        self.changed = True

    def leave_drift(self) -> bool:
        """End a drift alert because its traffic is gone; return whether there was one."""
        if not self.drift.up:
            return False
        self.drift.close()
        self.touch()
        return True

    @property
    def up(self) -> bool:
        """True if any of its alerts is up."""
        return self.drift.up or (self.alert is not None and self.alert.up)

    def leave_alert(self) -> bool:
        """End an alert because its traffic is gone; return whether there was one."""
        if self.alert is None or not self.alert.up:
            return False
        self.touch()
        return self.alert.restart()

    def drift_report(self) -> DriftReport | None:
        """Return the cell's position relative to its baseline; None while there is none."""
        baseline = self.drift.baseline
        if baseline is None:
            return None
        tolerance = self.drift.rules.tolerance
        return DriftReport(
            state=self.drift.state,
            baseline=baseline.mean,
            trials=baseline.n,
            provisional=baseline.provisional,
            lower=max(0.0, baseline.mean - tolerance),
            upper=min(1.0, baseline.mean + tolerance),
            evidence_log10=self.drift.evidence_log10,
        )

    def estimates(self, settings: MonitorSettings) -> CellEstimates:
        """Return the cell's estimates, computed once for each change of the counts."""
        if self._estimates is None:
            self._estimates = self.counts.estimates(alpha=settings.alpha, min_trials=settings.min_trials)
        return self._estimates

    def since_change(self, era: int) -> Counts:
        """Return the counts since the last change of the route, the `era`-th."""
        if era != self.era:
            return Counts(effect=self.counts.effect)
        return Counts(dict(self.since), failures=dict(self.since_failures), effect=self.counts.effect)

    def above_noise(self, counts: Counts, settings: MonitorSettings) -> Estimate | None:
        """Return the points above noise of some of the cell's trials, as a share; None for the control."""
        if self.alert is None:
            return None
        least = max(settings.min_trials, 1)
        return counts.excess(alpha=settings.alpha, min_trials=least, shown=self.shown_limit)

    @property
    def shown_limit(self) -> float | None:
        """Limit that the alert shows answers to be over; None unless an alert on content is up."""
        if self.alert is None or Measure.CONTENT not in self.alert.over:
            return None
        return self.alert.rules.limits[Measure.CONTENT].value

    def estimates_since_change(self, settings: MonitorSettings, era: int) -> WindowEstimates:
        """Return the estimates since the last change of the route, the `era`-th."""
        counts, alpha, min_trials = self.since_change(era), settings.alpha, settings.min_trials
        if counts.trials < max(min_trials, 1):
            return WindowEstimates(counts.trials, None, None, None)
        return WindowEstimates(
            trials=counts.trials,
            content_delta=counts.content_delta(alpha=alpha, min_trials=min_trials),
            robustness=counts.robustness(alpha=alpha, min_trials=min_trials),
            excess=self.above_noise(counts, settings),
        )

    def segment_report(self, settings: MonitorSettings) -> SegmentReport | None:
        """Return the segment that is over its limit, else the one that moves most."""
        alert = self.alert
        if alert is None:
            return None
        worst: SegmentReport | None = None
        for name, segment in alert.segments.named():
            if alert.segment not in {None, name} or segment.trials > alert.segments.trials / 2:
                continue
            differences = {}
            for value, count in segment.differences.items():
                differences[value, 1.0] = count
            excess = weighted_mean(
                differences,
                low=-1.0,
                alpha=settings.alpha,
                min_observations=settings.min_trials,
                effect=self.counts.effect,
            )
            if excess is not None and (worst is None or excess.value > worst.excess.value):
                over = alert.segment == name
                worst = SegmentReport(name.dimension, name.value, segment.trials, excess, over)
        return worst

    def report(self, settings: MonitorSettings, beside: ReportContext) -> CellReport:
        """Return the report; the same object as last time if nothing in it has changed."""
        shown, alert = self._shown, self.alert
        if shown is not None and shown.revision == self.revision and self._shown_beside == beside:
            return shown
        estimates = self.estimates(settings)
        self._shown_beside = beside
        self._shown = CellReport(
            key=self.key,
            scorer=self.scorer,
            counts=CellCounts(
                trials=self.counts.trials,
                effective=round(self.counts.trials / self.counts.effect),
                effect_shown=self.counts.effects.shown,
                failures=dict(self.counts.failures),
                ratings=self.counts.ratings,
                qualities=self.counts.qualities,
                pairs=self.counts.pairs if alert else {},
                invalids=dict(self.counts.invalid),
            ),
            last_scored_at=self.scored_at,
            retired=beside.retired,
            estimates=replace(
                estimates,
                excess=estimates.excess if alert else None,
                loss=estimates.loss if alert else None,
            ),
            since_change=self.estimates_since_change(settings, beside.era),
            noise_floor=beside.noise_floor,
            judge=beside.judge,
            detection=self._detection(settings, beside.noise_floor, estimates),
            tools=self.tools.report(),
            clients=alert.segments.shares("client") if alert else {},
            segment=self.segment_report(settings),
            revision=self.revision,
        )
        return self._shown

    def _detection(
        self, settings: MonitorSettings, noise_floor: Estimate | None, estimates: CellEstimates
    ) -> Detection:
        limits = _limits(settings, self.key)
        drift, suspicion, alert = self.drift_report(), self.drift.suspicion, self.alert
        if alert is None:
            return Detection(limits=limits, drift=drift, suspicion=suspicion)
        return Detection(
            alert=alert.up,
            over=tuple(measure.value for measure in alert.over),
            evidence_log10=alert.evidence_log10,
            alarm_log10=alert.alarm_log10,
            threshold=alert.rules.limits[Measure.CONTENT].value,
            limits=limits,
            blind=_blind(alert.rules, noise_floor, estimates),
            drift=drift,
            suspicion=suspicion,
        )


def _limits(settings: MonitorSettings, key: CellKey) -> dict[str, Limit]:
    usual_limits = settings.limits_of(key.route, together_count(key.perturbation))
    limits = {}
    for measure, limit in usual_limits.items():
        limits[measure.value] = limit
    return limits | {"drift": settings.tolerance_of(key.route)}


def _blind(rules: AlertRules, noise_floor: Estimate | None, estimates: CellEstimates) -> tuple[str, ...]:
    control = estimates.control_similarity
    blind = blind_measures(
        rules,
        floor_rate=noise_floor.value if noise_floor else None,
        control_similarity=control.value if control else None,
    )
    return tuple(sorted(measure.value for measure in blind))
