"""Plans side by side: the same exchanges and changes, and what each plan spends until its first alert."""

from __future__ import annotations

from dataclasses import dataclass
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

from benchmarks.cost.play import Play
from benchmarks.cost.world import FALLS, QUIET, ROUTES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.cost.bill import Bill
    from benchmarks.cost.plans import Plan


class Sizes(NamedTuple):
    """How long everything is, in exchanges of one route."""

    quiet: int = 1_500
    """Before the change: the plan settles and baselines are learned."""
    most: int = 2_500
    """After it, until a change counts as not found."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """One change, found or not."""

    plan: str
    fall: str
    seed: int
    found: bool
    requests: float
    """Sampled exchanges of the route until the alert, or as many as were waited for."""
    bill: Bill
    """Of the whole deployment from the change on."""
    before: Bill
    """Of the quiet phase."""
    quiet_exchanges: int
    """Of routes on which nothing had changed, in which false alarms could be raised."""
    false_alarms: int
    """Alerts of cells that the change does not concern."""


def outcomes(plan: Plan, seed: int, sizes: Sizes) -> Iterator[Outcome]:
    """Play every change after the same quiet phase. The first outcome has the false alarms of that phase.

    Nothing is waited for when nothing falls: the plan goes on to the end.
    """
    settled = Play(plan, seed)
    settled.run(sizes.quiet * len(ROUTES))
    before, exchanges, alarms = settled.bill(), settled.number, len(settled.raised)
    fallen = ROUTES[seed % len(ROUTES)]
    ends = []
    for fall in FALLS:
        play = settled.copy()
        found = play.run(sizes.most * len(ROUTES), fall, fallen)
        ends.append((play.number, fall, found, play.bills[fallen]))
    still = settled.copy()
    ends.append((still.number + sizes.most * len(ROUTES), QUIET, None, still.bills[fallen]))
    for number, fall, found, spent in sorted(ends, key=itemgetter(0)):
        still.run(number - still.number)
        bill = still.bill(fallen).plus(spent).since(before)
        others = 0
        for alert in still.raised[len(settled.raised) :]:
            others += fall is QUIET or alert.route != fallen
        same = bill.exchanges if fall is QUIET else bill.exchanges * (len(ROUTES) - 1) // len(ROUTES)
        yield Outcome(
            plan=plan.name,
            fall=fall.name,
            seed=seed,
            found=found is not None,
            requests=bill.exchanges / len(ROUTES),
            bill=bill,
            before=before,
            quiet_exchanges=exchanges + same,
            false_alarms=alarms + others,
        )
        exchanges = alarms = 0
