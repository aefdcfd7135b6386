"""Bursts: for a while more of a route's requests are sampled than its settings say."""

from __future__ import annotations

from typing import NamedTuple, Protocol


class Override(NamedTuple):
    """A route is sampled more until a time."""

    route: str
    rate: float
    until: float
    """Unix time in seconds."""
    change: str
    """Id of the change that it is about."""


class Bursts(Protocol):
    """What is sampled more at the moment. Calls block on storage; several processes may share it."""

    def put(self, override: Override) -> None:
        """Sample a route more; replaces what was said about it before."""
        ...

    def drop(self, route: str) -> None:
        """Sample it as the settings say again."""
        ...

    def active(self, now: float) -> list[Override]:
        """Those that hold at a time, by route."""
        ...
