"""Values that exchanges of a route have, one kind at a time: a model's name, a prompt version, a parameter.

Values of one trait (a model's name, say) are followed. A new one becomes *known* and makes a change once it
holds a fifth of the latest exchanges at the expense of a known one that has grown rarer beyond chance, or all
of the last twelve; or, where it came so slowly that neither shows, once it holds most of them. So a stray
request is no change, nor is a template that was there all along and is only now learned, nor a rare value
that for once is frequent; a rolling deployment that goes back and forth between two values is one change and
not a storm of them.

A known value makes no change when it comes back, however long it was away: a nightly batch on another model
makes one change in its first night and none from then on, two prompt versions that are both there from the
start make none at all. The 64 known values that were seen last are remembered.
"""

from __future__ import annotations

from math import comb
from typing import TYPE_CHECKING, Final, NamedTuple

from msgspec import Struct, field

from evenkeel.monitor.changes.traits import UNKNOWN, UNSET, parameters_of

if TYPE_CHECKING:
    from collections.abc import Sequence

LATEST: Final = 40
"""Number of latest exchanges in which a new value needs its share."""
NEEDED: Final = 8
"""Exchanges among the latest 40 that a new value needs: a fifth."""
RUN: Final = 12
"""Consecutive exchanges that make a change even if little is known about the time before."""
MOST: Final = 24
"""Exchanges among the latest that make a change if the value became frequent slowly."""
KEPT: Final = 120
"""Number of exchanges that are kept: the latest ones and those before, for comparison."""
REMEMBERED: Final = 64
"""Number of values of a kind that stay known; the least recently seen is dropped first."""
SETTLING: Final = 20
"""Exchanges at the start in which every value is taken as already there, or as a stray if it came only
once."""
# Exchanges within which a new value must have replaced another; after that it is an additional value.
_PATIENCE: Final = 60
# Probability that a value grows this much rarer by chance.
_CHANCE: Final = 5e-4


class Switch(NamedTuple):
    """Replacement of one value by another."""

    before: str
    """The established value that grew rarer."""
    after: str
    age: int = 0
    """Exchanges since the first of the latest forty with the new value."""


