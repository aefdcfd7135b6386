"""Progress until the first number: how many requests are missing, and what keeps traffic from coming in.

How many are missing follows from what the route has yielded so far; before that, from its settings. What
holds trials up is the state of measuring (`evenkeel.monitor.measuring`); this is what keeps requests out.
"""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING, Final, NamedTuple

from evenkeel.core import figures
from evenkeel.core.endpoint import API_PATHS
from evenkeel.core.verdict import BASELINE
from evenkeel.monitor.fold import MonitorSettings
from evenkeel.monitor.measuring import known

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkeel.console.sources import ConsoleSources, RouteSetup
    from evenkeel.core.cells import CellReport
    from evenkeel.stores.counters import RouteFlow

# Exchanges from which the yield is read; before, the settings say what to expect.
_ENOUGH: Final = 5
_NO_ESTIMATE: Final = "no estimate: no rewording could be rated yet; Pipeline says what was not tried"
# The command tests what its own options say, so it needs those of `up`.
_TRY: Final = "evenkeel check-config --test request, with the options of evenkeel up,"


class RouteProgress(NamedTuple):
    """Distance of a route from its first points above noise."""

    route: str
    have: int
    """Trials of the rewording that is furthest, with a rated control where there is a judge."""
    need: int
    outlook: str
    """Missing part."""
    problem: str = ""
    """Why nothing comes in; "" if something does."""
    next_step: str = ""


def first_hour(sources: ConsoleSources) -> list[RouteProgress]:
    """Return the progress of each route, the furthest first; [] once a rewording has a number."""
    reports = sources.reports()
    if any(known(report) for report in reports):
        return []
    need = max(1, (sources.thresholds or MonitorSettings()).min_trials)
    measuring = sources.measuring()
    flows = {flow.route: flow for flow in sources.pipeline().routes}
    progress = []
    for setup in sources.setup:
        own = [report for report in reports if report.key.route == setup.route]
        have = 0
        for report in own:
            # The rewording that is furthest: its figure comes first.
            if report.key.perturbation != BASELINE:
                # Without a judge the first figure is that of similarity, which every trial has.
                rated = report.counts.trials if sources.judge is None else sum(report.counts.pairs.values())
                have = max(have, min(need, rated))
        # How many requests are missing is beside the point where none of them could be measured.
        held_up = any(setup.route in (cause.routes or (setup.route,)) for cause in measuring.causes)
        outlook = "waits until measuring goes on" if held_up else _outlook(setup, own, have, need)
        problem, step = _unsampled(setup, flows.get(setup.route))
        progress.append(RouteProgress(setup.route, have, need, outlook, problem, step))
    return sorted(progress, key=lambda step: -step.have)


def _outlook(setup: RouteSetup, reports: Sequence[CellReport], have: int, need: int) -> str:
    """Describe the requests that a route still needs."""
    if have >= need:
        # The trials are there; the monitor's next report will have the figure.
        return "one more reading"
    replayed = 0.0
    for report in reports:
        if report.key.perturbation == BASELINE:
            replayed += report.counts.trials + sum(report.counts.failures.values())
    planned = min(1.0, setup.trials_per_exchange / setup.rewordings) if setup.rewordings else 0.0
    yielded = min(1.0, have / replayed) if replayed >= _ENOUGH else planned
    per_request = yielded * setup.sampling_rate
    if not per_request:
        return _NO_ESTIMATE
    text = f"about {figures.rounded(ceil((need - have) / per_request)):,} more requests"
    if replayed < _ENOUGH and planned < 1:
        text += f" if all {setup.rewordings} rewordings apply, fewer if some do not"
    return text


def _unsampled(setup: RouteSetup, flow: RouteFlow | None) -> tuple[str, str]:
    """Return why no request is sampled, and what to do; ("", "") if one is."""
    if not setup.sampling_rate:
        return "Nothing is sampled: sampling_rate is 0.", "Set it above 0, say to 0.1."
    # In the order of a request's way: the first obstacle hides all later ones.
    requests = dict(flow.requests) if flow else {}
    total, replays = sum(requests.values()), flow.skipped.get("replay", 0) if flow else 0
    if flow is None or (total - replays < _ENOUGH and not flow.eligible):
        return (
            "No request that can be replayed has come.",
            f"Point an application at {setup.base_url}; {_TRY} sends one.",
        )
    if total and not requests.get("2xx", 0):
        return (
            f"The endpoint answered all {figures.count(total, 'request')} with an error.",
            f"{_TRY} shows what is wrong: mostly the key, model or path.",
        )
    if not flow.eligible:
        return (
            f"Of {figures.count(total, 'request')} none can be replayed.",
            f"Only POST requests to {figures.listing(API_PATHS)} are. Which path does the application call?",
        )
    if not flow.sampled:
        share = figures.percent(setup.sampling_rate)
        return (
            f"None of {figures.count(flow.eligible, 'request')} is in the sample so far.",
            f"Nothing to do: {share} of them are. A higher sampling_rate brings numbers sooner.",
        )
    return "", ""
