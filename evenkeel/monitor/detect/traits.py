"""Whether the answers of ordinary traffic look different from before: a two-sample test by betting.

Each new answer is paired with an unseen older one to a like prompt (`prompt_cells`), and a classifier that
has learnt from the pairs before bets on which of the two is the newer, by how their traits differ. A second
one sees how the prompts differ and nothing else. The wager pays what the first gave the truth, divided
by even odds or by what the second gave it, whichever is more. While answers to like prompts look as they
did, the wager pays one at most on average, whatever was seen before, if nothing tells the newer prompt or
if the second classifier tells it as well as can be. So the Shiryaev–Roberts sum of wagers reaches a level
on average not before as many pairs.

Every answer is used once, as an older one or as a newer. What is done with one depends on its prompt and on
answers already used, never on itself.

Source: Lopez-Paz and Oquab 2017 (classifier two-sample tests); Pandeva et al. 2024 (by betting);
MacKay 1992 (the chance that a Bayesian logistic regression gives).
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from evenkeel.core.answer_traits import STEP, TRAITS, VERSION
from evenkeel.core.figures import number
from evenkeel.monitor.detect.prompt_cells import (
    DIMENSIONS,
    PromptCells,
    Sketch,
    Sketches,
    packed,
    unpacked,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from evenkeel.core.answer_traits import Trait
    from evenkeel.core.sightings import AnswerSeen

    Floats = NDArray[np.floating[Any]]


@dataclass(frozen=True, slots=True)
class MovedTrait:
    """One trait that moved."""

    name: str
    """As `evenkeel.core.answer_traits.TRAITS` has it; of hashed traits what they are parts of."""
    said: str
    """For people, with its unit: "length of answers: 812 → 433 characters"."""
    before: float
    """Mean over the earlier answers, in its own unit; 0 of hashed traits."""
    after: float
    """Mean over the new ones, likewise."""
    distance: float
    """Difference of the means in standard deviations of an answer, the mean over before and after; of hashed
    traits the root of the sum of squares."""


@dataclass(frozen=True, slots=True)
class TraitEvidence:
    """Answers look otherwise: a change is suspected."""

    requested_model: str
    at: float
    """Unix time in seconds of the answer that decided it."""
    since: float
    """Unix time in seconds of the first answer that looks like those after it: the change came about then."""
    pairs: int
    """Of the run that decided it."""
    evidence_log10: float
    moved: tuple[MovedTrait, ...]
    """The ones that moved furthest, at most eight."""
    before: tuple[str, ...] = ()
    """Exchanges whose answers are examples of before, at most four, each paired with one of `after`."""
    after: tuple[str, ...] = ()


_DIMENSIONS: Final = len(TRAITS)
_RESERVE: Final = 300
_GROUPS: Final = 32
_FEWEST: Final = 6
"""Answers in reserve of a cell from which on pairs are made."""
_LAST: Final = 4
"""Answers that stay in reserve on a hunch."""
_KEPT: Final = 0.1
"""Of its part of the reserve, which a cell keeps on a hunch."""
_EARLY: Final = 3
"""Every so many answers a pair is made while the reserve is being filled."""
_HUNCH: Final = 1.5
"""Nats gained in a run above which all that comes is used as new while the reserve lasts."""
_PRIOR: Final = 0.4
_PROMPT_PRIOR: Final = 0.7
_FORGETTING: Final = 0.995
_FLATTEST: Final = 1e-3
_FIRST_VARIANCE: Final = 0.02
_LEAST_VARIANCE: Final = 0.003
_SCALE: Final = 0.5
"""A standard deviation of a pair's difference, as the classifier gets it."""
_AFTER: Final = 20
_SPAN: Final = 400
"""Pairs that standard deviations are estimated from."""
_LAST_PAIRS: Final = 256
_SIDE: Final = 8
"""Fewest pairs before a change and after it."""
_MOVED: Final = 8
_LEAST_MOVED: Final = 0.2
_LEAST_SPREAD: Final = 0.05
_EXAMPLES: Final = 4
_NATS: Final = 30.0
_LARGE: Final = 10
_HIGHEST: Final = 255


