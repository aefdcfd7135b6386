"""Play of a deployment of three routes under one plan, with its monitor and its bills."""

from __future__ import annotations

import copy
from math import inf
from typing import TYPE_CHECKING, Final, NamedTuple

from benchmarks.cost.bill import LENGTHS, Bill
from benchmarks.cost.plans import SimulatedWorker, affected_cells
from benchmarks.cost.world import QUIET, ROUTES, draw_exchange
from evenkeel.monitor.fold.settings import MonitorSettings
from evenkeel.monitor.fold.state import MonitorState
from evenkeel.stores.verdict_log import LoggedVerdict

if TYPE_CHECKING:
    from benchmarks.cost.plans import Plan
    from benchmarks.cost.world import Regression

# Exchanges between two reports of the monitor to the planner: a minute; in production it is 10 s at most.
_PUBLISH_EVERY: Final = 3


class PlayAlert(NamedTuple):
    """An alert on a cell of a route."""

    route: str
    cell: str


class Play:
    """A deployment that is played exchange by exchange."""

    def __init__(self, plan: Plan, seed: int) -> None:
        self.seed = seed
        self.number = 0
        self.bills = {route: Bill() for route in ROUTES}
        self.alerts: list[PlayAlert] = []
        self._plan = plan
        self._worker = SimulatedWorker(plan)
        self._state = MonitorState(
            MonitorSettings(mean_trials_between_false_alarms=10_000, trend_interval_s=inf)
        )
        self._offset = 0
        self._published = 0

    def copy(self) -> Play:
        """Return a play in the same state that goes on by itself."""
        other = Play(self._plan, self.seed)
        other.number = self.number
        other.alerts = list(self.alerts)
        other._offset = self._offset
        other._published = self._published
        other.bills = copy.deepcopy(self.bills)
        other._state = copy.deepcopy(self._state)
        other._worker = self._worker.copy()
        return other

    def bill(self, without: str = "") -> Bill:
        """Return the spending on all routes, or on all but one."""
        total = Bill()
        for route, bill in self.bills.items():
            if route != without:
                total = total.plus(bill)
        return total

    def run(self, exchanges: int, regression: Regression = QUIET, changed: str = "") -> bool:
        """Play the next exchanges, and return True if an alert found the regression.

        Args:
            exchanges: The most exchanges to play.
            regression: The change that has happened.
            changed: Route of the change. Routes do not depend on each other, so if a route is named, only
                its exchanges are played, until the first alert on a cell that the change concerns.
        """
        affected = affected_cells(regression.affected)
        for _ in range(exchanges):
            seen = len(self.alerts)
            if not changed or ROUTES[self.number % len(ROUTES)] == changed:
                self._play(regression, changed)
            self.number += 1
            if self.number % _PUBLISH_EVERY == 0 and self._offset > self._published:
                self._worker.publish(self._state.reports())
                self._published = self._offset
            for alert in self.alerts[seen:]:
                if alert.route == changed and alert.cell in affected:
                    return True
        return False

    def _play(self, regression: Regression, changed: str) -> None:
        exchange = draw_exchange(self.seed, self.number, regression, changed)
        trials = self._worker.make(exchange)
        self.bills[exchange.route].book(LENGTHS[exchange.route], trials)
        for trial in trials:
            self._offset += 1
            for event in self._state.apply(LoggedVerdict(self._offset, trial.verdict)).events:
                if event.kind == "raised" and event.what in {"excess", "drift"}:
                    self.alerts.append(PlayAlert(event.route, event.perturbation))
