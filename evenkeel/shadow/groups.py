"""The adaptive plan of an exchange: which rewordings are tried together, how often, and what follows.

Rewordings of a category that can be combined are one *root*, tried together; the others are roots of their
own. Every choice follows from the exchange's id and from what was known before it, never from its answers,
but for one: where the answer to a group moved, the group may be split. The chances of everything are known,
so that estimates can be weighted: `docs/design/0007-adaptive-plan.md`.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import groupby
from math import ceil, exp, log, sqrt
from typing import TYPE_CHECKING, Final, NamedTuple

from evenkeel.core.suspicion import risen_log_ratio
from evenkeel.core.verdict import BASELINE
from evenkeel.shadow.perturbations import seed_for
from evenkeel.shadow.perturbations.together import MOST, Together, combinable
from evenkeel.shadow.planner import UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from evenkeel.shadow.perturbations import Perturbation
    from evenkeel.shadow.planner import Need, Needs

_CHANCE_VERSION: Final = 1
_UNIT: Final = 1 << 53
SETTLED: Final = 300
"""Trials from which on a root may be settled: so many make a baseline that drift is measured from. With 100 a
fall was taken into the baseline before it was found, and certainty cost twice as much (`benchmarks/cost`)."""
KNOWN_ALONE: Final = 150
"""Trials by itself until which a rewording of a group is drawn more often. With fewer, what a pair that
cancels does was taken into their baselines before it was found (`benchmarks/cost`)."""
SUSPECTED: Final = log(16)
"""Suspicion from which on a trial cannot wait: that of a cell comes so far once in some thirty trials if all
is well."""
ALERTING: Final = 0.5
"""Share of the exchanges that are tried while an alert is up, until it has been for long."""
DETERMINISTIC: Final = 300
"""Resends in a row with the very answer of the original from which on an endpoint counts as deterministic."""
RESENT: Final = 1 / 8
"""Share of the exchanges that are resent even so, by chance: the first answer in other words ends it."""
NOISELESS: Final = 2.0
"""Times as many exchanges are tried while all is settled, where the endpoint is deterministic: controls that
are not sent pay for a part of that, and a fall is found after fewer requests (`benchmarks/cost`)."""
_AMPLE: Final = 4
"""Times as many resends as learning takes, after which a rewording that rarely applies is not waited for."""


class Pace(NamedTuple):
    """How closely a root is looked at."""

    drawn: float
    """Chance that a rewording of a tried group is tried by itself, whatever the group's answer does."""
    split: float
    """Chance that a group is split whose answer moved; four times `drawn`."""


WATCHING: Final = Pace(1 / 16, 1 / 4)
LEARNING: Final = Pace(1 / 8, 1 / 2)
SUSPECTING: Final = Pace(1 / 4, 1.0)
MOVED_WEIGHT: Final = WATCHING.drawn / WATCHING.split
"""Weight of a rewording that is tried because its group moved: the same at all paces."""


@dataclass(frozen=True, slots=True)
class Root:
    """One rewording, or a group of them that is tried together."""

    perturbation: Perturbation
    kinds: tuple[Perturbation, ...]
    """Those of the group; one if it is a rewording by itself."""

    @property
    def is_group(self) -> bool:
        """Whether it is several rewordings."""
        return len(self.kinds) > 1


def _root(kinds: Sequence[Perturbation], part: str = "") -> Root:
    return Root(kinds[0] if len(kinds) == 1 else Together(kinds, part), tuple(kinds))


@lru_cache(maxsize=256)
def roots_of(kinds: tuple[Perturbation, ...]) -> tuple[Root, ...]:
    """The roots of a route's rewordings: groups of two or three of a category, and those that stand alone."""
    together = sorted(filter(combinable, kinds), key=_category)
    roots = [root for _, category in groupby(together, key=_category) for root in _parts(list(category))]
    return (*roots, *(_root([kind]) for kind in kinds if not combinable(kind)))


def _category(kind: Perturbation) -> str:
    return kind.rewording.category.name


def _parts(kinds: list[Perturbation]) -> Iterator[Root]:
    """As few parts as there can be, as equal as they can be."""
    parts = ceil(len(kinds) / MOST)
    for part in range(parts):
        yield _root(kinds[part::parts], str(part + 1) if parts > 1 else "")


def is_learning(kinds: Sequence[Perturbation], trials_per_exchange: int, needs: Mapping[str, Need]) -> bool:
    """Whether any rewording of a model still lacks the trials below which nothing is reported.

    One that does not get them though there was ample chance, because it rarely applies, is not waited for.

    Args:
        kinds: Those of the route.
        trials_per_exchange: As many are tried while learning.
        needs: Of the model's cells, the control's included.
    """
    if not needs or not trials_per_exchange:
        return True
    floor = max(need.floor for need in needs.values())
    ample = _AMPLE * floor * ceil(len(kinds) / trials_per_exchange)
    resends = needs.get(BASELINE, UNKNOWN).trials
    return resends < ample and any(needs.get(kind.name, UNKNOWN).trials < floor for kind in kinds)


