"""Examples of answers before and after a change that nobody announced.

They are read when somebody looks at a report, from what the references still hold, so nothing of a prompt or
an answer is kept a second time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from evenkeel.stores.sealing import SealError

if TYPE_CHECKING:
    from collections.abc import Callable

    from evenkeel.core.pair import Answer
    from evenkeel.monitor.changes.report import SilentSide
    from evenkeel.monitor.detect.references import ReferenceEvidence
    from evenkeel.stores.references import KeptAnswer, Reference, ReferenceStore

MOST_EXAMPLES: Final = 4


class BothSides(NamedTuple):
    """Two answers to one reference prompt."""

    before: KeptAnswer
    after: KeptAnswer


@dataclass(frozen=True, slots=True)
class Example:
    """Example of an answer before and an answer after the change."""

    route: str
    request: str
    """Body of the request, as JSON text."""
    before: Answer
    after: Answer


@dataclass(frozen=True, slots=True)
class Exhibits:
    """Examples of a change that the stores still hold."""

    examples: tuple[Example, ...] = ()
    """Examples, at most four, the largest difference first."""
    unreadable: bool = False
    """True if the key that decrypts them is missing."""


def exhibits(silent: SilentSide, references: ReferenceStore | None) -> Exhibits:
    """Read examples of both sides from the stores. Blocks on storage.

    Args:
        silent: The evidence.
        references: Store of the references; None if none are kept.
    """
    examples: list[Example] = []
    if references is None:
        return Exhibits()
    try:
        for name in silent.references.references:
            reference = references.find(name)
            sides = both_sides(reference, silent.references) if reference is not None else None
            if reference is not None and sides is not None:
                before, after = sides.before.answer, sides.after.answer
                examples.append(Example(silent.route, reference.request, before, after))
    except SealError:
        return Exhibits(unreadable=True)
    return Exhibits(tuple(examples[:MOST_EXAMPLES]))


def plain(shown: Exhibits, prompt: Callable[[str], str]) -> dict[str, list[dict[str, Any]]]:
    """Return examples as JSON values; `prompt` gives the text of the body of a request."""
    examples = []
    for example in shown.examples:
        texts = {"before": example.before.shown, "after": example.after.shown}
        examples.append({"route": example.route, "prompt": prompt(example.request), **texts})
    return {"examples": examples}


def both_sides(reference: Reference, evidence: ReferenceEvidence) -> BothSides | None:
    """Return the last answer before a change and the first one since; None if either is no longer kept."""
    if reference.is_vector:
        return None
    kept = sorted((*reference.former, *reference.answers), key=lambda answer: answer.at)
    before = []
    for answer in kept:
        if answer.at <= evidence.after:
            before.append(answer)
    after = [answer for answer in kept if answer.at >= evidence.since]
    return BothSides(before[-1], after[0]) if before and after else None
