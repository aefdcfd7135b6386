"""Simulated rounds of a check, with a planted noise floor and planted points in one category."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from evenkeel.core.verdict import CONTRAST
from evenkeel.release.check.figures import FIRST, CheckTrial
from evenkeel.release.check.rounds import RoundResult

if TYPE_CHECKING:
    import random

CATEGORIES = ("general", "positional", "format", "multilingual")
FRAGILE = "general"


@dataclass(slots=True)
class SimulatedRounds:
    """Makes rounds with planted probabilities; in place of `RoundMaker`."""

    noise: float
    points: float
    chance: random.Random
    calls: int = 0

    async def make(self, place: int, open_categories: list[str]) -> RoundResult:
        """Return the trials of one round."""
        control = self.chance.random() < self.noise
        self.calls += 2 + len(open_categories)
        trials = []
        for category in open_categories:
            if category == CONTRAST:
                continue
            share = self.noise + (self.points if category == FRAGILE else 0.0)
            moved = self.chance.random() < share
            trials.append(
                CheckTrial(
                    round=place,
                    arm=FIRST,
                    category=category,
                    kind=category,
                    moved=moved,
                    control_moved=control,
                )
            )
        return RoundResult(tuple(trials), {}, ())