class _Learner:
    """Bayesian logistic regression on the differences of pairs, newer less older, that forgets slowly.

    An extended Kalman filter: the weights are normal, and what is learnt of them fades towards the prior.
    """

    __slots__ = ("_prior", "covariance", "weights")

    def __init__(self, dimensions: int, prior: float) -> None:
        self._prior = prior
        """Variance of a weight that nothing is known of."""
        self.weights: Floats = np.zeros(dimensions, dtype=np.float32)
        self.covariance: Floats = np.eye(dimensions, dtype=np.float32) * np.float32(prior)

    def bet(self, difference: Floats) -> float:
        """The chance, before learning from the pair, of picking the newer one; then learn from it."""
        mean = float(self.weights @ difference)
        gain: Floats = self.covariance @ difference
        variance = float(difference @ gain)
        chance = _logistic(mean / math.sqrt(1 + math.pi * variance / 8))
        plain = _logistic(mean)
        curvature = max(_FLATTEST, plain * (1 - plain))
        self.weights += gain * np.float32((1 - plain) / (1 + curvature * variance))
        self.weights *= np.float32(_FORGETTING)
        gain *= np.float32(1 / math.sqrt(1 / curvature + variance))
        self.covariance -= np.multiply.outer(gain, gain)  # symmetric to the last bit
        self.covariance *= np.float32(_FORGETTING)
        self.covariance.flat[:: len(gain) + 1] += np.float32((1 - _FORGETTING) * self._prior)
        return chance

    def to_json(self) -> list[str]:
        """Half of the matrix is enough: it is symmetric."""
        return [packed(self.weights), packed(self.covariance[np.triu_indices(len(self.weights))])]

    def read(self, raw: list[str]) -> None:
        """Take what `to_json` wrote."""
        upper = np.triu_indices(len(self.weights))
        self.weights = unpacked(raw[0], np.float32)
        self.covariance[upper] = unpacked(raw[1], np.float32)
        self.covariance.T[upper] = self.covariance[upper]


def _logistic(value: float) -> float:
    return 1 / (1 + math.exp(-max(-_NATS, min(_NATS, value))))


@dataclass(slots=True)
class _Group:
    """The answers of one prompt version and one set of parameters."""

    number: int
    used_at: int = 0


class _Pair(NamedTuple):
    """A new answer and the older one it is compared with."""

    at: float
    old: Floats
    new: Floats
    old_id: str
    new_id: str


class _LastPairs:
    """How the answers of the last pairs differed, to find afterwards where the change was."""

    def __init__(self) -> None:
        self.count = 0
        self._differences = np.zeros((_LAST_PAIRS, _DIMENSIONS), dtype=np.int8)
        """In double steps."""
        self._at = np.zeros(_LAST_PAIRS)

    def add(self, at: float, difference: Floats) -> None:
        """Take a pair by its difference in steps."""
        place = self.count % _LAST_PAIRS
        self._differences[place] = np.rint(difference / 2)
        self._at[place] = at
        self.count += 1

    def since(self, weights: Floats) -> float | None:
        """Time of the first pair that looks like those after it, by what was learnt; None from too few.

        The split into two runs of pairs that differ most in how plainly the newer answer shows.
        """
        held = min(self.count, _LAST_PAIRS)
        order = (np.arange(held) + (self.count - held)) % _LAST_PAIRS
        scores = np.tanh(self._differences[order] @ weights * (2 * STEP))
        if held < 2 * _SIDE:
            return None
        before = np.arange(1, held)
        sums = np.cumsum(scores)[:-1]
        gaps = (sums[-1] + scores[-1] - sums) / (held - before) - sums / before
        split = gaps * np.sqrt(before * (held - before))
        place = int(split[_SIDE - 1 : held - _SIDE].argmax()) + _SIDE
        return float(self._at[order[place]])

    def to_json(self) -> list[Any]:
        """As JSON values."""
        return [self.count, packed(self._differences), self._at.tolist()]

    def read(self, raw: list[Any]) -> None:
        """Take what `to_json` wrote."""
        self.count, differences, at = raw
        self._differences = unpacked(differences, np.int8).reshape(_LAST_PAIRS, _DIMENSIONS)
        self._at = np.array(at, dtype=np.float64)


