"""Measure the forecast against simulated days, and print the table.

Run from the root of the repository:

    python -m benchmarks.cost.forecast [--days 50] [--first 1] [--jobs 2] [--write]

Each day has one or two routes with traffic, rewordings, noise, prices, a plan and a budget of their own,
and a fall of the first route's answers that nothing announces. Trials come from the worker's own stages,
alerts from the monitor's own fold, and both wait for the real limits of the budget: only answers are drawn.
When a fall is found is chance: on one and the same day one in ten takes three times as long as the median
or more. So a day is played 24 times, with four baselines learned from other exchanges and from six hours on
each, and the median of its delays is compared with the median of the forecast. The forecast is made of the
first of the four, by what its verdicts show, and of stated traffic. How many single delays lie in its
interval is counted besides.
"""

from __future__ import annotations

import argparse
import heapq
import pickle
from collections import Counter, deque
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import count
from math import inf, log
from random import Random
from statistics import median
from typing import TYPE_CHECKING, Final, NamedTuple

from benchmarks.cost.plans import ADAPTIVE, FLOOR, Worker, drawn_answer
from benchmarks.cost.world import KINDS, MODEL, Exchange, Version
from benchmarks.kit import DOCS, Table, filled
from evenkeel.core.budget import NOTHING, Budget, Spend, beyond_share, day_share_of, passed
from evenkeel.core.suspicion import MOST_SUSPICION
from evenkeel.lab.forecast import Fall, Finding, Route, measured, prospects
from evenkeel.monitor.fold.settings import MonitorSettings
from evenkeel.monitor.fold.state import MonitorState
from evenkeel.shadow.groups import draw_of, roots_of
from evenkeel.shadow.perturbations import by_name
from evenkeel.shadow.planner import Need, RoutePlan, needs_of
from evenkeel.stores.verdict_log import LoggedVerdict

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from evenkeel.monitor.fold.cell import Cell


PAGE: Final = DOCS / "research" / "cost.md"
FACTOR: Final = 1.5
_DAY_S: Final = 86_400.0
_HOUR_S: Final = 3_600.0
_FIRST_DAY: Final = 20_000 * _DAY_S
_PUBLISHED_S: Final = 10.0
_HISTORIES: Final = 4
_HOURS: Final = 6
_MOST_DAYS: Final = 10
_MOST_VERDICTS: Final = 4_000
_MOST_LEARNED: Final = 8_000
_NEVER: Final = (-1.0, 0)
_MONITOR: Final = MonitorSettings(trend_interval_s=inf)
_WITH_ANOTHER: Final = 0.4
"""Share of the days with a second route."""
_ONE_VERSION: Final = 0.5
"""Share of the routes with prompts of one kind only."""
_ADAPTIVE: Final = 0.75
"""Share of the routes with the adaptive plan."""
_PROFILES: Final = {
    "flat": (1.0,) * 24,
    "office": (0.1,) * 8 + (2.5,) * 10 + (0.3,) * 6,
    "evening": (0.3,) * 16 + (2.6,) * 7 + (0.3,),
    "batch": (0.2,) * 2 + (8.0,) * 2 + (0.35,) * 20,
}


@dataclass(frozen=True)
class DayRoute:
    """A route on a day."""

    name: str
    profile: str
    exchanges: float
    """Sampled on a day."""
    kinds: tuple[str, ...]
    versions: tuple[Version, ...]
    moved: float
    """How often a rewording moves an answer, on average over versions and rewordings."""
    adaptive: bool
    history: int
    """Trials behind the baselines."""
    trial: Spend

    @property
    def hourly(self) -> tuple[float, ...]:
        """Sampled exchanges of each hour."""
        shares = _PROFILES[self.profile]
        return tuple(self.exchanges * share / sum(shares) for share in shares)

    @cached_property
    def route(self) -> RoutePlan:
        """Its plan, as settings make it."""
        rate = ADAPTIVE.settled_rate if self.adaptive else None
        return RoutePlan(by_name(self.kinds), (0.07, 0.13), 2, settled_rate=rate)

    @cached_property
    def settled(self) -> tuple[str, ...]:
        """Cells that have a baseline once everything is settled."""
        if not self.adaptive:
            return self.kinds
        return tuple(root.perturbation.name for root in roots_of(self.route.perturbations))


