"""Whether answers look otherwise than before, told from ordinary traffic: a two-sample test by betting.

Each new answer is paired with an unseen older one to a like prompt, and a classifier that has learnt from
the pairs before bets on which of the two is the newer. It is told what tells the answers apart and what tells
the prompts apart; a second one is told of the prompts alone. The wager pays the ratio of what the two gave
the truth: while answers to like prompts look as they did, nothing about them says more than the prompts do,
and the wager pays one on average, whatever was seen before. So the Shiryaev–Roberts sum of wagers reaches a
level on average not before as many pairs.

Every answer is used once, as an older one or as a newer. What is done with one depends on its prompt and on
answers already used, never on itself.

Source: Lopez-Paz and Oquab 2017 (classifier two-sample tests); Pandeva et al. 2024 (by betting);
MacKay 1992 (the chance that a Bayesian logistic regression gives).
"""

from __future__ import annotations

import base64
import math
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from evenkeel.core.answer_traits import STEP, TRAITS, VERSION
from evenkeel.core.figures import number

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
    """Difference of the means in standard deviations of the earlier answers; of hashed traits the root of
    the sum of squares."""


@dataclass(frozen=True, slots=True)
class TraitEvidence:
    """Answers look otherwise: a change is suspected."""

    requested_model: str
    at: float
    """Unix time in seconds of the answer that decided it."""
    since: float
    """Unix time in seconds of the first answer of the run that decided it: the change came about then."""
    pairs: int
    """Of that run."""
    evidence_log10: float
    moved: tuple[MovedTrait, ...]
    """The ones that moved furthest, at most eight."""
    before: tuple[str, ...] = ()
    """Exchanges whose answers are examples of before, at most four, each paired with one of `after`."""
    after: tuple[str, ...] = ()


_DIMENSIONS: Final = len(TRAITS)
_SKETCH: Final = 32
_RESERVE: Final = 300
_RECENT: Final = 200
"""Prompts that bursts are told by."""
_GROUPS: Final = 32
_START: Final = 60
_FEWEST: Final = 8
"""Answers in reserve from which on pairs are made."""
_KEPT: Final = 0.25
"""Of the reserve, which is not touched on suspicion."""
_SUSPICION: Final = 2.5
"""Nats of evidence above which all that comes is used as new while the reserve lasts."""
_SAME: Final = 0.985
"""Cosine of the sketches of near-equal prompts."""
_REPEATS: Final = 3
"""Near-equal prompts of the last ones that are used."""
_UNLIKE: Final = 0.05
"""Share of new prompts that are too unlike any in reserve to be compared."""
_QUANTILE_STEP: Final = 0.02
_PRIOR: Final = 1.0
_FORGETTING: Final = 0.995
_FLATTEST: Final = 1e-3
_LEAST_SPREAD: Final = 0.05
_PROMPT_SCALE: Final = 1.0
_MOVED: Final = 8
_LEAST_MOVED: Final = 0.2
_EXAMPLES: Final = 4
_NATS: Final = 30.0
_LARGE: Final = 10


