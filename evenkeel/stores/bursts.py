"""Bursts: for a while more of a route's requests are sampled than its settings say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from evenkeel.stores.documents import Collection, plain

if TYPE_CHECKING:
    from evenkeel.stores.documents import Documents


class Override(NamedTuple):
    """Override that samples a route more until a given time."""

    route: str
    rate: float
    until: float
    """Unix time in seconds."""
    change: str
    """Id of the change that caused the burst."""


_BURSTS: Final = Collection(name="bursts", key=("route",), body=plain(Override))


class Bursts:
    """Store of the routes that are sampled more for a time.

    Calls block on storage; several processes may share it.
    """

    def __init__(self, documents: Documents) -> None:
        self._documents = documents
        documents.open(_BURSTS)

    def put(self, override: Override) -> None:
        """Sample a route more; replaces its earlier override."""
        self._documents.put(_BURSTS, override)

    def drop(self, route: str) -> None:
        """Sample a route again as the settings say."""
        self._documents.drop(_BURSTS, route)

    def active(self, now: float) -> list[Override]:
        """Return the overrides that are in force at `now`, ordered by route."""
        # One that has ended stays until the route's next burst replaces it.
        overrides = self._documents.history(_BURSTS)
        return sorted(override for override in overrides if override.until > now)
