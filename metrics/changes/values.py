"""Which values of one kind (a model's name, say) a route has, and when a new one has come to stay.

A value is *established* while it takes part in the route's traffic. One that is not becomes so, and that is
a change, once it holds a fifth of the latest exchanges; it is forgotten when a hundred exchanges have passed
without it. So a stray request is no change, a rolling deployment that goes back and forth between two values
is one change and not a storm of them, and a value that comes back later is a change again.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

LATEST: Final = 40
"""Exchanges among which a new value has to hold its share."""
NEEDED: Final = 8
"""So many of them: a fifth."""
FORGOTTEN_AFTER: Final = 100
"""Exchanges without it after which a value is new again."""
SETTLING: Final = 20
"""Exchanges at the start among which every value is taken as given."""


class Switch(NamedTuple):
    """A value came to stay."""

    before: str
    """The established value that was most frequent of late."""
    after: str


class ValueWatch:
    """The values of one kind on one route. Exchanges that have none are not shown to it."""

    __slots__ = ("_established", "_latest", "_seen")

    def __init__(self) -> None:
        self._latest: list[str] = []
        self._established: dict[str, int] = {}
        """Value → number of the last exchange that had it."""
        self._seen = 0

    @property
    def established(self) -> tuple[str, ...]:
        """The values there are, those seen last at the end."""
        return tuple(sorted(self._established, key=lambda value: (self._established[value], value)))

    def observe(self, value: str) -> Switch | None:
        """Take the value of the next exchange; says whether it has come to stay with this one."""
        self._seen += 1
        latest = self._latest
        latest.append(value)
        if len(latest) > LATEST:
            del latest[0]
        known = self._established
        last = known.get(value)
        if last is not None and self._seen - last <= FORGOTTEN_AFTER:
            known[value] = self._seen
            return None
        if not known or self._seen <= SETTLING:
            known[value] = self._seen
            return None
        if latest.count(value) < NEEDED:
            return None
        before = self._most_frequent(value)
        self._established = {
            one: place for one, place in known.items() if self._seen - place <= FORGOTTEN_AFTER
        }
        self._established[value] = self._seen
        return Switch(before, value)

    def _most_frequent(self, new: str) -> str:
        others = [value for value in self._established if value != new]
        if not others:  # the value itself, forgotten: nothing else took its place
            return new
        return max(others, key=lambda value: (self._latest.count(value), self._established[value], value))

    def to_json(self) -> list[Any]:
        """The state as JSON values."""
        return [self._latest, self._established, self._seen]

    @classmethod
    def from_json(cls, raw: list[Any]) -> ValueWatch:
        """Read what `to_json` wrote."""
        watch = cls()
        watch._latest, watch._established, watch._seen = raw
        return watch
