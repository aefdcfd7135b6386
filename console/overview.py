"""The overview page and its live part."""

from __future__ import annotations

from typing import TYPE_CHECKING

from litestar import Response, get

from evenkeel.console import links
from evenkeel.console.heatmap import PAIRS_IN_COLUMNS, heatmap, language_matrices
from evenkeel.console.pipeline import pipeline_line
from evenkeel.console.rendering import AnyRequest, KnownTag, Page, tagged
from evenkeel.console.status import status
from evenkeel.console.trends import trends
from evenkeel.console.trial import Exhibitor, latest
from evenkeel.console.trial_search import TrialFilter
from evenkeel.core import rewordings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from litestar.handlers import HTTPRouteHandler

    from evenkeel.console.rendering import Renderer
    from evenkeel.console.sources import ConsoleSources
    from evenkeel.core.cells import CellReport

EVENTS_READ = 200
"""Newest alert events looked at for the status line and the marks in the charts."""

MATRICES = 1
"""Matrices of languages on the page, that of an alert first; one takes some 15 kB."""


def overview(sources: ConsoleSources, choice: TrialFilter, exhibitor: Exhibitor) -> Page:
    """Read all sources once and put the page together."""
    now = sources.clock()
    reports, view = sources.reports(), sources.pipeline()
    events = sources.monitor_store.events(EVENTS_READ)
    found = status(reports, events, view, now, sources.change_reports() if sources.change_reports else ())
    matrices = language_matrices(reports)
    return Page(
        found.title,
        status=found,
        heatmap=heatmap(reports),
        matrices=matrices[:MATRICES],
        matrices_left=len(matrices[MATRICES:]),
        trends=trends(reports, events, sources.monitor_store, now),
        verdicts=latest(
            sources.log,
            choice,
            exhibitor=exhibitor,
            routes={report.key.route for report in reports},
            perturbations=_filtered_by(reports, choice.perturbation),
        ),
        pipeline=pipeline_line(view),
        view=view,
        query=links.overview_query(**choice.parts()),
    )


def _filtered_by(reports: Sequence[CellReport], chosen: str | None) -> set[str]:
    """The kinds that the list of verdicts can be narrowed to; of many pairs of languages only the chosen one.

    All of them are links of the matrix already.
    """
    kinds = {report.key.perturbation for report in reports}
    pairs = {kind for kind in kinds if rewordings.language_pair(kind)}
    return (
        kinds
        if len(pairs) <= PAIRS_IN_COLUMNS
        else (kinds - pairs) | {kind for kind in pairs if kind == chosen}
    )


def overview_handlers(sources: ConsoleSources, renderer: Renderer) -> list[HTTPRouteHandler]:
    """`/` and `/fragments/overview`; both take `rating`, `route` and `perturbation`."""
    exhibitor = Exhibitor()

    def shown(request: AnyRequest) -> Page:
        query = request.query_params
        choice = TrialFilter.of({name: query.get(name, "") for name in ("route", "perturbation", "rating")})
        return overview(sources, choice, exhibitor)

    @get("/", sync_to_thread=True, needs="viewer")
    def page(request: AnyRequest) -> Response[bytes]:
        return renderer.response("overview.html", page=shown(request))

    @get("/fragments/overview", sync_to_thread=True, needs="viewer")
    def fragment(request: AnyRequest, known: KnownTag = None) -> Response[bytes]:
        return tagged(renderer.page("_overview.html", page=shown(request)), known)

    return [page, fragment]
