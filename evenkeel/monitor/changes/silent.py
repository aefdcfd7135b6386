"""Evidence of changes that nobody announced: traits of answers, and answers to reference prompts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final, Literal

import msgspec

from evenkeel.core.cells import ChangeMark
from evenkeel.monitor.changes import kinds
from evenkeel.monitor.detect.references import ReferenceEvidence  # noqa: TC001 - msgspec reads it
from evenkeel.monitor.detect.traits import TraitEvidence  # noqa: TC001 - msgspec reads it

Closed = Literal["", "not_confirmed", "undecided", "reversed", "replaced", "settled"]
"""Reason why a silent change is no longer open; "" while it is.

"not_confirmed": enough reference prompts were asked again and are answered as before. "undecided": too few
could be asked within a day. "reversed": answers are back to what they were. "replaced": answers changed once
more. "settled": 24 hours went by, so that this is the new normal.
"""
State = Literal["suspected", "found", "not_confirmed", "undecided", "reversed", "replaced", "settled"]

_ARROW: Final = " → "


@dataclass(frozen=True, slots=True)
class Silent:
    """Evidence of one change that nobody announced: traits, references, or both."""

    traits: TraitEvidence | None = None
    """Evidence that makes the change suspected."""
    references: ReferenceEvidence | None = None
    """Evidence that makes the change found."""
    closed: Closed = ""
    closed_at: float | None = None
    """Unix time in seconds; None while it is open."""
    incident: str = ""
    """Id of the change that was found first, of all routes where this one shows; "" while it is suspected."""
    also_on: tuple[str, ...] = ()
    """The other routes of the incident, in the order in which it was found there."""

    @property
    def found(self) -> bool:
        """True if reference prompts confirm the change, so that it is more than a suspicion."""
        return self.references is not None

    @property
    def state(self) -> State:
        """State of the change."""
        return self.closed or ("found" if self.found else "suspected")

    @property
    def requested_model(self) -> str:
        """Requested model whose answers changed."""
        return self._last.requested_model

    @property
    def since(self) -> float:
        """Unix time in seconds of the first answer that was unlike those before."""
        return self._last.since

    @property
    def after(self) -> float:
        """Unix time in seconds after which it came about; `since` if only traits of answers show it."""
        return self._last.since if self.references is None else self.references.after

    @property
    def at(self) -> float:
        """Unix time in seconds of the observation that decided it."""
        return self._last.at

    @property
    def _last(self) -> TraitEvidence | ReferenceEvidence:
        found = self.references or self.traits
        assert found is not None
        return found

    def joined(self, later: Silent) -> Silent:
        """Merge with later evidence of the same change: a finding stays, a later suspicion replaces one."""
        if self.found:
            return self if self.traits is not None else replace(self, traits=later.traits)
        return replace(later, traits=later.traits or self.traits)

    def mark(self, offset: int) -> ChangeMark:
        """Return the mark of this change at a place in the log."""
        if self.references is not None:
            alike = "new answers to reference prompts are like earlier ones by"
            before, after = (
                f"{alike} {share:.0%}" for share in (self.references.own, self.references.likeness)
            )
            return ChangeMark(kinds.REFERENCES, before, after, self.at, offset)
        assert self.traits is not None
        said = self.traits.moved[0].said if self.traits.moved else ""
        before, _, after = said.partition(_ARROW)
        return ChangeMark(kinds.TRAITS, before or "as before", after or "otherwise", self.at, offset)

    def to_json(self) -> dict[str, Any]:
        """Return the evidence as JSON values; floats survive exactly."""
        raw: dict[str, Any] = msgspec.to_builtins(self)
        return raw

    @classmethod
    def from_json(cls, raw: dict[str, Any]) -> Silent:
        """Read what `to_json` wrote."""
        return msgspec.convert(raw, cls)
