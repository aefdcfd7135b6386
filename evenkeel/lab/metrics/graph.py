"""Graph F1: share of the steps that keep exactly the neighbours that the reference gives them."""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING, ClassVar

from evenkeel.lab.metrics.compare import AlignedMetric
from evenkeel.metrics.protocol import About

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenkeel.lab.metrics.compare import WorkflowAlignment
    from evenkeel.metrics.workflow.chain import Alignment
    from evenkeel.metrics.workflow.workflow import Workflow


@dataclass(frozen=True, slots=True)
class GraphScore:
    """Score of the common part of two workflows' graphs."""

    f1: float
    """Shared steps against the steps of both, in [0, 1]."""
    size: int
    """Number of steps of the common induced subgraph."""


class GraphF1(AlignedMetric):
    """Steps with the same neighbours, against the steps of both workflows."""

    name: ClassVar[str] = "workflow_graph_f1"
    about: ClassVar[About] = About("structural", aligns=True)

    def of(self, aligned: WorkflowAlignment) -> float:
        """Return graph F1, see `graph_f1`."""
        return graph_f1(aligned.reference, aligned.candidate, aligned.alignment).f1


def graph_f1(reference: Workflow, candidate: Workflow, alignment: Alignment) -> GraphScore:
    """Compare the graphs of the aligned steps.

    The common subgraph is induced: among its steps both workflows have exactly the same edges. It is
    found by pruning: as long as two of the steps are joined in one workflow and not in the other, the
    step with most such disagreements goes (among equals the one listed last). One goes at a time: to
    drop all that disagree at once would drop whole chains for one missing edge. Nearly always no larger
    subgraph exists.

    Args:
        reference: What should be done.
        candidate: What is proposed.
        alignment: Of the candidate's steps with the reference's. It is taken as given: where texts
            occur twice, another alignment might share more.

    Returns: 1 = the same graph, also if both are empty; 0 = no step in common, or only one side has
        steps.
    Source: Qiao and others 2025 (maximum common induced subgraph); appendix B.2 of WorkflowPerturb
        (pruning by neighbours).
    """
    size = len(alignment) - _pruned(_disputed(reference, candidate, alignment))
    steps = len(reference.steps) + len(candidate.steps)
    return GraphScore(2 * size / steps if steps else 1.0, size)


def _disputed(reference: Workflow, candidate: Workflow, alignment: Alignment) -> dict[int, set[int]]:
    """Return, for each aligned reference step, the steps to which only one workflow joins it.

    Two steps that one workflow joins the other way round disagree once. Steps without dispute are left out.
    """
    to_reference = {}
    for match in alignment.matched:
        to_reference[match.candidate] = match.reference
    kept = set(to_reference.values())
    wanted = set()
    for edge in reference.edges:
        if edge.before in kept and edge.after in kept:
            wanted.add(edge)
    proposed = set()
    for before, after in candidate.edges:
        if before in to_reference and after in to_reference:
            proposed.add((to_reference[before], to_reference[after]))
    disputed: dict[int, set[int]] = {}
    for before, after in sorted(wanted ^ proposed):
        disputed.setdefault(before, set()).add(after)
        disputed.setdefault(after, set()).add(before)
    return disputed


def _pruned(disputed: Mapping[int, set[int]]) -> int:
    """Count the steps that must be removed to end all disputes, most disputed first."""
    left = {step: len(others) for step, others in disputed.items()}
    queue = [(-count, -step) for step, count in left.items()]
    heapify(queue)
    gone: set[int] = set()
    while queue:
        count, step = heappop(queue)
        if -step in gone or -count != left[-step] or not count:
            continue
        gone.add(-step)
        for other in disputed[-step]:
            if other not in gone:
                left[other] -= 1
                heappush(queue, (-left[other], -other))
    return len(gone)
