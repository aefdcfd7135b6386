"""Whether reference prompts are answered otherwise than before: a two-sample test by betting."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class AskedVersion:
    """What the references of one prompt version say."""

    prompt_version: str
    asked: int
    """Calls of the run that decided it."""
    likeness: float
    """Mean likeness of new answers to earlier ones, in [0, 1]."""
    own: float
    """Mean likeness of the earlier ones to each other, in [0, 1]."""


@dataclass(frozen=True, slots=True)
class ReferenceEvidence:
    """Reference prompts are answered otherwise: a change is found."""

    requested_model: str
    models: tuple[str, ...]
    """Names that the endpoint returned in the run that decided it, the most frequent first."""
    fingerprints: tuple[str, ...]
    """What it said about its own build, likewise."""
    at: float
    """Unix time in seconds of the answer that decided it."""
    after: float
    """Unix time in seconds of the last answer before the run that decided it: the change came after that, or
    during the run's first calls."""
    since: float
    """Unix time in seconds of the first answer of that run that was unlike the earlier ones."""
    calls: int
    """Of that run."""
    evidence_log10: float
    likeness: float
    """Mean likeness of its answers to the earlier ones, in [0, 1]."""
    own: float
    """Mean likeness of the earlier ones to each other, in [0, 1]."""
    versions: tuple[AskedVersion, ...]
    """By prompt version, the most moved first."""
    references: tuple[str, ...]
    """Ids of the reference prompts whose answers moved furthest, at most eight, the furthest first."""
