"""Evidence of a change that nobody announced: reference prompts that are answered differently."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from evenkeel.core.cells import ChangeMark
from evenkeel.monitor.changes import kinds
from evenkeel.monitor.detect.references import ReferenceEvidence  # noqa: TC001 - msgspec reads it

if TYPE_CHECKING:
    from collections.abc import Sequence

Closed = Literal["reversed", "replaced", "settled"]
"""Reason why a silent change is no longer open.

"reversed": answers are back to what they were. "replaced": answers changed once more. "settled": 24 hours
went by, so that this is the new normal.
"""
State = Literal["found", "reversed", "replaced", "settled"]


@dataclass(frozen=True, slots=True)
class Silent:
    """Evidence of one change that nobody announced."""

    references: ReferenceEvidence
    state: State = "found"
    """Reason why it is over; "found" while it is open."""

    def preceded(self, marks: Sequence[ChangeMark]) -> bool:
        """Return whether answers had moved before any of these marks came about.

        The first new answer may look new by chance, so there is more to it.
        """
        latest = self.references.until or self.references.at
        return all(latest < mark.begun_at for mark in marks)

    def mark(self, offset: int) -> ChangeMark:
        """Return the mark of this change at a place in the log."""
        alike = "new answers to reference prompts are like earlier ones by"
        before, after = (f"{alike} {share:.0%}" for share in (self.references.own, self.references.likeness))
        return ChangeMark(kinds.REFERENCES, before, after, self.references.at, offset)
