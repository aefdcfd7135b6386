"""Pages of the documentation that ship with the console."""

from __future__ import annotations

import re
import sysconfig
from pathlib import Path
from typing import TYPE_CHECKING, Final

from litestar import Response, get
from litestar.exceptions import NotFoundException
from markdown_it import MarkdownIt
from markupsafe import Markup

from evenkeel.console.rendering import PathText  # noqa: TC001 - litestar reads the annotations

if TYPE_CHECKING:
    from litestar.handlers import HTTPRouteHandler

    from evenkeel.console.rendering import Renderer

# Comments of generated files, which only readers of the source need.
_COMMENT: Final = re.compile(r"^<!--.*-->\n+", re.MULTILINE)
_DOCS: Final = (
    Path(__file__).resolve().parents[2] / "docs",  # in a checkout
    Path(sysconfig.get_path("data")) / "share" / "evenkeel" / "docs",  # installed
)
# Names come from addresses: no other character can stand in the path of a page.
_NAME: Final = re.compile(r"[A-Za-z0-9-]+(/[A-Za-z0-9-]+)*")


def document(name: str) -> str | None:
    """Return a page of the documentation in Markdown, such as "runbooks/EvenkeelDown"; None if there is none.

    The pages are installed with the code, so that the console can show them where there is no network.
    """
    for folder in _DOCS if _NAME.fullmatch(name) else ():
        page = folder / f"{name}.md"
        if page.is_file():
            return _COMMENT.sub("", page.read_text(encoding="utf-8"))
    return None


def document_handler(renderer: Renderer) -> HTTPRouteHandler:
    """Handler of `/docs/{name}`: a page of the documentation."""

    @get("/docs/{name:path}", sync_to_thread=True, needs="viewer")
    def shown(name: PathText) -> Response[bytes]:
        # Links between pages end in ".md", so that they also lead to a copy in a repository.
        wanted = name.removeprefix("/").removesuffix(".md")
        text = document(wanted)
        if text is None:
            raise NotFoundException(detail="There is no such page of documentation here.")
        title = re.search(r"^# (.+)$", text, re.MULTILINE)
        return renderer.response("document.html", title=title[1] if title else wanted, body=as_html(text))

    return shown


def as_html(text: str) -> Markup:
    """Render Markdown as HTML that takes nothing but text from the source."""
    # Pages of the documentation are ours, but a checkout may hold anything.
    markdown = MarkdownIt("commonmark", {"html": False}).enable("table")
    tokens = markdown.parse(text)
    for index, token in enumerate(tokens):
        if token.type == "heading_open":
            token.attrSet("id", _anchor(tokens[index + 1].content))
        if token.type == "table_open":
            token.attrSet("class", "doc")
        for child in token.children or ():
            if child.type == "image":  # pictures are not served; their alternative text is
                child.type = "text"
    # With HTML in the source switched off, markdown-it escapes every text that it prints.
    return Markup(markdown.renderer.render(tokens, markdown.options, {}))  # noqa: S704


def _anchor(heading: str) -> str:
    """Return a heading's anchor as GitHub makes it: lower case, hyphens for spaces, no punctuation."""
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")
