"""What finds the values in a text that must not be kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable


class ProtectionError(Exception):
    """A detector cannot be had as the settings want it. The message says why and what to do."""


class Found(NamedTuple):
    """A value in a text."""

    start: int
    end: int
    kind: str
    """Names the placeholder and the counter, in snake case."""


class Detector(Protocol):
    """Finds values of one kind or several. Safe to use from one thread at a time."""

    def find(self, text: str) -> Iterable[Found]:
        """The values, none of them empty, in any order."""
        ...