class _Run:
    """Pairs since the wagers' product was lowest: what answers looked like before and after."""

    __slots__ = ("examples", "pairs", "since", "sums", "wealth")

    def __init__(self) -> None:
        self.pairs = 0
        self.since = 0.0
        self.wealth = 0.0
        """Nats."""
        self.sums: Floats = np.zeros((4, _DIMENSIONS))
        """Of the older answers, of the new ones, and of the squares of both, in steps."""
        self.examples: list[tuple[float, str, str]] = []
        """The pairs in which the newer answer shows best."""

    def add(self, pair: _Pair, wager: float) -> None:
        """Take a pair; begin again where nothing was gained until now."""
        if self.wealth <= 0:
            self.pairs, self.since, self.wealth, self.examples = 0, pair.at, 0.0, []
            self.sums[:] = 0
        self.wealth += math.log(wager)
        self.pairs += 1
        self.sums += (pair.old, pair.new, pair.old**2, pair.new**2)
        self.examples = sorted((*self.examples, (wager, pair.old_id, pair.new_id)), reverse=True)[:_EXAMPLES]

    def to_json(self) -> list[Any]:
        """As JSON values."""
        return [self.pairs, self.since, self.wealth, self.sums.tolist(), self.examples]

    def read(self, raw: list[Any]) -> None:
        """Take what `to_json` wrote."""
        self.pairs, self.since, self.wealth, sums, examples = raw
        self.sums = np.array(sums)
        self.examples = [(wager, old, new) for wager, old, new in examples]

    def moved(self) -> tuple[MovedTrait, ...]:
        """The traits that moved furthest."""
        old, new, old_squares, new_squares = self.sums * (STEP / max(self.pairs, 1))
        variances = (old_squares + new_squares) * STEP - old**2 - new**2
        distances = (new - old) / (np.sqrt(np.maximum(variances / 2, 0)) + _LEAST_SPREAD)
        found = [
            _plain_move(trait, old[place], new[place], distances[place])
            for place, trait in enumerate(TRAITS)
            if not trait.hashed
        ]
        for name, said in _HASHED.items():
            places = [place for place, trait in enumerate(TRAITS) if trait.hashed == name]
            distance = float(np.sqrt(np.sum(distances[places] ** 2)))
            found.append(MovedTrait(name, said, 0.0, 0.0, distance))
        found.sort(key=lambda one: -abs(one.distance))
        return tuple(one for one in found[:_MOVED] if abs(one.distance) >= _LEAST_MOVED)


_HASHED: Final = {trait.hashed: trait.said for trait in TRAITS if trait.hashed}


def _plain_move(trait: Trait, old: float, new: float, distance: float) -> MovedTrait:
    before, after = trait.value(float(old)), trait.value(float(new))
    said = f"{trait.said}: {_figure(before)} → {_figure(after)} {trait.unit}"
    return MovedTrait(trait.name, said, before, after, float(distance))


def _figure(value: float) -> str:
    return number(value, 0 if value >= _LARGE else 1)


