"""Two answers as two aligned workflows: what every structural metric begins with."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar, Final

from evenkeel.core.verdict import Failure
from evenkeel.lab.metrics.alignment import CannotAlignError, ExactText
from evenkeel.metrics.workflow.reading import read_answer
from evenkeel.metrics.workflow.workflow import WorkflowError

if TYPE_CHECKING:
    from evenkeel.core.pair import Pair
    from evenkeel.lab.metrics.alignment import Aligner
    from evenkeel.metrics.workflow.chain import Alignment
    from evenkeel.metrics.workflow.workflow import Workflow

# Alignments that are remembered: all metrics score a pair before the next one comes.
_KEPT = 64


@dataclass(frozen=True, slots=True)
class Both:
    """Workflows of a pair of answers."""

    reference: Workflow
    candidate: Workflow


@dataclass(frozen=True, slots=True)
class WorkflowAlignment(Both):
    """Workflows of a pair of answers, and the steps that they share."""

    alignment: Alignment


def read_both(metric: str, version: int, pair: Pair) -> Both | Failure:
    """Return the workflows of both answers.

    Returns: a `Failure` with the reason of the `WorkflowError` if an answer cannot be read, and which
        one in its detail. An answer that holds an empty workflow is read; one that holds none is not.
    """
    workflows: list[Workflow] = []
    for side, answer in (("reference", pair.reference), ("candidate", pair.candidate)):
        try:
            workflows.append(read_answer(answer))
        except WorkflowError as error:
            return Failure(metric, version, error.reason, f"The {side} cannot be read: {error}"[:300])
    return Both(*workflows)


class WorkflowComparison:
    """Reader and aligner of pairs. Metrics share it, so that a pair is aligned once for all of them."""

    def __init__(self, aligner: Aligner | None = None) -> None:
        """Compare by an aligner; None = by equal texts."""
        self._align = lru_cache(maxsize=_KEPT)((aligner or ExactText()).align)

    def aligned(self, metric: str, version: int, pair: Pair) -> WorkflowAlignment | Failure:
        """Return both workflows and the steps they share.

        Returns: a `Failure` as `read_both`, or with the aligner's reason.
        """
        both = read_both(metric, version, pair)
        if isinstance(both, Failure):
            return both
        try:
            alignment = self._align(both.reference, both.candidate)
        except CannotAlignError as error:
            return Failure(metric, version, error.reason, str(error))
        return WorkflowAlignment(both.reference, both.candidate, alignment)


SHARED: Final = WorkflowComparison()
"""Comparison by equal texts.

Metrics that are given no other share it, so that a pair is aligned once for all of them.
"""


class AlignedMetric(ABC):
    """Metric of the steps that the workflows of two answers share."""

    name: ClassVar[str]
    version: ClassVar[int] = 2

    def __init__(self, comparison: WorkflowComparison | None = None) -> None:
        """Compare workflows; by equal texts of steps, unless `comparison` says otherwise."""
        self._comparison = comparison or SHARED

    def score(self, pair: Pair) -> float | Failure:
        """Return the score of the two answers' workflows.

        Returns: ratio in [0, 1], see `of`. A `Failure` if an answer cannot be read as a workflow
            ("no_workflow", "malformed", "unknown_step", "cycle" …) or the steps cannot be aligned.
        """
        aligned = self._comparison.aligned(self.name, self.version, pair)
        return aligned if isinstance(aligned, Failure) else self.of(aligned)

    @abstractmethod
    def of(self, aligned: WorkflowAlignment) -> float | Failure:
        """Return the score of two workflows whose steps are aligned, in [0, 1]."""
