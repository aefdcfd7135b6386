"""Selection of the models of a route that have cells of their own.

Clients choose model names, and each would be a new series, so a route has room for some. Every model gets a
place while there is room. After that a name is counted with others, as `OTHER_MODEL`, until it has real
traffic: then it takes the place of one that has none, or has none any more.

A model is gone after more exchanges, and a longer time, than are usual between two of its own; if another
took its place, the exchanges suffice.
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct, field

from evenkeel.core.cells import OTHER_MODEL

NEEDED: Final = 8
"""Number of exchanges that count as real traffic."""
LATEST: Final = 200
"""Latest exchanges of the route in which a waiting name needs that many; a model with none of them is
idle."""
IDLE: Final = 2_000
"""Exchanges of the route without a model after which the model may lose its place."""
# Number of latest gaps between exchanges that define the usual gap.
_LATELY: Final = 20
# Number of usual gaps after which a model is gone: of independent exchanges, one gap in 1,100 is so long.
_GAPS: Final = 7
# Fewest exchanges after which a model that was replaced is gone.
_RUN: Final = 12
_SHORTEST_S: Final = 60.0
# Bounds in seconds of the time after which a model that was not replaced is gone.
_LONGEST_S: Final = 6 * 3_600.0


class Traffic(Struct, array_like=True):
    """Traffic of one model."""

    exchanges: int = 0
    last: int = 0
    """Number of its last exchange among those of the route."""
    at: float | None = None
    """Unix time in seconds of its last exchange; None if there was none."""
    gap: float = 0.0
    """Usual number of the route's exchanges from one of the model's to the next; 0 after only one."""
    gap_s: float = 0.0
    """Usual gap in seconds."""

    def take(self, number: int, at: float) -> None:
        """Count an exchange."""
        self.exchanges += 1
        if self.at is not None:
            weight = 1 / min(_LATELY, max(1, self.exchanges - 1))
            self.gap += weight * (number - self.last - self.gap)
            self.gap_s += weight * (max(0.0, at - self.at) - self.gap_s)
        self.last, self.at = number, at


class RouteModels(Struct):
    """Models of one route, in bounded memory."""

    most: int
    exchanges: int = 0
    at: float = 0.0
    """Unix time in seconds of the last exchange."""
    placed: dict[str, Traffic] = field(default_factory=dict)
    """Models that have a place; they keep it, whatever `most` is later."""
    waiting: dict[str, list[int]] = field(default_factory=dict)
    """Names without a place, each with the numbers of its exchanges among the latest."""

    def name_of(self, model: str) -> str:
        """Return the name that a verdict of the model is counted under."""
        return model if model in self.placed or self.admit(model) else OTHER_MODEL

    def admit(self, model: str, exchanges: int = 0) -> bool:
        """Give a model a place if there is room; return whether it has one.

        Args:
            model: Its name.
            exchanges: That it is known to have had.
        """
        if model == OTHER_MODEL:
            return True
        if model not in self.placed and len(self.placed) >= self.most:
            return False
        traffic = self.placed.setdefault(model, Traffic(last=self.exchanges))
        traffic.exchanges = max(traffic.exchanges, exchanges)
        return True

    def observe(self, model: str, at: float) -> str | None:
        """Take the model of the next exchange, and its Unix time in seconds.

        Returns: the model that has lost its place to it, mostly none.
        """
        self.exchanges += 1
        self.at = at
        if self.name_of(model) != OTHER_MODEL:
            self.placed[model].take(self.exchanges, at)
            return None
        return None if model == OTHER_MODEL else self._wait(model, at)

    def is_idle(self, model: str) -> bool:
        """Return whether a placed model had none of the latest exchanges, though it usually has some."""
        traffic = self.placed.get(model)
        if traffic is None:
            return False
        return self.exchanges - traffic.last >= max(LATEST, min(_GAPS * traffic.gap, IDLE))

    def is_gone(self, model: str, *, replaced: bool) -> bool:
        """Return whether a placed model has stopped answering, judged by its own usual gaps.

        Args:
            model: Its name.
            replaced: Whether another one took its place.
        """
        traffic = self.placed.get(model)
        if traffic is None or traffic.at is None:
            return False
        quiet, allowed = self.exchanges - traffic.last, min(_GAPS * traffic.gap, IDLE)
        if replaced:
            return quiet >= max(_RUN, allowed)
        given_s = min(max(_SHORTEST_S, _GAPS * traffic.gap_s), _LONGEST_S)
        return quiet >= allowed and self.at - traffic.at > given_s

    def _wait(self, model: str, at: float) -> str | None:
        since = self.exchanges - LATEST
        if len(self.waiting) > LATEST:
            for name in list(self.waiting):
                if self.waiting[name][-1] <= since:
                    del self.waiting[name]
        numbers = []
        for number in self.waiting.get(model, ()):
            if number > since:
                numbers.append(number)
        numbers.append(self.exchanges)
        self.waiting[model] = numbers
        if len(numbers) < NEEDED:
            return None
        leaving = self._idle()
        if leaving is not None:
            del self.placed[leaving], self.waiting[model]
            self.placed[model] = Traffic(len(numbers), self.exchanges, at)
        return leaving

    def _idle(self) -> str | None:
        idle = []
        for name, model in self.placed.items():
            if model.exchanges < NEEDED or self.exchanges - model.last > IDLE:
                idle.append((model.last, name))
        return min(idle)[1] if idle else None
