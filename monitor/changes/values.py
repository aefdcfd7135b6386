"""Which values of one kind (a model's name, say) a route has, and when a new one has taken another's place.

A value is *established* while it takes part in the route's traffic; it is forgotten when a hundred exchanges
have passed without it. A new one makes a change once it holds a fifth of the latest exchanges at the expense
of an established one that has grown rarer beyond chance, or all of the last twelve; or, where it came so
slowly that neither shows, once it holds most of them. So a stray request is no change, nor is a template that
was there all along and is only now learned, nor a rare value that for once is frequent; a rolling deployment
that goes back and forth between two values is one change and not a storm of them; a value that comes back
later is one again.
"""

from __future__ import annotations

from math import comb
from typing import Any, Final, NamedTuple

LATEST: Final = 40
"""Exchanges among which a new value has to hold its part."""
NEEDED: Final = 8
"""So many of them: a fifth."""
RUN: Final = 12
"""So many one after another are a change, also where little is known of before."""
MOST: Final = 24
"""So many of them, if it came slowly."""
KEPT: Final = 120
"""Exchanges that are looked back upon: the latest and those before them."""
FORGOTTEN_AFTER: Final = 100
"""Exchanges without it after which a value is new again."""
SETTLING: Final = 20
"""Exchanges at the start among which every value is taken as given."""
_PATIENCE: Final = 60
"""Exchanges in which a new value of some weight has to have taken another's place; else it is one more."""
_CHANCE: Final = 5e-4
"""Probability with which a value may grow so much rarer though nothing changed."""
UNKNOWN: Final = ""
"""In place of a value that an exchange has, but nobody knows (yet)."""


class Switch(NamedTuple):
    """A value took another's place."""

    before: str
    """The established value that grew rarer."""
    after: str


class ValueWatch:
    """The values of one kind on one route."""

    __slots__ = ("_established", "_latest", "_quiet", "_seen", "_since")

    def __init__(self) -> None:
        self._latest: list[str] = []
        self._established: dict[str, int] = {}
        """Value → number of the last exchange that had it."""
        self._quiet: dict[str, None] = {}
        """Established values that made no change so far, because they came slowly."""
        self._since: dict[str, int] = {}
        """New values of some weight → number of the exchange that gave them that."""
        self._seen = 0

    def observe(self, value: str, settling: int = SETTLING) -> Switch | None:
        """Take the value of the next exchange, or `UNKNOWN`; says whether a change is complete with it.

        Args:
            value: What it is.
            settling: Exchanges at the start among which every value is taken as given.
        """
        self._seen += 1
        latest = self._latest
        latest.append(value)
        if len(latest) > KEPT:
            del latest[0]
        last = self._established.get(value)
        if last is not None and self._seen - last <= FORGOTTEN_AFTER:
            self._established[value] = self._seen
            return self._slow(value) if value in self._quiet else None
        if value == UNKNOWN:
            return None
        if not self._established or self._seen <= settling:
            self._established[value] = self._seen
            return None
        if latest[-LATEST:].count(value) < NEEDED:
            return None
        return self._quick(value)

    def _quick(self, value: str) -> Switch | None:
        """A new value of some weight: a change if another one has made room for it."""
        run = self._latest[-RUN:].count(value) == RUN
        before = self._most_frequent(value) if run else self._rarer(value)
        if before is not None:
            self._establish(value)
            return Switch(before, value)
        if self._seen - self._since.setdefault(value, self._seen) >= _PATIENCE:
            self._establish(value)
            self._quiet[value] = None
        return None

    def _slow(self, value: str) -> Switch | None:
        """A value that came slowly: a change once it holds most of the latest exchanges."""
        if self._latest[-LATEST:].count(value) < MOST:
            return None
        del self._quiet[value]
        before = self._most_frequent(value)
        return None if before is None else Switch(before, value)

    def _most_frequent(self, new: str) -> str | None:
        """The established value that is seen most often; None without one."""
        others = [one for one in self._established if one != new]
        return max(
            others, key=lambda one: (self._latest.count(one), self._established[one], one), default=None
        )

    def _establish(self, value: str) -> None:
        kept = {
            one: place
            for one, place in self._established.items()
            if self._seen - place <= FORGOTTEN_AFTER and one != value
        }
        self._established = {**kept, value: self._seen}
        self._quiet = {one: None for one in self._quiet if one in kept}
        self._since = {}

    def _rarer(self, new: str) -> str | None:
        """The established value that has become rarer beyond chance, of several the one that did most."""
        found = {
            value: self._chance(value) for value in sorted(self._established) if value not in {new, UNKNOWN}
        }
        least = min(found, key=lambda value: found[value], default=None)
        return least if least is not None and found[least] <= _CHANCE else None

    def _chance(self, value: str) -> float:
        """Probability that so few of a value's exchanges are among the latest, were their order random.

        Source: Fisher's exact test, one-sided.
        """
        n, total = len(self._latest), self._latest.count(value)
        latest = self._latest[-LATEST:]
        few = latest.count(value)
        ways = comb(n, total)
        others = n - len(latest)
        return sum(comb(len(latest), k) * comb(others, total - k) for k in range(few + 1)) / ways

    def to_json(self) -> list[Any]:
        """The state as JSON values."""
        return [self._latest, self._established, list(self._quiet), self._since, self._seen]

    @classmethod
    def from_json(cls, raw: list[Any]) -> ValueWatch:
        """Read what `to_json` wrote."""
        watch = cls()
        watch._latest, watch._established, quiet, watch._since, watch._seen = raw
        watch._quiet = dict.fromkeys(quiet)
        return watch
