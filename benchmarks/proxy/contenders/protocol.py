"""What a contender is."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import AbstractContextManager
    from pathlib import Path

    from benchmarks.proxy.machine import Running

CHAT = "/v1/chat/completions"


@dataclass(frozen=True, slots=True)
class Site:
    """Where a contender is set up."""

    folder: Path
    """For its settings, its data and what it prints; empty before, gone afterwards."""
    cache: Path
    """For what takes long to install; kept."""
    upstream: int
    """Port of the model."""
    cores: tuple[int, ...]
    """Where it may run."""
    rest: tuple[int, ...]
    """Where everything else runs."""


@dataclass(frozen=True, slots=True)
class Door:
    """An address at which requests are taken."""

    name: str
    port: int
    path: str = CHAT
    headers: Mapping[str, str] = field(default_factory=dict)
    """That requests need besides the usual ones."""


@dataclass(frozen=True, slots=True)
class Place:
    """A contender that runs."""

    program: Running | None
    """None if there is nothing between the load and the model."""
    doors: tuple[Door, ...]
    version: str


class Contender(Protocol):
    """A program to be measured."""

    name: str
    processes: int
    """How many share its port; so many cores it is given where the machine has them."""

    def start(self, site: Site) -> AbstractContextManager[Place]:
        """Run it on the site's core while the context lasts.

        Raises: NotMeasured, with the reason, if it cannot be had or does not start.
        """
        ...
