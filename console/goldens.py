"""The pages about goldens: the list, and one of them with its history."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from litestar import MediaType, Request, Response, Router, get, post
from litestar.exceptions import HTTPException
from litestar.params import FromPath, FromQuery, URLEncodedBody

from evenkeel.console import links
from evenkeel.console.golden_changes import change, done, version_of
from evenkeel.console.golden_views import golden_list, golden_page
from evenkeel.console.identity import Recorder, needs, signed, visitor_of
from evenkeel.console.writing import form_token, own_pages_only
from evenkeel.stores.audit_log import MOST_READ
from evenkeel.stores.goldens import GoldenError

if TYPE_CHECKING:
    from litestar.types import ControllerRouterHandler

    from evenkeel.console.rendering import Renderer
    from evenkeel.console.sources import ConsoleSources, GoldenSources

QueryText = FromQuery[str | None]
GoldenId = FromPath[str]
Form = URLEncodedBody[dict[str, str]]
AnyRequest = Request[Any, Any, Any]


def golden_handlers(
    sources: ConsoleSources, goldens: GoldenSources, renderer: Renderer
) -> list[ControllerRouterHandler]:
    """GET `/goldens` (takes `route`, `task`, `show`) and `/goldens/{id}`, POST `/goldens`."""
    record = Recorder(sources.actions)

    @get("/", sync_to_thread=True)
    def listed(
        request: AnyRequest, route: QueryText = None, task: QueryText = None, show: QueryText = None
    ) -> Response[bytes]:
        content = renderer.page(
            "goldens.html",
            page=golden_list(
                goldens.store, route or None, task or None, retired=show == "all", now=sources.clock()
            ),
            token=form_token(request),
            visitor=visitor_of(request),
        )
        return Response(content, media_type=MediaType.HTML)

    # The path type also takes ids that hold a slash.
    @get("/goldens/{golden_id:path}", sync_to_thread=True)
    def one(request: AnyRequest, golden_id: GoldenId) -> Response[bytes]:
        name = golden_id.removeprefix("/")
        history = goldens.store.history(name)
        if not history:
            content = renderer.page(
                "message.html", title="Golden not found", text="There is no golden of this id."
            )
            return Response(content, status_code=404, media_type=MediaType.HTML)
        content = renderer.page(
            "golden.html",
            golden=golden_page(
                history,
                goldens.store.trail(name),
                sources.clock(),
                sources.actions.latest(MOST_READ) if sources.actions else (),
            ),
            token=form_token(request),
            visitor=visitor_of(request),
        )
        return Response(content, media_type=MediaType.HTML)

    @post("/", sync_to_thread=True, guards=[own_pages_only, needs("approver")])
    def changed(request: AnyRequest, data: Form) -> Response[bytes]:
        visitor = visitor_of(request)
        asked = signed(visitor, {name: value for name, value in data.items() if name != "_csrf_token"})
        at = sources.clock()
        try:
            golden = change(goldens, asked, at)
        except GoldenError as error:
            raise HTTPException(f"Nothing was changed: {error}.", status_code=400) from error
        record(visitor, asked["by"].strip(), done(asked), golden.id, at=at, detail=version_of(golden))
        return Response(b"", status_code=303, headers={"location": links.golden_link(golden.id)})

    # Two handlers of one path: an application that is given them one by one wraps the first one twice.
    return [Router("/goldens", route_handlers=[listed, changed]), one]
