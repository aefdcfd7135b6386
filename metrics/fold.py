"""The monitor's state: a fold over the verdict log, pure but for being updated in place.

The state after a verdict depends on the verdicts up to it and on nothing else (no clock, no
order of steps, no restart), which is what makes a checkpoint and an offset enough to resume.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from metrics.cells import CellKey, CellReport
from metrics.detect import Alert, AlertRules
from metrics.estimate import Counts
from metrics.noise import Judges
from metrics.stores.protocols import AlertEvent, TrendPoint
from metrics.verdict import BASELINE

if TYPE_CHECKING:
    from metrics.cells import Estimate
    from metrics.detect import Change
    from metrics.estimate import CellEstimates
    from metrics.stores.protocols import LoggedVerdict
    from metrics.verdict import Scorer, Verdict

_VERSION = 2

OTHER_MODEL = "other"
"""Models beyond the limit of a route share this name: clients choose model names, and every name
would be a new series."""


class CheckpointError(Exception):
    """A checkpoint cannot be read. The state can always be folded again from the log."""


@dataclass(frozen=True, slots=True)
class MonitorSettings:
    """How verdicts become estimates and alerts."""

    threshold: float = 0.1
    """Largest paired excess that is tolerated, in (0, 1)."""
    mean_trials_between_false_alarms: float = 10_000
    """Of each cell: false alarms of a cell are on average at least so many of its pairs apart."""
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


class TrendRow(NamedTuple):
    """A trend point and its cell, as `MonitorStore.commit` takes it."""

    route: str
    model: str
    perturbation: str
    point: TrendPoint


class Applied(NamedTuple):
    """What one verdict gave rise to."""

    events: list[AlertEvent]
    trend: list[TrendRow]


class _Cell:
    """Counts, detector and cached estimates of one cell."""

    __slots__ = ("_encoded", "_estimates", "alert", "counts", "key", "scored_at", "scorer", "trend_at")

    def __init__(self, key: CellKey, counts: Counts, alert: Alert | None) -> None:
        self.key = key
        self.counts = counts
        self.alert = alert
        """None for the baseline: it is what the others are compared with."""
        self.scorer: Scorer = "metrics"
        self.scored_at: float | None = None
        self.trend_at: float | None = None
        self._estimates: CellEstimates | None = None
        self._encoded: str | None = None

    def add(self, verdict: Verdict) -> Change | None:
        """Count a verdict and show its pair to the detector."""
        difference = self.counts.add(verdict)
        self._estimates = self._encoded = None
        if verdict.rating is not None:
            self.scorer = verdict.scorer
            # The latest in the log, not the largest: one clock that ran ahead must not hide that
            # scoring has stopped.
            self.scored_at = verdict.scored_at
        return self.alert.observe(difference) if self.alert and difference is not None else None

    def estimates(self, settings: MonitorSettings) -> CellEstimates:
        """The cell's estimates, computed once for each change of the counts."""
        if self._estimates is None:
            self._estimates = self.counts.estimates(
                alpha=1 - settings.confidence, min_trials=settings.min_trials
            )
        return self._estimates

    def is_trend_due(self, at: float, interval_s: float) -> bool:
        """Whether the last point is an interval away in either direction: clocks jump both ways."""
        return self.trend_at is None or abs(at - self.trend_at) >= interval_s

    def mark_trend(self, at: float) -> None:
        """Remember that a point was made."""
        self.trend_at = at
        self._encoded = None

    def encode(self) -> str:
        """The cell as JSON, encoded once for each verdict of its own, not for each checkpoint."""
        if self._encoded is None:
            self._encoded = _json(self._to_json())
        return self._encoded

    def _to_json(self) -> dict[str, Any]:
        return {
            "key": [self.key.route, self.key.model, self.key.perturbation],
            "counts": self.counts.to_json(),
            "alert": self.alert.to_json() if self.alert else None,
            "scorer": self.scorer,
            "scored_at": self.scored_at,
            "trend_at": self.trend_at,
        }

    @classmethod
    def from_json(cls, raw: dict[str, Any], rules: AlertRules) -> _Cell:
        alert = Alert.from_json(raw["alert"], rules) if raw["alert"] else None
        cell = cls(CellKey(*raw["key"]), Counts.from_json(raw["counts"]), alert)
        cell.scorer, cell.scored_at, cell.trend_at = raw["scorer"], raw["scored_at"], raw["trend_at"]
        return cell