@dataclass(frozen=True)
class Day:
    """A day, and what happens on it."""

    number: int
    routes: tuple[DayRoute, ...]
    """The answers of the first one fall."""
    fall: Fall
    budget: Budget


def days(number: int) -> Day:
    """The day of a number, drawn by it."""
    draw = Random(f"day/{number}")
    routes, usual = [], 0.0
    for name in ("one", "two")[: 1 + (draw.random() < _WITH_ANOTHER)]:
        usd = draw.choice((0.0006, 0.002, 0.006))
        noise, fragile = draw.choice((0.01, 0.04, 0.1)), draw.choice((1.0, 2.0))
        easy, hard = (
            Version("easy", 0.7, noise, 1 / fragile, 1_500),
            Version("hard", 0.3, 2 * noise, fragile, 6_000),
        )
        versions = (
            (easy._replace(share=1.0, fragility=1.0),) if draw.random() < _ONE_VERSION else (easy, hard)
        )
        route = DayRoute(
            name=name,
            profile=draw.choice(sorted(_PROFILES)),
            exchanges=draw.choice((300, 800, 2_000)),
            kinds=KINDS[: draw.choice((4, 8, 12))],
            versions=versions,
            moved=draw.choice((0.01, 0.03)),
            adaptive=draw.random() < _ADAPTIVE,
            history=draw.choice((300, 600)),
            trial=Spend(round(usd * 1e6), usd),
        )
        usual += route.exchanges * usd * (0.6 if route.adaptive else 3)
        routes.append(route)
    falls = (Fall(0.15), Fall(0.15), Fall(0.25), Fall(0.1, "all"), Fall(0.15, "all"))
    limit = round(usual * draw.choice((0.4, 0.8, 1.5, 4)), 3)
    return Day(number, tuple(routes), draw.choice(falls), Budget(None, limit, spread=True, reserve=0.2))


