"""Chain F1 as a metric of a pair of answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from evenkeel.core.verdict import Failure
from evenkeel.lab.metrics.compare import SHARED, WorkflowComparison
from evenkeel.metrics.protocol import About
from evenkeel.metrics.workflow.chain import chain_f1

if TYPE_CHECKING:
    from evenkeel.core.pair import Pair


class ChainF1:
    """Steps in an allowed order, against the steps of both workflows."""

    name: ClassVar[str] = "workflow_chain_f1"
    version: ClassVar[int] = 2
    about: ClassVar[About] = About("structural", aligns=True)

    def __init__(self, comparison: WorkflowComparison | None = None) -> None:
        """Compare workflows; by equal texts of steps, unless `comparison` says otherwise."""
        self._comparison = comparison or SHARED

    def score(self, pair: Pair) -> float | Failure:
        """Chain F1 of the two answers' workflows, over all orders that the reference allows.

        Returns: ratio in [0, 1], see `chain_f1`. A `Failure` if an answer cannot be read as a workflow
            ("no_workflow", "malformed", "unknown_step", "cycle" …) or the steps cannot be aligned.
        """
        alignment = self._comparison.aligned(self.name, self.version, pair)
        if isinstance(alignment, Failure):
            return alignment
        return chain_f1(alignment.reference, alignment.candidate, alignment.alignment).f1
