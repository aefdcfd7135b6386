"""Adaptive plan of an exchange: which rewordings are tried together, how often, and what follows.

Rewordings of a category that can be combined are one *root*, tried together; the others are roots of their
own. Every choice follows from the exchange's id and from what was known before it, never from its answers,
but for one: where the answer to a group moved, the group may be split. The chances of everything are known,
so that estimates can be weighted: `docs/design/0007-adaptive-plan.md`.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import groupby
from math import ceil, exp, log
from typing import TYPE_CHECKING, Final, NamedTuple

from evenkeel.core.verdict import BASELINE
from evenkeel.shadow.perturbations import seed_for
from evenkeel.shadow.perturbations.compound import MOST, Together, combinable
from evenkeel.shadow.planner import UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from evenkeel.shadow.perturbations import Perturbation
    from evenkeel.shadow.planner import CellNeed, Needs

_CHANCE_VERSION: Final = 1
# Seeds have 53 bits, as many as a float holds exactly.
_UNIT: Final = 1 << 53
SETTLED: Final = 300
"""Trials after which a root may be settled, as many as a baseline for drift needs. With 100, a fall was
taken into the baseline before it was found, and certainty cost twice as much (`benchmarks/cost`)."""
KNOWN_ALONE: Final = 150
"""Trials of a rewording by itself, below which it is drawn from its group more often. With fewer, the
effect of a pair that cancels was taken into their baselines before it was found (`benchmarks/cost`)."""
SUSPECTED: Final = log(16)
"""Suspicion above which a trial cannot wait. If all is well, a cell gets this far about once in thirty
trials."""
ALERTING: Final = 0.5
"""Share of the exchanges that are tried while an alert is open, until it has been open for long."""
# Multiple of the resends that learning needs, after which a rewording that rarely applies is no longer waited
# for.
_AMPLE: Final = 4


class GroupPace(NamedTuple):
    """Chances that the rewordings of a group are tried by themselves."""

    drawn: float
    """Chance that a rewording of a tried group is also tried by itself, whatever the group's answer is."""
    split: float
    """Chance that a group whose answer changed is split; four times `drawn`."""


WATCHING: Final = GroupPace(1 / 16, 1 / 4)
LEARNING: Final = GroupPace(1 / 8, 1 / 2)
SUSPECTING: Final = GroupPace(1 / 4, 1.0)
MOVED_WEIGHT: Final = WATCHING.drawn / WATCHING.split
"""Weight of a rewording that is tried because its group's answer changed. It is the same at all paces."""


@dataclass(frozen=True, slots=True)
class Root:
    """A single rewording, or a group of rewordings that are tried together."""

    perturbation: Perturbation
    kinds: tuple[Perturbation, ...]
    """Rewordings in the group; a single entry if the root is not a group."""

    @property
    def is_group(self) -> bool:
        """Return whether the root combines several rewordings."""
        return len(self.kinds) > 1


def _root(kinds: Sequence[Perturbation], part: str = "") -> Root:
    return Root(kinds[0] if len(kinds) == 1 else Together(kinds, part), tuple(kinds))


@lru_cache(maxsize=256)
def roots_of(kinds: tuple[Perturbation, ...]) -> tuple[Root, ...]:
    """Return the roots of a set of rewordings: groups of two or three in a category, and single ones."""
    together = sorted(filter(combinable, kinds), key=_category)
    roots: list[Root] = []
    for _, category in groupby(together, key=_category):
        roots += _parts(list(category))
    alone = []
    for kind in kinds:
        if not combinable(kind):
            alone.append(_root([kind]))
    return (*roots, *alone)


def _category(kind: Perturbation) -> str:
    return kind.rewording.category.name


def _parts(kinds: list[Perturbation]) -> Iterator[Root]:
    """Yield the fewest groups of at most `MOST` rewordings, as equal in size as possible."""
    parts = ceil(len(kinds) / MOST)
    for part in range(parts):
        yield _root(kinds[part::parts], str(part + 1) if parts > 1 else "")


def is_learning(
    kinds: Sequence[Perturbation], trials_per_exchange: int, needs: Mapping[str, CellNeed]
) -> bool:
    """Return whether any rewording of a route still has fewer trials than a report needs.

    One that does not get them though there was ample chance, because it rarely applies, is not waited for.
    """
    if not needs or not trials_per_exchange:
        return True
    floor = max(need.floor for need in needs.values())
    ample = _AMPLE * floor * ceil(len(kinds) / trials_per_exchange)
    resends = needs.get(BASELINE, UNKNOWN).trials
    return resends < ample and any(needs.get(kind.name, UNKNOWN).trials < floor for kind in kinds)


