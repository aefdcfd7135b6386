"""Two answers as two aligned workflows: what every structural metric begins with."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Final

from evenkeel.core.verdict import Failure
from evenkeel.lab.metrics.alignment import CannotAlignError, ExactText
from evenkeel.metrics.workflow.reading import read_answer
from evenkeel.metrics.workflow.workflow import WorkflowError

if TYPE_CHECKING:
    from evenkeel.core.pair import Pair
    from evenkeel.lab.metrics.alignment import Aligner
    from evenkeel.metrics.workflow.alignment import Alignment
    from evenkeel.metrics.workflow.workflow import Workflow

_KEPT = 64


@dataclass(frozen=True, slots=True)
class Both:
    """Workflows of a pair of answers."""

    reference: Workflow
    candidate: Workflow


@dataclass(frozen=True, slots=True)
class WorkflowAlignment:
    """Workflows of a pair of answers, and the steps that they share."""

    reference: Workflow
    candidate: Workflow
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
        """Compare by an aligner.

        Args:
            aligner: Default: equal texts.
        """
        self._aligner = aligner or ExactText()
        self._kept: OrderedDict[Both, WorkflowAlignment] = OrderedDict()
        self._lock = Lock()

    def aligned(self, metric: str, version: int, pair: Pair) -> WorkflowAlignment | Failure:
        """Return both workflows and the steps they share.

        Returns: a `Failure` as `read_both`, or with the aligner's reason.
        """
        both = read_both(metric, version, pair)
        if isinstance(both, Failure):
            return both
        with self._lock:
            kept = self._kept.get(both)
        if kept is not None:
            return kept
        try:
            alignment = self._aligner.align(both.reference, both.candidate)
        except CannotAlignError as error:
            return Failure(metric, version, error.reason, str(error))
        aligned = WorkflowAlignment(both.reference, both.candidate, alignment)
        with self._lock:
            self._kept[both] = aligned
            while len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
        return aligned


SHARED: Final = WorkflowComparison()
"""Comparison by equal texts.

Metrics that are given no other share it, so that a pair is aligned once for all of them.
"""
