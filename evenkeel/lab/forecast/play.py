"""A route that goes on exchange by exchange, on ratings drawn by chance.

What is tried of an exchange is decided by `evenkeel.shadow.groups` and `evenkeel.shadow.planner`, when it
may be paid by `evenkeel.core.budget`, and what is an alert by the detectors of `evenkeel.monitor.detect`,
all with the route's own settings. What is left out: bursts of near-equal prompts, single clients,
perturbations that do not apply, judges that err, and that the cost of a trial varies.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from functools import cached_property
from math import inf, log, sqrt
from random import Random
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from evenkeel.core.budget import NOTHING, Budget, Limit, Spend, beyond_share, day_share_of, passed
from evenkeel.core.suspicion import MOST_SUSPICION
from evenkeel.core.verdict import BASELINE
from evenkeel.monitor.detect import Alert, DriftAlert, Measure
from evenkeel.shadow.groups import (
    CommonMoves,
    Strata,
    draw_of,
    drawn_of,
    is_learning,
    is_split,
    is_suspected,
    plan_of,
    reuses_answer,
    roots_of,
)
from evenkeel.shadow.planner import Need, Needs, candidates

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evenkeel.monitor.fold import MonitorSettings
    from evenkeel.shadow.groups import Looked
    from evenkeel.shadow.planner import RoutePlan

DAY_S: Final = 86_400.0
HOUR_S: Final = 3_600.0
STEPS: Final = 288
"""Of a day, at which it is known what other routes have spent."""
_KNOWN_EVERY_S: Final = 10.0
"""From a verdict to a planner that knows it."""
_WAIT_S: Final = 120.0
"""Between two looks at whether a budget lets go of enough again."""
_MOST_A_DAY: Final = 20_000
"""Sampled exchanges that are played. More of them would be found sooner, if the budget lets them through."""
_SMALLEST: Final = 2
"""Trials of an exchange that is tried for one reason: the identical resend, and a rewording or group."""
_USUAL_WIDTH: Final = 3.5
"""Width of an interval of a paired difference, times the root of its trials: about, at usual rates."""


class Prompts(NamedTuple):
    """Prompts of a kind, such as a version of a template."""

    share: float = 1.0
    """Of the route's exchanges."""
    noise: float = 0.03
    """Chance that an identical resend's answer moves: the noise floor."""
    factor: float = 1.0
    """How much more often than on average rewordings move their answers."""


@dataclass(frozen=True, slots=True)
class Answers:
    """How the answers of a route move while nothing is wrong."""

    prompts: tuple[Prompts, ...] = (Prompts(),)
    moved: Mapping[str, float] = field(default_factory=dict)
    """By rewording: the chance that it moves an answer beyond the noise, in [0, 1]."""
    usually_moved: float = 0.03
    """Of rewordings of which nothing is known."""
    alike: tuple[float, float] = (0.92, 0.55)
    """Mean similarity of answers that did not move, and of those that did."""
    spread: tuple[float, float] = (0.05, 0.12)
    """Its standard deviations."""
    partly: float = 0.7
    """Share of the moved answers that are rated 2, not 1."""
    worse: float = 0.5
    """Share of them whose quality is worse."""
    verbatim: bool = False
    """Whether resends are answered word for word as before, unless their content moves."""


USUAL: Final = Answers()


class Fall(NamedTuple):
    """What happens, unnoticed by anything but trials."""

    points: float
    """Share of the exchanges whose answers move from then on, in (0, 1]."""
    of: Literal["one", "all"] = "one"
    """Whether one rewording moves them, or each does, on the same exchanges."""


