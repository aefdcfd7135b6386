"""What a run found, and what it took."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenkeel.core.pair import Answer
    from evenkeel.experiments.gate.asking import Ledger
    from evenkeel.experiments.gate.report import GateReport
    from evenkeel.stores.goldens import Golden


@dataclass(frozen=True, slots=True)
class Fallen:
    """A golden that the candidate answers worse than the reference."""

    golden: Golden
    differences: Mapping[str, float]
    """By measure, where above 0."""
    answer: Answer
    """The candidate's, the first that breaches one of them."""
    rating: int | None
    """1, 2 or 3; None if it was not rated."""
    explanation: str

    @property
    def weight(self) -> tuple[float, int]:
        """For sorting: the worst is the highest."""
        return sum(self.differences.values()), -(self.rating or 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """Everything that is shown."""

    report: GateReport
    source: str
    """Where the goldens come from."""
    candidate: str
    """What it is, in a line."""
    reference: str
    """The same; "" if none was asked."""
    scored_by: str
    planned_calls: int
    """Calls to both sides that asking all goldens takes."""
    ledger: Ledger
    fallen: tuple[Fallen, ...]
    """Worst first."""
    failures: Mapping[str, str]
    """What was said about each reason why goldens could not be measured, once."""
    notes: tuple[str, ...] = ()
    seed: int = 0
    repeats: int = 1
    duration_s: float = 0.0

    @property
    def saved_calls(self) -> int:
        """Calls that were not needed because the answer was settled before."""
        return max(0, self.planned_calls - self.ledger.calls - self.ledger.remembered)
