"""Record of a change of a route, as the fold keeps it: its marks, and the traffic before and after."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from math import inf
from typing import TYPE_CHECKING, Final, Literal

from msgspec import Struct
from msgspec import field as stored

from evenkeel.core.cells import ChangeMark, is_unrated
from evenkeel.monitor.changes import kinds
from evenkeel.monitor.changes.kinds import AskedAgain  # noqa: TC001 - msgspec reads the annotations
from evenkeel.monitor.changes.onset import ExchangeShifts  # noqa: TC001 - likewise
from evenkeel.monitor.changes.stay import Stay, turns_of
from evenkeel.monitor.detect.references import ReferenceEvidence  # noqa: TC001 - likewise
from evenkeel.monitor.estimate import Counts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenkeel.core.verdict import Verdict
    from evenkeel.monitor.changes.stay import End
    from evenkeel.monitor.estimate import RatedOutcome


# Values of a trait counted by name. A client chooses some of them, so their number is bounded.
_MOST_VALUES: Final = 12
OTHER: Final = "other"
"""Label that counts the values of a trait, or the models, beyond the first twelve together."""


class ChangeTally(Struct, dict=True):
    """Counts of outcomes by perturbation, traits by value, and ratings: a few hundred numbers at most."""

    exchanges: int = 0
    cells: dict[str, dict[str, int]] = stored(default_factory=dict)
    """Counts of each outcome by perturbation; the key is the outcome's letter
    (`evenkeel.monitor.estimate.counts`)."""
    traits: dict[str, dict[str, int]] = stored(default_factory=dict)
    """Exchanges by trait and value."""
    invalid: dict[str, int] = stored(default_factory=dict)
    """Answers by perturbation that ignore the format or language asked for."""
    unrated: dict[str, int] = stored(default_factory=dict)
    """Trials by perturbation that nobody could rate."""
    models: dict[str, int] = stored(default_factory=dict)
    """Trials by model."""
    judged: bool = False
    """True if a judge took part in a rating."""
    began_at: float | None = None
    ended_at: float | None = None
    """Unix times in seconds of the first and the last verdict."""

    def __post_init__(self) -> None:
        self.effects: dict[str, float] = {}
        """Design effects by perturbation: those of the cells of the model with the most trials, so that a
        figure has the same interval here as in its cell. Not part of the state."""
        self.shown_limits: dict[str, float | None] = {}
        """Limits by perturbation that the alerts of these cells show answers to be over. Not part of the
        state."""

    def add(self, verdict: Verdict, outcome: RatedOutcome | str) -> None:
        """Count a verdict with its outcome."""
        if self.began_at is None:
            self.began_at = verdict.scored_at
        self.ended_at = verdict.scored_at
        if not isinstance(outcome, str):
            letters = self.cells.setdefault(verdict.perturbation, {})
            letters[outcome.letter] = letters.get(outcome.letter, 0) + 1
            _add_bounded(self.models, verdict.model)
            if verdict.invalid:
                count = self.invalid.get(verdict.perturbation, 0)
                self.invalid[verdict.perturbation] = count + 1
        elif is_unrated(outcome):
            self.unrated[verdict.perturbation] = self.unrated.get(verdict.perturbation, 0) + 1
        self.judged = self.judged or (verdict.scoring.scorer == "judge" and verdict.rating is not None)

    def add_exchange(self, traits: Mapping[str, str]) -> None:
        """Count an exchange and its traits."""
        self.exchanges += 1
        for name, value in traits.items():
            _add_bounded(self.traits.setdefault(name, {}), value)

    def merge(self, other: ChangeTally) -> None:
        """Add the counts of a later stretch of traffic."""
        self.exchanges += other.exchanges
        for name, letters in other.cells.items():
            _add_all(self.cells.setdefault(name, {}), letters)
        for name, values in other.traits.items():
            counted = self.traits.setdefault(name, {})
            for value, count in values.items():
                _add_bounded(counted, value, count)
        _add_all(self.invalid, other.invalid)
        _add_all(self.unrated, other.unrated)
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
        return sum(sum(letters.values()) for letters in self.cells.values())

    @property
    def leading_model(self) -> str:
        """Model with the most trials; "" without any."""
        return max(self.models, key=lambda model: self.models[model], default="")

    def counts(self, perturbation: str) -> Counts:
        """Return the counts of one perturbation, whatever the model."""
        unrated = self.unrated.get(perturbation, 0)
        return Counts(
            self.cells.get(perturbation, {}),
            failures={"unrated": unrated} if unrated else {},
            effect=self.effects.get(perturbation, 1.0),
        )


def _add_all(counts: dict[str, int], others: Mapping[str, int]) -> None:
    for name, count in others.items():
        counts[name] = counts.get(name, 0) + count


def _add_bounded(counts: dict[str, int], value: str, count: int = 1) -> None:
    """Count a value; those beyond the first twelve count together, because clients make names up."""
    name = value if value in counts or len(counts) < _MOST_VALUES else OTHER
    counts[name] = counts.get(name, 0) + count


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
ASKED: Final = 30
"""Answers to reference prompts, as before, that rule out a silent change: real ones showed in 11 to 24."""

Closed = Literal["reversed", "replaced", "settled"]
"""Reason why a silent change is no longer open.

