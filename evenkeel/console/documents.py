"""Pages of the documentation that ship with the console."""

from __future__ import annotations

import re
import sysconfig
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from litestar import Response, get
from litestar.exceptions import NotFoundException
from markdown_it import MarkdownIt
from markupsafe import Markup

from evenkeel.console.rendering import PathText  # noqa: TC001 - litestar reads the annotations

if TYPE_CHECKING:
    from collections.abc import Callable

    from litestar.handlers import HTTPRouteHandler
    from markdown_it.token import Token

    from evenkeel.console.rendering import Renderer

DOCUMENT: Final = "/docs/"
_RUNBOOK: Final = re.compile(r"runbooks/[A-Za-z0-9]+")
# Comments of generated files, which only readers of the source need.
_COMMENT: Final = re.compile(r"^<!--.*-->\n+", re.MULTILINE)
_DOCS: Final = (
    Path(__file__).resolve().parents[2] / "docs",  # in a checkout
    Path(sysconfig.get_path("data")) / "share" / "evenkeel" / "docs",  # installed
)
# Names come from addresses: no other character can stand in the path of a page.
_NAME: Final = re.compile(r"[A-Za-z0-9-]+(/[A-Za-z0-9-]+)?")


@lru_cache(maxsize=64)
def document(name: str) -> str | None:
    """Return a page of the documentation in Markdown ("settings", "runbooks/NAME"); None if there is none.

    Both are installed with the code, so that the console can show them where there is no network.
    """
    if name == "settings" or _RUNBOOK.fullmatch(name):
        for folder in _DOCS:
            page = folder / (f"reference/{name}.md" if name == "settings" else f"{name}.md")
            if page.is_file():
                return _COMMENT.sub("", page.read_text(encoding="utf-8"))
    return None


def document_handler(renderer: Renderer) -> HTTPRouteHandler:
    """Handler of `/docs/{name}`: a page of the documentation, with links only to pages that are included."""

    @get("/docs/{name:path}", sync_to_thread=True, needs="viewer")
    def shown(name: PathText) -> Response[bytes]:
        # Links of alerts end in ".md", so that they also lead to a copy in a repository.
        wanted = name.removeprefix("/").removesuffix(".md")
        text = document(wanted) if _NAME.fullmatch(wanted) else None
        if text is None:
            raise NotFoundException(detail="There is no such page of documentation here.")
        title = re.search(r"^# (.+)$", text, re.MULTILINE)
        return renderer.response(
            "document.html",
            title=title[1] if title else wanted,
            body=as_html(text, wanted, lambda other: document(other) is not None),
        )

    return shown


def as_html(text: str, name: str, is_page: Callable[[str], bool]) -> Markup:
    """Render Markdown as HTML that takes nothing but text from the source.

    Args:
        text: the page.
        name: name of the page, to which its links are relative.
        is_page: returns whether a page exists; links to other pages lose their address.
    """
    markdown = MarkdownIt("commonmark", {"html": False}).enable("table")
    tokens = markdown.parse(text)
    for index, token in enumerate(tokens):
        if token.type == "heading_open":
            token.attrSet("id", _anchor(tokens[index + 1].content))
        if token.type == "table_open":
            token.attrSet("class", "doc")
        for child in token.children or ():
            _link(child, name, is_page)
    # With HTML in the source switched off, markdown-it escapes every text that it prints.
    return Markup(markdown.renderer.render(tokens, markdown.options, {}))  # noqa: S704


def _link(token: Token, name: str, is_page: Callable[[str], bool]) -> None:
    if token.type == "image":
        token.type, token.tag, token.children = "text", "", None
    if token.type != "link_open":
        return
    target, _, anchor = str(token.attrGet("href") or "").partition("#")
    other = _resolved(name, target) if target else name
    if target and (not _NAME.fullmatch(other) or not is_page(other)):
        token.attrs = {}
        return
    token.attrs = {"href": f"{DOCUMENT}{other}{'#' if anchor else ''}{anchor}"}


def _resolved(name: str, target: str) -> str:
    """Return the name that a relative link to a Markdown file refers to; ":" if it leads elsewhere."""
    if not target.endswith(".md") or ":" in target:
        return ":"
    parts = name.split("/")[:-1]
    for part in target.removesuffix(".md").split("/"):
        if part == "..":
            if not parts:
                return ":"
            parts.pop()
        elif part != ".":
            parts.append(part)
    return "/".join(parts)


def _anchor(heading: str) -> str:
    """Return a heading's anchor as GitHub makes it: lower case, hyphens for spaces, no punctuation."""
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")