class Deployment:
    """The routes of a day, their workers, their monitor and their budget."""

    def __init__(self, day: Day, seed: str) -> None:
        self.now = _FIRST_DAY
        self.day = day
        self.verdicts = {route.name: deque(maxlen=_MOST_VERDICTS) for route in day.routes}
        self.spent: Counter[tuple[str, int]] = Counter()
        """Trials of a route on a day."""
        self._draw = Random(seed)
        self._numbers = count(self._draw.getrandbits(40))
        self._limited = False
        self._workers = {
            route.name: Worker(route, drawn_answer, partial(self._pay, route)) for route in day.routes
        }
        self._take_needs({})
        self._state = MonitorState(_MONITOR)
        self._offset = 0
        self._published = self._estimated = -inf
        self._widths: dict[tuple[str, str], float] = {}
        self._revisions: dict[tuple[str, str, str], int] = {}
        """Of the cells, when the planner learned of them."""
        self._left_out: dict[tuple[str, str], float] = {}
        self._refused: dict[tuple[str, str], tuple[float, int]] = {}
        """The highest draw of an exchange that could not be paid for, and the trials that it asked for."""
        self._asked = 0
        """Trials that the latest exchange asked for, the latest stage's."""

    def copy(self, seed: str) -> Deployment:
        """Another that has seen the same and goes on by itself."""
        other = Deployment(self.day, seed)
        other.now, other._offset, other._limited = self.now, self._offset, self._limited
        other._published, other._estimated = self._published, self._estimated
        other._widths = dict(self._widths)
        # Several times as fast as a deep copy.
        other._state = pickle.loads(pickle.dumps(self._state))  # noqa: S301 - what was just written
        other.spent = self.spent.copy()
        other.verdicts = {name: some.copy() for name, some in self.verdicts.items()}
        other._workers = {
            route.name: self._workers[route.name].copy(partial(other._pay, route))
            for route in self.day.routes
        }
        other._take_needs({key: dict(needs) for key, needs in self._needs.items()})
        other._revisions = dict(self._revisions)
        return other

    def _take_needs(self, needs: dict[tuple[str, str], dict[str, Need]]) -> None:
        """Let the planner know these, by route and model and then by cell."""
        self._needs = needs
        for worker in self._workers.values():
            worker.needs = needs

    def learn(self) -> None:
        """Go through exchanges without a limit until the baselines have their trials."""
        for route in self.day.routes:
            for _ in range(_MOST_LEARNED):
                if min(self._trials(route.name, name) for name in route.settled) >= route.history:
                    break
                self.now += 1.0
                self._one(route, frozenset())
                self._publish()
        self.now = (self.now // _DAY_S + 1) * _DAY_S
        self._limited = True

    def history(self, route: DayRoute) -> int:
        """Trials behind a baseline of a route."""
        return round(median(self._trials(route.name, name) for name in route.settled))

    def is_quiet(self) -> bool:
        """Whether no alert is up."""
        return not any(cell.up for cell in self._state.cells.values())

    def run(
        self, until: float, fall: Fall | None = None, fallen: frozenset[str] = frozenset()
    ) -> float | None:
        """Go on until a time, or until the first alert of a rewording that falls, or of a group of it."""
        first = self.day.routes[0].name
        coming = [(self._next(route), place) for place, route in enumerate(self.day.routes)]
        heapq.heapify(coming)
        while coming[0][0] < until:
            self.now, place = coming[0]
            route = self.day.routes[place]
            hit = fall is not None and route.name == first and self._draw.random() < fall.points
            raised = self._one(route, fallen if hit else frozenset())
            if fall is not None and any(name == first and self._holds(one, fallen) for name, one in raised):
                return self.now
            self._publish()
            heapq.heapreplace(coming, (self._next(route), place))
        self.now = until
        return None

    def _next(self, route: DayRoute) -> float:
        now = self.now
        while True:
            hour = int(now // _HOUR_S)
            wait = self._draw.expovariate(route.hourly[hour % 24] / _HOUR_S)
            if now + wait < (hour + 1) * _HOUR_S:
                return now + wait
            now = (hour + 1) * _HOUR_S

    def _holds(self, cell: str, fallen: frozenset[str]) -> bool:
        roots = roots_of(self.day.routes[0].route.perturbations)
        groups = {root.perturbation.name: {kind.name for kind in root.kinds} for root in roots}
        return not fallen.isdisjoint(groups.get(cell, {cell}))

    def _trials(self, route: str, name: str) -> int:
        cell = self._state.cells.get((route, MODEL, name))
        return cell.counts.trials if cell else 0

    def _pay(self, route: DayRoute, trials: int, begins: bool) -> bool:  # noqa: FBT001 - as `Worker` calls it
        """As `TrialMaker` does it: what has been begun is finished."""
        self._asked = trials
        if self._is_refused(route, trials, begins=begins):
            return False
        self.spent[route.name, int(self.now // _DAY_S)] += trials
        return True

    def _is_refused(self, route: DayRoute, trials: int, *, begins: bool) -> bool:
        if not self._limited:
            return False
        day = int(self.now // _DAY_S)
        cost = route.trial.times(trials)
        taken: dict[str | None, Spend] = {None: cost}
        for one in self.day.routes:
            spent = one.trial.times(self.spent[one.name, day])
            taken[None] = taken[None].plus(spent)
            taken[one.name] = spent.plus(cost) if one is route else spent
        bounds = self.day.budget.bounds(day_share_of(self.now), paced=begins)
        others = [one.name for one in self.day.routes if one is not route] if begins else []
        return any(passed(taken[None], bound.limit) for bound in bounds) or (
            bool(others) and beyond_share(taken, route.name, others, bounds[-1].limit)
        )

    def _one(self, route: DayRoute, moving: frozenset[str]) -> list[tuple[str, str]]:
        """Try an exchange; the cells with a new alert."""
        one = self._exchange(route, moving)
        stratum, draw = (route.name, one.version.name), draw_of(one.id)
        if draw >= self._left_out.get(stratum, 1.0):
            return []  # The plan would leave it out, like one before it that had a lower draw.
        refused, trials = self._refused.get(stratum, _NEVER)
        if draw <= refused and self._is_refused(route, trials, begins=True):
            return []  # It would ask for as much as one before it that had a higher draw, or for more.
        self._asked = 0
        made = self._workers[route.name].make(one)
        if made:
            self._left_out.clear()
            self._refused.clear()
        elif not self._asked:
            self._left_out[stratum] = draw
        elif draw > refused:
            self._refused[stratum] = draw, self._asked
        raised = []
        for trial in made:
            self._offset += 1
            verdict = replace(trial.verdict, scored_at=self.now)
            self.verdicts[route.name].append(verdict)
            applied = self._state.apply(LoggedVerdict(self._offset, verdict))
            raised += [
                (event.route, event.perturbation)
                for event in applied.events
                if event.kind == "raised" and event.what in {"excess", "drift"}
            ]
        return raised

    def _exchange(self, route: DayRoute, moving: frozenset[str]) -> Exchange:
        draw = self._draw
        version = draw.choices(route.versions, [one.share for one in route.versions])[0]
        own = frozenset(kind for kind in route.kinds if draw.random() < route.moved * version.fragility)
        number = next(self._numbers)
        return Exchange(number, route.name, version, "", own | moving, frozenset(), frozenset(), number)

    def _publish(self) -> None:
        """Tell the planner what the monitor knows, as `needs_of` does; widths are estimated once an hour."""
        if self.now - self._published < _PUBLISHED_S:
            return
        self._published = self.now
        # The adaptive plan asks for no width once it has learned: `plan_of`.
        if self._is_estimating and self.now - self._estimated >= _HOUR_S:
            self._estimated = self.now
            needs = needs_of(self._state.reports(), FLOOR)
            self._widths = {
                (key[0], name): need.width for key, cells in needs.items() for name, need in cells.items()
            }
            self._revisions.clear()
        for key, cell in self._state.cells.items():  # reports cost too much
            if self._revisions.get(key) != cell.revision:
                self._revisions[key] = cell.revision
                self._refused.clear()
                route, model, name = key
                self._needs.setdefault((route, model), {})[name] = self._need(cell, (route, name))

    @property
    def _is_estimating(self) -> bool:
        return not self._limited or not all(route.adaptive for route in self.day.routes)

    def _need(self, cell: Cell, key: tuple[str, str]) -> Need:
        evidence = max(cell.alert.evidence_log10 if cell.alert else 0.0, cell.drift.evidence_log10)
        trials = cell.counts.trials + cell.counts.clustered
        gathered = log(10) * evidence - log(max(1, trials))
        suspicion = min(MOST_SUSPICION, max(0.0, gathered, cell.drift.suspicion))
        progress = min(1.0, evidence / cell.drift.alarm_log10)
        return Need(trials, FLOOR, self._widths.get(key, 1.0), progress, cell.up, suspicion)


class Outcome(NamedTuple):
    """A day, as forecast and as it came."""

    day: Day
    said: Finding
    delays: tuple[float, ...]
    """Hours of each play."""
    said_usd: float
    spent_usd: float

    @property
    def half(self) -> float:
        """The median of its delays."""
        return median(self.delays)

    @property
    def is_good(self) -> bool:
        """Whether the median is within the factor of what was said."""
        return _within(self.said.half or inf, self.half)

    @property
    def is_cost_good(self) -> bool:
        """Whether the dollars are."""
        return _within(self.said_usd, self.spent_usd)

    @property
    def held(self) -> int:
        """Delays in the interval that was said."""
        soon, late = self.said.soon or inf, self.said.late or inf
        return sum(soon <= delay <= late for delay in self.delays)


def _within(said: float, came: float) -> bool:
    return said == came or max(said, came) <= FACTOR * min(said, came)


def forecast_of(deployment: Deployment) -> tuple[Finding, float]:
    """What is said of the fall of the first route, and of the dollars of a quiet day on all routes."""
    day = deployment.day
    routes = [
        Route(
            route.name,
            route.route,
            _MONITOR,
            route.hourly,
            route.trial,
            measured(list(deployment.verdicts[route.name]), route.route.perturbations),
            deployment.history(route),
        )
        for route in day.routes
    ]
    found = prospects(routes, day.budget, [day.fall])
    return found[routes[0].name].findings[0], sum(one.usd_per_day for one in found.values())


def played(day: Day) -> Outcome:
    """The forecast of a day, and its plays."""
    delays, said, spent_usd = [], None, 0.0
    plan = Route("", day.routes[0].route, _MONITOR, (), NOTHING)
    for history in range(_HISTORIES):
        before = Deployment(day, f"{day.number}/{history}")
        before.learn()
        midnight = before.now
        said = said or forecast_of(before)
        for place in range(_HOURS):
            hour = (place + (history + 0.5) / _HISTORIES) * 24 / _HOURS
            before.run(midnight + hour * _HOUR_S)
            other = before.copy(f"{day.number}/{history}/{place}")
            number = history * _HOURS + place
            found = other.run(other.now + _MOST_DAYS * _DAY_S, day.fall, plan.fallen(day.fall, number))
            delays.append(inf if found is None else (found - before.now) / _HOUR_S)
        before.run(midnight + _DAY_S)
        spent_usd += (
            sum(before.spent[route.name, int(midnight // _DAY_S)] * route.trial.usd for route in day.routes)
            / _HISTORIES
        )
    assert said is not None
    return Outcome(day, said[0], tuple(delays), said[1], spent_usd)


def table(outcomes: Sequence[Outcome]) -> Table:
    """A row for each kind of fall, and one for all."""
    named: dict[str, list[Outcome]] = {}
    for one in outcomes:
        named.setdefault(_words(one.day.fall), []).append(one)
    rows = tuple(
        (
            name,
            f"{len(some)}",
            f"{sum(one.is_good for one in some)}",
            f"{sum(one.is_cost_good for one in some)}",
            f"{sum(one.held for one in some) / sum(len(one.delays) for one in some):.0%}",
        )
        for name, some in (*sorted(named.items()), ("**all**", list(outcomes)))
    )
    columns = ("fall", "days", "median within 1.5 ×", "dollars within 1.5 ×", "delays in the interval")
    return Table("cost-forecast", columns, rows)


def _words(fall: Fall) -> str:
    return f"{'one rewording' if fall.of == 'one' else 'all rewordings'} by {fall.points * 100:.0f} points"


def _line(one: Outcome) -> str:
    first, said = one.day.routes[0], one.said
    plan = "adaptive" if first.adaptive else "uniform"
    return (
        f"{one.day.number:2} {plan} {first.profile} {first.exchanges} a day, {len(first.kinds)} kinds, "
        f"{len(one.day.routes)} routes, {one.day.budget.usd_per_day} dollars, {_words(one.day.fall)}: "
        f"said {said.half or inf:.1f} h ({said.soon or inf:.1f} to {said.late or inf:.1f}), "
        f"came {one.half:.1f} h{'' if one.is_good else ' !'}; {one.held}/{len(one.delays)} within; "
        f"said {one.said_usd:.2f}, spent {one.spent_usd:.2f} dollars{'' if one.is_cost_good else ' !'}"
    )


def _outcome(number: int) -> Outcome:
    return played(days(number))


def _outcomes(numbers: Sequence[int], jobs: int) -> Iterator[Outcome]:
    with ProcessPoolExecutor(jobs) as pool:
        for outcome in pool.map(_outcome, numbers):
            print(_line(outcome), flush=True)
            yield outcome


def main() -> None:
    """Print a line a day, and the table."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.cost.forecast",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--days", type=int, default=50)
    parser.add_argument("--first", type=int, default=1, help="number of the first day")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--write", action="store_true", help=f"write the table into {PAGE.name}")
    options = parser.parse_args()
    numbers = range(options.first, options.first + options.days)
    found = table(list(_outcomes(numbers, options.jobs)))
    print(f"\n{found.markdown()}")
    if options.write:
        PAGE.write_text(filled(PAGE.read_text(encoding="utf-8"), [found], keep=True), encoding="utf-8")


if __name__ == "__main__":
    main()
