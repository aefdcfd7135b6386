"""Results of `evenkeel gate` runs, for whoever decides whether a model or prompt may ship."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from litestar import Response, get

if TYPE_CHECKING:
    from litestar.handlers import HTTPRouteHandler

    from evenkeel.console.rendering import Renderer
    from evenkeel.console.sources import ConsoleSources

_SHOWN: Final = 200
_WORDS: Final = {
    "pass": "pass",
    "regression": "regression",
    "undecided": "undecided",
    "could_not_measure": "could not measure",
}


def gate_page(sources: ConsoleSources, renderer: Renderer) -> HTTPRouteHandler:
    """Handler of GET `/gates`: the newest runs."""

    @get("/gates", sync_to_thread=True, needs="viewer")
    def page() -> Response[bytes]:
        return renderer.response("gates.html", runs=sources.gates()[: -_SHOWN - 1 : -1], words=_WORDS)

    return page
