"""Inputs of the detectors: a verdict's measures for its cell's alert, and the stratum for its drift."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkeel.monitor.detect import Measure

if TYPE_CHECKING:
    from evenkeel.core.verdict import Verdict
    from evenkeel.monitor.estimate import Outcome
    from evenkeel.monitor.fold.corrections import Increments


def observations(verdict: Verdict, outcome: Outcome, increments: Increments) -> dict[Measure, float]:
    """Return the alert's observations of a trial, corrected for the known errors of the judge.

    An unsure trial has its similarity alone: whether its content or quality changed is not known.

    A resend may be missing because its answer shifted (it took too long, say), so where the trial has one and
    the resend has not, the resend counts as the one that did as badly as can be: lost resends never raise an
    alarm.

    An answer in another format or language is less like the original because that was asked for. So its
    likeness is no measure; its content is, and whether it is in what was asked for.
    """
    content = outcome.difference if increments.content is None else increments.content
    worse = outcome.quality == "worse"
    control_worse = verdict.control.worse is not False
    observed: dict[Measure, float] = {}
    if not outcome.unsure:
        observed[Measure.CONTENT] = outcome.shifted - 1 if content is None else content
        observed[Measure.QUALITY] = worse - control_worse
    if verdict.wanted.format is not None or verdict.wanted.language is not None:
        return observed | {Measure.INVALID: 1 if verdict.invalid else 0}
    loss = verdict.graded_loss
    if loss is not None and increments.graded:
        loss = max(-1.0, min(1.0, loss + increments.graded))
    if loss is None:
        grade = verdict.grade
        loss = None if grade is None else -grade
    if loss is not None:
        observed[Measure.SIMILARITY] = loss
    return observed


def stratum_of(verdict: Verdict, judge: str) -> str:
    """Return the stratum of a trial's exchange; only trials of the same stratum are compared with each other.

    Args:
        verdict: The trial's.
        judge: Who rates the route at the time, and under which wording. Not who rated this trial: a judge is
            asked about answers that differ, so that would be a trait of the outcome.
    """
    length = verdict.origin.prompt_chars.bit_length()
    language, task = verdict.origin.prompt_language or "", verdict.origin.task or ""
    return f"{verdict.origin.prompt_version or ''}|{judge}|{language}|{length}|{task}"
