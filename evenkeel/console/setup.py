"""The set-up page: what to paste into a client, settings in effect and the audit log."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Final

from litestar import Response, get
from litestar.params import QueryParameter

from evenkeel.console.access import visitor_of
from evenkeel.console.api import json_response
from evenkeel.console.rendering import AnyRequest  # noqa: TC001 - litestar reads the annotations
from evenkeel.stores.audit_log import MOST_READ

if TYPE_CHECKING:
    from litestar.handlers import HTTPRouteHandler

    from evenkeel.console.rendering import Renderer
    from evenkeel.console.sources import ConsoleSources

# Entries of the audit log on the page; the download has all of them.
_ACTIONS: Final = 50


Limit = Annotated[int, QueryParameter(ge=1, le=MOST_READ)]


def setup_handlers(sources: ConsoleSources, renderer: Renderer) -> list[HTTPRouteHandler]:
    """Handlers of GET `/setup` and `/api/actions`."""

    @get("/setup", sync_to_thread=True, needs="viewer")
    def page(request: AnyRequest) -> Response[bytes]:
        visitor = visitor_of(request)
        admin = visitor.may("admin")
        return renderer.response(
            "setup.html",
            routes=sources.setup,
            visitor=visitor,
            settings=sources.settings() if admin else None,
            actions=sources.actions.latest(_ACTIONS) if admin else None,
        )

    @get("/api/actions", sync_to_thread=True, needs="admin")
    def actions(limit: Limit = 100) -> Response[bytes]:
        """Return the newest actions, newest first."""
        return json_response({"actions": [asdict(action) for action in sources.actions.latest(limit)]})

    return [page, actions]
