"""Which models of a route have cells of their own.

Clients choose model names, and each would be a new series, so a route has room for some. Every model gets a
place while there is room. After that a name is counted with others, as `OTHER_MODEL`, until it has real
traffic: then it takes the place of one that has none, or has none any more.
"""

from __future__ import annotations

from typing import Any, Final

from evenkeel.core.cells import OTHER_MODEL

NEEDED: Final = 8
"""Exchanges that are real traffic."""
LATEST: Final = 200
"""Exchanges of the route among which a waiting name needs them; a model without one of them is idle."""
IDLE: Final = 2_000
"""Exchanges of the route after which a model without one may lose its place."""


class RouteModels:
    """The models of one route, in bounded memory."""

    __slots__ = ("_exchanges", "_most", "_placed", "_waiting")

    def __init__(self, most: int) -> None:
        self._most = most
        self._exchanges = 0
        self._placed: dict[str, tuple[int, int]] = {}
        """Model → its exchanges so far, and the number of the last one."""
        self._waiting: dict[str, list[int]] = {}
        """Name without a place → numbers of its exchanges among the latest."""

    def name_of(self, model: str) -> str:
        """The name that a verdict of the model is counted under."""
        return model if model in self._placed or self.admit(model) else OTHER_MODEL

    def admit(self, model: str, exchanges: int = 0) -> bool:
        """Give a model a place if there is room; returns whether it has one.

        Args:
            model: Its name.
            exchanges: That it is known to have had.
        """
        if model == OTHER_MODEL:
            return True
        if model not in self._placed and len(self._placed) >= self._most:
            return False
        known, last = self._placed.get(model, (0, self._exchanges))
        self._placed[model] = max(known, exchanges), last
        return True

    def observe(self, model: str) -> str | None:
        """Take the model of the next exchange.

        Returns: the model that has lost its place to it, mostly none.
        """
        self._exchanges += 1
        if self.name_of(model) != OTHER_MODEL:
            self._placed[model] = self._placed[model][0] + 1, self._exchanges
            return None
        return None if model == OTHER_MODEL else self._wait(model)

    def is_idle(self, model: str) -> bool:
        """Whether a model with a place had none of the latest exchanges."""
        return model in self._placed and self._exchanges - self._placed[model][1] >= LATEST

    def _wait(self, model: str) -> str | None:
        since = self._exchanges - LATEST
        if len(self._waiting) > LATEST:
            self._waiting = {name: places for name, places in self._waiting.items() if places[-1] > since}
        numbers = [number for number in self._waiting.get(model, ()) if number > since]
        numbers.append(self._exchanges)
        self._waiting[model] = numbers
        if len(numbers) < NEEDED:
            return None
        leaving = self._idle()
        if leaving is not None:
            del self._placed[leaving], self._waiting[model]
            self._placed[model] = len(numbers), self._exchanges
        return leaving

    def _idle(self) -> str | None:
        """The model without real traffic that was idle longest; None if all have some."""
        idle = [
            (last, name)
            for name, (exchanges, last) in self._placed.items()
            if exchanges < NEEDED or self._exchanges - last > IDLE
        ]
        return min(idle)[1] if idle else None

    def to_json(self) -> list[Any]:
        """The state as JSON values."""
        return [self._exchanges, self._placed, self._waiting]

    @classmethod
    def from_json(cls, raw: list[Any], most: int) -> RouteModels:
        """Read what `to_json` wrote; models that have a place keep it, whatever the limit."""
        models = cls(most)
        models._exchanges, models._waiting = raw[0], raw[2]
        models._placed = {name: (exchanges, last) for name, (exchanges, last) in raw[1].items()}
        return models
