"""The overview page and its live part."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from litestar import MediaType, Response, get
from litestar.params import FromQuery

from evenkeel.console import links
from evenkeel.console.heatmap import (
    BANDS,
    PAIRS_IN_COLUMNS,
    Heatmap,
    LanguageMatrix,
    heatmap,
    language_matrices,
)
from evenkeel.console.pipeline import PipelineLine, pipeline_line
from evenkeel.console.rendering import KnownTag, tagged
from evenkeel.console.status import Status, status
from evenkeel.console.trends import Trend, trends
from evenkeel.console.trial import Choice, Exhibitor, VerdictList, latest
from evenkeel.core import rewordings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from litestar.handlers import HTTPRouteHandler

    from evenkeel.console.rendering import Renderer
    from evenkeel.console.sources import ConsoleSources, PipelineView
    from evenkeel.core.cells import CellReport

EVENTS_READ = 200
"""Newest alert events looked at for the status line and the marks in the charts."""

MATRICES = 1
"""Matrices of languages on the page, that of an alert first; one takes some 15 kB."""

QueryText = FromQuery[str | None]


@dataclass(frozen=True, slots=True)
class Overview:
    """Everything on the page."""

    status: Status
    heatmap: Heatmap
    matrices: tuple[LanguageMatrix, ...]
    """Pairs of languages, of the first few routes and models."""
    matrices_left: int
    trends: tuple[Trend, ...]
    verdicts: VerdictList
    pipeline: PipelineLine
    view: PipelineView
    query: str
    """The choice as a query string, for the link to the live part."""


def overview(sources: ConsoleSources, choice: Choice, exhibitor: Exhibitor) -> Overview:
    """Read all sources once and put the page together."""
    now = sources.clock()
    reports, view = sources.reports(), sources.pipeline()
    events = sources.monitor_store.events(EVENTS_READ)
    changes = sources.change_reports() if sources.change_reports else ()
    matrices = language_matrices(reports, minimum=view.minimum_trials)
    return Overview(
        status=status(reports, events, view, now, changes),
        heatmap=heatmap(reports, minimum=view.minimum_trials, now=now),
        matrices=matrices[:MATRICES],
        matrices_left=len(matrices[MATRICES:]),
        trends=trends(reports, events, sources.monitor_store, now),
        verdicts=latest(
            sources.log,
            choice,
            exhibitor=exhibitor,
            routes={report.key.route for report in reports},
            perturbations=_filtered_by(reports, choice.perturbation),
            now=now,
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

    def rendered(template: str, rating: str | None, route: str | None, perturbation: str | None) -> bytes:
        shown = overview(sources, Choice.of(rating, route, perturbation), exhibitor)
        return renderer.page(template, page=shown, bands=BANDS)

    @get("/", sync_to_thread=True)
    def page(
        rating: QueryText = None, route: QueryText = None, perturbation: QueryText = None
    ) -> Response[bytes]:
        return Response(rendered("overview.html", rating, route, perturbation), media_type=MediaType.HTML)

    @get("/fragments/overview", sync_to_thread=True)
    def fragment(
        known: KnownTag = None,
        rating: QueryText = None,
        route: QueryText = None,
        perturbation: QueryText = None,
    ) -> Response[bytes]:
        return tagged(rendered("_overview.html", rating, route, perturbation), known)

    return [page, fragment]
