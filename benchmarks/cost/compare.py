"""Comparison of plans on the same exchanges and changes, by their spending until the first alert."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from benchmarks.cost.play import Play
from benchmarks.cost.world import QUIET, REGRESSIONS, ROUTES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.cost.bill import Bill
    from benchmarks.cost.plans import Plan


class PhaseLengths(NamedTuple):
    """Lengths of the two phases, in exchanges of one route."""

    quiet: int = 1_500
    """Exchanges before the change, in which the plan settles and baselines are learned."""
    most: int = 2_500
    """Exchanges after the change until it counts as not found."""


@dataclass(frozen=True, slots=True)
class ChangeOutcome:
    """Outcome of one change under one plan."""

    plan: str
    regression: str
    seed: int
    found: bool
    requests: float
    """Sampled exchanges of the route until the alert or the end of the play."""
    bill: Bill
    """Spending of the whole deployment since the change."""
    before: Bill
    """Spending of the quiet phase."""
    quiet_exchanges: int
    """Exchanges of routes without a change, on which any alarm is false."""
    false_alarms: int
    """Alerts on those exchanges."""


def outcomes(plan: Plan, seed: int, lengths: PhaseLengths) -> Iterator[ChangeOutcome]:
    """Play every change after the same quiet phase. The first outcome has the false alarms of that phase.

    The play without a change goes on to the end.
    """
    settled = Play(plan, seed)
    settled.run(lengths.quiet * len(ROUTES))
    before, exchanges, alarms = settled.bill(), settled.number, len(settled.alerts)
    changed = ROUTES[seed % len(ROUTES)]
    # Number of the last exchange, the regression, whether it was found, and the bill of the changed route.
    ends = []
    for regression in REGRESSIONS:
        play = settled.copy()
        found = play.run(lengths.most * len(ROUTES), regression, changed)
        ends.append((play.number, regression, found, play.bills[changed]))
    ends.sort(key=lambda end: end[0])
    # One play without a change supplies the other routes of every play; it ends last.
    still = settled.copy()
    ends.append((still.number + lengths.most * len(ROUTES), QUIET, False, still.bills[changed]))
    for number, regression, found, spent in ends:
        still.run(number - still.number)
        bill = still.bill(without=changed).plus(spent).since(before)
        others = 0
        for alert in still.alerts[len(settled.alerts) :]:
            others += regression is QUIET or alert.route != changed
        same = bill.exchanges
        if regression is not QUIET:
            same = bill.exchanges * (len(ROUTES) - 1) // len(ROUTES)
        yield ChangeOutcome(
            plan=plan.name,
            regression=regression.name,
            seed=seed,
            found=found,
            requests=bill.exchanges / len(ROUTES),
            bill=bill,
            before=before,
            quiet_exchanges=exchanges + same,
            false_alarms=alarms + others,
        )
        exchanges = alarms = 0
