"""Comparison of two workflows: which steps are the same, and how many come in an order that is allowed."""

from __future__ import annotations

import importlib
import unicodedata
from bisect import bisect_left
from collections import defaultdict, deque
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

from rapidfuzz.distance import LCSseq

from evenkeel.metrics.workflow.workflow import neighbours

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from evenkeel.metrics.workflow.workflow import Workflow


MOST_CELLS = 25_000_000
"""Most comparisons, which fit into 100 MB: 5,000 steps against 5,000."""


class StepMatch(NamedTuple):
    """Index of a step in each workflow."""

    candidate: int
    reference: int


@dataclass(frozen=True, slots=True)
class Alignment:
    """Steps that two workflows share, one to one, in the candidate's canonical order."""

    matched: tuple[StepMatch, ...]

    def __len__(self) -> int:
        return len(self.matched)


def canonical_text(step: str) -> str:
    """Return a step as it is compared: composed (NFC), with single spaces."""
    return " ".join(unicodedata.normalize("NFC", step).split())


def equal_steps(reference: Workflow, candidate: Workflow) -> Alignment:
    """Return the steps of equal texts, as many as there are on both sides.

    Where a text occurs several times, the pairs are chosen that leave most steps in order (longest common
    subsequence of the canonical orders), and the remaining steps are paired from first to last. Workflows
    with more than 25,000,000 pairs of steps are paired from first to last only.
    """
    return arranged(_exact(reference, candidate), candidate)


def _exact(reference: Workflow, candidate: Workflow) -> list[StepMatch]:
    # Numbers instead of texts: the library compares hashes.
    numbers: dict[str, int] = defaultdict(lambda: len(numbers))
    left = []
    for index in reference.order:
        left.append(numbers[canonical_text(reference.steps[index])])
    right = []
    for index in candidate.order:
        right.append(numbers[canonical_text(candidate.steps[index])])
    matches: list[StepMatch] = []
    used: set[int] = set()
    for code in LCSseq.opcodes(left, right) if len(left) * len(right) <= MOST_CELLS else ():
        if code.tag == "equal":
            for offset in range(code.src_end - code.src_start):
                position = code.src_start + offset
                used.add(position)
                matches.append(
                    StepMatch(candidate.order[code.dest_start + offset], reference.order[position])
                )
    taken = {match.candidate for match in matches}
    rest: dict[int, deque[int]] = defaultdict(deque)
    for position, number in enumerate(left):
        if position not in used:
            rest[number].append(position)
    for position, number in enumerate(right):
        if candidate.order[position] not in taken and rest[number]:
            matches.append(StepMatch(candidate.order[position], reference.order[rest[number].popleft()]))
    return matches


def arranged(matches: Iterable[StepMatch], candidate: Workflow) -> Alignment:
    """Return matches in the candidate's canonical order."""
    rank = {}
    for position, index in enumerate(candidate.order):
        rank[index] = position
    return Alignment(tuple(sorted(matches, key=lambda match: rank[match.candidate])))


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
