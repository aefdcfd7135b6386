"""Record of a change of a route, as the fold keeps it: its marks, and the traffic before and after."""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import asdict, dataclass
from math import inf
from typing import TYPE_CHECKING, Any, Final

from evenkeel.core.cells import ChangeMark
from evenkeel.monitor.changes import kinds
from evenkeel.monitor.changes.silent import Silent
from evenkeel.monitor.changes.stay import End, Stay, turns_of
from evenkeel.monitor.estimate import Counts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evenkeel.core.verdict import Verdict
    from evenkeel.monitor.changes.kinds import AskedAgain
    from evenkeel.monitor.estimate import RatedOutcome


# Values of a trait counted by name. A client chooses some of them, so their number is bounded.
_MOST_VALUES: Final = 12
OTHER: Final = "other"
"""Label that counts the values of a trait, or the models, beyond the first twelve together."""


class ChangeTally:
    """Counts of outcomes by perturbation, traits by value, and ratings: a few hundred numbers at most."""

    __slots__ = (
        "began_at", "cells", "effects", "ended_at", "exchanges", "invalid", "judged", "models", "traits",
    )  # fmt: skip

    def __init__(self) -> None:
        self.exchanges = 0
        self.cells: dict[str, Counter[str]] = {}
        """Counts of each outcome by perturbation; the key is the outcome's letter
        (`evenkeel.monitor.estimate.counts`)."""
        self.traits: dict[str, Counter[str]] = {}
        """Exchanges by trait and value."""
        self.invalid: Counter[str] = Counter()
        """Answers by perturbation that ignore the format or language asked for."""
        self.models: Counter[str] = Counter()
        """Trials by model."""
        self.effects: dict[str, float] = {}
        """Design effects by perturbation: those of the cells of the model with the most trials, so that a
        figure has the same interval here as in its cell. Not part of the state."""
        self.judged = False
        """True if a judge took part in a rating."""
        self.began_at: float | None = None
        self.ended_at: float | None = None
        """Unix times in seconds of the first and the last verdict."""

    def add(self, verdict: Verdict, outcome: RatedOutcome | str) -> None:
        """Count a verdict with its outcome."""
        if self.began_at is None:
            self.began_at = verdict.scored_at
        self.ended_at = verdict.scored_at
        if not isinstance(outcome, str):
            cell = self.cells.get(verdict.perturbation)
            if cell is None:
                cell = self.cells[verdict.perturbation] = Counter()
            cell[outcome.letter] += 1
            _add_bounded(self.models, verdict.model)
            if verdict.invalid:
                self.invalid[verdict.perturbation] += 1
        self.judged = self.judged or (verdict.scoring.scorer == "judge" and verdict.rating is not None)

    def add_exchange(self, traits: Mapping[str, str]) -> None:
        """Count an exchange and its traits."""
        self.exchanges += 1
        for name, value in traits.items():
            counted = self.traits.setdefault(name, Counter())
            _add_bounded(counted, value)

    def merge(self, other: ChangeTally) -> None:
        """Add the counts of a later stretch of traffic."""
        self.exchanges += other.exchanges
        for name, letters in other.cells.items():
            self.cells.setdefault(name, Counter()).update(letters)
        for name, values in other.traits.items():
            counted = self.traits.setdefault(name, Counter())
            for value, count in values.items():
                _add_bounded(counted, value, count)
        self.invalid.update(other.invalid)
        for model, count in other.models.items():
            _add_bounded(self.models, model, count)
        self.judged = self.judged or other.judged
        if self.began_at is None:
            self.began_at = other.began_at
        if other.ended_at is not None:
            self.ended_at = other.ended_at

    @property
    def trials(self) -> int:
        """Number of trials over all perturbations."""
        return sum(letters.total() for letters in self.cells.values())

    def counts(self, perturbation: str) -> Counts:
        """Return the counts of one perturbation, whatever the model."""
        return Counts(self.cells.get(perturbation, Counter()), effect=self.effects.get(perturbation, 1.0))

    def to_json(self) -> dict[str, Any]:
        """Return the tally as JSON values."""
        return {
            "exchanges": self.exchanges,
            "cells": self.cells,
            "traits": self.traits,
            "invalid": self.invalid,
            "models": self.models,
            "judged": self.judged,
            "at": [self.began_at, self.ended_at],
        }

    @classmethod
    def from_json(cls, raw: dict[str, Any]) -> ChangeTally:
        """Read what `to_json` wrote."""
        tally = cls()
        tally.exchanges = raw["exchanges"]
        tally.cells = {name: Counter(letters) for name, letters in raw["cells"].items()}
        tally.traits = {name: Counter(values) for name, values in raw["traits"].items()}
        tally.invalid = Counter(raw["invalid"])
        tally.models = Counter(raw["models"])
        tally.judged = raw["judged"]
        tally.began_at, tally.ended_at = raw["at"]
        return tally


def _add_bounded(counter: Counter[str], value: str, count: int = 1) -> None:
    """Count a value; those beyond the first twelve count together, because clients make names up."""
    is_kept = value in counter or len(counter) < _MOST_VALUES
    counter[value if is_kept else OTHER] += count


