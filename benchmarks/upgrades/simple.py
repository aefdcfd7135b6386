"""What people write themselves: a fixed set of prompts that is asked once a week, with a threshold."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from statistics import fmean
from typing import TYPE_CHECKING, Final

from benchmarks.upgrades.answers import likeness
from benchmarks.upgrades.detectors import Alarm
from benchmarks.upgrades.scenes import DAY_S, START

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from benchmarks.upgrades.scenes import Scene

_HISTORY_DAYS: Final = 1.0
"""Traffic from which prompts are taken before the first answers are asked for."""


def probes(scene: Scene, count: int) -> list[int]:
    """Places of prompts of the first day's traffic, drawn by chance, as even over the tasks as can be."""
    chance = Random(f"probes/{scene.seed}")
    first = [request.place for request in scene.requests if request.at < START + _HISTORY_DAYS * DAY_S]
    by_task: dict[str, list[int]] = {}
    for place in dict.fromkeys(chance.sample(first, len(first))):
        by_task.setdefault(scene.prompt(place).task, []).append(place)
    found: list[int] = []
    while len(found) < count and any(by_task.values()):
        found += [places.pop() for places in by_task.values() if places]
    return found[:count]


def rounds(scene: Scene, every_days: float) -> Iterator[float]:
    """Times of the rounds after the first day, the first one being the baseline's."""
    at = START + _HISTORY_DAYS * DAY_S
    while at < scene.end:
        yield at
        at += every_days * DAY_S


@dataclass(frozen=True, slots=True)
class FixedProbes:
    """Prompts asked again at fixed times; the mean likeness to the first answers must not fall by much."""

    every_days: float = 7.0
    count: int = 25
    fall: float = 0.1
    """Of the mean likeness, against that of two first answers, from which on it is an alarm."""
    only_suspects: bool = False

    @property
    def name(self) -> str:
        """As tables have it."""
        return f"{self.count} fixed prompts, every {self.every_days:g} days"

    def watch(self, scene: Scene) -> Iterator[Alarm]:
        """Alarms of the rounds."""
        asked = probes(scene, self.count)
        first: list[str] | None = None
        own = 1.0
        for at in rounds(scene, self.every_days):
            answers = [scene.endpoint.ask(place, at) for place in asked]
            if first is None:
                again = [scene.endpoint.ask(place, at) for place in asked]
                first, own = answers, _alike(answers, again)
            elif _alike(first, answers) < own - self.fall:
                yield Alarm(at, about=f"likeness {_alike(first, answers):.2f}, was {own:.2f}")
                first = answers


def _alike(one: Sequence[str], two: Sequence[str]) -> float:
    return fmean(likeness(*pair) for pair in zip(one, two, strict=True))
