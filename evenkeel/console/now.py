"""First page: open incidents with their next step, then every route as points above noise."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from litestar import Response, get

from evenkeel.console.first_hour import first_hour
from evenkeel.console.heatmap import heatmap, language_matrices
from evenkeel.console.incidents import case_lines, incident_lines
from evenkeel.console.pipeline import pipeline_line
from evenkeel.console.rendering import KnownTag, Page, tagged
from evenkeel.console.status import coverage, status

if TYPE_CHECKING:
    from litestar.handlers import HTTPRouteHandler

    from evenkeel.console.rendering import Renderer
    from evenkeel.console.situation import Situation
    from evenkeel.console.sources import ConsoleSources

MATRICES: Final = 1
"""Language matrices on the page, that of an incident first; each takes some 15 kB."""
SHOWN: Final = 5
"""Open incidents shown in full; of the others only the headline is shown."""
_LATELY_S: Final = 86_400.0
"""Seconds for which an incident that is over is still listed."""


def now_page(sources: ConsoleSources, situation: Situation) -> Page:
    """Read all sources once and build the page."""
    now = sources.clock()
    reports, view = sources.reports(), sources.pipeline()
    going = case_lines(situation.going(), sources.writer)
    over = [one for one in situation.board.all() if now - (one.closed_at or 0.0) < _LATELY_S]
    measuring = sources.measuring()
    found = status(reports, view, now, measuring, going, incident_lines(over[:3], sources.writer))
    matrices = language_matrices(reports)
    return Page(
        found.title,
        announcement=found.announcement,
        status=found,
        measuring=measuring,
        shown=SHOWN,
        heatmap=heatmap(reports),
        coverage=coverage(reports),
        matrices=matrices[:MATRICES],
        matrices_left=len(matrices[MATRICES:]),
        pipeline=pipeline_line(view),
        view=view,
        first_hour=first_hour(sources),
        without_trials=sorted({flow.route for flow in view.routes} - {one.key.route for one in reports}),
    )


def now_handlers(sources: ConsoleSources, situation: Situation, renderer: Renderer) -> list[HTTPRouteHandler]:
    """Handlers of `/` and `/fragments/now`."""

    @get("/", sync_to_thread=True, needs="viewer")
    def page() -> Response[bytes]:
        shown = now_page(sources, situation)
        return renderer.response(
            "live.html", page=shown, fragment="_now.html", source="/fragments/now", here="/"
        )

    @get("/fragments/now", sync_to_thread=True, needs="viewer")
    def fragment(known: KnownTag = None) -> Response[bytes]:
        return tagged(renderer.page("_now.html", page=now_page(sources, situation)), known)

    return [page, fragment]
