"""What was found though nobody said it: traits of answers that moved, reference prompts answered otherwise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evenkeel.monitor.detect.references import ReferenceEvidence
    from evenkeel.monitor.detect.traits import TraitEvidence


@dataclass(frozen=True, slots=True)
class Silent:
    """The evidence of one change that nobody announced. At least one of the two is there."""

    traits: TraitEvidence | None = None
    """Makes it suspected."""
    references: ReferenceEvidence | None = None
    """Makes it found."""

    @property
    def found(self) -> bool:
        """Whether it is more than a suspicion."""
        return self.references is not None
