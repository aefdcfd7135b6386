"""Selection of the models of a route that have cells of their own.

Clients choose model names, and each would be a new series, so a route has room for some. Every model gets a
place while there is room. After that a name is counted with others, as `OTHER_MODEL`, until it has real
traffic: then it takes the place of one that has none, or has none any more.

A model is gone after many more exchanges of the route than are usual between two of its own; after fewer if
another took its place.
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct, field

from evenkeel.core.cells import OTHER_MODEL

NEEDED: Final = 8
"""Number of exchanges that count as real traffic."""
LATEST: Final = 200
"""Latest exchanges of the route in which a waiting name needs that many; a model with one of them is not
gone."""
IDLE: Final = 2_000
"""Exchanges of the route without a model after which the model may lose its place."""
# Number of latest gaps between exchanges that define the usual gap.
_LATELY: Final = 20
# Number of usual gaps after which a model is gone: of independent exchanges, one gap in 1,100 is so long.
_GAPS: Final = 7
# Fewest exchanges after which a model that was replaced is gone.
_RUN: Final = 12


class Traffic(Struct, array_like=True):
    """Traffic of one model."""

    exchanges: int = 0
    last: int = 0
    """Number of its last exchange among those of the route."""
    gap: float = 0.0
    """Usual number of the route's exchanges from one of the model's to the next; 0 after only one."""

    def take(self, number: int) -> None:
        """Count an exchange."""
        self.exchanges += 1
        if self.exchanges > 1:
            self.gap += (number - self.last - self.gap) / min(_LATELY, self.exchanges - 1)
        self.last = number


class RouteModels(Struct):
    """Models of one route, in bounded memory."""

    most: int
    exchanges: int = 0
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

    def observe(self, model: str) -> str | None:
        """Take the model of the next exchange; return the one that lost its place to it, mostly none."""
        self.exchanges += 1
        if self.name_of(model) != OTHER_MODEL:
            self.placed[model].take(self.exchanges)
            return None
        return None if model == OTHER_MODEL else self._wait(model)

    def is_gone(self, model: str, *, replaced: bool = False) -> bool:
        """Return whether a placed model has stopped answering, judged by its own usual gap.

        Args:
            model: Its name.
            replaced: Whether another one took its place.
        """
        traffic = self.placed.get(model)
        if traffic is None:
            return False
        usual = max(_RUN if replaced else LATEST, min(_GAPS * traffic.gap, IDLE))
        return self.exchanges - traffic.last >= usual

    def _wait(self, model: str) -> str | None:
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
            self.placed[model] = Traffic(len(numbers), self.exchanges)
        return leaving

    def _idle(self) -> str | None:
        idle = []
        for name, model in self.placed.items():
            if model.exchanges < NEEDED or self.exchanges - model.last > IDLE:
                idle.append((model.last, name))
        return min(idle)[1] if idle else None
