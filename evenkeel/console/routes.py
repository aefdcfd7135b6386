"""Page of a route: cells, languages, the effect of its last change, cost, and reference prompts."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from litestar import Response, get
from litestar.exceptions import NotFoundException

from evenkeel.console import links
from evenkeel.console.api import json_response
from evenkeel.console.changes import effect_words, incident_of
from evenkeel.console.incidents import incident_lines
from evenkeel.console.now import blind_notices, retirement_notices
from evenkeel.console.overview import counted, course, why_wide
from evenkeel.console.pipeline import not_replayed
from evenkeel.console.rendering import Page, live_handlers
from evenkeel.console.spend import spend_text, spent_by
from evenkeel.core import rewordings
from evenkeel.core.budget import NOTHING, Budget
from evenkeel.core.together import by_themselves
from evenkeel.core.verdict import BASELINE, CONTRAST
from evenkeel.monitor.estimate.bounded_mean import bounded_mean
from evenkeel.stores.references import FULL

if TYPE_CHECKING:
    from collections.abc import Sequence

    from litestar.handlers import HTTPRouteHandler

    from evenkeel.console.rendering import AnyRequest, Renderer
    from evenkeel.console.situation import Situation
    from evenkeel.console.sources import ConsoleSources
    from evenkeel.core.cells import CellReport, Estimate
    from evenkeel.monitor.fold import SilentReport
    from evenkeel.stores.references import AskedToday, ReferenceState
    from evenkeel.stores.verdict_log import VerdictLog


@dataclass(frozen=True, slots=True)
class RouteReferences:
    """The references of one route, as the page and the API show them: never a prompt or an answer."""

    route: str
    references: int
    """References that are kept."""
    ready: int
    """References with enough answers to be asked in turn."""
    asked_at: float
    """Unix time in seconds of the last call; 0 before the first."""
    calls_today: int
    """Calls of this UTC day, including extra ones made on a suspicion."""
    usd_today: float
    asked_today: AskedToday | None
    """Calls of this UTC day; None if there were none."""
    tests: tuple[SilentReport, ...]
    """State of the tests for silent changes, by requested model."""


def route_references(sources: ConsoleSources) -> dict[str, RouteReferences]:
    """Return the references of every route. Blocks on storage."""
    today = f"{datetime.fromtimestamp(sources.clock(), UTC):%Y-%m-%d}"
    kept: dict[str, list[ReferenceState]] = {setup.route: [] for setup in sources.setup}
    for state in sources.references.states():
        kept.setdefault(state.route, []).append(state)
    tests: dict[str, list[SilentReport]] = {}
    for test in sources.silent():
        tests.setdefault(test.route, []).append(test)
    by_route = {}
    for route, own in sorted(kept.items()):
        asked = sources.references.asked(route)
        # The record of an earlier day stays until the first call of the next one.
        asked = asked if asked and asked.day == today else None
        by_route[route] = RouteReferences(
            route,
            references=len(own),
            ready=sum(state.answers >= FULL for state in own),
            asked_at=max((state.asked_at for state in own), default=0.0),
            calls_today=asked.calls + asked.burst_calls if asked else 0,
            usd_today=asked.usd if asked else 0.0,
            asked_today=asked,
            tests=tuple(tests.get(route, ())),
        )
    return by_route


def reference_handler(sources: ConsoleSources) -> HTTPRouteHandler:
    """Handler of GET `/api/references`."""

    @get("/api/references", sync_to_thread=True, needs="viewer")
    def listed() -> Response[bytes]:
        by_route = route_references(sources).values()
        return json_response(
            {"routes": list(map(asdict, by_route)), "limits": sources.reference_setup._asdict()}
        )

    return listed


_CONTRASTS: Final = (f"{CONTRAST}.number", f"{CONTRAST}.meaning")
# Contrasts of a kind that are looked at, the newest.
_LATEST: Final = 200
# Probability that the interval of their share misses the truth.
_ERROR_RATE: Final = 0.05
# Latest incidents of a route that are mentioned.
_INCIDENTS: Final = 5


def route_page(sources: ConsoleSources, situation: Situation, route: str) -> Page | None:
    """Build the page of a route; None if the route is unknown."""
    now, view = sources.clock(), sources.pipeline()
    own, reworded = [], []
    for report in sources.reports():
        if report.key.route == route:
            own.append(report)
            if report.key.perturbation != BASELINE:
                reworded.append(report)
    flow = {flow.route: flow for flow in view.routes}.get(route)
    if not own and flow is None:
        return None
    # The newest comes first.
    change = next(filter(lambda report: report.route == route, sources.change_reports()), None)
    incidents, past = [], []
    for incident in situation.board.all():
        if route in incident.routes:
            incidents.append(incident)
            if incident.state == "resolved":
                past.append(incident)
    going = []
    for incident in situation.going():
        if route in incident.routes:
            going.append(incident)
    going_lines = incident_lines(going, sources.writer)
    single = by_themselves(reworded, lambda report: report.key.perturbation)
    limits = {report.detection.threshold for report in single}
    return Page(
        f"{route} · evenkeel",
        announcement=" ".join(line.notice.headline for line in going_lines),
        route=route,
        flow=flow,
        not_replayed=not_replayed([flow], own) if flow else [],
        models=_models(own),
        sensitivities=_sensitivities(sources.log, route),
        spark=lambda report: course(sources.monitor_store, report, now),
        in_incidents=situation.in_incidents(),
        going=going_lines,
        past=incident_lines(past[:_INCIDENTS], sources.writer),
        notices=[*_held_up(sources, route), *blind_notices(own), *retirement_notices(sources, own)],
        change=change,
        change_effect=effect_words(change, incident_of(change, incidents)) if change else "",
        references=route_references(sources).get(route),
        reference_setup=sources.reference_setup,
        spent=spend_text(spent_by(sources)[0].get(route, NOTHING), sources.budgets.get(route, Budget())),
        minimum=sources.thresholds.min_trials,
        counted=counted(report for report in own if not report.retired),
        wide=why_wide(report for report in own if not report.retired),
        allowed=limits.pop() if len(limits) == 1 else None,
    )


def route_handlers(
    sources: ConsoleSources, situation: Situation, renderer: Renderer
) -> list[HTTPRouteHandler]:
    """Handlers of `/routes/{name}` and its live part."""

    def page(request: AnyRequest) -> Page:
        asked = links.path_part(request.path_params["route"].removeprefix("/"))
        routes_seen = set()
        for flow in sources.pipeline().routes:
            routes_seen.add(flow.route)
        for report in sources.reports():
            routes_seen.add(report.key.route)
        # Compared in the form of an address, which cannot hold every character of an old name.
        for route in routes_seen:
            if links.path_part(route) == asked and (rendered := route_page(sources, situation, route)):
                return rendered
        raise NotFoundException(detail="There is no route of this name.")

    # The path type also takes names that hold a slash.
    return live_handlers("/routes/{route:path}", "_route.html", page, renderer)


def _held_up(sources: ConsoleSources, route: str) -> list[str]:
    """Return what holds measuring of a route up, or thins it, with what to do."""
    measuring = sources.measuring()
    sentences = []
    for cause in (*measuring.causes, *measuring.thinned):
        if not cause.routes or route in cause.routes:
            sentences.append(cause.sentence)
    return sentences


def _models(own: Sequence[CellReport]) -> dict[str, list[CellReport]]:
    """Return the cells of each model in the order of the page; models that no longer answer come last."""
    models: dict[str, list[CellReport]] = {}
    for report in sorted(
        own, key=lambda report: (report.key.model, rewordings.position(report.key.perturbation))
    ):
        models.setdefault(report.key.model, []).append(report)
    # Live models are not ordered by time: two that share a route would swap places at each refresh.
    return dict(sorted(models.items(), key=lambda item: item[1][0].retired))


def _sensitivities(log: VerdictLog, route: str) -> dict[str, Estimate]:
    """Return the share of a route's latest contrasts whose answer moved, by model; {} without any.

    A contrast asks another question: an answer that stays hardly depends on the question.
    """
    moved: dict[str, Counter[float]] = {}
    for kind in _CONTRASTS:
        for verdict in log.latest(_LATEST, route=route, perturbation=kind):
            if verdict.shifted is not None:
                moved.setdefault(verdict.model, Counter())[float(verdict.shifted)] += 1
    estimates = {}
    for model, outcomes in moved.items():
        estimate = bounded_mean(outcomes, low=0.0, alpha=_ERROR_RATE)
        if estimate is not None:
            estimates[model] = estimate
    return estimates
