"""Roll-ups in the monitor's state: categories of a model, models, routes, everything.

They are over rewordings by themselves: a group is in that of its own category only. Trials that look into the
movement of a group are in none.
"""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeAlias

from evenkeel.core.cells import RollupKey, RollupReport, Window
from evenkeel.core.together import TOGETHER
from evenkeel.core.verdict import BASELINE
from evenkeel.monitor.estimate import (
    DesignEffect,
    ExchangeTally,
    Occurrences,
    OpenExchange,
    OpenExchanges,
    Windows,
    rollup_estimates,
    weight_sign,
)

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Callable, Sequence

    from evenkeel.core.cells import RollupEstimates
    from evenkeel.core.verdict import Scorer, Verdict
    from evenkeel.monitor.estimate import Outcome
    from evenkeel.monitor.fold.settings import MonitorSettings

_Totals: TypeAlias = "dict[Literal[Window, 'all'], Counter[str]]"


class Exchange(NamedTuple):
    """Identity of the exchange that a verdict belongs to."""

    id: str
    route: str
    model: str


class Eras(NamedTuple):
    """Numbers of changes before an exchange."""

    route: int
    all: int


class _Row(NamedTuple):
    """Contribution of an unfinished exchange to one roll-up."""

    observation: str
    """Observation of the exchange; "" if it is none."""
    at: float
    era: int
    scorer: Scorer
    trials: int
    verdicts: int


class Group:
    """State of one roll-up."""

    __slots__ = (
        "_totals",
        "_windowed",
        "_windowed_at",
        "changed",
        "effect",
        "key",
        "occurrences",
        "scored_at",
        "scorer",
        "trials",
        "verdicts",
        "windows",
    )

    def __init__(self, key: RollupKey) -> None:
        self.key = key
        self.effect = DesignEffect()
        """Design effect of the exchanges, by the share of their trials that shifted."""
        self.occurrences = Occurrences()
        """Shares of all finished exchanges."""
        self.windows = Windows()
        self.trials = 0
        """Perturbed trials of finished exchanges."""
        self.verdicts = 0
        """Verdicts of finished exchanges, resends included."""
        self.scored_at: float | None = None
        self.scorer: Scorer = "metrics"
        self.changed = True
        """True if it changed since the last checkpoint."""
        self._totals: _Totals = {}
        self._windowed: dict[Literal[Window, "all"], RollupEstimates] = {}
        self._windowed_at: tuple[int, ...] = ()

    def era(self, eras: Eras) -> int:
        """Number of changes that concern this roll-up."""
        return eras.all if self.key.level == "all" else eras.route

    def finish(self, tally: ExchangeTally, done: _Open, now: float) -> None:
        """Add a finished exchange to the counts."""
        self.changed = True
        self.trials += tally.trials
        self.verdicts += tally.trials + tally.resends
        self.scored_at, self.scorer = done.at, done.scorer
        observation = tally.observation(done.sign)
        if tally.trials:
            self.effect.add(tally.shifted / tally.trials)
        if observation:
            self.occurrences.add(observation)
            self.windows.add(observation, done.at, now, self.era(done.eras))

    def report(
        self, settings: MonitorSettings, now: float, era: int, unfinished: Sequence[_Row]
    ) -> RollupReport:
        """Return the roll-up's report; only windows that changed are estimated again."""
        verdicts = self.verdicts + sum(row.verdicts for row in unfinished)
        place = (verdicts, *self.windows.place(now, era))
        if place != self._windowed_at:
            self._windowed_at = place
            totals = self._current(now, era, unfinished)
            if totals != self._totals:
                rules: Any = {
                    "alpha": settings.alpha,
                    "min_exchanges": settings.min_trials,
                    "effect": self.effect.intervals,
                }
                self._windowed = {
                    window: self._windowed[window]
                    if self._totals.get(window) == words
                    else rollup_estimates(words, **rules)
                    for window, words in totals.items()
                }
                self._totals = totals
        trials = self.trials + sum(row.trials for row in unfinished)
        scored_at = unfinished[-1].at if unfinished else self.scored_at
        scorer = unfinished[-1].scorer if unfinished else self.scorer
        return RollupReport(self.key, trials, scored_at, scorer, self._windowed)

    def _current(self, now: float, era: int, unfinished: Sequence[_Row]) -> _Totals:
        everything = self.occurrences.total()
        observed = [row for row in unfinished if row.observation]
        for row in observed:
            everything.update(row.observation.split(" "))
        rows = [(row.observation, row.at, row.era) for row in observed]
        totals: _Totals = {"all": everything}
        for window, words in self.windows.totals(now, era, rows).items():
            totals[window] = words
        return totals

    def to_json(self) -> dict[str, Any]:
        """Return the roll-up as JSON values."""
        return {
            "effect": self.effect.to_json(),
            "occurrences": self.occurrences.to_json(),
            "windows": self.windows.to_json(),
            "trials": self.trials,
            "verdicts": self.verdicts,
            "scored_at": self.scored_at,
            "scorer": self.scorer,
        }

    def read(self, raw: dict[str, Any]) -> None:
        """Read what `to_json` wrote."""
        self.effect = DesignEffect.from_json(raw["effect"])
        self.occurrences = Occurrences.from_json(raw["occurrences"])
        self.windows = Windows.from_json(raw["windows"])
        self.trials, self.verdicts = raw["trials"], raw["verdicts"]
        self.scored_at, self.scorer = raw["scored_at"], raw["scorer"]
        self.changed = False


