"""Kendall's τ of the aligned steps: as published, and weighted by the share of steps aligned."""

from __future__ import annotations

from bisect import bisect_right, insort
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from evenkeel.core.verdict import Failure
from evenkeel.lab.metrics.compare import AlignedMetric
from evenkeel.metrics.protocol import About

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkeel.lab.metrics.compare import WorkflowAlignment
    from evenkeel.metrics.workflow.chain import Alignment
    from evenkeel.metrics.workflow.workflow import Workflow


@dataclass(frozen=True, slots=True)
class TauScore:
    """Score of how far the aligned steps follow the reference's order."""

    tau: float | None
    """Kendall's τ in [-1, 1]: 1 = the same order, -1 = reversed; None if fewer than two steps are aligned."""
    coverage: float
    """Share of the reference's steps that are aligned, in [0, 1].

    It is 1 if neither side has steps, 0 if only one has.
    """

    @property
    def weighted(self) -> float:
        """τ times coverage, in [-1, 1].

        With fewer than two aligned steps nothing is in disorder, so this is the coverage.
        """
        return self.coverage * (1.0 if self.tau is None else self.tau)


class Tau(AlignedMetric):
    """Order of the aligned steps; missing steps do not count."""

    name: ClassVar[str] = "workflow_tau"
    about: ClassVar[About] = About("structural", akin="order", aligns=True)

    def of(self, aligned: WorkflowAlignment) -> float | Failure:
        """Return Kendall's τ as it is printed, negative values cut to 0.

        Returns: ratio in [0, 1]; 1 = the same order; 0 = as many pairs of steps in falling order as in
            rising, or more. A `Failure` "too_few_aligned" if fewer than two steps are aligned.
        """
        tau = kendall_tau(aligned.reference, aligned.candidate, aligned.alignment).tau
        if tau is None:
            detail = f"{len(aligned.alignment)} of the steps are aligned; order takes two."
            return Failure(self.name, self.version, "too_few_aligned", detail)
        return max(0.0, tau)


class WeightedTau(AlignedMetric):
    """Order of the aligned steps, times the share of the reference's steps that are aligned."""

    name: ClassVar[str] = "workflow_tau_weighted"
    about: ClassVar[About] = About("structural", akin="order", aligns=True)

    def of(self, aligned: WorkflowAlignment) -> float:
        """Return Kendall's τ weighted by coverage, negative values cut to 0.

        Returns: ratio in [0, 1]; 1 = all the reference's steps in the same order, also if both are
            empty; 0 = none of them, or no order in them, or only one side has steps. See `TauScore`
            for a single aligned step.
        """
        return max(0.0, kendall_tau(aligned.reference, aligned.candidate, aligned.alignment).weighted)


def kendall_tau(reference: Workflow, candidate: Workflow, alignment: Alignment) -> TauScore:
    """Return the rank correlation of the two canonical orders over the aligned steps.

    τ = (C − D) / (n(n − 1)/2) over n aligned steps. It ignores missing steps: every deletion that keeps the
    order has 1. Weighted by coverage, as in the paper's tables, it counts them. Steps that only the candidate
    has count in neither.

    Source: Kendall 1938; appendix B.5 of WorkflowPerturb; agrees with `scipy.stats.kendalltau`.
    """
    rank = {}
    for position, index in enumerate(reference.order):
        rank[index] = position
    positions = [rank[match.reference] for match in alignment.matched]
    coverage = len(positions) / len(reference.steps) if reference.steps else float(not candidate.steps)
    pairs = len(positions) * (len(positions) - 1) // 2
    tau = (pairs - 2 * inversions(positions)) / pairs if pairs else None
    return TauScore(tau, coverage)


def inversions(positions: Sequence[int]) -> int:
    """Count the pairs of different numbers in falling order."""
    seen: list[int] = []
    count = 0
    for position in positions:
        count += len(seen) - bisect_right(seen, position)
        insort(seen, position)
    return count
