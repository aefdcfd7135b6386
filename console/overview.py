"""The overview page and its live part."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2s
from typing import TYPE_CHECKING, Annotated

from litestar import MediaType, Response, get
from litestar.params import FromQuery, HeaderParameter

from console import links
from console.heatmap import BANDS, Heatmap, heatmap
from console.pipeline import PipelineLine, pipeline_line
from console.status import Status, status
from console.trends import Trend, trends
from console.verdicts import Choice, Exhibitor, VerdictList, latest

if TYPE_CHECKING:
    from litestar.handlers import HTTPRouteHandler

    from console.rendering import Renderer
    from console.sources import ConsoleSources, PipelineView

EVENTS_READ = 200
"""Newest alert events looked at for the status line and the marks in the charts."""

QueryText = FromQuery[str | None]
KnownTag = Annotated[str | None, HeaderParameter(name="if-none-match")]


@dataclass(frozen=True, slots=True)
class Overview:
    """Everything on the page."""

    status: Status
    heatmap: Heatmap
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
    return Overview(
        status=status(reports, events, view, now),
        heatmap=heatmap(reports, minimum=view.minimum_trials, now=now),
        trends=trends(reports, events, sources.monitor_store, now),
        verdicts=latest(
            sources.log,
            choice,
            exhibitor=exhibitor,
            routes={report.key.route for report in reports},
            perturbations={report.key.perturbation for report in reports},
            now=now,
        ),
        pipeline=pipeline_line(view),
        view=view,
        query=links.overview_query(**choice.parts()),
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
        content = rendered("_overview.html", rating, route, perturbation)
        tag = f'"{blake2s(content, digest_size=8).hexdigest()}"'
        if known == tag:
            return Response(b"", status_code=304, headers={"etag": tag})
        return Response(content, media_type=MediaType.HTML, headers={"etag": tag})

    return [page, fragment]
