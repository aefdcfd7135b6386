"""A verdict to start from: tests replace what matters to them."""

from evenkeel.core.verdict import Control, Scoring, Verdict

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
