"""A verdict to start from: tests replace what matters to them."""

from __future__ import annotations

from evenkeel.core.verdict import Control, Scoring, Verdict
from evenkeel.monitor.estimate import bounded_mean

VERDICT = Verdict(
    id="v",
    exchange_id="e",
    scored_at=0.0,
    route="chat",
    model="m",
    perturbation="general.spelling",
    perturbation_version=1,
    severity=0.3,
    seed=1,
    scoring=Scoring("judge"),
    rating=3,
    control=Control(rating=3),
)
"""A judged trial in which nothing moved."""


def paired_excess(plus, minus, zero, *, alpha=0.05):
    """The mean of pairs in which only the trial shifted, only the resend, or both or none."""
    return bounded_mean({-1.0: minus, 0.0: zero, 1.0: plus}, low=-1.0, alpha=alpha)
