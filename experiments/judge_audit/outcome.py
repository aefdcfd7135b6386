"""What an audit found, and what it took."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evenkeel.experiments.judge_audit.report import AuditReport
    from evenkeel.experiments.judge_audit.swap import PairwiseReport


@dataclass(frozen=True, slots=True)
class Spent:
    """Calls made in this run, and what they cost."""

    calls: int = 0
    remembered: int = 0
    """Answers taken from the cache."""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost_usd: float = 0.0
    """By list price; 0 for a model without one."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """Everything that is shown. Either `ratings` is set, or `pairwise` has an entry."""

    judge: str
    sources: tuple[str, ...]
    """Names of the files."""
    ratings: AuditReport | None = None
    pairwise: tuple[PairwiseReport, ...] = ()
    notes: tuple[str, ...] = ()
    """What was left out, and why."""
    spent: Spent | None = None
    """None if no judge was asked."""
