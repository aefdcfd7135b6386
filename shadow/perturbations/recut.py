"""A prompt cut into other segments than its classifier made: finer, in another order, or more."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from evenkeel.shadow.prompt import Segment

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evenkeel.shadow.prompt import PromptView


def recut(view: PromptView, segments: Iterable[Segment]) -> PromptView:
    """The same body with these segments for all its text.

    Where `PromptView.arranged` moves segments as they are, this one may also hold parts of segments
    and new ones; whoever calls it answers for the text being complete.

    Args:
        view: The prompt.
        segments: All of the variant, in order within each slot; their indices and roles are set anew.

    Raises: KeyError if a segment names a slot that the prompt does not have.
    """
    slots = {(slot.message, slot.part): (place, slot.role) for place, slot in enumerate(view.slots)}
    placed = sorted(segments, key=lambda one: slots[one.slot][0])
    return replace(
        view,
        segments=tuple(
            Segment(index, slots[one.slot][1], one.kind, one.type, one.text, one.message, one.part)
            for index, one in enumerate(placed)
        ),
    )
