"""Name for what became of a workflow's steps, for the report of a gate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from evenkeel.metrics.similarity.words import words
from evenkeel.metrics.workflow.alignment import canonical_text, equal_steps
from evenkeel.metrics.workflow.chain import chain_f1
from evenkeel.metrics.workflow.reading import read_answer
from evenkeel.metrics.workflow.workflow import WorkflowError

if TYPE_CHECKING:
    from evenkeel.core.pair import Pair

CHANGED: Final = "changed"
# Steps count as compressed if the new ones hold at least this share of the words of those that are gone.
_CARRIED: Final = 0.8


def step_change(pair: Pair) -> str:
    """Name what became of the reference's steps in the candidate, by their texts alone.

    Returns: "missing" if steps are gone and no others came, "duplicated" or "added" if only others came,
        "compressed" if fewer new steps hold the words of those that are gone, "reordered" if all are there in
        another order, "changed" if no name fits or several do, "" if the steps are the same or one of the
        answers is no workflow.
    """
    try:
        reference, candidate = read_answer(pair.reference), read_answer(pair.candidate)
    except WorkflowError:
        return ""
    alignment = equal_steps(reference, candidate)
    kept = {match.reference for match in alignment.matched}
    paired = {match.candidate for match in alignment.matched}
    gone = []
    for index, step in enumerate(reference.steps):
        if index not in kept:
            gone.append(step)
    new = []
    for index, step in enumerate(candidate.steps):
        if index not in paired:
            new.append(step)
    if gone and not new:
        return "missing"
    if new and not gone:
        own = {canonical_text(step) for step in reference.steps}
        repeated = [canonical_text(step) in own for step in new]
        if all(repeated):
            return "duplicated"
        return CHANGED if any(repeated) else "added"
    if gone:
        return "compressed" if len(new) < len(gone) and _carries(new, gone) else CHANGED
    chain = chain_f1(reference, candidate, alignment)
    return "reordered" if chain.length < len(alignment) else ""


def _carries(new: list[str], gone: list[str]) -> bool:
    """Return whether the new steps hold nearly all words of those that are gone."""
    lost = words(" ".join(gone))
    carried = set(words(" ".join(new)))
    return sum(word in carried for word in lost) >= _CARRIED * len(lost)
