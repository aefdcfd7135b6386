"""Whether answers look otherwise than before, told from ordinary traffic."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class MovedTrait:
    """One trait that moved."""

    name: str
    """As `evenkeel.core.answer_traits.TRAITS` has it."""
    said: str
    """For people, with its unit: "length of answers: 812 → 433 characters"."""
    before: float
    """Mean over the earlier answers, in its own unit."""
    after: float
    """Mean over the new ones."""
    distance: float
    """Difference of the means in standard deviations of the earlier answers."""


@dataclass(frozen=True, slots=True)
class TraitEvidence:
    """Answers look otherwise: a change is suspected."""

    requested_model: str
    at: float
    """Unix time in seconds of the answer that decided it."""
    since: float
    """Unix time in seconds of the first answer of the run that decided it: the change came about then."""
    pairs: int
    """Of that run."""
    evidence_log10: float
    moved: tuple[MovedTrait, ...]
    """The ones that moved furthest, at most eight."""
    before: tuple[str, ...] = ()
    """Exchanges whose answers are examples of before, at most four, each paired with one of `after`."""
    after: tuple[str, ...] = ()