class MonitorState:
    """Everything known about every cell, as of `offset` in the verdict log."""

    def __init__(self, settings: MonitorSettings) -> None:
        self.settings = settings
        self.offset = 0
        """Place of the last verdict that is counted."""
        self.folded_models: dict[str, int] = {}
        """By route: verdicts whose model was beyond the limit, counted under `OTHER_MODEL`."""
        self._models: dict[str, list[str]] = {}
        self._cells: dict[CellKey, _Cell] = {}
        self._judges = Judges()

    def apply(self, logged: LoggedVerdict) -> Applied:
        """Count one verdict; one at or before `offset` is counted already and changes nothing.

        Returns: the alert events and trend points it gave rise to, mostly none.
        """
        if logged.offset <= self.offset:
            return Applied([], [])
        self.offset = logged.offset
        verdict = logged.verdict
        cell = self._cell(verdict)
        self._judges.add(cell.key.route, cell.key.model, verdict)
        change = cell.add(verdict)
        events = [_event(cell, change, logged, self.settings)] if change else []
        trend = []
        if change or (
            verdict.rating is not None
            and cell.is_trend_due(verdict.scored_at, self.settings.trend_interval_s)
        ):
            cell.mark_trend(verdict.scored_at)
            trend = [TrendRow(*_parts(cell.key), _trend_point(cell, verdict.scored_at, self.settings))]
        return Applied(events, trend)

    def _cell(self, verdict: Verdict) -> _Cell:
        models = self._models.setdefault(verdict.route, [])
        model = verdict.model
        if model not in models:
            if len(models) < self.settings.max_models_per_route:
                models.append(model)
            else:
                model = OTHER_MODEL
                self.folded_models[verdict.route] = self.folded_models.get(verdict.route, 0) + 1
        key = CellKey(verdict.route, model, verdict.perturbation)
        cell = self._cells.get(key)
        if cell is None:
            alert = None if verdict.perturbation == BASELINE else Alert(self.settings.rules)
            cell = self._cells[key] = _Cell(key, Counts(), alert)
        return cell

    def reports(self) -> list[CellReport]:
        """Every cell's report, sorted by route, model and perturbation."""
        return [self._report(self._cells[key]) for key in sorted(self._cells, key=_parts)]

    def _report(self, cell: _Cell) -> CellReport:
        baseline = self._cells.get(CellKey(cell.key.route, cell.key.model, BASELINE))
        estimates = cell.estimates(self.settings)
        alert = cell.alert
        judged = self._judges.estimates(
            cell.key.route,
            cell.key.model,
            alpha=1 - self.settings.confidence,
            min_trials=self.settings.min_trials,
        )
        return CellReport(
            key=cell.key,
            scorer=cell.scorer,
            trials=cell.counts.trials,
            failures=dict(cell.counts.failures),
            ratings={int(rating): count for rating, count in cell.counts.rated.items()},
            last_scored_at=cell.scored_at,
            content_delta=estimates.content_delta,
            quality_delta=estimates.quality_delta,
            quality_worse=estimates.quality_worse,
            quality_better=estimates.quality_better,
            robustness=estimates.robustness,
            noise_floor=baseline.estimates(self.settings).content_delta if baseline else None,
            excess=estimates.excess if alert else None,
            evidence_log10=alert.evidence_log10 if alert else 0.0,
            alarm_log10=alert.alarm_log10 if alert else 0.0,
            threshold=self.settings.threshold if alert else 0.0,
            alert=alert.up if alert else False,
            judge_noise=judged.noise,
            swap_consistency=judged.swap_consistency,
            cascade_agreement=judged.agreement,
            decided=judged.decided,
        )

    def to_bytes(self) -> bytes:
        """A checkpoint: `from_bytes` gives a state that is equal and goes on equally."""
        head = _json(
            {
                "version": _VERSION,
                "offset": self.offset,
                "models": self._models,
                "folded_models": self.folded_models,
            }
        )
        cells = ",".join(cell.encode() for cell in self._cells.values())
        return f'{head[:-1]},"judges":{self._judges.encode()},"cells":[{cells}]}}'.encode()

    @classmethod
    def from_bytes(cls, data: bytes, settings: MonitorSettings) -> MonitorState:
        """Read a checkpoint.

        Counts are kept whatever the settings; evidence gathered under another threshold or run
        length starts again from nothing, while alerts that are up stay up until resolved.

        Raises:
            CheckpointError: if the data are not a checkpoint of this version.
        """
        try:
            raw = json.loads(data)
            if raw["version"] != _VERSION:
                raise CheckpointError(f"checkpoint has version {raw['version']}, expected {_VERSION}")
            state = cls(settings)
            state.offset = raw["offset"]
            state._models = raw["models"]
            state.folded_models = raw["folded_models"]
            for raw_cell in raw["cells"]:
                cell = _Cell.from_json(raw_cell, settings.rules)
                state._cells[cell.key] = cell
            state._judges = Judges.from_json(raw["judges"])
        except (ValueError, KeyError, TypeError, IndexError) as error:
            raise CheckpointError(f"checkpoint cannot be read: {error!r}") from error
        return state