class TraitTest:
    """Suspects a change of the answers of one requested model on one route."""

    def __init__(self, level: float = 1e7) -> None:
        """Begin with nothing.

        Args:
            level: Pairs between false alarms, on average and at least.
        """
        self._level = math.log(level)
        self.forget()

    def forget(self) -> None:
        """Begin anew: what answers looked like until now is no longer compared with."""
        self._clock = 0
        self._groups: dict[tuple[str, str], _Group] = {}
        self._cells = PromptCells()
        self._reserve = Sketches(_RESERVE)
        self._found = 0
        self._cell_of: NDArray[np.int64] = np.full(_RESERVE, -1, dtype=np.int64)
        """Cells of the places in the reserve, as they were last found."""
        self._answers = np.zeros((_RESERVE, _DIMENSIONS), dtype=np.uint8)
        self._order = np.zeros(_RESERVE, dtype=np.int64)
        self._at = np.zeros(_RESERVE)
        self._ids = [""] * _RESERVE
        self._begin()

    def _begin(self) -> None:
        self._evidence = -math.inf
        self._run = _Run()
        self._last = _LastPairs()
        self._pairs = 0
        self._variances: Floats = np.full(_DIMENSIONS, _FIRST_VARIANCE, dtype=np.float32)
        self._by_answers = _Learner(_DIMENSIONS, _PRIOR)
        self._by_prompts = _Learner(DIMENSIONS, _PROMPT_PRIOR)

    @property
    def evidence_log10(self) -> float:
        """Decimal logarithm of the sum of wagers; an alarm is raised at that of the level."""
        return self._evidence / math.log(10) if self._evidence > -math.inf else 0.0

    @property
    def reserve(self) -> int:
        """Unseen older answers."""
        return self._reserve.count

    def add(self, seen: AnswerSeen) -> TraitEvidence | None:
        """Take one answer; one that cannot be compared with others is passed over.

        Returns: evidence if it makes a change suspected. The test begins anew then, with what came since.
        """
        if seen.traits_version != VERSION or len(seen.traits) != _DIMENSIONS:
            return None
        sketch = Sketch.of(seen.prompt)
        if sketch is None:
            return None
        self._clock += 1
        group = self._group((seen.prompt_version, seen.parameters))
        if self._cells.is_repeat(sketch, group):
            return None
        if self._found != self._cells.found:
            self._sort()
        cell = self._cells.cell(sketch)
        if cell >= 0 and self._cells.is_odd(sketch, cell):
            return None
        mine = (self._reserve.owners == group) & (self._cell_of == cell)
        if cell < 0 or self._is_wanted(int(np.count_nonzero(mine)), self._cells.share(group, cell)):
            self._keep(seen, sketch, group, cell)
            return None
        mine &= self._reserve.directions @ sketch.direction >= self._cells.least_likeness(cell)
        place = int(np.where(mine, self._order, self._clock).argmin())
        return self._pair(seen, place, sketch) if mine[place] else None

    def _sort(self) -> None:
        """Sort the reserve into cells that were found anew."""
        self._found = self._cells.found
        self._cell_of = self._cells.cells(self._reserve.directions)

    def _is_wanted(self, held: int, share: float) -> bool:
        """Whether an answer goes to the reserve, of which its cell holds so many."""
        due = share * _RESERVE
        if self._run.wealth > _HUNCH:
            return held < max(_LAST, _KEPT * due)
        if held >= _FEWEST and self._reserve.count < _RESERVE and self._clock % _EARLY == 0:
            return False
        return held < due

    def _group(self, name: tuple[str, str]) -> int:
        group = self._groups.get(name)
        if group is None:
            number = len(self._groups)
            if number >= _GROUPS:
                number = self._groups.pop(min(self._groups, key=lambda one: self._groups[one].used_at)).number
                self._reserve.disown(number)
                self._cells.disown(number)
            group = self._groups[name] = _Group(number)
        group.used_at = self._clock
        return group.number

    def _keep(self, seen: AnswerSeen, sketch: Sketch, group: int, cell: int) -> None:
        """Put an answer into the reserve; the oldest of the cell furthest above its part makes room."""
        place = self._reserve.free_place()
        if place is None:
            held = Counter(zip(self._reserve.owners.tolist(), self._cell_of.tolist(), strict=True))
            crowded = max(held, key=lambda key: held[key] / self._cells.share(*key))
            those = (self._reserve.owners == crowded[0]) & (self._cell_of == crowded[1])
            place = int(np.where(those, self._order, self._clock).argmin())
        self._reserve.put(place, sketch, group)
        self._cell_of[place] = cell
        self._answers[place] = _steps(seen)
        self._order[place] = self._clock
        self._at[place] = seen.at
        self._ids[place] = seen.exchange_id

    def _pair(self, seen: AnswerSeen, place: int, sketch: Sketch) -> TraitEvidence | None:
        old, new = self._answers[place].astype(np.float32), _steps(seen).astype(np.float32)
        difference = (new - old) * np.float32(STEP)
        told = self._by_answers.bet(difference * self._scales())
        given = self._by_prompts.bet(sketch.direction - self._reserve.directions[place])
        wager = told / max(0.5, given)
        self._pairs += 1
        rate = np.float32(1 / min(self._pairs + _AFTER, _SPAN))
        self._variances += (difference**2 - self._variances) * rate
        self._reserve.free(place)
        self._last.add(seen.at, new - old)
        self._run.add(_Pair(seen.at, old, new, self._ids[place], seen.exchange_id), wager)
        self._evidence = _log1pexp(self._evidence) + math.log(wager)
        return self._alarm(seen) if self._evidence >= self._level else None

    def _scales(self) -> Floats:
        """What the differences of traits are multiplied with for the classifier."""
        scales: Floats = np.float32(_SCALE) / np.sqrt(self._variances + np.float32(_LEAST_VARIANCE))
        return scales

    def _alarm(self, seen: AnswerSeen) -> TraitEvidence:
        run = self._run
        since = self._last.since(self._by_answers.weights * self._scales())
        since = run.since if since is None else since
        evidence = TraitEvidence(
            seen.requested_model,
            seen.at,
            since,
            run.pairs,
            self.evidence_log10,
            run.moved(),
            tuple(old for _, old, _ in run.examples),
            tuple(new for _, _, new in run.examples),
        )
        self._reserve.owners[self._at < since] = -1
        self._begin()
        return evidence

    def to_json(self) -> dict[str, Any]:
        """The state as JSON values; everything survives exactly."""
        return {
            "version": VERSION,
            "level": self._level,
            "clock": self._clock,
            "evidence": None if self._evidence == -math.inf else self._evidence,
            "groups": [[*name, one.number, one.used_at] for name, one in self._groups.items()],
            "cells": self._cells.to_json(),
            "reserve": self._reserve.to_json(),
            "cell_of": self._cell_of.tolist(),
            "answers": packed(self._answers),
            "order": self._order.tolist(),
            "at": self._at.tolist(),
            "ids": self._ids,
            "run": self._run.to_json(),
            "last": self._last.to_json(),
            "pairs": self._pairs,
            "variances": packed(self._variances),
            "learners": [self._by_answers.to_json(), self._by_prompts.to_json()],
        }

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> TraitTest:
        """Read what `to_json` wrote; what is of another version of the traits is forgotten."""
        test = cls()
        test._level = raw["level"]
        if raw["version"] != VERSION:
            return test
        test._clock = raw["clock"]
        test._evidence = -math.inf if raw["evidence"] is None else raw["evidence"]
        test._groups = {(version, parameters): _Group(*rest) for version, parameters, *rest in raw["groups"]}
        test._cells.read(raw["cells"])
        test._found = test._cells.found
        test._reserve.read(raw["reserve"])
        test._cell_of = np.array(raw["cell_of"], dtype=np.int64)
        test._answers = unpacked(raw["answers"], np.uint8).reshape(_RESERVE, _DIMENSIONS)
        test._order = np.array(raw["order"], dtype=np.int64)
        test._at = np.array(raw["at"], dtype=np.float64)
        test._ids = list(raw["ids"])
        test._run.read(raw["run"])
        test._last.read(raw["last"])
        test._pairs = raw["pairs"]
        test._variances = unpacked(raw["variances"], np.float32)
        test._by_answers.read(raw["learners"][0])
        test._by_prompts.read(raw["learners"][1])
        return test


def _steps(seen: AnswerSeen) -> NDArray[np.uint8]:
    steps = np.rint(np.array(seen.traits, dtype=np.float64) / STEP)
    return np.minimum(np.maximum(steps, 0), _HIGHEST).astype(np.uint8)


def _log1pexp(value: float) -> float:
    return value + math.log1p(math.exp(-value)) if value > 0 else math.log1p(math.exp(value))
