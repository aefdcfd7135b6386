"""Templates to bytes, and what pages consist of besides: style sheet, script, icons, parts that refresh.

Everything printed is escaped unless the template itself wrote it. Assets are read once and served from
memory under their digest. A page that keeps itself fresh has one address for the page and one for the part
that changes.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2s
from importlib.resources import files
from typing import TYPE_CHECKING, Annotated, Any, Protocol

from jinja2 import Environment, PackageLoader, StrictUndefined
from litestar import MediaType, Request, Response, get
from litestar.params import HeaderParameter
from markupsafe import Markup, escape

from evenkeel.core.figures import percent
from evenkeel.core.rewordings import label

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from litestar.handlers import HTTPRouteHandler

    from evenkeel.console.navigation import PageLink


_MEDIA_TYPES = {
    "css": "text/css",
    "js": "text/javascript",
    "svg": "image/svg+xml",
}


@dataclass(frozen=True, slots=True)
class Asset:
    """One static file."""

    content: bytes
    media_type: str
    digest: str


class Assets:
    """The files of `console/static`, by name."""

    def __init__(self) -> None:
        self._assets: dict[str, Asset] = {}
        for entry in files("evenkeel.console").joinpath("static").iterdir():
            media_type = _MEDIA_TYPES.get(entry.name.rpartition(".")[2])
            if media_type:
                content = entry.read_bytes()
                digest = blake2s(content, digest_size=4).hexdigest()
                self._assets[entry.name] = Asset(content, media_type, digest)

    def get(self, name: str) -> Asset | None:
        """The file, None if there is none of that name."""
        return self._assets.get(name)

    def url(self, name: str) -> str:
        """Its address; the digest in it lets browsers keep the file for good."""
        return f"/static/{name}?v={self._assets[name].digest}"


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


_CONTROLS = dict.fromkeys(
    [
        *(code for code in range(0x20) if chr(code) not in "\t\n\r"),
        *range(0x7F, 0xA0),
        *range(0x202A, 0x202F),  # embeddings and overrides of the writing direction
        *range(0x2066, 0x206A),  # isolates
    ],
    "\ufffd",
)
"""Characters that show nothing, or make text look like other text, become visible."""


class Renderer:
    """Renders the console's templates.

    Rendering is called by the handlers themselves, in their worker thread: handing templates to
    the framework would render them on the event loop that also answers health checks.
    """

    def __init__(self, assets: Assets, pages: Sequence[PageLink] = (), *, documents: bool = False) -> None:
        """Load the templates.

        Args:
            assets: static files.
            pages: the navigation.
            documents: whether there are pages of documentation to link to.
        """
        self._environment = environment("evenkeel.console")
        self._environment.globals["asset"] = assets.url
        self._environment.globals["pages"] = tuple(pages)
        self._environment.globals["has_documents"] = documents
        self._environment.filters |= {"percent": percent, "code_spans": code_spans, "kind": kind}

    def page(self, template: str, **values: Any) -> bytes:
        """The template filled in, as UTF-8.

        Models can answer with half of a surrogate pair, which has no UTF-8; it becomes "?".
        """
        return self._environment.get_template(template).render(**values).encode("utf-8", "replace")


def environment(package: str) -> Environment:
    """The templates of a package; what they print is escaped and made visible."""
    return Environment(
        loader=PackageLoader(package),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=visible,
    )


def code_spans(text: str) -> Markup:
    """Text in which `…` stands for code, as in the descriptions of settings."""
    parts = text.split("`")
    if len(parts) % 2 == 0:  # a mark without its partner
        return escape(text)
    marked = [
        Markup("<code>{}</code>").format(part) if place % 2 else escape(part)
        for place, part in enumerate(parts)
    ]
    return Markup().join(marked)


def kind(perturbation: str) -> str:
    """A perturbation in words; any other text as it is."""
    return label(perturbation) if "." in perturbation else perturbation


def visible(value: Any) -> Any:
    """Text with characters that show nothing, or mislead, made visible; anything else as it is."""
    if isinstance(value, str) and not isinstance(value, Markup):
        return value.translate(_CONTROLS)
    return value
