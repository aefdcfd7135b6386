"""Parts of a prompt: slots of text, cut into blocks, which become its segments."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

SegmentKind = Literal["template", "input", "history"]
"""Origin of a segment: the application's prompt, its user or data, or earlier answers, results of tools, and
what of a user's mail its sender did not type. Nothing of the history is ever changed."""

SegmentType = Literal["instructions", "output_instructions", "examples", "document", "list", "code", "text"]
"""Type of a segment. "text" is a user's own text and anything that fits no other type."""


InputSource = Literal["typed", "documents", "tool_results", "instructions"]
"""Source of words that could be worded differently: an end user's typing, documents and other data, results
of tools, and the application's instructions."""
TYPED: Final[frozenset[InputSource]] = frozenset({"typed"})


class Span(NamedTuple):
    """A half-open stretch of a text."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class SlotText:
    """String of a request body that carries prompt text."""

    role: str
    text: str
    message: int
    """Place of its message in the conversation."""
    part: int | None = None
    """Place in a content part list; None if the content is a plain string."""


@dataclass(frozen=True, slots=True)
class Block:
    """Classified stretch of a slot's text."""

    kind: SegmentKind
    text: str
    type: SegmentType = "text"


Classifier = Callable[[Sequence[SlotText]], Sequence[Sequence[Block]]]
"""Function that cuts every slot of a prompt into blocks, whose joined texts are the slot's text."""


def by_role(slots: Sequence[SlotText]) -> Sequence[Sequence[Block]]:
    """Classify by role: users give input, system messages instructions, and all else is history.

    The classification where nothing is known of a route's template.
    """
    return [(_whole(slot),) for slot in slots]


def _whole(slot: SlotText) -> Block:
    match slot.role:
        case "user":
            return Block("input", slot.text)
        case "system" | "developer":
            return Block("template", slot.text, "instructions")
        case _:
            return Block("history", slot.text)


@dataclass(frozen=True, slots=True)
class Segment:
    """Smallest stretch of a prompt that a perturbation can replace or move."""

    index: int
    """Place in `PromptView.segments`; the key for `with_texts`."""
    role: str
    kind: SegmentKind
    type: SegmentType
    text: str
    message: int
    """Place in `PromptView.messages`."""
    part: int | None
    """Place in a content part list; None if the content is a plain string."""

    @property
    def slot(self) -> tuple[int, int | None]:
        """Return the key of the body's string that holds the segment."""
        return self.message, self.part

    @property
    def source(self) -> InputSource | None:
        """Return the source of the segment's words; None for code and earlier answers."""
        if self.type == "code":
            return None
        if self.kind == "history":
            return "tool_results" if self.role == "tool" else None
        if self.type == "document":
            return "documents"
        if self.kind == "template" or self.type not in ("text", "list"):
            return "instructions"
        # What is filled into a system message comes from the application's data.
        return "typed" if self.role == "user" else "documents"


def text_of(segments: Iterable[Segment], between: str = "") -> str:
    """Return the texts of segments in order, with something between them."""
    return between.join([segment.text for segment in segments])