@dataclass(frozen=True)
class Route:
    """What a forecast needs to know of a route."""

    name: str
    plan: RoutePlan
    monitor: MonitorSettings
    hourly: tuple[float, ...]
    """Sampled exchanges an hour, for each hour of the UTC day."""
    trial: Spend
    """Cost of a replay and its rating, on average."""
    answers: Answers = USUAL
    history: int = 300
    """Trials behind the baseline of a cell when the fall comes."""
    budget: Budget = field(default_factory=Budget)
    """Limits of its own."""

    @cached_property
    def played(self) -> tuple[float, ...]:
        """Sampled exchanges an hour in a play: those of a very busy route are thinned, or it takes hours."""
        share = min(1.0, _MOST_A_DAY / max(sum(self.hourly), 1.0))
        return tuple(share * rate for rate in self.hourly)

    @cached_property
    def groups(self) -> dict[str, frozenset[str]]:
        """The rewordings behind each cell that has trials of its own."""
        names = {kind.name: frozenset((kind.name,)) for kind in self.plan.perturbations}
        if self.plan.settled_rate is not None:
            for root in roots_of(self.plan.perturbations):
                names[root.perturbation.name] = frozenset(kind.name for kind in root.kinds)
        return names

    def fallen(self, fall: Fall, number: int) -> frozenset[str]:
        """The rewordings that fall in a play: all, or another one in each."""
        kinds = self.plan.perturbations
        return frozenset(kind.name for kind in (kinds if fall.of == "all" else (kinds[number % len(kinds)],)))


class Beside(NamedTuple):
    """What the routes that share a budget spend on a quiet day."""

    budget: Budget = Budget()
    spent: Mapping[str, Sequence[Spend]] = {}
    """By other route, at the end of each step of the day."""


def _at_most(spent: Spend, free: Limit, routes: int) -> Spend:
    """What another route has spent, if this one wants its own share: it has to leave that."""
    tokens, usd = (inf if most is None else most / routes for most in free)
    return Spend(round(min(spent.tokens, tokens)), min(spent.usd, usd))


class _Cell:
    """A cell's detectors and how much the planner knows of it."""

    __slots__ = ("alert", "drift", "need", "same_run", "trials")

    def __init__(self, route: Route, kinds: int) -> None:
        monitor = route.monitor
        self.alert = Alert(monitor.rules(route.name, kinds))
        self.drift = DriftAlert(monitor.drift(route.name))
        self.trials = 0
        self.same_run = 0
        """Latest resends in a row that were answered as before."""
        self.need = Need(0, monitor.min_trials)

    @property
    def up(self) -> bool:
        return self.alert.up or self.drift.up

    def know(self) -> None:
        """Let the planner know how it stands."""
        evidence = max(self.alert.evidence_log10, self.drift.evidence_log10)
        width = min(1.0, _USUAL_WIDTH / sqrt(max(self.trials, 1)))
        progress = min(1.0, evidence / self.drift.alarm_log10)
        # As `needs_of` has it.
        gathered = log(10) * evidence - log(max(1, self.trials))
        suspicion = min(MOST_SUSPICION, max(0.0, gathered, self.drift.suspicion))
        self.need = Need(self.trials, self.need.floor, width, progress, self.up, suspicion, self.same_run)

    def settle(self) -> None:
        """End its alerts, as people do who have looked into them."""
        self.alert.restart()
        self.drift.close()


class _Exchange:
    """One exchange, and which rewordings move its answer."""

    __slots__ = ("_drawn", "_fallen", "_rng", "_route", "id", "prompts", "stratum")

    def __init__(self, route: Route, rng: Random, number: int, fallen: frozenset[str]) -> None:
        kinds = route.answers.prompts
        self.id = f"{rng.getrandbits(48):012x}.{number}"
        self.prompts = kinds[0] if len(kinds) == 1 else rng.choices(kinds, [one.share for one in kinds])[0]
        self.stratum = str(kinds.index(self.prompts))
        self._route, self._rng, self._fallen = route, rng, fallen
        self._drawn: dict[str, bool] = {}

    def moved(self, kinds: frozenset[str]) -> bool:
        """Whether a new answer to these rewordings at once moves; none = the identical resend."""
        # Every rewording is drawn, so that trials of one exchange agree with each other.
        moving = [self._is_moved_by(kind) for kind in sorted(kinds)]
        return self._rng.random() < self.prompts.noise or any(moving)

    def _is_moved_by(self, kind: str) -> bool:
        drawn = self._drawn.get(kind)
        if drawn is None:
            answers = self._route.answers
            chance = answers.moved.get(kind, answers.usually_moved) * self.prompts.factor
            drawn = self._drawn[kind] = kind in self._fallen or self._rng.random() < chance
        return drawn


