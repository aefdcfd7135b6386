"""Results of `evenkeel gate` and `evenkeel check`, for whoever decides whether a model or prompt may ship."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from litestar import Response, get

if TYPE_CHECKING:
    from litestar.handlers import HTTPRouteHandler

    from evenkeel.console.rendering import Renderer
    from evenkeel.console.sources import ConsoleSources

_SHOWN: Final = 200


def run_handler(sources: ConsoleSources, renderer: Renderer) -> HTTPRouteHandler:
    """Handler of GET `/runs`: the newest runs of both."""

    @get("/runs", sync_to_thread=True, needs="viewer")
    def runs() -> Response[bytes]:
        return renderer.response("runs.html", runs=sources.releases()[: -_SHOWN - 1 : -1])

    return runs
