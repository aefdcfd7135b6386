"""Alignment of the steps of two workflows by equal text."""

from __future__ import annotations

import unicodedata
from collections import defaultdict, deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from rapidfuzz.distance import LCSseq

if TYPE_CHECKING:
    from collections.abc import Iterable

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
