"""Results of `evenkeel gate` and `evenkeel check`, for whoever decides whether a model or prompt may ship."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from litestar import Response, get

if TYPE_CHECKING:
    from litestar.handlers import HTTPRouteHandler

    from evenkeel.console.rendering import Renderer
    from evenkeel.console.sources import ConsoleSources

_GATES_SHOWN: Final = 200
_CHECKS_SHOWN: Final = 50


def run_handlers(sources: ConsoleSources, renderer: Renderer) -> list[HTTPRouteHandler]:
    """Handlers of GET `/gates` and `/checks`: the newest runs."""

    @get("/gates", sync_to_thread=True, needs="viewer")
    def gates() -> Response[bytes]:
        return renderer.response("gates.html", runs=sources.gates()[: -_GATES_SHOWN - 1 : -1])

    @get("/checks", sync_to_thread=True, needs="viewer")
    def checks() -> Response[bytes]:
        return renderer.response("checks.html", runs=sources.checks()[: -_CHECKS_SHOWN - 1 : -1])

    return [gates, checks]
