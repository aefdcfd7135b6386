"""Plans side by side: the same exchanges and changes, and what each plan spends until its first alert."""

from __future__ import annotations

from dataclasses import dataclass
from operator import itemgetter
from typing import TYPE_CHECKING, Final, NamedTuple

from benchmarks.cost.plans import GROUPED
from benchmarks.cost.play import Play
from benchmarks.cost.world import FALLS, QUIET, ROUTES, Fall
from evenkeel.shadow.groups import KNOWN_ALONE, WATCHING

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
        others = [
            one
            for one in still.raised[len(settled.raised) :]
            if fall is QUIET or one.route != fallen
        ]  # fmt: skip
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
            false_alarms=alarms + len(others),
        )
        exchanges = alarms = 0


class Alarms(NamedTuple):
    """A long time in which nothing changes."""

    plan: str
    exchanges: int
    """Of all routes, after the quiet phase."""
    trials: int
    raised: tuple[str, ...]
    """What alerted: cell, and what about it."""


def alarms(plan: Plan, seed: int, sizes: Sizes, exchanges: int) -> Alarms:
    """Play on after the quiet phase, and count what is raised though nothing changes.

    Args:
        plan: How exchanges are tried.
        seed: Of the exchanges.
        sizes: Of the quiet phase, which is left out.
        exchanges: Of each route.
    """
    play = Play(plan, seed)
    play.run(sizes.quiet * len(ROUTES))
    before, known = play.bill(), len(play.raised)
    play.run(exchanges * len(ROUTES))
    bill = play.bill().since(before)
    raised = tuple(f"{one.cell} ({one.what})" for one in play.raised[known:])
    return Alarms(plan.name, bill.exchanges, bill.replays, raised)


_MEANWHILE: Final = 300
"""Exchanges between two looks at whether all rewordings are known."""
MASKED: Final = Fall("masked", {}, masked=("general.casing", "general.tone", 0.15))
ALONE: Final = Fall("alone", {"general.casing": 0.15})


class Masking(NamedTuple):
    """Two rewordings that cancel each other inside their group."""

    seed: int
    learned: float
    """Sampled exchanges of the route before, until all of its rewordings were known by themselves."""
    found: bool
    requests: float
    """Sampled exchanges of the route until a rewording of the pair alerted by itself."""
    drawn: int
    """Trials of that rewording by itself until then; of the one with most, if none alerted."""
    bound: float
    """Exchanges that it should take at most, by the trials that the uniform plan needs for the same fall."""


def masking(plan: Plan, uniform: Plan, seed: int, sizes: Sizes, most: int) -> Masking:
    """How long a pair that cancels is overlooked, at the pace of a settled plan that knows its rewordings.

    Args:
        plan: An adaptive one.
        uniform: With which one of the pair is tried by itself.
        seed: Of the exchanges.
        sizes: Of the quiet phase, which goes on until the rewordings of all groups are known by themselves.
        most: Exchanges of a route after which it counts as not found.
    """
    assert plan.settled_rate is not None
    fallen = ROUTES[seed % len(ROUTES)]
    needed = _trials_alone(uniform, seed, sizes, fallen)
    play = Play(plan, seed)
    play.run(sizes.quiet * len(ROUTES))
    while play.number < most * len(ROUTES) and any(
        play.trials.get((fallen, kind), 0) < KNOWN_ALONE for kind in GROUPED
    ):
        play.run(_MEANWHILE)
    before, started = dict(play.trials), play.number
    found = play.run(most * len(ROUTES), MASKED, fallen, groups=False)
    cells = [found.cell] if found else sorted(MASKED.affected)
    drawn = max(play.trials.get((fallen, cell), 0) - before.get((fallen, cell), 0) for cell in cells)
    bound = needed / (WATCHING.drawn * plan.settled_rate)
    requests = (play.number - started) / len(ROUTES)
    return Masking(seed, started / len(ROUTES), found is not None, requests, drawn, bound)


def _trials_alone(plan: Plan, seed: int, sizes: Sizes, fallen: str) -> int:
    """Trials of a rewording from its fall to its alert, where every one of them is tried by itself."""
    play = Play(plan, seed)
    play.run(sizes.quiet * len(ROUTES))
    key = fallen, next(iter(ALONE.alone))
    before = play.trials[key]
    play.run(sizes.most * len(ROUTES), ALONE, fallen)
    return play.trials[key] - before