def _json(raw: dict[str, Any]) -> str:
    return json.dumps(raw, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _parts(key: CellKey) -> tuple[str, str, str]:
    return key.route, key.model, key.perturbation


def _trend_point(cell: _Cell, at: float, settings: MonitorSettings) -> TrendPoint:
    # Only what a point shows: a fold of old verdicts may make one for nearly every verdict.
    counts = cell.counts
    alpha, min_trials = 1 - settings.confidence, settings.min_trials
    excess = counts.excess(alpha=alpha, min_trials=min_trials) if cell.alert else None
    robustness = counts.robustness(alpha=alpha, min_trials=min_trials)
    return TrendPoint(
        at=at,
        trials=counts.trials,
        content_delta=counts.shifted / counts.trials if counts.trials >= max(min_trials, 1) else None,
        excess=excess.value if excess else None,
        excess_lower=excess.lower if excess else None,
        excess_upper=excess.upper if excess else None,
        robustness=robustness.value if robustness else None,
        evidence_log10=cell.alert.evidence_log10 if cell.alert else 0.0,
        alert=cell.alert.up if cell.alert else False,
    )


def _event(cell: _Cell, change: Change, logged: LoggedVerdict, settings: MonitorSettings) -> AlertEvent:
    verdict = logged.verdict
    excess = cell.counts.excess(alpha=1 - settings.confidence, min_trials=settings.min_trials)
    return AlertEvent(
        # Follows from the verdict, so that a fold of the same log names the event the same.
        id=hashlib.sha256(f"{change.kind} {verdict.id}".encode()).hexdigest()[:16],
        at=verdict.scored_at,
        kind=change.kind,
        route=cell.key.route,
        model=cell.key.model,
        perturbation=cell.key.perturbation,
        offset=logged.offset,
        trials=cell.counts.trials,
        excess=excess.value if excess else None,
        summary=_summary(cell.key, change, excess, settings),
    )


def _summary(key: CellKey, change: Change, excess: Estimate | None, settings: MonitorSettings) -> str:
    """What happened, in one sentence."""
    where = f"{key.perturbation} on {key.route} ({key.model})"
    recent = (
        f"over the last {change.run_trials} paired trials answers shifted {change.run_mean:+.0%} "
        f"compared with an identical resend, where {settings.threshold:.0%} is tolerated"
    )
    overall = (
        f"; over all {excess.n} pairs {excess.value:+.0%} [{excess.lower:+.0%}, {excess.upper:+.0%}]"
        if excess
        else ""
    )
    verb = "Robustness fell" if change.kind == "raised" else "Robustness recovered"
    return f"{verb} for {where}: {recent}{overall}."