class _Open(OpenExchange[Group]):
    """Exchange that may still get trials, with its newest verdict and the changes before it."""

    __slots__ = ("at", "eras", "scorer", "sign")

    def __init__(self, groups: tuple[Group, ...], eras: Eras, sign: str) -> None:
        super().__init__(groups)
        self.eras = eras
        self.sign = sign
        """Sign of the exchange's weight."""
        self.at = 0.0
        """Time of its newest verdict."""
        self.scorer: Scorer = "metrics"
        """Scorer of that verdict."""


class Rollups:
    """All roll-ups, and the exchanges that are not finished."""

    def __init__(self) -> None:
        self.groups: dict[RollupKey, Group] = {}
        self._open = OpenExchanges[Exchange, _Open]()
        self._places: dict[tuple[str, str], tuple[Group, ...]] = {}
        """Roll-ups of an exchange by route and model."""
        self._categories: dict[tuple[str, str, str], Group] = {}
        """Roll-ups by route, model and category: a key of strings is found faster than a `RollupKey`."""

    def add(self, exchange: Exchange, verdict: Verdict, outcome: Outcome, now: float, eras: Eras) -> None:
        """Count a rated verdict."""
        unfinished = self._open.get(exchange)
        if unfinished is None:
            unfinished = self._begin(exchange, eras, weight_sign(verdict.selection.exchange_weight))
            done = self._open.begin(exchange, unfinished)
            if done is not None:
                self._finish(done, now)
        unfinished.at, unfinished.scorer = verdict.scored_at, verdict.scoring.scorer
        if verdict.perturbation == BASELINE:
            unfinished.add(verdict, outcome, ())
        else:
            name = verdict.perturbation.partition(".")[0]
            category = self._category(exchange, name)
            if name == TOGETHER.name:
                unfinished.part(category).add_trial(outcome)
            else:
                unfinished.add(verdict, outcome, (category,))

    def _begin(self, exchange: Exchange, eras: Eras, sign: str) -> _Open:
        place = (exchange.route, exchange.model)
        groups = self._places.get(place)
        if groups is None:
            keys = (RollupKey("model", *place), RollupKey("route", exchange.route), RollupKey("all"))
            groups = self._places[place] = tuple(self._group(key) for key in keys)
        return _Open(groups, eras, sign)

    def _group(self, key: RollupKey) -> Group:
        group = self.groups.get(key)
        if group is None:
            group = self.groups[key] = Group(key)
        return group

    def _category(self, exchange: Exchange, category: str) -> Group:
        place = (exchange.route, exchange.model, category)
        group = self._categories.get(place)
        if group is None:
            group = self._categories[place] = self._group(RollupKey("category", *place))
        return group

    def drop(self, route: str, model: str, now: float) -> None:
        """Forget the roll-ups of a model; its unfinished exchanges still count for the route."""
        for exchange in [one for one in self._open if one[1:] == (route, model)]:
            self._finish(self._open.pop(exchange), now)
        self._places.pop((route, model), None)
        self.groups = {
            key: group for key, group in self.groups.items() if (key.route, key.model) != (route, model)
        }
        self._categories = {
            place: group for place, group in self._categories.items() if place[:2] != (route, model)
        }

    def _finish(self, done: _Open, now: float) -> None:
        for group, tally in done.tallies():
            group.finish(tally, done, now)

    def reports(
        self, settings: MonitorSettings, now: float, eras: Callable[[str], Eras]
    ) -> list[RollupReport]:
        """Return every roll-up's report, sorted by key; `eras` gives the numbers of changes of a route."""
        unfinished: dict[RollupKey, list[_Row]] = {}
        for one in self._open.values():
            for group, tally in one.tallies():
                verdicts = tally.trials + tally.resends
                era, trials = group.era(one.eras), tally.trials
                row = _Row(tally.observation(one.sign), one.at, era, one.scorer, trials, verdicts)
                unfinished.setdefault(group.key, []).append(row)
        return [
            self.groups[key].report(
                settings, now, self.groups[key].era(eras(key.route)), unfinished.get(key, ())
            )
            for key in sorted(self.groups, key=_parts)
        ]

    def to_json(self) -> list[dict[str, Any]]:
        """Return the unfinished exchanges as JSON values; the groups are encoded one by one."""
        return [
            {
                "exchange": list(exchange),
                "eras": list(one.eras),
                "sign": one.sign,
                "at": one.at,
                "scorer": one.scorer,
                "whole": _numbers(one.whole),
                "categories": {group.key.category: _numbers(tally) for group, tally in one.parts.items()},
            }
            for exchange, one in self._open.items()
        ]

    def read(self, raw: list[dict[str, Any]]) -> None:
        """Read what `to_json` wrote, once the groups exist."""
        for row in raw:
            exchange = Exchange(*row["exchange"])
            one = self._open[exchange] = self._begin(exchange, Eras(*row["eras"]), row["sign"])
            one.at, one.scorer = row["at"], row["scorer"]
            one.whole = ExchangeTally(*row["whole"])
            for name, numbers in row["categories"].items():
                one.parts[self._category(exchange, name)] = ExchangeTally(*numbers)


_NUMBERS: Final = tuple(field.name for field in fields(ExchangeTally))


def _numbers(tally: ExchangeTally) -> list[int]:
    return [getattr(tally, name) for name in _NUMBERS]


def _parts(key: RollupKey) -> tuple[str, str, str, str]:
    return key.level, key.route, key.model, key.category
