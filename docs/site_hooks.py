"""Hooks of mkdocs: the site holds the pages alone and asks no other host for anything."""  # noqa: INP001

from __future__ import annotations

import re
from posixpath import normpath
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from mkdocs.structure.pages import Page

_LINK: Final = re.compile(r"\[(?P<text>[^\]]+)\]\((?P<target>\.\./[^)\s#]+)\)")
_SHIM: Final = "https://unpkg.com/iframe-worker/shim"
"""What the theme loads for the search of pages that are opened from a folder; `scripts/` has a copy."""


def on_page_markdown(markdown: str, *, page: Page, **_: Any) -> str:
    """The page with links to files outside `docs/` turned into their names; links between pages stay."""
    folder = page.file.src_uri.rpartition("/")[0]

    def named(link: re.Match[str]) -> str:
        target = normpath(f"{folder}/{link['target']}" if folder else link["target"])
        if not target.startswith("../"):
            return link[0]
        return f"{link['text']} (in the repository: `{target.removeprefix('../')}`)"

    return _LINK.sub(named, markdown)


def on_post_page(output: str, *, page: Page, **_: Any) -> str:
    """The page with the theme's script taken from the site itself, and a name for its search."""
    named = output.replace('role="dialog">', 'role="dialog" aria-label="Search">', 1)
    return named.replace(_SHIM, "../" * page.url.count("/") + "scripts/iframe-worker.js")


def on_post_template(output_content: str, **_: Any) -> str:
    """The page for what is not found, which has no search: it is shown at any depth."""
    return output_content.replace(f'<script src="{_SHIM}"></script>', "")
