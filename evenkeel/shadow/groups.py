"""The adaptive plan of an exchange: which rewordings are tried together, how often, and what follows.

Rewordings of a category that can be combined are one *root*, tried together; the others are roots of their
own. Every choice follows from the exchange's id and from what was known before it, never from its answers,
but for one: where the answer to a group moved, the group may be split. The chances of everything are known,
so that estimates can be weighted: `docs/design/0007-adaptive-plan.md`.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import groupby
from math import ceil, exp, log
from typing import TYPE_CHECKING, Final, NamedTuple

from evenkeel.core.verdict import BASELINE
from evenkeel.shadow.perturbations import seed_for
from evenkeel.shadow.perturbations.together import MOST, Together, combinable
from evenkeel.shadow.planner import UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

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


def is_suspected(needs: Needs) -> bool:
    """Whether anything points at a model of a route: a change, an alert, or what its latest trials show."""
    return needs.urgent or any(need.up or need.suspicion >= SUSPECTED for need in needs.cells.values())


class Looked(NamedTuple):
    """What is tried of a root on one exchange."""

    root: Root
    whole: bool
    """Whether the root itself is."""
    alone: tuple[Perturbation, ...]
    """Rewordings of a group that are suspected themselves: tried, whatever becomes of the group."""
    pace: Pace


class ExchangePlan(NamedTuple):
    """What is tried of an exchange first."""

    roots: tuple[Looked, ...]
    drawn: bool
    """Whether chance takes the exchange though everything may be settled."""


def plan_of(
    exchange_id: str,
    roots: Sequence[Root],
    needs: Mapping[str, Need],
    settled_rate: float,
    *,
    urgent: bool = False,
) -> ExchangePlan:
    """Which roots of an exchange are tried, by what is known before.

    Args:
        exchange_id: Names the exchange; the same one gives the same draw.
        roots: Of its route.
        needs: Of its model's cells.
        settled_rate: Share of the exchanges that are tried while everything is settled.
        urgent: Whether something outside its cells points at the route: then everything is suspected.
    """
    draw = draw_of(exchange_id)
    looked = []
    for root in roots:
        need = needs.get(root.perturbation.name, UNKNOWN)
        look = _CLOSE if urgent else _look(need, settled_rate * exp(need.suspicion))
        if look.pace is WATCHING and _is_little_known(root, needs):
            look = look._replace(pace=LEARNING)
        alone = []
        for kind in root.kinds if root.is_group else ():
            need = needs.get(kind.name, UNKNOWN)
            # Chance draws it already, once in so many: this is what suspicion adds.
            rate = settled_rate * WATCHING.drawn * (exp(need.suspicion) - 1)
            if draw < (ALERTING if need.up else rate):
                alone.append(kind)
        whole = draw < look.chance
        if whole or alone:
            looked.append(Looked(root, whole, tuple(alone), look.pace))
    return ExchangePlan(tuple(looked), draw < settled_rate)


class _Look(NamedTuple):
    chance: float
    """Of an exchange to be tried; above 1 as good as 1."""
    pace: Pace


_CLOSE: Final = _Look(1.0, SUSPECTING)
"""While something points at the route, and until a root is settled."""
_ALERTING: Final = _Look(ALERTING, SUSPECTING)


def _is_little_known(root: Root, needs: Mapping[str, Need]) -> bool:
    """Whether a rewording of a group has few trials by itself, though not for want of chances."""
    chances = needs.get(root.perturbation.name, UNKNOWN).trials
    return (
        root.is_group
        and any(needs.get(kind.name, UNKNOWN).trials < KNOWN_ALONE for kind in root.kinds)
        and chances * LEARNING.drawn < _AMPLE * KNOWN_ALONE
    )


def _look(need: Need, rate: float) -> _Look:
    """How closely a root is looked at for its own cell."""
    if need.up:
        return _ALERTING
    return _CLOSE if need.trials < SETTLED else _Look(rate, WATCHING)


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


_MOST_MODELS: Final = 256
"""Routes and models that are remembered."""


class SettledNeeds:
    """The needs of models, where a cell whose alert has been up for 300 trials counts as settled.

    There is nothing left to learn of it until the alert is over.
    """

    def __init__(self, needs: Callable[[str, str], Needs]) -> None:
        """Watch the alerts of the needs that this returns for a route and a model."""
        self._needs = needs
        self._since: OrderedDict[tuple[str, str], dict[str, int]] = OrderedDict()
        """By route and model, for each cell with an alert the trials that it had when that was first seen."""

    def __call__(self, route: str, model: str) -> Needs:
        """The needs of a model on a route."""
        needs = self._needs(route, model)
        since = self._since.setdefault((route, model), {})
        self._since.move_to_end((route, model))
        if len(self._since) > _MOST_MODELS:
            self._since.popitem(last=False)
        for name, need in needs.cells.items():
            if not need.up:
                since.pop(name, None)
            else:
                since.setdefault(name, need.trials)
        if not since:
            return needs
        cells = {
            name: replace(need, up=False, suspicion=0.0)
            if need.up and need.trials - since[name] >= SETTLED
            else need
            for name, need in needs.cells.items()
        }
        return needs._replace(cells=cells)
