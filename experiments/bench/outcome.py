"""What a run found out, for those who write it down."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenkeel.experiments.bench.rounds import Trial
    from evenkeel.experiments.bench.spending import Ledger
    from evenkeel.experiments.bench.tables import Tables


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """All of it."""

    tables: Tables
    trials: tuple[Trial, ...]
    items: int
    source: str
    """Where the issues come from."""
    tasks: tuple[str, ...]
    runs: int
    severity: float
    seed: int
    scored_by: str
    """"the judge NAME", or "metrics, without a judge"."""
    rewritten_by: str
    """Name of the rewriter, "" without one."""
    ledger: Ledger
    thumb_usd: float | None = None
    """Estimate by rule of thumb, before the first call; None where costs were measured by an earlier run."""
    measured_usd: float | None = None
    """Estimate of the whole run, made when its first issues were through; None if there was none."""
    spent_usd: float = 0.0
    """Spent by this run and those before it that had the same plan and journal."""
    notes: tuple[str, ...] = ()
    unusable: Mapping[str, str] = field(default_factory=dict)
    """Models that stopped answering → what they said last."""
    duration_s: float = 0.0

    @property
    def estimate_ratio(self) -> float | None:
        """The estimate over what was spent; by rule of thumb where none was measured, None without both."""
        estimate = self.thumb_usd if self.measured_usd is None else self.measured_usd
        return estimate / self.spent_usd if estimate is not None and self.spent_usd else None
