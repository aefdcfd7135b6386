"""Comparison of two workflows: whether they do the same steps in an order that is allowed.

Steps are matched by the words they share, which survives rewording and needs no encoder.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, ClassVar, Final

from evenkeel.core.verdict import Failure, QualityScore
from evenkeel.metrics.assignment import MOST_CELLS, best_assignment
from evenkeel.metrics.quality.measurement import RuleQuality
from evenkeel.metrics.similarity.words import content_words, stem
from evenkeel.metrics.workflow.chain import Alignment, StepMatch, arranged, chain_f1, equal_steps
from evenkeel.metrics.workflow.reading import read_answer
from evenkeel.metrics.workflow.workflow import Workflow, WorkflowError

if TYPE_CHECKING:
    from evenkeel.core.pair import Answer, Pair


FLOOR: Final = 0.5
"""Dice coefficient from which two steps count as the same: half of their words."""


def shared_words(reference: Workflow, candidate: Workflow) -> Alignment:
    """Align steps whose texts are equal, or that share half of their content words.

    Equal texts are paired first; what is left is assigned so that most words are shared in all. Beyond 2,500
    comparisons of what is left, only equal texts are paired. Rougher than an encoder: "Reboot the server" and
    "Restart the machine" are two steps.
    """
    equal = equal_steps(reference, candidate).matched
    taken = {match.reference for match in equal}, {match.candidate for match in equal}
    left = []
    for index in range(len(reference.steps)):
        if index not in taken[0]:
            left.append(index)
    right = []
    for index in range(len(candidate.steps)):
        if index not in taken[1]:
            right.append(index)
    if not left or not right or len(left) * len(right) > MOST_CELLS:
        return Alignment(equal)
    rows = [_stems(reference.steps[index]) for index in left]
    columns = []
    for index in right:
        columns.append(_stems(candidate.steps[index]))
    likeness = []
    for row in rows:
        likeness.append([_dice(row, column) for column in columns])
    matches = list(equal)
    for match in best_assignment(likeness):
        if likeness[match.row][match.column] >= FLOOR:
            matches.append(StepMatch(right[match.column], left[match.row]))
    return arranged(matches, candidate)


def _stems(step: str) -> frozenset[str]:
    return frozenset(map(stem, content_words(step)))


def _dice(words: frozenset[str], other: frozenset[str]) -> float:
    size = len(words) + len(other)
    return 2 * len(words & other) / size if size else 0.0


NO_WORKFLOW: Final = "no_workflow"
TOLERANCE: Final = 0.18
"""Loss of agreement that counts as no change: losing a third of the steps is one, losing a tenth is not.

The threshold of a calibration on the published scores of missing steps is at 0.82: see
docs/research/workflows.md.
"""


class WorkflowSteps:
    """Chain F1 of the steps, where a step may be reworded.

    `ChainF1` aligns by equal texts, or by an encoder; this one aligns by shared words, so that it tells a
    lost or moved step from one in other words and needs no model.
    """

    name: ClassVar[str] = "workflow_steps"
    version: ClassVar[int] = 1

    def score(self, pair: Pair) -> float | Failure:
        """Share of the steps that the answers have in common in an allowed order.

        Returns: ratio in [0, 1]; 1 = all steps, in an order that the reference allows; 0 = none, or only one
            answer is a workflow. A `Failure` "no_workflow" if neither has two steps or more, or the
            reason of `WorkflowError` if one cannot be read.
        """
        reference, candidate = _read(pair.reference), _read(pair.candidate)
        for side in (reference, candidate):
            if isinstance(side, WorkflowError):
                return Failure(self.name, self.version, side.reason, str(side)[:300])
        if not _has_steps(reference) and not _has_steps(candidate):
            return Failure(self.name, self.version, NO_WORKFLOW, "Neither answer is a workflow.")
        if not isinstance(reference, Workflow) or not isinstance(candidate, Workflow):
            return 0.0
        return chain_f1(reference, candidate, shared_words(reference, candidate)).f1


class StepsKept(RuleQuality):
    """Quality of a pair by `WorkflowSteps`.

    Two workflows agree as far as they share their steps in an allowed order; steps in other words are left to
    the judge. Where the task asks for a
    workflow, an answer that stops being one is worse, and one that becomes one is better.
    """

    name: ClassVar[str] = WorkflowSteps.name
    version: ClassVar[int] = 3

    def __init__(self, *, asked_for: bool) -> None:
        """Measure.

        Args:
            asked_for: Whether the task is to write a workflow. Else only lists whose steps are numbered and
                diagrams count, as the items of other lists have no order.
        """
        self._asked_for = asked_for

    def measure_now(self, pair: Pair) -> QualityScore | Failure | None:
        """Return the agreement of two workflows, or the loss of one on the scale "ratio".

        None if neither answer is a workflow, if each has a step that the other lacks by its words, or if the
        task asks for none and one of them is not in steps.
        """
        if not self._asked_for and not all(map(_has_order, (pair.reference, pair.candidate))):
            return None
        score = WorkflowSteps().score(pair)
        if isinstance(score, Failure):
            return None if score.reason == NO_WORKFLOW else score
        reference, candidate = _read(pair.reference), _read(pair.candidate)
        if isinstance(reference, Workflow) and isinstance(candidate, Workflow):
            matched = len(shared_words(reference, candidate).matched)
            if matched < min(len(reference.steps), len(candidate.steps)):
                # Steps without a counterpart on both sides may be the same ones in other words.
                return None
        before, after = _has_steps(reference), _has_steps(candidate)
        if before and after:
            return QualityScore(self.name, self.version, 1.0, score, "agreement", TOLERANCE)
        if not self._asked_for:
            return None
        return QualityScore(self.name, self.version, float(before), float(after), "ratio")


# Bullets are left out: most lists of things have them, and no order.
_NUMBERED: Final = re.compile(r"^[ \t]*\d{1,3}[.)][ \t]+\S", re.MULTILINE)
_DIAGRAM: Final = re.compile(r"^(?:Node|Edge)s?:", re.MULTILINE)


def _has_order(answer: Answer) -> bool:
    """Return whether an answer is written as ordered steps, and not as tool calls or a list of things."""
    if answer.tool_calls:
        return False
    return len(_NUMBERED.findall(answer.text)) > 1 or _DIAGRAM.search(answer.text) is not None


def _has_steps(read: Workflow | WorkflowError | None) -> bool:
    return isinstance(read, Workflow) and len(read.steps) > 1


def _read(answer: Answer) -> Workflow | WorkflowError | None:
    try:
        return read_answer(answer)
    except WorkflowError as error:
        return None if error.reason == NO_WORKFLOW else error
