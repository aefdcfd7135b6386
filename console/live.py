"""Pages that keep themselves fresh: one address for the page, one for the part of it that changes."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2s
from typing import TYPE_CHECKING, Annotated, Any, Protocol

from litestar import MediaType, Request, Response, get
from litestar.params import HeaderParameter

if TYPE_CHECKING:
    from collections.abc import Callable

    from litestar.handlers import HTTPRouteHandler

    from evenkeel.console.rendering import Renderer

KnownTag = Annotated[str | None, HeaderParameter(name="if-none-match")]
AnyRequest = Request[Any, Any, Any]


class LiveView(Protocol):
    """What every live page has beside its own content."""

    @property
    def head(self) -> Head:
        """Title and state."""
        ...


@dataclass(frozen=True, slots=True)
class Head:
    """What the browser shows of a page outside of it."""

    title: str
    """The document's title."""
    alert: bool = False
    """Whether any cell alerts: the icon of the tab says so on every page."""
    announcement: str = ""
    """What a screen reader is told when it changes: no times, so that it is told once."""


def live_handlers(
    path: str, template: str, view: Callable[[AnyRequest], LiveView], renderer: Renderer
) -> list[HTTPRouteHandler]:
    """GET `path`, and `/fragments` + `path` for its live part, which answers 304 while nothing has changed.

    Args:
        path: may end in one parameter of type `path`.
        template: prints the live part: one element `.view` with sections that have ids.
        view: what is on the page, given the request; called in a worker thread.
        renderer: of the templates.
    """

    @get(path, sync_to_thread=True)
    def page(request: AnyRequest) -> Response[bytes]:
        query = request.scope["query_string"].decode("latin-1")
        source = f"/fragments{_raw_path(request)}{'?' * bool(query)}{query}"
        content = renderer.page(
            "live.html", page=view(request), fragment=template, source=source, here=_section(path)
        )
        return Response(content, media_type=MediaType.HTML)

    @get(f"/fragments{path}", sync_to_thread=True)
    def fragment(request: AnyRequest, known: KnownTag = None) -> Response[bytes]:
        return tagged(renderer.page(template, page=view(request)), known)

    return [page, fragment]


def tagged(content: bytes, known: str | None) -> Response[bytes]:
    """The part of a page under a digest of it; without content if the browser has it already."""
    tag = f'"{blake2s(content, digest_size=8).hexdigest()}"'
    if known == tag:
        return Response(b"", status_code=304, headers={"etag": tag})
    return Response(content, media_type=MediaType.HTML, headers={"etag": tag})


def _raw_path(request: AnyRequest) -> str:
    raw = request.scope.get("raw_path") or request.scope["path"].encode()
    return raw.partition(b"?")[0].decode("latin-1")


def _section(path: str) -> str:
    return f"/{path.split('/')[1]}"
