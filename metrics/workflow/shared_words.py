"""Which step is which by the words that they share: survives rewording, and needs no encoder."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from evenkeel.metrics.similarity.words import content_words, stem
from evenkeel.metrics.structured.assignment import MOST_CELLS, best_assignment
from evenkeel.metrics.workflow.alignment import Alignment, ExactText, Matched

if TYPE_CHECKING:
    from evenkeel.metrics.workflow.workflow import Workflow

FLOOR: Final = 0.5
"""Dice coefficient from which two steps are one: half of their words."""


class SharedWords:
    """Steps are the same if their texts are equal, or share half of their content words.

    Rougher than an encoder: "Reboot the server" and "Restart the machine" are two steps.
    """

    name = "shared_words"

    def align(self, reference: Workflow, candidate: Workflow) -> Alignment:
        """Pair equal texts first, then assign what is left so that most words are shared in all.

        Beyond 2,500 comparisons of what is left, only equal texts are paired.
        """
        equal = ExactText().align(reference, candidate).matched
        taken = {match.reference for match in equal}, {match.candidate for match in equal}
        left = [index for index in range(len(reference.steps)) if index not in taken[0]]
        right = [index for index in range(len(candidate.steps)) if index not in taken[1]]
        if not left or not right or len(left) * len(right) > MOST_CELLS:
            return Alignment(equal)
        rows, columns = (
            [_stems(side.steps[index]) for index in indices]
            for side, indices in ((reference, left), (candidate, right))
        )
        likeness = [[_dice(row, column) for column in columns] for row in rows]
        found = [
            Matched(right[column], left[row])
            for row, column in best_assignment(likeness)
            if likeness[row][column] >= FLOOR
        ]
        rank = {index: place for place, index in enumerate(candidate.order)}
        return Alignment(tuple(sorted((*equal, *found), key=lambda match: rank[match.candidate])))


def _stems(step: str) -> frozenset[str]:
    return frozenset(stem(word) for word in content_words(step))


def _dice(one: frozenset[str], other: frozenset[str]) -> float:
    size = len(one) + len(other)
    return 2 * len(one & other) / size if size else 0.0
