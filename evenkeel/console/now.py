"""First page: whether answers are measured, open incidents with their next step, and every cell."""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING, Final, NamedTuple

from evenkeel.console.incidents import case_lines, incident_lines
from evenkeel.console.overview import counted, course, overview, why_wide
from evenkeel.console.pipeline import lag, stuck
from evenkeel.console.rendering import Page, live_handlers
from evenkeel.console.spend import spent_of_all
from evenkeel.core import figures, rewordings
from evenkeel.core.cells import STANDINGS
from evenkeel.core.endpoint import API_PATHS
from evenkeel.core.verdict import BASELINE
from evenkeel.monitor.measuring import known
from evenkeel.release.challenge.retirements import retirement_note, retirement_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from litestar.handlers import HTTPRouteHandler

    from evenkeel.console.incidents import IncidentLine
    from evenkeel.console.rendering import Renderer
    from evenkeel.console.situation import Situation
    from evenkeel.console.sources import ConsoleSources, PipelineView, RouteSetup
    from evenkeel.core.cells import CellReport
    from evenkeel.monitor.measuring import Measuring
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
    need = max(1, sources.thresholds.min_trials)
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


SHOWN: Final = 5
"""Open incidents and notices that head the page; the others would push the cells off the screen."""
# Seconds for which an incident that is over is still listed.
_LATELY_S: Final = 86_400.0
_TITLES: Final = {
    "incident": "Now",
    "held_up": "Held up",
    "measuring": "Measuring",
    "learning": "Learning",
    "empty": "Waiting for traffic",
}


def now_page(sources: ConsoleSources, situation: Situation) -> Page:
    """Read all sources once and build the page."""
    now = sources.clock()
    reports, view, measuring = sources.reports(), sources.pipeline(), sources.measuring()
    going = case_lines(situation.going(), sources.writer)
    over = []
    for incident in situation.board.all():
        if now - (incident.closed_at or 0.0) < _LATELY_S:
            over.append(incident)
    state = state_of(reports, view, measuring, going)
    said = [cause.said for cause in measuring.causes]
    for line in going:
        said.append(line.notice.headline)
    # What holds measuring up heads the page already.
    behind = "" if measuring.causes else stuck(view, measuring)
    without_trials = {flow.route for flow in view.routes}
    live, last_at = [], 0.0
    for report in reports:
        without_trials.discard(report.key.route)
        if not report.retired:
            live.append(report)
            last_at = max(last_at, report.last_scored_at or 0.0)
    in_incidents = situation.in_incidents()
    # The noise floor has no limit.
    standings = {report.standing for report in live if report.key.perturbation != BASELINE}
    return Page(
        f"{_TITLES[state]} · evenkeel",
        # Without times, so that it is read only when something else changes.
        announcement=" ".join(said) or _TITLES[state],
        state=state,
        # A tick is for what is known to be good: "measuring" alone says nothing about the answers.
        tone="learning" if state == "measuring" and standings != {"within"} else state,
        measuring=measuring,
        going=going,
        lately=incident_lines(over[:3], sources.writer),
        notices=[
            *view.notices,
            *(cause.sentence for cause in measuring.thinned),
            *filter(None, (behind,)),
            *blind_notices(reports),
            *retirement_notices(sources, reports),
        ],
        shown=SHOWN,
        counted=counted(live),
        last_at=last_at,
        overview=overview(reports, in_incidents),
        in_incidents=in_incidents,
        spark=lambda report: course(sources.monitor_store, report, now),
        standings=STANDINGS,
        wide=why_wide(live),
        lag=lag(view),
        spent=spent_of_all(view),
        view=view,
        first_hour=first_hour(sources),
        without_trials=sorted(without_trials),
    )


def state_of(
    reports: Sequence[CellReport], view: PipelineView, measuring: Measuring, going: Sequence[IncidentLine]
) -> str:
    """Return what the top of the page is about: a key of the titles."""
    # An incident comes before what holds measuring up: somebody has to act on it in either case.
    if going:
        return "incident"
    tried = any(report.counts.trials or report.counts.failures for report in reports)
    # Traffic may arrive and wait, for example for the day's budget: then nobody has to set a base URL.
    arrived = any(flow.eligible for flow in view.routes)
    if measuring.state == "learning" and not tried and not arrived:
        return "empty"
    return measuring.state


def blind_notices(reports: Sequence[CellReport]) -> list[str]:
    """Return a notice for each route and model with blind cells, which cannot detect a change."""
    groups: dict[tuple[str, str], list[CellReport]] = {}
    for report in reports:
        if report.is_blind and not report.retired and report.key.perturbation != BASELINE:
            groups.setdefault((report.key.route, report.key.model), []).append(report)
    notices = []
    for (route, model), blind in sorted(groups.items()):
        floor = blind[0].noise_floor
        cells = figures.listing([rewordings.phrase(report.key.perturbation) for report in blind])
        notices.append(
            f"{model} on {route} is blind under {cells}: "
            + (f"at a noise floor of {figures.percent(floor.value)} " if floor else "")
            + "even answers to another question would raise no alert. "
            "Lower the temperature, use a judge, or watch similarity."
        )
    return notices


def retirement_notices(sources: ConsoleSources, reports: Sequence[CellReport]) -> list[str]:
    """Return a notice for each model that retires, with the routes that try no other one yet."""
    now, board = sources.clock(), sources.challengers
    served: dict[str, set[str]] = {}
    for report in reports:
        if not report.retired:
            served.setdefault(report.key.model, set()).add(report.key.route)
    notes = []
    for model, routes in sorted(served.items()):
        # Few models retire: for the others no store is read.
        if retirement_of(model, now) is None:
            continue
        waiting = [route for route in sorted(routes) if not board.store.running(route)]
        if waiting:
            notes.append(retirement_note(model, waiting, now))
    return notes


def now_handlers(sources: ConsoleSources, situation: Situation, renderer: Renderer) -> list[HTTPRouteHandler]:
    """Handlers of `/` and its live part."""
    return live_handlers("/", "_now.html", lambda _: now_page(sources, situation), renderer)
