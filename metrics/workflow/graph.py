"""Graph F1: how many steps keep exactly the neighbours that the reference gives them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING, ClassVar

from evenkeel.core.verdict import Failure
from evenkeel.metrics.protocol import About
from evenkeel.metrics.workflow.compare import SHARED, Comparison

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenkeel.core.pair import Pair
    from evenkeel.metrics.workflow.alignment import Alignment
    from evenkeel.metrics.workflow.workflow import Workflow

MOST_EXACT = 40
"""Steps in dispute, up to which the exact maximum is searched for (milliseconds)."""


@dataclass(frozen=True, slots=True)
class GraphScore:
    """How much of a graph two workflows share. All three ratios are in [0, 1]."""

    precision: float
    """Shared steps, of the candidate's."""
    recall: float
    """Shared steps, of the reference's."""
    f1: float
    """Their harmonic mean."""
    size: int
    """Steps of the common induced subgraph."""
    maximum: bool
    """Whether no larger one exists under this alignment."""


class GraphF1:
    """Steps with the same neighbours, against the steps of both workflows."""

    name: ClassVar[str] = "workflow_graph_f1"
    version: ClassVar[int] = 1
    about: ClassVar[About] = About("structural", aligns=True, telling={"workflow": 2, "list": 2})

    def __init__(self, comparison: Comparison | None = None, *, exact: bool = False) -> None:
        """Compare workflows; by equal texts of steps, unless `comparison` says otherwise.

        Args:
            comparison: Reads and aligns.
            exact: Search for the largest subgraph where that is affordable; see `graph_f1`.
        """
        self._comparison = comparison or SHARED
        self._exact = exact

    def score(self, pair: Pair) -> float | Failure:
        """Graph F1 of the two answers' workflows.

        Returns: ratio in [0, 1], see `graph_f1`. A `Failure` if an answer cannot be read as a workflow
            ("no_workflow", "malformed", "unknown_step", "cycle" …) or the steps cannot be aligned.
        """
        found = self._comparison.aligned(self.name, self.version, pair)
        if isinstance(found, Failure):
            return found
        return graph_f1(found.reference, found.candidate, found.alignment, exact=self._exact).f1


def graph_f1(
    reference: Workflow, candidate: Workflow, alignment: Alignment, *, exact: bool = False
) -> GraphScore:
    """Compare the graphs of the aligned steps.

    The common subgraph is induced: among its steps both workflows have exactly the same edges. It is
    found by pruning: as long as two of the steps are joined in one workflow and not in the other, the
    step with most such disagreements goes (among equals the one listed last). One goes at a time: to
    drop all that disagree at once would drop whole chains for one missing edge.

    Args:
        reference: What should be done.
        candidate: What is proposed.
        alignment: Of the candidate's steps with the reference's. It is taken as given: where texts
            occur twice, another alignment might share more.
        exact: Search for the largest subgraph where at most 40 steps are in dispute. Pruning
            finds it nearly always.

    Returns: 1 = the same graph, also if both are empty; 0 = no step in common, or only one side has
        steps.
    Source: Qiao and others 2025 (maximum common induced subgraph); appendix B.2 of WorkflowPerturb
        (pruning by neighbours).
    """
    disputed = _disputed(reference, candidate, alignment)
    greedy = _pruned(disputed)
    removed, maximum = greedy, greedy <= 1
    if exact and len(disputed) <= MOST_EXACT:
        removed, maximum = _fewest(disputed), True
    size = len(alignment) - removed
    return _score(size, len(reference.steps), len(candidate.steps), maximum=maximum)


def _score(size: int, wanted: int, proposed: int, *, maximum: bool) -> GraphScore:
    if not wanted and not proposed:
        return GraphScore(1.0, 1.0, 1.0, 0, maximum)
    precision = size / proposed if proposed else 0.0
    recall = size / wanted if wanted else 0.0
    return GraphScore(precision, recall, 2 * size / (wanted + proposed), size, maximum)


def _disputed(reference: Workflow, candidate: Workflow, alignment: Alignment) -> dict[int, set[int]]:
    """For each aligned step of the reference the others to which only one workflow joins it.

    An edge the other way round is two disagreements about the same two steps. Steps without dispute
    are left out.
    """
    to_reference = {match.candidate: match.reference for match in alignment.matched}
    kept = set(to_reference.values())
    wanted = {edge for edge in reference.edges if edge.before in kept and edge.after in kept}
    proposed = {
        (to_reference[before], to_reference[after])
        for before, after in candidate.edges
        if before in to_reference and after in to_reference
    }
    found: dict[int, set[int]] = {}
    for before, after in sorted(wanted ^ proposed):
        found.setdefault(before, set()).add(after)
        found.setdefault(after, set()).add(before)
    return found


def _pruned(disputed: Mapping[int, set[int]]) -> int:
    """How many steps have to go, taking the most disputed one first."""
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


def _fewest(disputed: Mapping[int, set[int]]) -> int:
    """The fewest steps that settle every dispute: a smallest vertex cover, by branching."""
    steps = sorted(disputed)
    place = {step: index for index, step in enumerate(steps)}
    others = [sum(1 << place[other] for other in disputed[step]) for step in steps]

    @cache
    def fewest(open_: int) -> int:
        most, chosen = 0, -1
        rest = open_
        while rest:
            lowest = rest & -rest
            rest ^= lowest
            index = lowest.bit_length() - 1
            degree = (others[index] & open_).bit_count()
            if degree == 1:
                # The one neighbour of such a step is never a worse choice than the step.
                return 1 + fewest(open_ & ~lowest & ~(others[index] & open_))
            if degree > most:
                most, chosen = degree, index
        if chosen < 0:
            return 0
        around = others[chosen] & open_
        without = open_ & ~(1 << chosen)
        return min(1 + fewest(without), around.bit_count() + fewest(without & ~around))

    return fewest((1 << len(steps)) - 1)
