"""The pages about changes: the list, and the report on one of them; the same as JSON and Markdown."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from litestar import Response, get
from litestar.exceptions import NotFoundException

from evenkeel.console.api import json_response
from evenkeel.console.downloads import Table
from evenkeel.console.rendering import PathText  # noqa: TC001 - litestar reads the annotations
from evenkeel.monitor.changes.markdown import candidate_lines, finding_lines, markdown

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from litestar.handlers import HTTPRouteHandler

    from evenkeel.console.rendering import Renderer
    from evenkeel.monitor.changes.report import ChangeReport


def change_handlers(
    reports: Callable[[], Sequence[ChangeReport]], renderer: Renderer
) -> list[HTTPRouteHandler]:
    """`/changes`, `/changes/{id}`, `/api/changes/{id}` and `/api/changes/{id}/markdown`."""

    def found(change: str) -> ChangeReport:
        for report in reports():
            if report.is_called(change):
                return report
        raise NotFoundException(detail="There is no change of this id, or it is no longer kept.")

    @get("/changes", sync_to_thread=True)
    def listed() -> Response[bytes]:
        return renderer.response("changes.html", changes=reports())

    @get("/changes/{change:str}", sync_to_thread=True)
    def page(change: PathText) -> Response[bytes]:
        return renderer.response("change.html", change=found(change))

    @get("/api/changes/{change:str}", sync_to_thread=True)
    def one(change: PathText) -> Response[bytes]:
        return json_response({"change": asdict(found(change))})

    @get("/api/changes/{change:str}/markdown", sync_to_thread=True)
    def text(change: PathText) -> Response[bytes]:
        return Response(markdown(found(change)).encode("utf-8", "replace"), media_type="text/markdown")

    return [listed, page, one, text]


def changes_table(changes: Sequence[ChangeReport], route: str | None = None) -> Table:
    """Changes for a file, newest first."""
    return Table.of(
        (one for one in changes if route is None or route in one.routes),
        "id",
        "route",
        "at",
        ("cause", lambda one: one.cause.value),
        ("among", lambda one: " ".join(cause.value for cause in one.among)),
        ("candidates", lambda one: " ".join(candidate_lines(one))),
        "effect",
        ("findings", lambda one: " ".join(finding_lines(one))),
        ("marks", lambda one: "; ".join(f"{mark.kind}: {mark.before} → {mark.after}" for mark in one.marks)),
    )
