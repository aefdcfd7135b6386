"""Numbers and names of the audit as people read them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkeel.core.figures import number, percent
from evenkeel.core.verdict import Failure
from evenkeel.experiments.judge_audit.attack import Move
from evenkeel.experiments.judge_audit.judgements import Strategy

if TYPE_CHECKING:
    from evenkeel.experiments.judge_audit.measures import AuditReport, ToneShift
    from evenkeel.monitor.estimate.agreement import Agreement
    from evenkeel.monitor.estimate.shares import Share

STRATEGIES = {
    Strategy.ZERO_SHOT: "zero-shot",
    Strategy.KNOWLEDGE: "knowledge",
    Strategy.FEW_SHOT: "few-shot",
    Strategy.STEP_BY_STEP: "step by step",
}
MOVES = {
    Move.UNCHANGED: "unchanged",
    Move.TO_CLAIM: "to the claim",
    Move.TOWARDS: "towards it",
    Move.AWAY: "away from it",
}
_DIGITS = 2


def alpha(value: Agreement | Failure | None) -> str:
    """As in "0.56 [0.51, 0.60]", or why there is none."""
    if value is None:
        return "–"
    if isinstance(value, Failure):
        return value.reason.replace("_", " ")
    return number(value.value, _DIGITS) + bounds(value.lower, value.upper)


def bounds(lower: float | None, upper: float | None) -> str:
    """As in " [0.51, 0.60]"; "" without an interval."""
    if lower is None or upper is None:
        return ""
    return f" [{number(lower, _DIGITS)}, {number(upper, _DIGITS)}]"


def share(value: Share | None, digits: int = 0) -> str:
    """As in "31 % [24, 38]"; "–" if nothing was counted."""
    if value is None or value.value is None:
        return "–"
    if value.lower is None or value.upper is None:
        return percent(value.value, digits)
    lower, upper = number(value.lower * 100, digits), number(value.upper * 100, digits)
    return f"{percent(value.value, digits)} [{lower}, {upper}]"


def tone(value: ToneShift | Failure) -> str:
    """As in "0.14 → 0.09", or why there is none."""
    if isinstance(value, Failure):
        return value.reason.replace("_", " ")
    return f"{number(value.before, _DIGITS)} → {number(value.after, _DIGITS)}"


def headline(report: AuditReport) -> str:
    """The attack's effect over all metrics and strategies in one sentence, "" if it was not tried."""
    tried = [each.resistance for metric in report.metrics for each in metric.strategies if each.resistance]
    n = sum(each.unchanged.n for each in tried)
    if not n:
        return ""
    kept = sum(each.unchanged.count for each in tried)
    claimed = sum(each.moves[Move.TO_CLAIM] for each in tried)
    return (
        f"Told that an expert gave the opposite rating, the judge kept {percent(kept / n)} of its "
        f"{number(n)} ratings and turned {percent(claimed / n)} into the claimed one."
    )
