"""Figures in words, the same for terminal and page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkeel.core.figures import duration, number, usd
from evenkeel.experiments.bench.faults import FAULTS

if TYPE_CHECKING:
    from evenkeel.experiments.bench.run import Outcome
    from evenkeel.experiments.bench.scores import Figure

MISSING = "–"
"""Where nothing was measured."""
POINTS = 100


def points(figure: Figure | None, digits: int = 1) -> str:
    """Mean and standard deviation over the runs, in points of 100: "91.0 ± 0.4"."""
    if figure is None:
        return MISSING
    spread = "" if figure.std is None else f" ± {number(figure.std * POINTS, digits)}"
    return f"{number(figure.value * POINTS, digits)}{spread}"


def span(figure: Figure | None, digits: int = 1) -> str:
    """The interval in points of 100: "[88.2, 93.1]"."""
    if figure is None:
        return ""
    return f"[{number(figure.lower * POINTS, digits)}, {number(figure.upper * POINTS, digits)}]"


def share(value: float | None, digits: int = 1) -> str:
    """A plain share in points of 100."""
    return MISSING if value is None else number(value * POINTS, digits)


def measured(outcome: Outcome) -> str:
    """What was measured, in a line."""
    runs = "1 run" if outcome.runs == 1 else f"{number(outcome.runs)} runs"
    tasks = ", ".join(outcome.tasks).replace("_", " ")
    return (
        f"{number(outcome.items)} issues of {outcome.source}, {tasks}; {runs}; "
        f"{number(len(outcome.trials))} pairs of answers rated by {outcome.scored_by}"
    )


def effort(outcome: Outcome) -> str:
    """What it took, in a line."""
    ledger = outcome.ledger
    return (
        f"{number(ledger.calls)} calls, {number(ledger.remembered)} answers remembered, "
        f"{number(ledger.failed)} failed, {number(ledger.tokens)} tokens, {usd(ledger.usd)}, "
        f"{duration(outcome.duration_s)}"
    )


def estimated(outcome: Outcome) -> list[str]:
    """The estimate and what was spent, in a line; none where nothing cost money."""
    ratio, measured = outcome.estimate_ratio, outcome.measured_usd
    estimate = outcome.thumb_usd if measured is None else measured
    if ratio is None or estimate is None:
        return []
    how = "by rule of thumb" if measured is None else "on the first issues"
    spent = f"{usd(outcome.spent_usd)} (estimate / spent {number(ratio, 2)})"
    return [f"estimated {how}: {usd(estimate)}; spent in all: {spent}"]


def failures(outcome: Outcome) -> list[str]:
    """What could not be measured, a line for each model."""
    lines = [
        f"{row.model}: without a rating or a quality: "
        + ", ".join(f"{reason} {number(count)}" for reason, count in row.failures.items())
        for row in outcome.tables.models
        if row.failures
    ]
    reasons = {reason.removeprefix("quality_") for row in outcome.tables.models for reason in row.failures}
    if reasons & FAULTS:
        lines.append("The same command asks again for what an endpoint did not answer, and for nothing else.")
    return lines + [f"{model}: not asked any more: {said}" for model, said in outcome.unusable.items()]