class _Rated(NamedTuple):
    moved: bool
    grade: float
    worse: bool


class Play:
    """A route from its first exchange on."""

    def __init__(self, route: Route, seed: int) -> None:
        """Begin at midnight, without limits.

        Args:
            route: Which, and how it is tried.
            seed: Of all that is drawn.
        """
        self.now = 0.0
        self.exchanges = self.trials = 0
        """Sampled, and replays of them, so far."""
        self._route = route
        self._beside = Beside()
        self._rng = Random(seed)
        self._cells = {
            **{name: _Cell(route, len(kinds)) for name, kinds in route.groups.items()},
            BASELINE: _Cell(route, 1),
        }
        self._needs = {name: cell.need for name, cell in self._cells.items()}
        self._changed: set[str] = set()
        self._strata, self._common = Strata(), CommonMoves()
        self._left_out: dict[str, float] = {}
        """By stratum: a draw with which an exchange was left out, as are those with higher ones for now."""
        self._refused: dict[str, tuple[float, float]] = {}
        """By stratum: a draw with which an exchange could not be paid for, as cannot those with lower ones,
        which ask for as much or more, until a time."""
        self._known_at = -inf
        self._spent = NOTHING
        self._limited = True
        self._learning = True
        self._watched: frozenset[str] | None = None
        """Cells whose detectors see their trials; None = all."""

    def learn(self, exchanges: int = 6_000, *, enough: bool = True) -> None:
        """Go through exchanges without a limit.

        Args:
            exchanges: So many.
            enough: Whether to end as soon as all cells have their history.
        """
        self._limited = False
        roots = [root.perturbation.name for root in roots_of(self._route.plan.perturbations)]
        names = roots if self._route.plan.settled_rate is not None else [*self._route.groups]
        for _ in range(exchanges):
            self._try(frozenset(), frozenset())
            self._know()
            if enough and min(self._cells[name].trials for name in names) >= self._route.history:
                break
        self._settle()
        self._limited = True

    def _settle(self) -> None:
        for cell in self._cells.values():
            if cell.up:
                cell.settle()
        self._changed.update(self._cells)
        self._know()

    def begin(self, seed: int, beside: Beside) -> None:
        """Begin a day anew, with a budget.

        Args:
            seed: Of all that is drawn from here on.
            beside: The budget, and who shares it.
        """
        self._rng = Random(seed)
        self.now, self._spent, self._known_at, self._beside = 0.0, NOTHING, 0.0, beside

    def skip(self, until: float, spent: Spend) -> None:
        """Leave out the time until then, unless it is over.

        Args:
            until: Seconds of the first day.
            spent: By the route on that day by then.
        """
        if until > self.now:
            self.now, self._spent = until, spent

    def copy(self, seed: int) -> Play:
        """Another that has seen the same and draws for itself from here on."""
        shared = (self._route, self._beside)
        other = copy.deepcopy(self, {id(one): one for one in shared})
        other._rng = Random(seed)  # noqa: SLF001 - of this class
        return other

    def run(self, until: float, fall: Fall | None = None, number: int = 0) -> float | None:
        """Go on until a time, or the first alert that a fall concerns.

        Args:
            until: Seconds; the first day begins at 0.
            fall: What has happened.
            number: Of the play, which chooses the rewording that falls.

        Returns: when the alert was raised, if it was.
        """
        if fall:
            self._settle()  # what had been up is no alert of the fall
        fallen = self._route.fallen(fall, number) if fall else frozenset()
        concerned = frozenset(
            name for name, kinds in self._route.groups.items() if not kinds.isdisjoint(fallen)
        )
        # What has not fallen is not watched any more: that takes most of the time, and finds nothing.
        self._watched = concerned if fall else None
        while self._arrive(until):
            hit = fall is not None and self._rng.random() < fall.points
            if self._try(fallen if hit else frozenset(), concerned):
                return self.now
            if self.now - self._known_at >= _KNOWN_EVERY_S:
                self._know()
                self._known_at = self.now
        return None

    def _arrive(self, until: float) -> bool:
        """Wait for the next exchange that can be paid for; whether there is one in time."""
        while self.now < until:
            day, hour = int(self.now // DAY_S), int(self.now // HOUR_S)
            rate = self._route.played[hour % 24] / HOUR_S
            # An hour has its own rate: what is left of a wait goes on at the next one.
            wait = self._rng.expovariate(rate) if rate else inf
            arrived = self.now + wait < (hour + 1) * HOUR_S
            self.now = self.now + wait if arrived else (hour + 1) * HOUR_S
            if self.now // DAY_S > day:
                self._spent = NOTHING
            if arrived:
                return self.now < until
        return False

    def _know(self) -> None:
        for name in self._changed:
            self._cells[name].know()
            self._needs[name] = self._cells[name].need
            self._left_out.clear()
            self._refused.clear()
        self._changed.clear()

    def _try(self, moving: frozenset[str], concerned: frozenset[str]) -> bool:
        """Try the next exchange, as the plan says; whether a cell that a fall concerns has an alert now."""
        self.exchanges += 1
        route, plan = self._route, self._route.plan
        exchange = _Exchange(route, self._rng, self.exchanges, moving)
        if self._learning:
            self._learning = is_learning(plan.perturbations, plan.trials_per_exchange, self._needs)
        if self._learning or plan.settled_rate is None:
            trials = candidates(exchange.id, plan, self._needs)[: plan.trials_per_exchange]
            if not self._pay(1 + len(trials)):
                self.now = self._affordable(1 + len(trials))
                return False
            control = self._control(exchange)
            found = [self._observe(exchange, control, one.perturbation.name)[1] for one in trials]
            return any(found) and any(self._cells[name].up for name in concerned)
        return self._adaptively(exchange, concerned, plan.settled_rate)

    def _adaptively(self, exchange: _Exchange, concerned: frozenset[str], settled_rate: float) -> bool:
        draw = draw_of(exchange.id)
        if draw >= self._left_out.get(exchange.stratum, 1.0):
            return False
        refused, until = self._refused.get(exchange.stratum, (-1.0, 0.0))
        if draw <= refused and self.now < until:
            return False
        plan = plan_of(
            exchange.id,
            roots_of(self._route.plan.perturbations),
            self._needs,
            settled_rate,
            stratum=self._strata.stratum(exchange.stratum),
            common=self._common.suspicion,
        )
        count = sum(looked.whole + len(looked.alone) for looked in plan.roots)
        if not (count or plan.drawn):
            self._left_out[exchange.stratum] = draw
            return False
        known = Needs(self._needs)
        resent = is_suspected(known, self._common.suspicion) or not reuses_answer(exchange.id, known)
        if not self._pay(resent + count):
            # Smaller ones are paid for meanwhile: those for the sake of a single suspicion, say.
            self._refused[exchange.stratum] = draw, self._affordable(resent + count)
            self.now = self._affordable(_SMALLEST)
            return False
        control, raised = self._control(exchange, resent=resent), False
        self._left_out.clear()
        moved = []
        for looked in plan.roots:
            for kind in looked.alone:
                raised |= self._observe(exchange, control, kind.name, looked.weight)[1]
            if looked.whole:
                rated, is_up = self._observe(exchange, control, looked.root.perturbation.name, looked.weight)
                moved.append(rated.moved)
                raised |= is_up | self._follow(exchange, control, looked, moved=rated.moved)
        for one in moved:
            self._strata.note(exchange.stratum, moved=one)
        self._common.note(moved)
        return raised and any(self._cells[name].up for name in concerned)

    def _follow(self, exchange: _Exchange, control: _Rated, looked: Looked, *, moved: bool) -> bool:
        """What follows from the answer to a root: trials by themselves, of which alerts see the drawn one."""
        root = looked.root
        drawn = drawn_of(exchange.id, root, looked.pace)
        if moved and is_split(exchange.id, root, looked.pace):
            others = [kind.name for kind in root.kinds if kind not in looked.alone and kind is not drawn]
            self._split(len(others))
            for name in others:
                # No detector sees them, but the planner counts them.
                self._cells[name].trials += 1
            self._changed.update(others)
        if drawn is None or drawn in looked.alone:
            return False
        self._split(1)
        return self._observe(exchange, control, drawn.name, looked.weight)[1]

    def _split(self, count: int) -> None:
        """Pay for trials that follow from others: what has been begun is finished."""
        self.trials += count
        self._spent = self._spent.plus(self._route.trial.times(count))

    def _pay(self, count: int) -> bool:
        """Pay for the first trials of an exchange, if the budgets allow it by now."""
        if self._limited and self._is_refused(self._route.trial.times(count), self.now):
            return False
        self._split(count)
        return True

    def _affordable(self, count: int) -> float:
        """When so many trials can be paid for, if nothing else is until then."""
        cost, now = self._route.trial.times(count), self.now
        end = (now // DAY_S + 1) * DAY_S
        while now < end - _WAIT_S and self._is_refused(cost, now):
            now += _WAIT_S
        return now

    def _is_refused(self, cost: Spend, now: float) -> bool:
        route, beside = self._route, self._beside
        at = day_share_of(now)
        own = self._spent.plus(cost)
        if any(passed(own, bound.limit) for bound in route.budget.bounds(at)):
            return True
        bounds = beside.budget.bounds(at)
        others = {
            name: _at_most(spent[min(int(at * STEPS), STEPS - 1)], bounds[-1].limit, len(beside.spent) + 1)
            for name, spent in beside.spent.items()
        }
        total = own
        for spent in others.values():
            total = total.plus(spent)
        if any(passed(total, bound.limit) for bound in bounds):
            return True
        taken: dict[str | None, Spend] = {None: total, route.name: own}
        taken.update(others)
        return bool(others) and beyond_share(taken, route.name, tuple(others), bounds[-1].limit)

    def _control(self, exchange: _Exchange, *, resent: bool = True) -> _Rated:
        if not resent:
            return _Rated(moved=False, grade=1.0, worse=False)
        cell, moved = self._cells[BASELINE], exchange.moved(frozenset())
        cell.trials += 1
        cell.same_run = cell.same_run + 1 if self._route.answers.verbatim and not moved else 0
        self._changed.add(BASELINE)
        return self._rated(moved=moved)

    def _observe(
        self, exchange: _Exchange, control: _Rated, name: str, weight: float = 1.0
    ) -> tuple[_Rated, bool]:
        """Make a trial of a cell; its rating, and whether the cell has an alert now."""
        cell, rated = self._cells[name], self._rated(moved=exchange.moved(self._route.groups[name]))
        if self._watched is not None and name not in self._watched:
            return rated, False
        cell.trials += 1
        self._changed.add(name)
        cell.alert.observe(
            {
                Measure.CONTENT: float(rated.moved - control.moved),
                Measure.QUALITY: float(rated.worse - control.worse),
                Measure.SIMILARITY: control.grade - rated.grade,
            },
            weight=weight,
        )
        cell.drift.observe(int(rated.moved), exchange.stratum)
        return rated, cell.up

    def _rated(self, *, moved: bool) -> _Rated:
        answers, rng = self._route.answers, self._rng
        similarity = min(1.0, max(0.0, rng.gauss(answers.alike[moved], answers.spread[moved])))
        rating = 1.0 if not moved else 0.5 if rng.random() < answers.partly else 0.0
        return _Rated(moved, (similarity + rating) / 2, moved and rng.random() < answers.worse)