class ValueWatch(Struct):
    """Watch over the values of one kind on one route; it starts without any known value."""

    latest: list[str] = field(default_factory=list)
    known: dict[str, int] = field(default_factory=dict)
    """Known values, each with the number of the last exchange that had it."""
    quiet: dict[str, None] = field(default_factory=dict)
    """Known values that have caused no change so far: they came slowly, or once among the first exchanges."""
    since: dict[str, int] = field(default_factory=dict)
    """New values with enough exchanges, each with the number of the exchange that completed them."""
    seen: int = 0

    def observe(self, value: str, settling: int = SETTLING, *, guessed: bool = False) -> Switch | None:
        """Take the value of the next exchange, or `UNKNOWN`; return the switch that it completes, if any.

        Args:
            value: Value of the exchange.
            settling: Exchanges at the start among which every value is taken as given.
            guessed: True if nobody stated the value. One constant value may then be read as several that
                alternate, so it replaces another only once the traffic has left that for 24 exchanges.
        """
        self.seen += 1
        latest = self.latest
        latest.append(value)
        if len(latest) > KEPT:
            del latest[0]
        if value in self.known:
            self.known[value] = self.seen
            if self.seen <= settling:
                self.quiet.pop(value, None)
            return self._slow(value, guessed=guessed) if value in self.quiet else None
        if value == UNKNOWN:
            return None
        if not self.known or self.seen <= settling:
            if self.known:
                self.quiet[value] = None
            self._learn(value)
            return None
        if latest[-LATEST:].count(value) < NEEDED:
            return None
        return self._quick(value, guessed=guessed)

    def _quick(self, value: str, *, guessed: bool) -> Switch | None:
        """Return a switch if a new value with enough exchanges has replaced another one."""
        run = self.latest[-RUN:].count(value) == RUN
        before = self._most_frequent(value) if run else self._rarer(value)
        if before is not None and (self._has_left(before) or not guessed):
            self._learn(value)
            return self._switch(before, value)
        # It came beside what was there, not in its place: known from now on, and no change.
        if self.seen - self.since.setdefault(value, self.seen) >= _PATIENCE:
            self._learn(value)
            self.quiet[value] = None
        elif len(self.since) > LATEST:
            # Values that clients make up are forgotten once they are no longer among the latest.
            for old in self.since.keys() - set(self.latest):
                del self.since[old]
        return None

    def _slow(self, value: str, *, guessed: bool) -> Switch | None:
        """Return a switch if a value that came slowly now holds most of the latest exchanges."""
        if self.latest[-LATEST:].count(value) < MOST:
            return None
        before = self._most_frequent(value)
        if guessed and before is not None and not self._has_left(before):
            return None
        del self.quiet[value]
        return None if before is None else self._switch(before, value)

    def _switch(self, before: str, value: str) -> Switch:
        latest = self.latest[-LATEST:]
        return Switch(before, value, len(latest) - 1 - latest.index(value))

    def _has_left(self, value: str) -> bool:
        return value not in self.latest[-MOST:]

    def _most_frequent(self, new: str) -> str | None:
        """Return the most frequent known value, counted over the latest exchanges first; None without one."""
        latest = self.latest[-LATEST:]

        def often(value: str) -> tuple[int, int, int, str]:
            return latest.count(value), self.latest.count(value), self.known[value], value

        return max((value for value in self.known if value != new), key=often, default=None)

    def _learn(self, value: str) -> None:
        self.known[value] = self.seen
        self.since = {}
        if len(self.known) > REMEMBERED:
            least = min(self.known, key=lambda value: self.known[value])
            del self.known[least]
            self.quiet.pop(least, None)

    def _rarer(self, new: str) -> str | None:
        """Return the known value that has become rarest beyond what chance explains; None if there is none.

        One that had gone before the new value came has not made room for it.
        """
        first = self.latest.index(new, max(0, len(self.latest) - LATEST))
        earlier = []
        for value in self.latest[:first]:
            if value in self.known:
                earlier.append(value)
        there = sorted(value for value in set(earlier) if not _had_gone(value, earlier))
        chances = {value: self._chance(value) for value in there}
        least = min(chances, key=lambda value: chances[value], default=None)
        return least if least is not None and chances[least] <= _CHANCE else None

    def _chance(self, value: str) -> float:
        """Return the probability of so few of a value's exchanges among the latest in random order.

        Source: Fisher's exact test, one-sided.
        """
        n, total = len(self.latest), self.latest.count(value)
        latest = self.latest[-LATEST:]
        few = latest.count(value)
        ways = comb(n, total)
        others = n - len(latest)
        return sum(comb(len(latest), k) * comb(others, total - k) for k in range(few + 1)) / ways


def _had_gone(value: str, latest: Sequence[str]) -> bool:
    """Return whether a value was absent at the end for longer than its share allows by chance."""
    absent = latest[::-1].index(value)
    return (1 - latest.count(value) / len(latest)) ** absent <= _CHANCE


# Most parameters that are followed on a route; verdicts hold fewer.
_MOST_PARAMETERS: Final = 24


class ParameterWatch(Struct):
    """Watch over a route's request parameters by name, so that one that always changes hides no other."""

    exchanges: int = 0
    watches: dict[str, ValueWatch] = field(default_factory=dict)

    def observe(self, parameters: str) -> list[Switch]:
        """Take the parameters of the next exchange as a verdict states them; "" if they are not known."""
        if not parameters:
            return []
        asked = parameters_of(parameters)
        for name in asked:
            if name not in self.watches and len(self.watches) < _MOST_PARAMETERS:
                watch = self.watches[name] = ValueWatch()
                for _ in range(min(self.exchanges, KEPT)):
                    watch.observe(UNSET)
        self.exchanges += 1
        changes = []
        for name, watch in sorted(self.watches.items()):
            switch = watch.observe(asked.get(name, UNSET))
            if switch is not None:
                changes.append(Switch(f"{name} {switch.before}", f"{name} {switch.after}", switch.age))
        return changes
