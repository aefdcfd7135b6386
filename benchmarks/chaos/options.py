"""What a chaos run can be told."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Options:
    """How long, how much, and from which seed."""

    seed: int = 1
    faults: int = 100
    seconds: float = 200.0
    rate: float = 15.0
    """Requests per second of all 64 clients together."""
    fsync: str = "always"
    """Redis's `appendfsync`."""
