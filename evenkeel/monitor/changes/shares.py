"""Shares of traffic that move: an e-detector for the frequency of each value of a trait.

An alarm needs a shift beyond a tolerance, and the detectors have a stated mean run to a false alarm
(`evenkeel.monitor.detect.drift`): the difference of two samples by a p-value gets small for any difference at
all once there is enough traffic.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass
from math import inf, nextafter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from evenkeel.monitor.detect import Baseline, DriftAlert, DriftRules

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# Number of values watched for one trait, the most frequent first; the others are not watched individually.
_MOST_VALUES: Final = 5
# Share of the reference below which a value is not watched individually.
_RARE: Final = 0.05


@dataclass(frozen=True, slots=True)
class ShareRules:
    """Rules that decide when a share counts as moved."""

    tolerance: float
    """Distance from the reference that counts as no change, in (0, 1)."""
    reference: int
    """Observations in the reference."""
    mean_run: float
    """Average number of observations between false alarms, at least; over all values of a watch together."""
    detectors: int
    """Most values that are watched; `mean_run` is shared among them."""

    @property
    def drift(self) -> DriftRules:
        """Rules for the detector of each value."""
        return DriftRules(self.tolerance, self.mean_run * self.detectors, self.reference)


class ShareMove(NamedTuple):
    """Share of a value that has left its reference."""

    trait: str
    value: str
    """Value with this share; for a number, its class."""
    before: float
    """Share in the reference."""
    after: float
    """Share since the change seems to have begun; errs towards the change."""
    run: int
    """Observations since then."""


class _Trait:
    """Watch over one trait: a reference, then a detector for each frequent value."""

    __slots__ = ("_alerts", "_classes", "_counts", "_edges", "_missing", "_rules")

    def __init__(self, rules: ShareRules) -> None:
        self._rules = rules
        self._counts: Counter[str] = Counter()
        # Observations that the reference still lacks.
        self._missing = rules.reference
        self._edges: list[float] | None = None
        # Names of the classes between the edges, starting below the first edge.
        self._classes: list[str] = []
        self._alerts: dict[str, DriftAlert] = {}

    @property
    def detectors(self) -> int:
        """Values that are watched."""
        return len(self._alerts)

    def observe(self, trait: str, value: str | float, watch: ShareWatch) -> ShareMove | None:
        """Take one value: text is a category, a number is assigned to its class.

        Args:
            trait: Name of the trait.
            value: Value of this observation.
            watch: Watch that limits the number of detectors.
        """
        numeric = not isinstance(value, str)
        if not self._alerts:
            self._counts[repr(value) if numeric else str(value)] += 1
            self._missing -= 1
            if self._missing <= 0:
                self._begin(watch.room, numeric=numeric)
            return None
        found = self._class(float(value)) if numeric and self._edges is not None else str(value)
        moved = None
        for name, alert in self._alerts.items():
            change = alert.observe(int(name == found))
            if change is not None and change.kind != "recovered" and moved is None:
                moved = ShareMove(trait, name, change.baseline.mean, change.run_mean, change.run_trials)
        return moved

    def _begin(self, room: int, *, numeric: bool) -> None:
        counts = self._counts
        if numeric:
            values = sorted((float(text), count) for text, count in counts.items())
            self._edges = _edges(values)
            self._classes = _classes(self._edges)
            classes: Counter[str] = Counter()
            for size, count in values:
                classes[self._class(size)] += count
            counts = classes
        total = counts.total()
        frequent = [name for name, count in counts.most_common(_MOST_VALUES) if count >= _RARE * total]
        if len(counts) == 2:  # noqa: PLR2004 - of two, one moves exactly as the other does
            frequent = frequent[:1]
        frequent = frequent[: max(0, room)]
        for name in frequent:
            baseline = Baseline(counts[name] / total, total, provisional=True)
            self._alerts[name] = DriftAlert(self._rules.drift, baseline)
        self._counts, self._missing = Counter(), self._rules.reference
        if not frequent:  # all values are rare: there is nothing to compare, so the reference begins anew
            self._edges = None

    def _class(self, value: float) -> str:
        """Return the name of the class that a number falls into."""
        assert self._edges is not None
        # Sizes that are equal to an edge are above it: of answers that are mostly the same, "less" is news.
        return self._classes[bisect_right(self._edges, value)]

    def to_json(self) -> list[Any]:
        """Return the state as JSON values."""
        alerts = {name: alert.to_json() for name, alert in self._alerts.items()}
        return [dict(self._counts), self._edges, alerts]

    @classmethod
    def from_json(cls, raw: list[Any], rules: ShareRules) -> _Trait:
        """Read what `to_json` wrote."""
        trait = cls(rules)
        trait._counts, trait._edges = Counter(raw[0]), raw[1]
        trait._classes = _classes(trait._edges or [])
        trait._missing -= trait._counts.total()
        trait._alerts = {name: DriftAlert.from_json(alert, rules.drift) for name, alert in raw[2].items()}
        return trait


class ShareWatch:
    """Watch over the traits of one stream of observations, compared with its first observations."""

    __slots__ = ("_traits", "rules")

    def __init__(self, rules: ShareRules) -> None:
        self.rules = rules
        self._traits: dict[str, _Trait] = {}

    @property
    def room(self) -> int:
        """Number of values that can still be added to the watch."""
        return self.rules.detectors - sum(trait.detectors for trait in self._traits.values())

    def observe(self, traits: Mapping[str, str | float]) -> tuple[ShareMove, ...]:
        """Take the traits of one observation; return those whose share has moved, mostly none.

        A trait that an observation lacks is left out of it. Traits beyond as many as there may be detectors
        are not watched.
        """
        moved: list[ShareMove] | None = None
        for name, value in traits.items():
            trait = self._traits.get(name)
            if trait is None:
                if len(self._traits) >= self.rules.detectors:
                    continue
                trait = self._traits[name] = _Trait(self.rules)
            found = trait.observe(name, value, self)
            if found is not None:
                moved = [*(moved or ()), found]
        return tuple(moved) if moved else ()

    def to_json(self) -> dict[str, Any]:
        """Return the state as JSON values; floats survive exactly."""
        return {name: trait.to_json() for name, trait in self._traits.items()}

    @classmethod
    def from_json(cls, raw: dict[str, Any], rules: ShareRules) -> ShareWatch:
        """Read what `to_json` wrote."""
        watch = cls(rules)
        watch._traits = {name: _Trait.from_json(trait, rules) for name, trait in raw.items()}
        return watch


MOST_POPULATIONS: Final = 8
"""Populations with references of their own; the least recently seen is forgotten first."""


class Populations:
    """Watches by population of the traffic, so that a population taking turns is no change."""

    __slots__ = ("_rules", "_watches")

    def __init__(self, rules: ShareRules) -> None:
        self._rules = rules
        # Watches by population, the most recently seen last.
        self._watches: dict[str, ShareWatch] = {}

    def observe(self, population: str, traits: Mapping[str, str | float]) -> tuple[ShareMove, ...]:
        """Take the traits of one observation of a population; see `ShareWatch.observe`."""
        watch = self._watches.pop(population, None) or ShareWatch(self._rules)
        self._watches[population] = watch
        if len(self._watches) > MOST_POPULATIONS:
            del self._watches[next(iter(self._watches))]
        return watch.observe(traits)

    def forget(self) -> None:
        """Start new references with the next observations, as after an announced change."""
        self._watches = {}

    def to_json(self) -> list[list[Any]]:
        """Return the state as JSON values; floats survive exactly."""
        return [[population, watch.to_json()] for population, watch in self._watches.items()]

    @classmethod
    def from_json(cls, raw: Sequence[Sequence[Any]], rules: ShareRules) -> Populations:
        """Read what `to_json` wrote."""
        populations = cls(rules)
        for population, watch in raw:
            populations._watches[population] = ShareWatch.from_json(watch, rules)
        return populations


def _edges(values: list[tuple[float, int]]) -> list[float]:
    """Return the lower ends of the classes above the lowest one.

    That is the median; a value that makes up more than half of all values gets a class of its own.
    """
    total = sum(count for _, count in values)
    reached = 0
    for value, count in values:
        reached += count
        if 2 * reached >= total:
            # Without a class of their own, values above it would be no news where nearly all are equal.
            return [value, nextafter(value, inf)] if 2 * count > total else [value]
    return []


def _classes(edges: Sequence[float]) -> list[str]:
    """Return the names of the classes that the edges begin, and of what lies below the first of them."""
    names = [f"below {edges[0]:.3g}"] if edges else []
    for index, edge in enumerate(edges):
        # An edge right above another closes the class of the one value between them.
        above = index > 0 and edge == nextafter(edges[index - 1], inf)
        names.append(f"{'above' if above else 'at least'} {edge:.3g}")
    return names