class _Learner:
    """Bayesian logistic regression on the differences of pairs, newer less older, that forgets slowly.

    An extended Kalman filter: the weights are normal, and what is learnt of them fades towards the prior.
    """

    __slots__ = ("covariance", "weights")

    def __init__(self, dimensions: int) -> None:
        self.weights: Floats = np.zeros(dimensions, dtype=np.float32)
        self.covariance: Floats = np.eye(dimensions, dtype=np.float32) * np.float32(_PRIOR)

    def bet(self, difference: Floats) -> float:
        """The chance, before it is learnt from, that the newer one is told as such; then learn from it."""
        mean = float(self.weights @ difference)
        gain: Floats = self.covariance @ difference
        variance = float(difference @ gain)
        chance = _logistic(mean / math.sqrt(1 + math.pi * variance / 8))
        told = _logistic(mean)
        curvature = max(_FLATTEST, told * (1 - told))
        self.weights += gain * np.float32((1 - told) / (1 + curvature * variance))
        self.weights *= np.float32(_FORGETTING)
        gain *= np.float32(1 / math.sqrt(1 / curvature + variance))
        self.covariance -= np.multiply.outer(gain, gain)  # symmetric to the last bit
        self.covariance *= np.float32(_FORGETTING)
        self.covariance.flat[:: len(gain) + 1] += np.float32((1 - _FORGETTING) * _PRIOR)
        return chance

    def to_json(self) -> list[str]:
        """Half of the matrix is enough: it is symmetric."""
        return [_packed(self.weights), _packed(self.covariance[np.triu_indices(len(self.weights))])]

    def read(self, raw: list[str]) -> None:
        """Take what `to_json` wrote."""
        upper = np.triu_indices(len(self.weights))
        self.weights = _unpacked(raw[0], np.float32)
        self.covariance[upper] = _unpacked(raw[1], np.float32)
        self.covariance.T[upper] = self.covariance[upper]


def _logistic(value: float) -> float:
    return 1 / (1 + math.exp(-max(-_NATS, min(_NATS, value))))


def _packed(values: NDArray[Any]) -> str:
    return base64.b64encode(zlib.compress(values.tobytes())).decode()


def _unpacked(written: str, kind: type[Any]) -> NDArray[Any]:
    return np.frombuffer(zlib.decompress(base64.b64decode(written)), dtype=kind).copy()


@dataclass(slots=True)
class _Group:
    """What is known of the answers of one prompt version and one set of parameters."""

    number: int
    used_at: int = 0
    seen: int = 0
    usual: float = 0.0
    """Likeness to the most like prompt in reserve that only few new prompts fall below."""


class _Pair(NamedTuple):
    """A new answer and the older one it is compared with."""

    at: float
    old: Floats
    new: Floats
    old_id: str
    new_id: str


