"""Chain F1 as a metric of a pair of answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from evenkeel.lab.metrics.compare import AlignedMetric
from evenkeel.metrics.protocol import About
from evenkeel.metrics.workflow.chain import chain_f1

if TYPE_CHECKING:
    from evenkeel.lab.metrics.compare import WorkflowAlignment


class ChainF1(AlignedMetric):
    """Steps in an allowed order, against the steps of both workflows."""

    name: ClassVar[str] = "workflow_chain_f1"
    about: ClassVar[About] = About("structural", aligns=True)

    def of(self, aligned: WorkflowAlignment) -> float:
        """Return chain F1 over all orders that the reference allows, see `chain_f1`."""
        return chain_f1(aligned.reference, aligned.candidate, aligned.alignment).f1
