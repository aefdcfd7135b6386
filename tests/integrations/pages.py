"""Programs, exported variables and settings on the pages about integrations."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

FOLDER = Path(__file__).parents[2] / "docs" / "integrations"
PAGES = sorted(FOLDER.glob("*.md"))
LARGER = {"other-clients"}
"""Pages about clients that the tests do not install."""
_BLOCK = re.compile(r'^```(\w+)(?: title="([^"]+)")?\n(.*?)^```$', re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block."""

    page: str
    language: str
    title: str
    text: str


def blocks() -> Iterator[Block]:
    """All of them, page by page."""
    for path in PAGES:
        for language, title, text in _BLOCK.findall(path.read_text(encoding="utf-8")):
            yield Block(path.stem, language, title, text)


def programs() -> list[Block]:
    """Return the programs of clients that are there when the tests run."""
    return [block for block in every_program() if block.page not in LARGER]


def every_program() -> list[Block]:
    """Return the programs of all pages."""
    return [block for block in blocks() if block.title.endswith((".py", ".cjs", ".mjs"))]


def exports(page: str) -> dict[str, str]:
    """Variables that a page exports for the application; not those for evenkeel and LiteLLM's proxy."""
    lines = [
        line
        for block in blocks()
        if block.page == page and block.language == "sh"
        for line in block.text.splitlines()
    ]
    pairs = (line.removeprefix("export ").split("=", 1) for line in lines if line.startswith("export "))
    return {
        name: value.partition(" ")[0]
        for name, value in pairs
        if not name.startswith(("EVENKEEL_", "LITELLM_"))
    }


def settings_text(page: str) -> str | None:
    """The page's `evenkeel.yaml`, if it has one."""
    return next(
        (block.text for block in blocks() if block.page == page and block.title == "evenkeel.yaml"), None
    )