def is_suspected(needs: Needs) -> bool:
    """Return whether a change, an alert or the latest trials suggest a fault in a model on a route."""
    return needs.urgent or any(need.up or need.suspicion >= SUSPECTED for need in needs.cells.values())


class RootTrials(NamedTuple):
    """Trials planned for one root on one exchange."""

    root: Root
    whole: bool
    """True if the root itself is tried."""
    alone: tuple[Perturbation, ...]
    """Rewordings of a group that are suspected themselves and tried whether or not the group is."""
    pace: GroupPace


class ExchangePlan(NamedTuple):
    """First trials planned for an exchange."""

    roots: tuple[RootTrials, ...]
    drawn: bool
    """True if the exchange is sampled even when every root is settled."""


def plan_of(
    exchange_id: str,
    roots: Sequence[Root],
    needs: Mapping[str, CellNeed],
    settled_rate: float,
    *,
    urgent: bool = False,
) -> ExchangePlan:
    """Plan which roots of an exchange are tried; the same id gives the same draw.

    `settled_rate` is the share of the exchanges that are tried while everything is settled. `urgent` means
    that something besides the cells points at the route: then everything is suspected.
    """
    draw = _uniform(exchange_id, "exchange")
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
            looked.append(RootTrials(root, whole, tuple(alone), look.pace))
    return ExchangePlan(tuple(looked), draw < settled_rate)


class _Look(NamedTuple):
    chance: float
    """Chance that an exchange is tried. Values above 1 count as 1."""
    pace: GroupPace


# Pace while something points at the route, and until a root is settled.
_CLOSE: Final = _Look(1.0, SUSPECTING)
_ALERTING: Final = _Look(ALERTING, SUSPECTING)


def _is_little_known(root: Root, needs: Mapping[str, CellNeed]) -> bool:
    """Return whether a rewording of a group has few trials by itself and had too few chances to get more."""
    chances = needs.get(root.perturbation.name, UNKNOWN).trials
    return (
        root.is_group
        and any(needs.get(kind.name, UNKNOWN).trials < KNOWN_ALONE for kind in root.kinds)
        and chances * LEARNING.drawn < _AMPLE * KNOWN_ALONE
    )


def _look(need: CellNeed, rate: float) -> _Look:
    """Return the chance and pace that a root gets from its own cell."""
    if need.up:
        return _ALERTING
    return _CLOSE if need.trials < SETTLED else _Look(rate, WATCHING)


def is_split(exchange_id: str, root: Root, pace: GroupPace) -> bool:
    """Return whether a group is split into its rewordings if its answer changes."""
    return root.is_group and _uniform(exchange_id, root.perturbation.name) < pace.split


def drawn_of(exchange_id: str, root: Root, pace: GroupPace) -> Perturbation | None:
    """Return the rewording of a group that is also tried by itself; usually None."""
    slot = int(_uniform(exchange_id, root.perturbation.name) / pace.drawn)
    return root.kinds[slot] if root.is_group and slot < len(root.kinds) else None


def _uniform(exchange_id: str, of: str) -> float:
    return seed_for(exchange_id, f"plan/{of}", 0.0, _CHANCE_VERSION) / _UNIT


# Pairs of route and model that are remembered.
_MOST_MODELS: Final = 256


class SettledNeeds:
    """Needs of models, in which a cell whose alert has been open for 300 trials counts as settled.

    There is nothing left to learn of it until the alert is over. Thread-safe.
    """

    def __init__(self, needs: Callable[[str, str], Needs]) -> None:
        """Wrap a function that returns the needs of a route and a model."""
        self._needs = needs
        # Trials that each cell had when its alert was first seen, by route and model.
        self._since: OrderedDict[tuple[str, str], dict[str, int]] = OrderedDict()
        self._lock = threading.Lock()

    def __call__(self, route: str, model: str) -> Needs:
        """Return a model's needs on a route."""
        needs = self._needs(route, model)
        with self._lock:
            return self._settled(route, model, needs)

    def _settled(self, route: str, model: str, needs: Needs) -> Needs:
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
        cells = dict(needs.cells)
        for name, need in needs.cells.items():
            if need.up and need.trials - since[name] >= SETTLED:
                cells[name] = replace(need, up=False, suspicion=0.0)
        return needs._replace(cells=cells)