def is_suspected(needs: Needs, common: float = 0.0) -> bool:
    """Whether anything points at a model of a route: a change, an alert, or what its latest trials show.

    Args:
        needs: Of the model.
        common: Suspicion of all its roots together.
    """
    largest = max((need.suspicion for need in needs.cells.values()), default=0.0)
    return needs.urgent or max(common, largest) >= SUSPECTED or any(need.up for need in needs.cells.values())


def reuses_answer(exchange_id: str, needs: Needs) -> bool:
    """Whether an exchange's own answer stands for that of its identical resend.

    So it does where the endpoint is deterministic, which is verified further on exchanges that chance draws.
    It hides a third of a point of noise at most (`docs/design/0007-adaptive-plan.md`).

    Args:
        exchange_id: Names the exchange.
        needs: Of its model, at which nothing points (`is_suspected`).
    """
    return is_deterministic(needs.cells) and _uniform(exchange_id, BASELINE) >= RESENT


def is_deterministic(needs: Mapping[str, Need]) -> bool:
    """Whether the latest resends of a model, of which these are the needs, were all answered as before."""
    return needs.get(BASELINE, UNKNOWN).same_run >= DETERMINISTIC


class Looked(NamedTuple):
    """What is tried of a root on one exchange."""

    root: Root
    whole: bool
    """Whether the root itself is."""
    alone: tuple[Perturbation, ...]
    """Rewordings of a group that are suspected themselves: tried, whatever becomes of the group."""
    pace: Pace
    weight: float
    """Of the exchange in estimates of the root and of those, in (0, 1]."""


class ExchangePlan(NamedTuple):
    """What is tried of an exchange first."""

    roots: tuple[Looked, ...]
    drawn: bool
    """Whether chance takes the exchange though everything may be settled."""
    weight: float
    """Of the exchange in estimates if only chance takes it, in (0, 1]."""


@dataclass(frozen=True, slots=True)
class Stratum:
    """How often the exchanges of a stratum are tried."""

    factor: float = 1.0
    """Of the usual chance."""
    lowest: float = 1.0
    """The lowest factor of any stratum at the time."""


EVERY: Final = Stratum()


def plan_of(
    exchange_id: str,
    roots: Sequence[Root],
    needs: Mapping[str, Need],
    settled_rate: float,
    *,
    stratum: Stratum = EVERY,
    common: float = 0.0,
    urgent: bool = False,
) -> ExchangePlan:
    """Which roots of an exchange are tried, by what is known before.

    Args:
        exchange_id: Names the exchange; the same one gives the same draw.
        roots: Of its route.
        needs: Of its model's cells.
        settled_rate: Share of the exchanges that are tried while everything is settled; twice as many are
            where the endpoint is deterministic.
        stratum: That of the exchange.
        common: Suspicion of all roots together (`CommonMoves`).
        urgent: Whether something outside its cells points at the route: then everything is suspected.
    """
    draw = draw_of(exchange_id)
    settled_rate *= NOISELESS if is_deterministic(needs) else 1.0
    settled = _at(settled_rate, stratum)
    looked = []
    for root in roots:
        need = needs.get(root.perturbation.name, UNKNOWN)
        look = _CLOSE if urgent else _look(need, settled_rate * exp(max(common, need.suspicion)), stratum)
        if look.pace is WATCHING and _is_little_known(root, needs):
            look = look._replace(pace=LEARNING)
        alone = []
        for kind in root.kinds if root.is_group else ():
            need = needs.get(kind.name, UNKNOWN)
            # Chance draws it already, once in so many: this is what suspicion adds.
            rate = settled_rate * WATCHING.drawn * (exp(need.suspicion) - 1)
            if draw < (ALERTING if need.up else _at(rate, stratum).chance):
                alone.append(kind)
        whole = draw < look.chance
        if whole or alone:
            looked.append(Looked(root, whole, tuple(alone), look.pace, look.weight))
    return ExchangePlan(tuple(looked), draw < settled.chance, settled.weight)


class _Look(NamedTuple):
    chance: float
    pace: Pace
    weight: float


_CLOSE: Final = _Look(1.0, SUSPECTING, 1.0)
_ALERTING: Final = _Look(ALERTING, SUSPECTING, 1.0)
_UNSETTLED: Final = _Look(1.0, SUSPECTING, 1.0)


def _is_little_known(root: Root, needs: Mapping[str, Need]) -> bool:
    """Whether a rewording of a group has few trials by itself, though not for want of chances."""
    chances = needs.get(root.perturbation.name, UNKNOWN).trials
    return (
        root.is_group
        and any(needs.get(kind.name, UNKNOWN).trials < KNOWN_ALONE for kind in root.kinds)
        and chances * LEARNING.drawn < _AMPLE * KNOWN_ALONE
    )


def _look(need: Need, rate: float, stratum: Stratum) -> _Look:
    """How closely a root is looked at for its own cell."""
    if need.up:
        return _ALERTING
    return _UNSETTLED if need.trials < SETTLED else _at(rate, stratum)


