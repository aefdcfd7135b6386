"""What became of a workflow's steps: missing, compressed, duplicated, added, reordered, or just changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from evenkeel.core.verdict import Failure
from evenkeel.metrics.similarity.words import words
from evenkeel.metrics.workflow.alignment import canonical_text
from evenkeel.metrics.workflow.chain import chain_f1
from evenkeel.metrics.workflow.compare import SHARED

if TYPE_CHECKING:
    from evenkeel.core.pair import Pair

STEPS_CHANGED: Final = "steps_changed"
"""The workflow is below a threshold of its calibration, however its steps changed."""
CHANGED: Final = "changed"
"""No name fits, or several do."""
_CARRIED: Final = 0.8
"""Share of the words of steps that are gone which the new steps hold, from which they were compressed."""


def step_change(pair: Pair) -> str:
    """Name what became of the reference's steps in the candidate, by their texts alone.

    Returns: "missing" if steps are gone and no others came, "duplicated" or "added" if only others came,
        "compressed" if fewer new steps hold the words of those that are gone, "reordered" if all are there in
        another order; otherwise "changed".
    """
    found = SHARED.aligned(STEPS_CHANGED, 1, pair)
    if isinstance(found, Failure):
        return CHANGED
    left = {match.reference for match in found.alignment.matched}
    right = {match.candidate for match in found.alignment.matched}
    gone = [step for index, step in enumerate(found.reference.steps) if index not in left]
    new = [step for index, step in enumerate(found.candidate.steps) if index not in right]
    if gone and not new:
        return "missing"
    if new and not gone:
        known = {canonical_text(step) for step in found.reference.steps}
        repeated = [canonical_text(step) in known for step in new]
        return "duplicated" if all(repeated) else CHANGED if any(repeated) else "added"
    if len(new) < len(gone):
        lost = words(" ".join(gone))
        carried = set(words(" ".join(new)))
        return "compressed" if sum(word in carried for word in lost) >= _CARRIED * len(lost) else CHANGED
    if not gone:
        chain = chain_f1(found.reference, found.candidate, found.alignment)
        return "reordered" if chain.length < len(found.alignment) else CHANGED
    return CHANGED
