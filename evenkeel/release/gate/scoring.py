"""Scores an answer beside the approved one, and the measures that it breaches."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from evenkeel.core.figures import NO_JUDGE
from evenkeel.core.verdict import SAME_CONTENT, Failure, stage_of
from evenkeel.metrics.similarity.words import words
from evenkeel.metrics.workflow.chain import canonical_text, chain_f1, equal_steps
from evenkeel.metrics.workflow.reading import read_answer
from evenkeel.metrics.workflow.workflow import WorkflowError
from evenkeel.monitor.detect.gate import GateMeasure

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evenkeel.core.pair import Answer, Pair
    from evenkeel.core.verdict import Judgement
    from evenkeel.metrics.scoring import TwoStageScorer
    from evenkeel.release.kit.service_watch import ServiceWatch


CONTENT_SHIFT: Final = "content_shift"
"""The answer does not say what the approved one says: a rating below 3."""
QUALITY_CHANGE: Final = "quality_change"
"""The content has shifted, and at least one quality changed in a direction other than better."""
RATED: Final = (CONTENT_SHIFT, QUALITY_CHANGE)
"""Measures of the two-stage rating by a judge."""
DIFFERS: Final = "differs"
"""The only measure without a judge: the answer is not identical to the approved one.

The gate counts a difference only if this answer is less similar to the approved one than the other side's
answer is.
"""

VERSION: Final = 1
CHANGED: Final = "changed"
# Steps count as compressed if the new ones hold at least this share of the words of those that are gone.
_CARRIED: Final = 0.8

Breached = bool | Failure
"""True if an answer breaches a measure, or why that is not known."""


def rated_breaches(judgement: Judgement) -> dict[str, Breached]:
    """Return what a judgement says about the measures in `RATED`; without a judge about `DIFFERS`.

    If a quality could not be measured, `quality_change` is unknown, unless another quality got worse.
    """
    shifted = judgement.shifted
    if judgement.scorer == "metrics":
        similarity = judgement.similarity
        return {DIFFERS: judgement.failures[0] if similarity is None else judgement.rating != SAME_CONTENT}
    # No rating: nothing is known about the second stage either.
    if shifted is None:
        return dict.fromkeys(RATED, judgement.failures[0])
    if not shifted:
        return {CONTENT_SHIFT: False, QUALITY_CHANGE: False}
    # An answer that is empty, or ignores the form asked for, is of no use, whatever it says.
    if judgement.invalid or stage_of(judgement.details) == "empty":
        return {CONTENT_SHIFT: True, QUALITY_CHANGE: True}
    directions = []
    for score in judgement.quality:
        if score.changed:
            directions.append(score.direction)
    changed: Breached = any(direction != "better" for direction in directions)
    if not changed and judgement.failures:
        changed = judgement.failures[0]
    elif not judgement.quality:
        changed = Failure(QUALITY_CHANGE, VERSION, "no_quality", "no quality metric applies to this answer")
    return {CONTENT_SHIFT: True, QUALITY_CHANGE: changed}


@dataclass(frozen=True, slots=True)
class ScoredAnswer:
    """An answer compared with the approved one."""

    answer: Answer
    breaches: Mapping[str, Breached]
    judgement: Judgement


class GateScoring:
    """Scores answers by their rating; without a judge by their similarity."""

    def __init__(self, rating: TwoStageScorer, watch: ServiceWatch | None = None) -> None:
        """Score by a rating; `watch` ends the run if the judge rates nothing."""
        self.rating = rating
        self._watch = watch

    @property
    def title(self) -> str:
        """Name of the scorer, for the head of a report."""
        return "rated by the judge" if self.rating.scorer == "judge" else NO_JUDGE

    async def score(self, pair: Pair) -> ScoredAnswer:
        """Score a pair; what cannot be measured is among the breaches as a failure.

        Raises: UnusableError if the judge failed several times in a row.
        """
        judgement = await self.rating.score(pair)
        if self._watch is not None:
            self._watch.see([judgement])
            failures = tuple(map(self._watch.explained, judgement.failures))
            judgement = replace(judgement, failures=failures)
        return ScoredAnswer(pair.candidate, rated_breaches(judgement), judgement)

    def measures(self, deciding: Sequence[str] = ()) -> tuple[GateMeasure, ...]:
        """Return the measures of a run.

        Args:
            deciding: Names of the measures that can fail the gate; none = all.

        Raises: ValueError for a name that is not among them.
        """
        names = RATED if self.rating.scorer == "judge" else (DIFFERS,)
        for name in deciding:
            if name not in names:
                raise ValueError(f'"{name}" is not measured here; there are {", ".join(names)}')
        measures = []
        for name in names:
            decides = not deciding or name in deciding
            measures.append(GateMeasure(name=name, decides=decides, why_not="" if decides else "not chosen"))
        return tuple(measures)


def step_change(pair: Pair) -> str:
    """Name what became of the reference's steps in the candidate, by their texts alone.

    Returns: "missing" if steps are gone and no others came, "duplicated" or "added" if only others came,
        "compressed" if fewer new steps hold the words of those that are gone, "reordered" if all are there in
        another order, "changed" if no name fits or several do, "" if the steps are the same or one of the
        answers is no workflow.
    """
    try:
        reference, candidate = read_answer(pair.reference), read_answer(pair.candidate)
    except WorkflowError:
        return ""
    alignment = equal_steps(reference, candidate)
    kept = {match.reference for match in alignment.matched}
    paired = {match.candidate for match in alignment.matched}
    gone = []
    for index, step in enumerate(reference.steps):
        if index not in kept:
            gone.append(step)
    new = []
    for index, step in enumerate(candidate.steps):
        if index not in paired:
            new.append(step)
    if gone and not new:
        return "missing"
    if new and not gone:
        own = {canonical_text(step) for step in reference.steps}
        repeated = [canonical_text(step) in own for step in new]
        if all(repeated):
            return "duplicated"
        return CHANGED if any(repeated) else "added"
    if gone:
        return "compressed" if len(new) < len(gone) and _carries(new, gone) else CHANGED
    chain = chain_f1(reference, candidate, alignment)
    return "reordered" if chain.length < len(alignment) else ""


def _carries(new: list[str], gone: list[str]) -> bool:
    """Return whether the new steps hold nearly all words of those that are gone."""
    lost = words(" ".join(gone))
    carried = set(words(" ".join(new)))
    return sum(word in carried for word in lost) >= _CARRIED * len(lost)
