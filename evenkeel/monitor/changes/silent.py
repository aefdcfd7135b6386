"""Evidence of a change that nobody announced: reference prompts that are answered differently."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from evenkeel.core.cells import ChangeMark
from evenkeel.monitor.changes import kinds
from evenkeel.monitor.detect.references import ReferenceEvidence  # noqa: TC001 - msgspec reads it

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

    def mark(self, offset: int) -> ChangeMark:
        """Return the mark of this change at a place in the log."""
        alike = "new answers to reference prompts are like earlier ones by"
        before, after = (f"{alike} {share:.0%}" for share in (self.references.own, self.references.likeness))
        return ChangeMark(kinds.REFERENCES, before, after, self.references.at, offset)
