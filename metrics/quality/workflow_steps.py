"""Whether two answers that are workflows do the same steps in an order that is allowed."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from evenkeel.core.verdict import Failure
from evenkeel.metrics.workflow.chain import chain_f1
from evenkeel.metrics.workflow.reading import read_answer
from evenkeel.metrics.workflow.shared_words import SharedWords
from evenkeel.metrics.workflow.workflow import WorkflowError

if TYPE_CHECKING:
    from evenkeel.core.pair import Answer, Pair
    from evenkeel.metrics.workflow.workflow import Workflow

NO_WORKFLOW: Final = "no_workflow"
TOLERANCE: Final = 0.18
"""Losing a third of the steps is a change, a tenth is none. At 0.82 lies the threshold of a calibration on
the published scores of missing steps: see docs/calibration.md."""


class WorkflowSteps:
    """Chain F1 of the steps, where a step may be reworded.

    `ChainF1` aligns by equal texts, or by an encoder; this one aligns by shared words, so that it tells a
    lost or moved step from one in other words and needs no model.
    """

    name: ClassVar[str] = "workflow_steps"
    version: ClassVar[int] = 1

    def score(self, pair: Pair) -> float | Failure:
        """Steps that the answers share in an allowed order, against the steps of both.

        Returns: ratio in [0, 1]; 1 = all steps, in an order that the reference allows; 0 = none, or only one
            answer is a workflow. A `Failure` "no_workflow" if neither has two steps or more, or the
            reason of `WorkflowError` if one cannot be read.
        """
        sides: list[Workflow | None] = []
        for answer in (pair.reference, pair.candidate):
            read = _read(answer)
            if isinstance(read, WorkflowError):
                return Failure(self.name, self.version, read.reason, str(read)[:300])
            sides.append(read)
        reference, candidate = sides
        if all(side is None or len(side.steps) <= 1 for side in sides):
            return Failure(self.name, self.version, NO_WORKFLOW, "Neither answer is a workflow.")
        if reference is None or candidate is None:
            return 0.0
        return chain_f1(reference, candidate, SharedWords().align(reference, candidate)).f1


def _read(answer: Answer) -> Workflow | WorkflowError | None:
    """An answer's workflow, None if it is none."""
    try:
        return read_answer(answer)
    except WorkflowError as error:
        return None if error.reason == NO_WORKFLOW else error
