"""Results of `evenkeel check`, for whoever wants to know how fragile a prompt is before it ships."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from litestar import Response, get

if TYPE_CHECKING:
    from litestar.handlers import HTTPRouteHandler

    from evenkeel.console.rendering import Renderer
    from evenkeel.console.sources import ConsoleSources

_SHOWN: Final = 50


def check_page(sources: ConsoleSources, renderer: Renderer) -> HTTPRouteHandler:
    """Handler of GET `/checks`: the newest checks."""

    @get("/checks", sync_to_thread=True, needs="viewer")
    def page() -> Response[bytes]:
        return renderer.response("checks.html", runs=sources.checks()[: -_SHOWN - 1 : -1])

    return page
