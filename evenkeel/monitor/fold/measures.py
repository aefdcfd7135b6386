"""Inputs of a cell's detectors, from a verdict: measures and segments."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkeel.monitor.detect import Measure
from evenkeel.monitor.estimate.tool_counts import choice_difference

if TYPE_CHECKING:
    from evenkeel.core.verdict import Verdict
    from evenkeel.monitor.detect import Dimension
    from evenkeel.monitor.estimate import RatedOutcome


def observations(verdict: Verdict, outcome: RatedOutcome) -> dict[Measure, float]:
    """Return the alert's observations of a trial.

    An unsure trial has its similarity alone: whether its content or quality changed is not known. Only of
    tool calls it is: another tool is another answer, which takes no judge to see.

    A resend may be missing because its answer shifted (it took too long, say), so where the trial has one and
    the resend has not, the resend counts as the one that did as badly as can be: lost resends never raise an
    alarm.

    An answer in another format or language is less like the original because that was asked for. So its
    likeness is no measure; its content is, and whether it is in what was asked for.
    """
    worse = outcome.quality == "worse"
    control_worse = verdict.control.worse is not False
    observed: dict[Measure, float] = {}
    if not outcome.unsure:
        observed[Measure.CONTENT] = outcome.shifted - 1 if outcome.difference is None else outcome.difference
        observed[Measure.QUALITY] = worse - control_worse
    elif (choice := choice_difference(verdict)) is not None:
        observed[Measure.CONTENT] = choice
    if verdict.wanted.format is not None or verdict.wanted.language is not None:
        return observed | {Measure.INVALID: 1 if verdict.invalid else 0}
    loss = verdict.graded_loss
    if loss is None:
        grade = verdict.grade
        loss = None if grade is None else -grade
    if loss is not None:
        observed[Measure.SIMILARITY] = loss
    return observed


def segments_of(verdict: Verdict) -> dict[Dimension, str]:
    """Return the segments that a trial's exchange belongs to, as far as they are known."""
    origin = verdict.origin
    named: dict[Dimension, str | None] = {
        "client": origin.client,
        "prompt_version": origin.prompt_version,
        "task": origin.task,
        "language": origin.prompt_language,
        "tool": origin.tool,
    }
    values: dict[Dimension, str] = {}
    for dimension, value in named.items():
        if value:
            values[dimension] = value
    return values
