"""The page of one route: its cells, its languages, what its last change did, what it costs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from litestar.exceptions import NotFoundException

from evenkeel.console import changes, links
from evenkeel.console.alerts import EVENTS_READ, alerts_page
from evenkeel.console.cells import CellGroup, cell_groups, excess_span
from evenkeel.console.downloads import Table, Value
from evenkeel.console.heatmap import BANDS, LanguageMatrix, language_matrices, retired_models
from evenkeel.console.rendering import Head, live_handlers
from evenkeel.console.spend import Meter, route_meters
from evenkeel.console.trends import POINTS_READ, Trend, trends
from evenkeel.core import figures
from evenkeel.core.rewordings import language_pair

if TYPE_CHECKING:
    from collections.abc import Sequence

    from litestar import Request
    from litestar.handlers import HTTPRouteHandler

    from evenkeel.console.alerts import Alert
    from evenkeel.console.changes import ChangeView
    from evenkeel.console.heatmap import Band
    from evenkeel.console.rendering import Renderer
    from evenkeel.console.sources import ConsoleSources
    from evenkeel.core.cells import CellReport
    from evenkeel.stores.counters import RouteFlow

CHARTS: Final = 9


@dataclass(frozen=True, slots=True)
class ModelPart:
    """One model that answers, or answered, on the route."""

    id: str
    model: str
    retired: bool
    last_seen: str
    noise: str
    groups: tuple[CellGroup, ...]
    matrix: LanguageMatrix | None


@dataclass(frozen=True, slots=True)
class RoutePage:
    """The whole page."""

    head: Head
    route: str
    flow: RouteFlow | None
    models: tuple[ModelPart, ...]
    """Those that answer first."""
    firing: tuple[Alert, ...]
    change: ChangeView | None
    """The last one."""
    changes_known: bool
    spend: tuple[Meter, ...]
    trends: tuple[Trend, ...]
    minimum: int
    allowed: str
    """The excess that is, if it is the same for all cells; else ""."""
    bands: tuple[Band, ...]
    query: str
    """Narrows downloads to the route."""


def route_page(sources: ConsoleSources, route: str) -> RoutePage | None:
    """Everything about one route; None if nothing is known of it."""
    now, view = sources.clock(), sources.pipeline()
    every = sources.reports()
    own = [report for report in every if report.key.route == route]
    flow = next((flow for flow in view.routes if flow.route == route), None)
    if not own and flow is None:
        return None
    events = sources.monitor_store.events(EVENTS_READ)
    noticed = (
        [one for one in sources.change_reports() if one.route == route] if sources.change_reports else []
    )
    firing = alerts_page(own, events, noticed, now).firing
    return RoutePage(
        head=Head(
            f"{'▲ ' if firing else ''}{route} · evenkeel",
            alert=any(report.alert for report in every),
            announcement=f"{len(firing)} firing on this route" if firing else "",
        ),
        route=route,
        flow=flow,
        models=tuple(_models(own, view.minimum_trials, now)),
        firing=firing,
        change=changes.view(noticed[0], now) if noticed else None,
        changes_known=sources.change_reports is not None,
        spend=route_meters(sources.spending() if sources.spending else None, route),
        trends=trends(own, events, sources.monitor_store, now, limit=CHARTS),
        minimum=view.minimum_trials,
        allowed=figures.percent(own[0].threshold) if len({one.threshold for one in own}) == 1 else "",
        bands=BANDS,
        query=f"?{links.overview_query(route=route)}",
    )


def trends_table(sources: ConsoleSources, route: str | None) -> Table:
    """The points of the trend lines, of one route or of all, for a file."""
    columns = ("route", "model", "perturbation", "at", "trials", "content_delta", "excess")
    rows: list[tuple[Value, ...]] = []
    for report in sorted(sources.reports(), key=lambda one: one.key.parts):
        if route in {None, report.key.route}:
            rows += [
                (
                    *report.key.parts,
                    point.at,
                    point.trials,
                    point.content_delta,
                    point.excess,
                    point.excess_lower,
                    point.excess_upper,
                    point.robustness,
                )
                for point in sources.monitor_store.trend(*report.key.parts, POINTS_READ)
            ]
    return Table((*columns, "excess_lower", "excess_upper", "robustness"), rows)


def route_handlers(sources: ConsoleSources, renderer: Renderer) -> list[HTTPRouteHandler]:
    """`/routes/{name}` and its live part."""

    def page(request: Request[Any, Any, Any]) -> RoutePage:
        asked = links.path_part(request.path_params["route"].removeprefix("/"))
        known = {report.key.route for report in sources.reports()}
        known |= {flow.route for flow in sources.pipeline().routes}
        # As addresses hold them: they can't hold all that a name of old may consist of.
        name = next((route for route in known if links.path_part(route) == asked), None)
        found = None if name is None else route_page(sources, name)
        if found is None:
            raise NotFoundException(detail="There is no route of this name.")
        return found

    # The path type also takes names that hold a slash.
    return live_handlers("/routes/{route:path}", "_route.html", page, renderer)


def _models(own: Sequence[CellReport], minimum: int, now: float) -> list[ModelPart]:
    retired = retired_models(own)
    models: dict[str, list[CellReport]] = {}
    for report in own:
        models.setdefault(report.key.model, []).append(report)
    matrices = {matrix.model: matrix for matrix in language_matrices(own, minimum=minimum)}
    span = excess_span(own)

    def place(model: str) -> tuple[bool, float, str]:
        last = max(report.last_scored_at or 0.0 for report in models[model])
        gone = (models[model][0].key.route, model) in retired
        return gone, -last if gone else 0.0, model

    parts = []
    for number, model in enumerate(sorted(models, key=place)):
        reports = models[model]
        in_matrix = model in matrices
        last = max(report.last_scored_at or 0.0 for report in reports)
        noise = next((report.noise_floor for report in reports if report.noise_floor), None)
        shown = [one for one in reports if not (in_matrix and language_pair(one.key.perturbation))]
        parts.append(
            ModelPart(
                id=f"model-{number}",
                model=model,
                retired=(reports[0].key.route, model) in retired,
                last_seen=figures.moment(last, now) if last else "",
                noise=figures.estimate_text(noise) if noise else "",
                groups=cell_groups(shown, minimum=minimum, span=span),
                matrix=matrices.get(model),
            )
        )
    return parts
