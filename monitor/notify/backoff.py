"""When to try again what failed: after 1 s, 2 s, 4 s … up to 5 min."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_FIRST_S = 1.0
_LONGEST_S = 300.0


class Backoff:
    """The pace of attempts at one receiver."""

    def __init__(self, clock: Callable[[], float]) -> None:
        """Start with an attempt allowed at once; `clock` counts seconds from any time on."""
        self._clock = clock
        self._next_s = _FIRST_S
        self._due = clock()

    @property
    def due(self) -> bool:
        """Whether an attempt may be made now."""
        return self._clock() >= self._due

    def succeed(self) -> None:
        """Start small again."""
        self._next_s = _FIRST_S

    def fail(self) -> float:
        """Wait longer than the last time; returns for how many seconds."""
        waited = self._next_s
        self._due = self._clock() + waited
        self._next_s = min(2 * waited, _LONGEST_S)
        return waited
