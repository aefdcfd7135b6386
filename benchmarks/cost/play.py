"""One play: a deployment of three routes under one plan, its monitor, and what it spends until it alerts."""

from __future__ import annotations

import copy
from functools import reduce
from math import inf
from typing import TYPE_CHECKING, Final, NamedTuple

from benchmarks.cost.bill import LENGTHS, Bill
from benchmarks.cost.plans import Worker, affected_cells, drawn_answer
from benchmarks.cost.world import QUIET, ROUTES, exchange
from evenkeel.monitor.fold.settings import MonitorSettings
from evenkeel.monitor.fold.state import MonitorState
from evenkeel.stores.verdict_log import LoggedVerdict
from tests.kit.records import altered

if TYPE_CHECKING:
    from benchmarks.cost.plans import Plan
    from benchmarks.cost.world import Fall

_PUBLISHED: Final = 3
"""Exchanges between two looks of the planner at what the monitor knows: a minute, which in truth is ten
seconds at most."""


class Raised(NamedTuple):
    """An alert that was raised."""

    number: int
    """Of the exchange."""
    route: str
    cell: str
    what: str


class Play:
    """A deployment that goes on exchange by exchange."""

    def __init__(self, plan: Plan, seed: int) -> None:
        self.seed = seed
        self.number = 0
        self.bills = {route: Bill() for route in ROUTES}
        self.raised: list[Raised] = []
        self._plan = plan
        self._worker = Worker(plan, drawn_answer)
        self._state = MonitorState(
            MonitorSettings(mean_trials_between_false_alarms=10_000, trend_interval_s=inf)
        )
        self._offset = 0
        self._published = 0

    def copy(self) -> Play:
        """Another that has seen the same and goes on by itself."""
        other = Play(self._plan, self.seed)
        other.number, other.raised = self.number, list(self.raised)
        other._offset, other._published = self._offset, self._published
        other.bills = {route: altered(bill) for route, bill in self.bills.items()}
        other._state, other._worker = copy.deepcopy(self._state), self._worker.copy()
        return other

    def bill(self, *but: str) -> Bill:
        """What was spent on all routes but these."""
        return reduce(Bill.plus, (bill for route, bill in self.bills.items() if route not in but))

    def run(
        self,
        exchanges: int,
        fall: Fall = QUIET,
        fallen: str = "",
    ) -> Raised | None:
        """Go on for so many exchanges.

        Args:
            exchanges: At most.
            fall: What has changed.
            fallen: The route on which it has. If there is one, only its exchanges are played, for nothing
                that happens on a route matters on another one, and only until the first alert of a cell
                that the change concerns.

        Returns: that alert, if there was one.
        """
        found = {(fallen, cell) for cell in affected_cells(fall.affected)}
        for _ in range(exchanges):
            seen = len(self.raised)
            if not fallen or ROUTES[self.number % len(ROUTES)] == fallen:
                self._play(fall, fallen)
            self.number += 1
            if self.number % _PUBLISHED == 0 and self._offset > self._published:
                self._worker.publish(self._state.reports())
                self._published = self._offset
            for raised in self.raised[seen:]:
                if (raised.route, raised.cell) in found:
                    return raised
        return None

    def _play(self, fall: Fall, fallen: str) -> None:
        one = exchange(self.seed, self.number, fall, fallen=fallen)
        made = self._worker.make(one)
        self.bills[one.route].book(LENGTHS[one.route], made)
        for trial in made:
            self._offset += 1
            applied = self._state.apply(LoggedVerdict(self._offset, trial.verdict))
            self.raised += [
                Raised(self.number, event.route, event.perturbation, event.what)
                for event in applied.events
                if event.kind == "raised" and event.what in {"excess", "drift"}
            ]