class _Run:
    """Pairs since the wagers' product was lowest: what answers looked like before and after."""

    __slots__ = ("examples", "pairs", "since", "sums", "wealth")

    def __init__(self) -> None:
        self.pairs = 0
        self.since = 0.0
        self.wealth = 0.0
        """Nats."""
        self.sums: Floats = np.zeros((3, _DIMENSIONS))
        """Of the older answers, of their squares, of the new ones."""
        self.examples: list[tuple[float, str, str]] = []
        """The pairs that were told best."""

    def add(self, pair: _Pair, wager: float) -> None:
        """Take a pair; begin again where nothing was gained until now."""
        if self.wealth <= 0:
            self.pairs, self.since, self.wealth, self.examples = 0, pair.at, 0.0, []
            self.sums[:] = 0
        self.wealth += math.log(wager)
        self.pairs += 1
        self.sums += (pair.old, pair.old**2, pair.new)
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
        n = max(self.pairs, 1)
        old, squares, new = self.sums * (STEP / n)
        spread = np.sqrt(np.maximum(squares * STEP - old**2, 0)) + _LEAST_SPREAD
        distances = (new - old) / spread
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
        self._answers = np.zeros((_RESERVE, _DIMENSIONS), dtype=np.uint8)
        self._prompts = _Sketches(_RESERVE)
        self._recent = _Sketches(_RECENT)
        self._order = np.zeros(_RESERVE, dtype=np.int64)
        self._at = np.zeros(_RESERVE)
        self._ids = [""] * _RESERVE
        self._begin()

    def _begin(self) -> None:
        self._evidence = -math.inf
        self._run = _Run()
        self._whole = _Learner(_DIMENSIONS + _SKETCH)
        self._prompts_alone = _Learner(_SKETCH)

    @property
    def evidence_log10(self) -> float:
        """Decimal logarithm of the sum of wagers; an alarm is raised at that of the level."""
        return self._evidence / math.log(10) if self._evidence > -math.inf else 0.0

    @property
    def reserve(self) -> int:
        """Unseen older answers."""
        return self._prompts.count

    def add(self, seen: AnswerSeen) -> TraitEvidence | None:
        """Take one answer. Returns: evidence if it makes a change suspected; the test begins anew then."""
        if seen.traits_version != VERSION or len(seen.traits) != _DIMENSIONS or len(seen.prompt) != _SKETCH:
            return None
        self._clock += 1
        group = self._group((seen.prompt_version, seen.parameters))
        sketch = np.clip(seen.prompt, -127, 127).astype(np.int8)
        unit = _unit(sketch)
        slot = self._clock % _RECENT
        self._recent.free(slot)
        repeats = int(np.count_nonzero(self._recent.likeness(unit, group.number) > _SAME))
        if repeats >= _REPEATS:
            return None
        self._recent.put(slot, sketch, unit, group.number)
        likeness = self._prompts.likeness(unit, group.number)
        place = int(np.argmax(likeness))
        nearest = float(likeness[place])
        if not self._is_to_pair(group, nearest, is_repeat=repeats > 0):
            self._keep(seen, sketch, unit, group)
            return None
        return self._pair(seen, place, unit)

    def _is_to_pair(self, group: _Group, nearest: float, *, is_repeat: bool) -> bool:
        held = self._prompts.held(group.number)
        share = _RESERVE // max(len(self._groups), 1)
        if held < _FEWEST:
            return False
        group.seen += 1
        is_like = nearest >= group.usual or nearest > _SAME
        group.usual += _QUANTILE_STEP * (_UNLIKE - (nearest < group.usual))
        if not is_like or (is_repeat and nearest <= _SAME):
            return False
        if self._evidence > _SUSPICION:
            return held > _KEPT * share or (held > _FEWEST and group.seen % 2 == 0)
        if held < share:
            return (held >= _START and group.seen % 3 == 0) or nearest > _SAME
        return True

    def _group(self, name: tuple[str, str]) -> _Group:
        group = self._groups.get(name)
        if group is None:
            if len(self._groups) >= _GROUPS:
                oldest = min(self._groups, key=lambda one: self._groups[one].used_at)
                place = self._groups.pop(oldest).number
                self._prompts.free_all(place)
                self._recent.free_all(place)
            else:
                place = len(self._groups)
            group = self._groups[name] = _Group(place)
        group.used_at = self._clock
        return group

    def _keep(self, seen: AnswerSeen, sketch: NDArray[np.int8], unit: Floats, group: _Group) -> None:
        place = self._prompts.free_place()
        if place is None:
            owners = self._prompts.owners
            crowded = int(np.argmax(np.bincount(owners)))
            place = int(np.argmin(np.where(owners == crowded, self._order, self._clock + 1)))
        self._prompts.put(place, sketch, unit, group.number)
        self._answers[place] = _steps(seen)
        self._order[place] = self._clock
        self._at[place] = seen.at
        self._ids[place] = seen.exchange_id

    def _pair(self, seen: AnswerSeen, place: int, unit: Floats) -> TraitEvidence | None:
        old, new = self._answers[place].astype(np.float64), _steps(seen).astype(np.float64)
        pair = _Pair(seen.at, old, new, self._ids[place], seen.exchange_id)
        prompts = ((unit - self._prompts.units[place]) * _PROMPT_SCALE).astype(np.float32)
        answers = ((new - old) * STEP).astype(np.float32)
        whole = self._whole.bet(np.concatenate((answers, prompts)))
        alone = self._prompts_alone.bet(prompts)
        wager = whole / alone
        self._prompts.free(place)
        self._run.add(pair, wager)
        self._evidence = _log1pexp(self._evidence) + math.log(wager)
        return self._alarm(seen) if self._evidence >= self._level else None

    def _alarm(self, seen: AnswerSeen) -> TraitEvidence:
        run = self._run
        evidence = TraitEvidence(
            seen.requested_model,
            seen.at,
            run.since,
            run.pairs,
            self.evidence_log10,
            run.moved(),
            tuple(old for _, old, _ in run.examples),
            tuple(new for _, _, new in run.examples),
        )
        for place in np.flatnonzero(self._at < run.since):
            self._prompts.free(int(place))
        self._begin()
        return evidence

    def to_json(self) -> dict[str, Any]:
        """The state as JSON values; everything survives exactly."""
        return {
            "version": VERSION,
            "level": self._level,
            "clock": self._clock,
            "evidence": None if self._evidence == -math.inf else self._evidence,
            "groups": [
                [*name, one.number, one.used_at, one.seen, one.usual] for name, one in self._groups.items()
            ],
            "answers": _packed(self._answers),
            "prompts": self._prompts.to_json(),
            "recent": self._recent.to_json(),
            "order": self._order.tolist(),
            "at": self._at.tolist(),
            "ids": self._ids,
            "run": self._run.to_json(),
            "learners": [self._whole.to_json(), self._prompts_alone.to_json()],
        }

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> TraitTest:
        """Read what `to_json` wrote; of another version of the traits, begin anew."""
        test = cls()
        test._level = raw["level"]
        if raw["version"] != VERSION:
            return test
        test._clock = raw["clock"]
        test._evidence = -math.inf if raw["evidence"] is None else raw["evidence"]
        test._groups = {(version, parameters): _Group(*rest) for version, parameters, *rest in raw["groups"]}
        test._answers = _unpacked(raw["answers"], np.uint8).reshape(_RESERVE, _DIMENSIONS)
        test._prompts.read(raw["prompts"])
        test._recent.read(raw["recent"])
        test._order = np.array(raw["order"], dtype=np.int64)
        test._at = np.array(raw["at"], dtype=np.float64)
        test._ids = list(raw["ids"])
        test._run.read(raw["run"])
        test._whole.read(raw["learners"][0])
        test._prompts_alone.read(raw["learners"][1])
        return test