def _at(rate: float, stratum: Stratum) -> _Look:
    chance = min(1.0, rate * stratum.factor)
    return _Look(chance, WATCHING, min(1.0, rate * stratum.lowest) / chance if chance else 1.0)


def is_split(exchange_id: str, root: Root, pace: Pace) -> bool:
    """Whether a group is split if its answer moves."""
    return root.is_group and _uniform(exchange_id, root.perturbation.name) < pace.split


def drawn_of(exchange_id: str, root: Root, pace: Pace) -> Perturbation | None:
    """The rewording of a group that is tried by itself, whatever becomes of the group; mostly none."""
    place = int(_uniform(exchange_id, root.perturbation.name) / pace.drawn)
    return root.kinds[place] if root.is_group and place < len(root.kinds) else None


def draw_of(exchange_id: str) -> float:
    """The draw, in [0, 1), by which chance takes an exchange: one that is taken is so with any lower draw."""
    return _uniform(exchange_id, "exchange")


def _uniform(exchange_id: str, of: str) -> float:
    return seed_for(exchange_id, f"plan/{of}", 0.0, _CHANCE_VERSION) / _UNIT


_FACTORS: Final = (1.0, 0.5, 0.25)
_MOST_STRATA: Final = 256
_KNOWN: Final = 30
"""Trials below which a stratum is tried as often as any."""


@dataclass(slots=True)
class _Moved:
    trials: int = 0
    moved: int = 0

    @property
    def deviation(self) -> float:
        """Of whether an answer moves, with half a trial of each kind added."""
        share = (self.moved + 0.5) / (self.trials + 1)
        return sqrt(share * (1 - share))


@dataclass(slots=True)
class Strata:
    """How often answers moved in the strata of a route and model, and how often each is tried for that.

    Exchanges of strata that vary more are tried more often, in proportion to the deviation.
    Source: Neyman 1934, for the allocation with the least variance.
    """

    _known: OrderedDict[str, _Moved] = field(default_factory=OrderedDict)

    def note(self, name: str, *, moved: bool) -> None:
        """Count a trial of a root."""
        stratum = self._known.setdefault(name, _Moved())
        self._known.move_to_end(name)
        stratum.trials += 1
        stratum.moved += moved
        if len(self._known) > _MOST_STRATA:
            self._known.popitem(last=False)

    def stratum(self, name: str) -> Stratum:
        """How often exchanges of a stratum are tried now."""
        known = {one: found for one, found in self._known.items() if found.trials >= _KNOWN}
        largest = max((one.deviation for one in known.values()), default=0.0)
        factors = {one: _nearest(found.deviation / largest) for one, found in known.items()}
        return Stratum(factors.get(name, 1.0), min(factors.values(), default=1.0))


_COMMON_RISE: Final = 0.05
"""Rise of the share of exchanges in which most answers move that is suspected, at least."""
_LEAST_COMMON: Final = 0.01
"""A lower share is taken for this."""
_COMMON_TRIALS: Final = 3
"""Roots that were tried, below which an exchange says nothing."""
_COMMON_SPARE: Final = 1.2
"""Suspicion that changes nothing: one such exchange brings 1.8 at most, so not twice as many exchanges."""


@dataclass(slots=True)
class CommonMoves:
    """Whether most answers of one exchange move together more often than they did.

    A fall that all rewordings share is small in each cell, but in an exchange that it concerns every answer
    moves. CUSUM, as of a cell (`evenkeel.monitor.detect.drift`), of the exchanges that this process tried.
    """

    score: float = 0.0
    exchanges: int = 0
    moved: int = 0

    @property
    def suspicion(self) -> float:
        """As that of a cell, at least 0."""
        return max(0.0, self.score - _COMMON_SPARE)

    def note(self, moved: Sequence[bool]) -> None:
        """Take an exchange.

        Args:
            moved: For each root that was tried and rated, whether its answer moved.
        """
        if len(moved) < _COMMON_TRIALS:
            return
        usual = max(_LEAST_COMMON, (self.moved + 1) / (self.exchanges + 1 / _LEAST_COMMON))
        hit = 2 * sum(moved) >= len(moved)
        self.score = max(0.0, self.score + risen_log_ratio(usual, _COMMON_RISE, hit=hit))
        self.exchanges += 1
        self.moved += hit


@dataclass(slots=True)
class Standing:
    """Alerts that have been up for long: there is nothing left to learn of these."""

    _since: dict[str, int] = field(default_factory=dict)
    """By cell with an alert, the trials that it had when the alert was first seen."""

    def settled(self, needs: Needs) -> Needs:
        """The needs of a model, where a cell counts as settled whose alert is up for 300 trials."""
        for name, need in needs.cells.items():
            if not need.up:
                self._since.pop(name, None)
            else:
                self._since.setdefault(name, need.trials)
        cells = {
            name: replace(need, up=False, suspicion=0.0)
            if need.up and need.trials - self._since[name] >= SETTLED
            else need
            for name, need in needs.cells.items()
        }
        return needs._replace(cells=cells) if self._since else needs


def _nearest(share: float) -> float:
    return min(_FACTORS, key=lambda factor: abs(factor - share))
