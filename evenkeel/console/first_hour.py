"""Progress during the first hour: what is missing before the first number, and what delays it.

How many requests are missing follows from what the route has yielded so far; before that, from its settings.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING, Final, NamedTuple

from evenkeel.console.pipeline import Stage, reason_in_words, skipped_because
from evenkeel.core import figures
from evenkeel.core.verdict import BASELINE
from evenkeel.monitor.fold import MonitorSettings
from evenkeel.monitor.measuring import known

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkeel.console.sources import ConsoleSources, PipelineView, RouteSetup
    from evenkeel.core.cells import CellReport
    from evenkeel.stores.counters import RouteFlow

_ENOUGH: Final = 5
"""Exchanges from which the yield is read; before, the settings say what to expect."""


class Goal(NamedTuple):
    """A number to be measured, with the observations it has and needs."""

    name: str
    have: int
    need: int
    outlook: str
    """Description of what is missing."""


class HoldUp(NamedTuple):
    """The reason why the first number does not get nearer."""

    problem: str
    next_step: str


@dataclass(frozen=True, slots=True)
class RouteProgress:
    """The progress of a route."""

    route: str
    stages: tuple[Stage, ...]
    goals: tuple[Goal, ...]

    @property
    def line(self) -> str:
        """Summary of the nearest goal that is not reached, in one line."""
        goal = next((one for one in self.goals if one.have < one.need), self.goals[0])
        return f"{self.route}: {goal.name} has {goal.have} of {goal.need} ({goal.outlook})"


@dataclass(frozen=True, slots=True)
class FirstHour:
    """The progress of all routes, shown until the first points above noise are known."""

    routes: tuple[RouteProgress, ...]
    hold_ups: tuple[HoldUp, ...]


def first_hour(sources: ConsoleSources) -> FirstHour | None:
    """Return the progress of all routes; None once a rewording has a number. Blocks on the stores."""
    setup_sources = sources.setup
    if setup_sources is None:
        return None
    reports = sources.reports()
    if any(known(report) for report in reports):
        return None
    view = sources.pipeline()
    rules = sources.thresholds or MonitorSettings()
    flows = {flow.route: flow for flow in view.routes}
    progress, hold_ups = [], []
    for setup in setup_sources.routes:
        own = [report for report in reports if report.key.route == setup.route]
        flow = flows.get(setup.route)
        replayed, rated = _counted(own)
        goals = _goals(setup, own, replayed=replayed, rules=rules)
        progress.append(RouteProgress(setup.route, _stages(flow, replayed, rated), goals))
        hold_ups += _hold_ups(setup, flow, view)
    progress.sort(key=lambda one: -sum(goal.have for goal in one.goals))
    waiting = [one for one in hold_ups if one.problem.endswith(_NO_REQUEST)]
    if len(waiting) > 1:
        hold_ups = [one for one in hold_ups if one not in waiting]
        hold_ups.append(
            HoldUp(
                f"{len(waiting)} of {len(progress)} routes have had {_NO_REQUEST}",
                "Point an application at their base URLs, which the set-up page lists, or send a test "
                "request from there.",
            )
        )
    return FirstHour(tuple(progress), tuple(hold_ups))


def _outlook(setup: RouteSetup, replayed: int, have: int, need: int, planned: float) -> str:
    """Describe the requests that a goal still needs.

    Args:
        setup: settings of the route.
        replayed: exchanges so far.
        have: observations so far.
        need: observations for the goal.
        planned: observations expected of an exchange by the settings.
    """
    if have >= need:
        return "known"
    seen = replayed >= _ENOUGH
    yielded = min(1.0, have / replayed) if seen else planned
    per_request = yielded * setup.sampling_rate
    if not per_request:
        return "no estimate: nothing comes in"
    text = f"about {figures.rounded(ceil((need - have) / per_request)):,} more requests"
    if not seen and planned < 1:
        text += f" if all {setup.rewordings} rewordings apply, fewer if some do not"
    return text


def _counted(reports: Sequence[CellReport]) -> tuple[int, int]:
    """Count the exchanges of a route that were replayed, and those whose control was rated."""
    controls = [one for one in reports if one.key.perturbation == BASELINE]
    rated = sum(one.counts.trials for one in controls)
    # A trial that lacks only quality scores has a rating.
    failed = (
        count
        for one in controls
        for name, count in one.counts.failures.items()
        if not name.startswith("quality_")
    )
    return rated + sum(failed), rated


def _stages(flow: RouteFlow | None, replayed: int, rated: int) -> tuple[Stage, ...]:
    seen, sampled = (flow.eligible, flow.sampled) if flow else (0, 0)
    # Counters start at zero with each process, verdicts do not.
    return (
        Stage("seen", max(seen, sampled, replayed), None),
        Stage("sampled", max(sampled, replayed), None),
        Stage("replayed", replayed, None),
        Stage("rated", rated, None),
    )


def _goals(
    setup: RouteSetup,
    reports: Sequence[CellReport],
    *,
    replayed: int,
    rules: MonitorSettings,
) -> tuple[Goal, ...]:
    floor = max((one.counts.effective for one in reports if one.key.perturbation == BASELINE), default=0)
    reworded = max(
        (sum(one.counts.pairs.values()) for one in reports if one.key.perturbation != BASELINE), default=0
    )
    share = min(1.0, setup.trials_per_exchange / setup.rewordings) if setup.rewordings else 0.0
    least = max(1, rules.min_trials)
    return tuple(
        Goal(name, min(have, least), least, _outlook(setup, replayed, have, least, planned))
        for name, have, planned in (("noise floor", floor, 1.0), ("points above noise", reworded, share))
    )


_NO_REQUEST: Final = "no request that can be replayed."
_APIS: Final = "chat/completions, completions, responses and messages"


def _hold_ups(setup: RouteSetup, flow: RouteFlow | None, view: PipelineView) -> list[HoldUp]:
    """List the obstacles that the state of measuring does not name: those before the first replay."""
    if not setup.sampling_rate:
        return [
            HoldUp(f"{setup.route}: nothing is sampled, sampling_rate is 0.", "Set it above 0, say to 0.1.")
        ]
    if not setup.rewordings:
        return [
            HoldUp(
                f"{setup.route}: none of its rewordings can run.",
                "Pipeline says what each of them lacks; general and positional ones need nothing.",
            )
        ]
    stopped = _traffic(setup, flow) or _sampled(setup, flow, view)
    return [stopped] if stopped else []


def _traffic(setup: RouteSetup, flow: RouteFlow | None) -> HoldUp | None:
    """Return the reason why there are no exchanges to sample."""
    requests = dict(flow.requests) if flow else {}
    total, good = sum(requests.values()), requests.get("2xx", 0)
    own = flow.skipped.get("replay", 0) if flow else 0
    if flow is None or (total - own < _ENOUGH and not flow.eligible):
        return HoldUp(
            f"{setup.route} has had {_NO_REQUEST}",
            f"Point an application at {setup.base_url}, or send a test request from the set-up page.",
        )
    if total and not good:
        return HoldUp(
            f"{setup.route}: the endpoint answered all {figures.count(total, 'request')} with an error.",
            "A test request from the set-up page shows what is wrong: mostly the key, model or path.",
        )
    if not flow.eligible:
        return HoldUp(
            f"{setup.route}: of {figures.count(total, 'request')} none can be replayed.",
            f"Only POST requests to {_APIS} are. Check which path the application calls.",
        )
    return None


def _sampled(setup: RouteSetup, flow: RouteFlow | None, view: PipelineView) -> HoldUp | None:
    """Return the reason why sampled exchanges are not replayed."""
    if flow is None or flow.scored:
        return None
    if not flow.sampled:
        return HoldUp(
            f"{setup.route}: none of {figures.count(flow.eligible, 'request')} is in the sample so far.",
            f"Nothing to do: {figures.percent(setup.sampling_rate)} of them are. "
            "A higher sampling_rate brings numbers sooner.",
        )
    skipped = {name: count for name, count in flow.skipped.items() if name != "replay" and count}
    if not skipped or view.waiting + view.leased:
        return None
    reason = max(skipped, key=lambda name: skipped[name])
    return HoldUp(
        f"{setup.route}: all {figures.count(sum(skipped.values()), 'sampled exchange')} so far were skipped, "
        f"{skipped[reason]:,} of them because: {skipped_because(reason)}.",
        "Send requests of another kind, or see Replays in the documentation for what is never replayed."
        if skipped_because(reason) == reason_in_words(reason)
        else "Pipeline lists all reasons.",
    )