class _Sketches:
    """Sketches of prompts in so many places, each of one group or free."""

    def __init__(self, places: int) -> None:
        self.written = np.zeros((places, _SKETCH), dtype=np.int8)
        self.units: Floats = np.zeros((places, _SKETCH))
        self.owners = np.full(places, -1, dtype=np.int64)

    @property
    def count(self) -> int:
        """Places in use."""
        return int(np.count_nonzero(self.owners >= 0))

    def held(self, group: int) -> int:
        """Places of a group."""
        return int(np.count_nonzero(self.owners == group))

    def likeness(self, unit: Floats, group: int) -> Floats:
        """Cosines with the sketches of a group; -1 in other places."""
        return np.where(self.owners == group, self.units @ unit, -1.0)

    def free_place(self) -> int | None:
        """A place that is free, None if all are in use."""
        place = int(np.argmin(self.owners))
        return place if self.owners[place] < 0 else None

    def put(self, place: int, sketch: NDArray[np.int8], unit: Floats, group: int) -> None:
        """Fill a place."""
        self.written[place] = sketch
        self.units[place] = unit
        self.owners[place] = group

    def free(self, place: int) -> None:
        """Give a place back."""
        self.owners[place] = -1

    def free_all(self, group: int) -> None:
        """Give a group's places back."""
        self.owners[self.owners == group] = -1

    def to_json(self) -> list[Any]:
        """As JSON values."""
        return [_packed(self.written), self.owners.tolist()]

    def read(self, raw: list[Any]) -> None:
        """Take what `to_json` wrote."""
        self.written = _unpacked(raw[0], np.int8).reshape(self.written.shape)
        self.units = np.array([_unit(one) for one in self.written])
        self.owners = np.array(raw[1], dtype=np.int64)


def _unit(sketch: NDArray[np.int8]) -> Floats:
    found = sketch.astype(np.float64)
    return found / (math.sqrt(float(found @ found)) or 1.0)


def _steps(seen: AnswerSeen) -> NDArray[np.uint8]:
    return np.clip(np.rint(np.array(seen.traits) / STEP), 0, 255).astype(np.uint8)


def _log1pexp(value: float) -> float:
    return value + math.log1p(math.exp(-value)) if value > 0 else math.log1p(math.exp(value))