"reversed": answers are back to what they were. "replaced": answers changed once more. "settled": 24 hours
went by, so that this is the new normal.
"""
SilentState = Literal["found", "reversed", "replaced", "settled"]


@dataclass(frozen=True, slots=True)
class Silent:
    """Evidence of a change that nobody announced: reference prompts that are answered differently."""

    references: ReferenceEvidence
    state: SilentState = "found"
    """Reason why it is over; "found" while it is open."""

    def mark(self, offset: int) -> ChangeMark:
        """Return the mark of this change at a place in the log."""
        alike = "new answers to reference prompts are like earlier ones by"
        evidence = self.references
        before, after = (f"{alike} {share:.0%}" for share in (evidence.own, evidence.likeness))
        return ChangeMark(kinds.REFERENCES, before, after, evidence.at, offset, began=evidence.after)


def change_id(route: str, mark: ChangeMark) -> str:
    """Return the id of a change: 12 hex digits that follow from the mark that opened it."""
    return hashlib.sha256(f"{route}\0{mark.kind}\0{mark.offset}".encode()).hexdigest()[:12]


@dataclass(slots=True)
class ChangeRecord:
    """Record of a change, with the traffic on both sides."""

    id: str
    route: str
    marks: tuple[ChangeMark, ...]
    """Marks in the order in which they were noticed; at least one."""
    before: ChangeTally
    """Traffic between the previous change and this one, without exchanges that may belong to either side."""
    after: ChangeTally = field(default_factory=ChangeTally)
    """Traffic since this change, until it was reversed; at most 2,000 exchanges, none after the next
    change."""
    since: int = 0
    """Exchanges since this change."""
    silent: Silent | None = None
    """Evidence of a silent change, alone or in addition to a stated one; None without any."""
    stay: Stay = field(default_factory=Stay)
    """Duration of its values in the traffic."""
    around: list[ExchangeShifts] = field(default_factory=list)
    """Shifted answers of the last exchanges before this change and the first ones after it."""
    asked: int = 0
    """Answers to reference prompts in a row since its last mark that are as before, 30 at most."""
    askable: bool = True
    """False once a silent change was found: from then on, answers are compared with the new ones."""
    panel: AskedAgain = ""
    """Outcome of the panel of the route's judge since the last mark; "" on a route without one."""

    @property
    def end(self) -> End | None:
        """Reversal or replacement of the change; None while its values are still in the traffic."""
        return self.stay.end

    @property
    def at(self) -> float:
        """Unix time in seconds of the first mark."""
        return self.marks[0].at

    @property
    def kinds(self) -> frozenset[str]:
        """Kinds of its marks."""
        return frozenset(mark.kind for mark in self.marks)

    @property
    def references(self) -> AskedAgain:
        """Outcome of the reference prompts that were asked since the last mark."""
        if self.silent is not None:
            return "moved"
        return "same" if self.asked >= ASKED else ""

    def takes(self, mark: ChangeMark, silent: Silent | None) -> bool:
        """Return whether a mark, or the evidence of a silent change, belongs to this change."""
        if silent is None:
            is_slow = mark.kind in _SLOW or bool(self.kinds & _SLOW)
            return self.since <= (_TOGETHER_SLOW if is_slow else TOGETHER)
        # A record holds one silent change; a further finding is a change of its own.
        if self.silent is not None:
            return False
        if self.since <= TOGETHER:
            return True
        evidence = silent.references
        begin = evidence.after if self.kinds & _BY_PROVIDER else evidence.since if self.kinds & _NEAR else inf
        return begin - _SHORTLY_S <= self.at <= evidence.at

    def take(self, mark: ChangeMark, silent: Silent | None) -> None:
        """Add a mark; what was asked or rated again before it says nothing about it."""
        self.marks = (*self.marks, mark)
        self.silent = silent or self.silent
        self.asked = 0
        self.panel = "due" if self.panel else ""

    def counts(self, verdict: Verdict) -> bool:
        """Return whether a trial counts as after the change; none does once the change is reversed."""
        return self.after.exchanges < _MOST_AFTER and self.stay.covers(turns_of(self.marks), verdict)

    def copied(self) -> ChangeRecord:
        """Return a copy that later exchanges do not change."""
        before, after = ChangeTally(), ChangeTally()
        before.merge(self.before)
        after.merge(self.after)
        return replace(self, before=before, after=after, around=list(self.around), stay=replace(self.stay))
