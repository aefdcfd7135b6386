"""What a detector is: it watches a scene and says when it thinks that the provider changed something."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.upgrades.scenes import Scene

Kind = Literal["suspected", "found"]


@dataclass(frozen=True, slots=True)
class Alarm:
    """A detector says that answers changed."""

    at: float
    """Unix time in seconds at which it says so."""
    kind: Kind = "found"
    about: str = ""
    """What it saw, in a few words."""


class NotInstalledError(LookupError):
    """A tool that is not on this machine; the message says how it is installed."""


class Detector(Protocol):
    """Anything that can watch a route."""

    @property
    def name(self) -> str:
        """As tables have it."""
        ...

    @property
    def only_suspects(self) -> bool:
        """Whether a suspicion is all that it ever raises."""
        ...

    def watch(self, scene: Scene) -> Iterator[Alarm]:
        """Alarms in their order, each as soon as it is raised, from requests up to then and own calls.

        The scene's endpoint is asked at the times at which the calls are made. The watch is over when the
        traffic is, or when nobody takes the next alarm.

        Raises: NotInstalledError.
        """
        ...
