"""The documentation as the tests read it: pages, fenced blocks, inline code, headings."""

import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = tuple(sorted({*ROOT.glob("*.md"), *DOCS.rglob("*.md")}))

_FENCE = re.compile(
    r"^(?P<indent> *)(?P<fence>`{3,})(?P<about>[^\n`]*)\n(?P<text>.*?)^ *(?P=fence) *$",
    re.MULTILINE | re.DOTALL,
)
_TITLE = re.compile(r'title="([^"]+)"')
_HEADING = re.compile(r"^#{1,6} +(.+?) *#* *$", re.MULTILINE)
_INLINE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block of a page."""

    page: Path
    line: int
    language: str
    title: str
    """Name of the file that it is, if it says one."""
    text: str

    def __str__(self):
        return f"{self.page.relative_to(ROOT)}:{self.line}"


@lru_cache(maxsize=256)
def text_of(page):
    """A page as it is written."""
    return page.read_text(encoding="utf-8")


@lru_cache(maxsize=256)
def blocks_of(page):
    """The fenced blocks of a page, without the indent of the list they may stand in."""
    text = text_of(page)
    blocks = []
    for match in _FENCE.finditer(text):
        lines = match["text"].split("\n")
        inner = "\n".join(line.removeprefix(match["indent"]) for line in lines)
        language = match["about"].split(" ")[0].strip()
        title = _TITLE.search(match["about"])
        line = text.count("\n", 0, match.start()) + 1
        blocks.append(Block(page, line, language, title[1] if title else "", inner))
    return tuple(blocks)


@lru_cache(maxsize=256)
def prose_of(page):
    """A page without its fenced blocks."""
    return _FENCE.sub("", text_of(page))


def inline_code_of(page):
    """Texts between single backticks."""
    return _INLINE.findall(prose_of(page))


@lru_cache(maxsize=256)
def anchors_of(page):
    """The anchors of a page's headings, as the site makes them."""
    found = {}
    anchors = set()
    for heading in _HEADING.findall(prose_of(page)):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)|[`*]", r"\1", heading)
        kept = re.sub(r"[^\w\s-]", "", plain.encode("ascii", "ignore").decode())
        slug = re.sub(r"[-\s]+", "-", kept.strip().lower())
        number = found.get(slug, 0)
        found[slug] = number + 1
        anchors.add(f"{slug}_{number}" if number else slug)
    return frozenset(anchors)


def all_blocks(*languages):
    """The blocks of all pages in some languages ("" = none named)."""
    return [block for page in PAGES for block in blocks_of(page) if block.language in languages]
