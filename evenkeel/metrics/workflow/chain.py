"""Chain F1: share of the steps that come in an order that the reference allows."""

from __future__ import annotations

import importlib
from bisect import bisect_left
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

from evenkeel.metrics.workflow.workflow import neighbours

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkeel.metrics.workflow.alignment import Alignment
    from evenkeel.metrics.workflow.workflow import Workflow


def largest_antichain(related: Sequence[Sequence[int]]) -> int:
    """Return the size of the largest antichain.

    Args:
        related: For each item, all items that it is above of; transitive, without itself.

    Source: Dilworth 1950: as many as the chains that cover the order, which are the items less a
        largest matching of the pairs (by Hopcroft and Karp in scipy, pairs · √items steps).
    """
    if not any(related):
        return len(related)
    # Loaded here: only workflows in conflict need it, and it takes half a second and 60 MB.
    sparse: Any = importlib.import_module("scipy.sparse")
    matching: Any = importlib.import_module("scipy.sparse.csgraph").maximum_bipartite_matching
    rows = []
    for row, others in enumerate(related):
        for _ in others:
            rows.append(row)
    columns = list(chain.from_iterable(related))
    pairs = sparse.csr_array(([1] * len(rows), (rows, columns)), shape=(len(related), len(related)))
    return len(related) - int((matching(pairs) >= 0).sum())


# Most pairs of steps in the wrong order for which all orders are considered (some 50 ms).
_MOST_CONFLICTS = 20_000


@dataclass(frozen=True, slots=True)
class ChainScore:
    """Score of how far a chain of steps follows a reference."""

    f1: float
    """Steps in an allowed order, against the steps of both workflows, in [0, 1]."""
    length: int
    """Number of steps in order."""


def chain_f1(reference: Workflow, candidate: Workflow, alignment: Alignment) -> ChainScore:
    """Compare the candidate's canonical order with the orders that the reference allows.

    The longest common chain is the longest increasing subsequence of the aligned steps, over all
    topological orders of the reference. It is found without listing them: a set of aligned steps fits
    some order exactly if no two of them come the other way round than the reference's edges demand;
    "comes later, but must come before" is itself a partial order, so the largest such set is one of its
    antichains. With more than 20,000 conflicts only the canonical order counts; the true value may be higher.

    Args:
        reference: What should be done.
        candidate: What is proposed.
        alignment: Of the candidate's steps with the reference's.

    Returns: 1 = the same steps in an order that is allowed, also if both are empty; 0 = no step in
        common, or only one side has steps.
    Source: Qiao and others 2025 (WorFBench), all topological orders, where the code of WorkflowPerturb
        (appendix B.1) looks at the canonical one; the antichain by Dilworth 1950.
    """
    rank = {}
    for position, index in enumerate(reference.order):
        rank[index] = position
    positions = []
    for match in alignment.matched:
        positions.append(rank[match.reference])
    length = longest_increasing(positions)
    if length < len(positions) and not reference.linear:
        length = _longest_over_all(reference, positions) or length
    steps = len(reference.steps) + len(candidate.steps)
    return ChainScore(2 * length / steps if steps else 1.0, length)


def longest_increasing(positions: Sequence[int]) -> int:
    """Return the length of the longest strictly increasing subsequence, in time n · log n."""
    tails: list[int] = []
    for position in positions:
        at = bisect_left(tails, position)
        tails[at : at + 1] = [position]
    return len(tails)


def _longest_over_all(reference: Workflow, positions: Sequence[int]) -> int | None:
    """Return the longest chain over all orders; None if there are too many conflicts."""
    after = _required_after(reference)
    conflicts: list[list[int]] = []
    seen = count = 0
    where: dict[int, int] = {}
    for later, position in enumerate(positions):
        # A step conflicts with every earlier one that must come after it.
        wrong = []
        for bit in _bits(seen & after[position]):
            wrong.append(where[bit])
        count += len(wrong)
        if count > _MOST_CONFLICTS:
            return None
        conflicts.append(wrong)
        where[position] = later
        seen |= 1 << position
    return largest_antichain(conflicts)


def _required_after(reference: Workflow) -> list[int]:
    """Return, for each rank in canonical order, the ranks that must come after it, as bits."""
    rank = {}
    for position, index in enumerate(reference.order):
        rank[index] = position
    _, after = neighbours(len(reference.steps), reference.edges)
    later = [0] * len(reference.steps)
    for index in reversed(reference.order):
        for following in after[index]:
            later[rank[index]] |= 1 << rank[following] | later[rank[following]]
    return later


def _bits(number: int) -> list[int]:
    bits = []
    while number:
        lowest = number & -number
        bits.append(lowest.bit_length() - 1)
        number ^= lowest
    return bits