TOGETHER: Final = 60
"""Number of exchanges within which changed values belong to one change."""
# Number of exchanges for changes that are found by tests, which take longer.
_TOGETHER_SLOW: Final = 600
# Kinds that are found by tests, some time after they came about.
_SLOW: Final = frozenset((kinds.RATINGS, kinds.JUDGE_PANEL))
# Seconds by which a silent change may precede its first sign.
_SHORTLY_S: Final = 3_600.0
# Kinds that may explain a silent change if they fall between two answers to reference prompts.
_BY_PROVIDER: Final = frozenset((kinds.MODEL, kinds.REQUESTED_MODEL, kinds.FINGERPRINT))
# Kinds that belong to a silent change if they came shortly before its first sign.
_NEAR: Final = frozenset((kinds.PROMPT, kinds.PARAMETERS, kinds.RATINGS))
# Most exchanges after a change that are compared with those before it.
_MOST_AFTER: Final = 2_000


def change_id(route: str, mark: ChangeMark) -> str:
    """Return the id of a change: 12 hex digits that follow from the mark that opened it."""
    return hashlib.sha256(f"{route}\0{mark.kind}\0{mark.offset}".encode()).hexdigest()[:12]


@dataclass(frozen=True, slots=True)
class ChangeRecord:
    """Record of a change, with the traffic on both sides."""

    id: str
    route: str
    marks: tuple[ChangeMark, ...]
    """Marks, oldest first; at least one."""
    before: ChangeTally
    """Traffic between the previous change and this one, without exchanges that may belong to either side."""
    after: ChangeTally
    """Traffic since this change, until it was reversed; at most 2,000 exchanges, none after the next
    change."""
    since: int
    """Exchanges since this change."""
    silent: Silent | None = None
    """Evidence of a silent change, alone or in addition to a stated one; None without any."""
    end: End | None = None
    """Reversal or replacement of the change; None while its values are still in the traffic."""
    references: AskedAgain = ""
    """Outcome of the reference prompts that were asked since answers moved."""
    panel: AskedAgain = ""
    """Outcome of the panel of the route's judge since answers moved."""

    @property
    def judged(self) -> bool:
        """True if a judge took part in the ratings."""
        return self.before.judged or self.after.judged

    @property
    def at(self) -> float:
        """Unix time in seconds of the first mark."""
        return self.marks[0].at

    @property
    def kinds(self) -> frozenset[str]:
        """Kinds of its marks."""
        return frozenset(mark.kind for mark in self.marks)


class OpenRecord:
    """Record of a change that still counts traffic."""

    __slots__ = ("after", "before", "marks", "silent", "since", "stay")

    def __init__(self, marks: Sequence[ChangeMark], before: ChangeTally) -> None:
        self.marks = list(marks)
        self.before = before
        self.after = ChangeTally()
        self.since = 0
        self.silent: Silent | None = None
        self.stay = Stay()

    def takes(self, mark: ChangeMark) -> bool:
        """Return whether a mark belongs to this change: it came soon after, or its interval overlaps."""
        slow = mark.kind in _SLOW or any(own.kind in _SLOW for own in self.marks)
        if self.since <= (_TOGETHER_SLOW if slow else TOGETHER):
            return True
        return slow and any(mark.begun_at <= own.at and mark.at >= own.begun_at for own in self.marks)

    def shows(self, silent: Silent) -> bool:
        """Return whether evidence of a silent change is about this change."""
        if self.silent is not None:
            return False
        if self.since <= TOGETHER:
            return True
        noticed = {mark.kind for mark in self.marks}
        begin = silent.after if noticed & _BY_PROVIDER else silent.since if noticed & _NEAR else inf
        return begin - _SHORTLY_S <= self.marks[0].at <= silent.at

    def follow(self, verdict: Verdict, offset: int) -> bool:
        """Take the next exchange; return True if it decides that the change is over, or in effect again."""
        return self.stay.observe(turns_of(self.marks), verdict, offset)

    def counts(self, verdict: Verdict) -> bool:
        """Return whether a trial counts as after the change; none does once the change is reversed."""
        return self.after.exchanges < _MOST_AFTER and self.stay.covers(turns_of(self.marks), verdict)

    @property
    def moved_at(self) -> float:
        """Unix time in seconds by which answers had moved, or of the change if nothing says that they did."""
        falls = [mark.at for mark in self.marks if mark.kind == kinds.RATINGS]
        return max(falls, default=self.marks[0].at)

    def record(self, route: str, references: AskedAgain = "", panel: AskedAgain = "") -> ChangeRecord:
        """Return a copy that later exchanges do not change.

        Args:
            route: The record's route.
            references: Outcome of the reference prompts since answers moved.
            panel: Outcome of the judge's panel since then.
        """
        before, after = ChangeTally(), ChangeTally()
        before.merge(self.before)
        after.merge(self.after)
        return ChangeRecord(
            change_id(route, self.marks[0]),
            route,
            tuple(self.marks),
            before,
            after,
            self.since,
            self.silent,
            self.stay.end,
            "moved" if self.silent is not None else references,
            panel,
        )

    def to_json(self) -> dict[str, Any]:
        """Return the record as JSON values."""
        return {
            "marks": [asdict(mark) for mark in self.marks],
            "before": self.before.to_json(),
            "after": self.after.to_json(),
            "since": self.since,
            "silent": None if self.silent is None else self.silent.to_json(),
            "stay": self.stay.to_json(),
        }

    @classmethod
    def from_json(cls, raw: dict[str, Any]) -> OpenRecord:
        """Read what `to_json` wrote."""
        record = cls([ChangeMark(**mark) for mark in raw["marks"]], ChangeTally.from_json(raw["before"]))
        record.after, record.since = ChangeTally.from_json(raw["after"]), raw["since"]
        record.silent = None if raw["silent"] is None else Silent.from_json(raw["silent"])
        record.stay = Stay.from_json(raw["stay"])
        return record
