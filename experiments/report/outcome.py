"""Everything that a report says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenkeel.console.sources import RouteFlow, Untried
    from evenkeel.core.verdict import Scorer
    from evenkeel.experiments.report.folding import Cost
    from evenkeel.experiments.report.lines import Line, Rules
    from evenkeel.experiments.report.period import Period
    from evenkeel.experiments.report.sides import ChangeSides
    from evenkeel.experiments.report.tables import Tables
    from evenkeel.monitor.changes.report import ChangeReport
    from evenkeel.monitor.noise import JudgeEstimates


@dataclass(frozen=True, slots=True)
class Alert:
    """An alert that was up at some time of the period. Times are Unix seconds."""

    route: str
    model: str
    perturbation: str
    what: str
    """"excess": above the threshold. "drift": away from what it was."""
    raised_at: float | None
    """None if that is no longer known."""
    resolved_at: float | None
    """None if it was still up at the end of the period."""
    summary: str
    """One sentence for people, of when it was raised or else of when it was resolved."""


@dataclass(frozen=True, slots=True)
class JudgeLine:
    """What is known of the judge on one model of one route."""

    route: str
    model: str
    found: JudgeEstimates


@dataclass(frozen=True, slots=True)
class Gaps:
    """What was not measured, and why."""

    failures: Mapping[str, Mapping[str, int]]
    """By route: trials without a rating, by reason."""
    unscored: Mapping[str, Mapping[str, int]]
    """By route: shifted trials of which a quality could not be measured, by reason."""
    thin: tuple[Line, ...]
    """Perturbations with too few trials for a figure."""
    flows: tuple[RouteFlow, ...]
    """From request to verdict, since the service started; not of the period."""
    untried: tuple[Untried, ...]
    """Perturbations that did not apply to a prompt, since the service started."""
    notes: tuple[str, ...] = ()
    """What could not be read, a sentence each."""


@dataclass(frozen=True, slots=True)
class Report:
    """A report."""

    store: str
    """Where the verdicts are."""
    made_at: float
    """Unix time in seconds."""
    period: Period
    route: str | None
    """The only one that is looked at; None for all."""
    rules: Rules
    exchanges: int
    """Exchanges that were replayed."""
    trials: int
    """Trials, the identical resends and those without a rating among them."""
    scorers: Mapping[Scorer, int]
    """Ratings by who gave them."""
    first_at: float
    """Unix time in seconds of the first verdict; likewise the last."""
    last_at: float
    tables: Tables
    judges: tuple[JudgeLine, ...]
    alerts: tuple[Alert, ...]
    """The newest first."""
    changes: tuple[ChangeReport, ...]
    """Those noticed in the period, the newest first."""
    change: ChangeSides | None
    """The one that the report is about."""
    gaps: Gaps
    costs: Mapping[str, Cost]
    """By route: replays and judge; not the rewriter, which is paid for by the exchange."""
    days: Mapping[int, Cost]
    """The same by UTC day, in days since 1970."""
