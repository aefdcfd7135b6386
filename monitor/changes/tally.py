"""What is counted of a stretch of a route's traffic, to be held against another stretch."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from evenkeel.monitor.estimate import Counts
from evenkeel.monitor.noise import JudgeCounts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenkeel.core.verdict import Verdict
    from evenkeel.monitor.estimate import Outcome

_MOST_VALUES: Final = 12
OTHER: Final = "other"
"""Values of a trait beyond twelve are counted together."""


class Tally:
    """Outcomes by perturbation, traits by value, and what the judge said. A few hundred numbers at most."""

    __slots__ = ("began_at", "cells", "ended_at", "exchanges", "judge", "traits")

    def __init__(self) -> None:
        self.exchanges = 0
        self.cells: dict[str, Counter[str]] = {}
        """By perturbation how often each outcome was seen, by its letter (`evenkeel.monitor.estimate.outcome`)."""
        self.traits: dict[str, Counter[str]] = {}
        """By trait how many exchanges had each value."""
        self.judge = JudgeCounts()
        self.began_at: float | None = None
        self.ended_at: float | None = None
        """Unix times in seconds of the first and the last verdict."""

    def add(self, verdict: Verdict, outcome: Outcome | str) -> None:
        """Count a verdict."""
        if self.began_at is None:
            self.began_at = verdict.scored_at
        self.ended_at = verdict.scored_at
        if not isinstance(outcome, str):
            cell = self.cells.get(verdict.perturbation)
            if cell is None:
                cell = self.cells[verdict.perturbation] = Counter()
            cell[outcome.letter] += 1
        if verdict.scorer == "judge":
            self.judge.add(verdict)

    def add_exchange(self, traits: Mapping[str, str]) -> None:
        """Count an exchange and its traits."""
        self.exchanges += 1
        for name, value in traits.items():
            counted = self.traits.setdefault(name, Counter())
            counted[value if value in counted or len(counted) < _MOST_VALUES else OTHER] += 1

    def merge(self, other: Tally) -> None:
        """Add what a later stretch counted."""
        self.exchanges += other.exchanges
        for name, letters in other.cells.items():
            self.cells.setdefault(name, Counter()).update(letters)
        for name, values in other.traits.items():
            counted = self.traits.setdefault(name, Counter())
            for value, count in values.items():
                counted[value if value in counted or len(counted) < _MOST_VALUES else OTHER] += count
        theirs = other.judge.to_json()
        mine = self.judge.to_json()
        stages = {stage: mine["decided"].get(stage, 0) + count for stage, count in theirs["decided"].items()}
        summed = {name: mine[name] + theirs[name] for name in mine if name != "decided"}
        self.judge = JudgeCounts(decided=stages, **summed)
        if self.began_at is None:
            self.began_at = other.began_at
        if other.ended_at is not None:
            self.ended_at = other.ended_at

    def counts(self, perturbation: str) -> Counts:
        """The counts of one perturbation, whatever the model."""
        return Counts.of_outcomes(self.cells.get(perturbation, Counter()))

    def to_json(self) -> dict[str, Any]:
        """The tally as JSON values."""
        return {
            "exchanges": self.exchanges,
            "cells": self.cells,
            "traits": self.traits,
            "judge": self.judge.to_json(),
            "at": [self.began_at, self.ended_at],
        }

    @classmethod
    def from_json(cls, raw: dict[str, Any]) -> Tally:
        """Read what `to_json` wrote."""
        tally = cls()
        tally.exchanges = raw["exchanges"]
        tally.cells = {name: Counter(letters) for name, letters in raw["cells"].items()}
        tally.traits = {name: Counter(values) for name, values in raw["traits"].items()}
        tally.judge = JudgeCounts.from_json(raw["judge"])
        tally.began_at, tally.ended_at = raw["at"]
        return tally
