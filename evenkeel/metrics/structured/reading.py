"""Reader of an answer's structure: alone, in a fence, or with other text around it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, NamedTuple

from evenkeel.metrics.structured.html import (
    MARKS,
    TAGS,
    construct_count,
    read_html,
    read_markdown,
    repair_html,
    repair_markdown,
)
from evenkeel.metrics.structured.json import find_json, read_json
from evenkeel.metrics.structured.tree import LONGEST, Tree, UnreadableError
from evenkeel.metrics.structured.xml import read_xml, repair_xml
from evenkeel.metrics.structured.yaml import read_yaml, repair_yaml

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evenkeel.core.pair import Format


# Backticks behind the language would be inline code, not a fence.
_FENCE_LINE = re.compile(r"^[ ]{0,3}(`{3,}+|~{3,}+)[ \t]*+([\w+-]*+)[^\n`]*+$", re.MULTILINE)


class Fence(NamedTuple):
    """Block between two fences."""

    language: str
    """Word behind the opening fence, in lower case; "" if there is none."""
    text: str
    share: float
    """Share of the whole text's characters, fences included, in (0, 1]."""


def fences(text: str) -> Iterator[Fence]:
    """Yield the fenced blocks of a text in order; one that is not closed reaches to the end.

    Source: CommonMark: fences of three or more backticks or tildes, closed by as many or more.
    """
    opened: re.Match[str] | None = None
    for line in _FENCE_LINE.finditer(text):
        if opened is None:
            opened = line
        elif line[1].startswith(opened[1]) and not line[2]:
            yield _fence(text, opened, line.start(), line.end())
            opened = None
    if opened is not None:
        yield _fence(text, opened, len(text), len(text))


def _fence(text: str, opened: re.Match[str], end: int, closed: int) -> Fence:
    return Fence(opened[2].lower(), text[opened.end() : end].strip(), (closed - opened.start()) / len(text))


Structured = Literal["json", "yaml", "xml", "html", "markdown"]
"""Formats that are read; `free` has none."""


@dataclass(frozen=True, slots=True)
class Structure:
    """Structure that was found in an answer."""

    format: Structured
    tree: Tree
    strict: bool
    """True if the piece that was read is valid in its format, without any repair."""
    alone: bool
    """True if the piece is the whole answer, one fence around it aside."""


_Reader = Callable[[str], Tree]
_STRICT: dict[Structured, _Reader] = {
    "json": read_json,
    "yaml": read_yaml,
    "xml": read_xml,
    "html": read_html,
    "markdown": read_markdown,
}
_REPAIR: dict[Structured, _Reader] = {
    "yaml": repair_yaml,
    "xml": repair_xml,
    "html": repair_html,
    "markdown": repair_markdown,
}
_LANGUAGES: dict[str, Structured] = {
    "json": "json", "json5": "json", "jsonc": "json", "yaml": "yaml", "yml": "yaml", "xml": "xml",
    "html": "html", "markdown": "markdown", "md": "markdown",
}  # fmt: skip
# A doctype counts as the tag that it names.
_FIRST_TAG = re.compile(r"<(?:!doctype[ ]+)?/?([^\W\d][\w:.-]*)", re.IGNORECASE)
_YAML_LINE = re.compile(r"[ ]*(?:- +)*[\w\"'][\w .\"'-]{0,40}:(?:\s|$)|[ ]*- |[ ]+\S|#|---|$")
_YAML_FIELD = re.compile(
    r"^[ ]*(?:- +)*(?!\d+[.)])[\w\"'][\w\"'-]*(?: [\w\"'-]+){0,3}:(?:\s|$)", re.MULTILINE
)
# The lenient reader takes code for objects; a "key" that does not match this shows that it is code.
_KEY = re.compile(r"[\w$@-][\w .,$@/()'?-]{0,80}")
# Characters behind a bracket within which a quote tells a list of texts from prose.
_PEEK = 40
# One "Word: …" line is a sentence more often than a record.
_LEAST_FIELDS = 2
_SINGLE_WORD_SHARE = 0.67
# Least share of the answer at which a piece is the answer and the rest is talk around it.
_MAIN_SHARE = 0.5
# Least share of the answer for its only fence, if the fence names its format.
_LABELLED_SHARE = 0.2


def read_structure(text: str, wanted: Format | None = None) -> Structure | UnreadableError | None:
    """Find the structure of an answer. Cached: an answer is read once for every metric and trial.

    Args:
        text: The answer's text.
        wanted: The format that was asked for. It is looked for first, and anywhere in the text;
            other formats only where they make up at least half of it.

    Returns: the structure; None if the text is free (or empty); an error "too_large" beyond
        `LONGEST` characters, or "too_deep".
    """
    return _cached(text, None if wanted == "free" else wanted)


@lru_cache(maxsize=512)
def _cached(text: str, wanted: Structured | None) -> Structure | UnreadableError | None:
    body = text.replace("\r\n", "\n").strip()
    if len(body) > LONGEST:
        return UnreadableError("too_large", f"{len(body)} characters")
    try:
        if wanted is not None:
            free = _cached(text, None)
            if isinstance(free, Structure) and free.format == wanted and free.alone:
                return free
            structure = _as_wanted(body, wanted)
            if structure is not None:
                return structure
        return _as_found(body)
    except UnreadableError as error:
        return error


def _as_wanted(body: str, wanted: Structured) -> Structure | None:
    fenced = list(fences(body))
    if wanted == "markdown":
        # A document may hold fences; one around everything is none of its own.
        fenced = [fence for fence in fenced if fence.share == 1]
    named = []
    for fence in fenced:
        if _LANGUAGES.get(fence.language) == wanted:
            named.append(fence)
    for fence in named or [fence for fence in fenced if not fence.language]:
        if structure := _read(fence.text, wanted, alone=fence.share == 1):
            return structure
    if wanted == "json":
        return _json_within(body, least_share=0.0)
    if wanted in ("xml", "html"):
        return _markup_within(body, wanted, least_share=0.0)
    if wanted == "yaml" and not looks_like(body, wanted):
        # A list, or one field, is enough for what was asked for. JSON is YAML, too, but was not asked for.
        structure = None if body.startswith(("{", "[")) else _read(body, wanted, alone=True)
        return structure if structure and (structure.strict or _YAML_FIELD.match(body)) else None
    return _read(body, wanted, alone=True) if looks_like(body, wanted) else None


def _as_found(body: str) -> Structure | None:
    fenced = list(fences(body))
    for fence in fenced:
        language = _LANGUAGES.get(fence.language)
        least_share = _LABELLED_SHARE if language and len(fenced) == 1 else _MAIN_SHARE
        if fence.share < least_share or (fence.language and language is None):
            continue
        alone = fence.share == 1
        structure = (
            _read(fence.text, language, alone=alone) if language else _unfenced(fence.text, alone=alone)
        )
        if structure:
            return structure
    if not fenced:
        return _unfenced(body, alone=True)
    # What stands in the fences is quoted or code, so the whole is a document.
    return _read(body, "markdown", alone=True)


def _unfenced(body: str, *, alone: bool) -> Structure | None:
    structure = _json_within(body, least_share=_MAIN_SHARE) or _markup_within(
        body, None, least_share=_MAIN_SHARE
    )
    if structure is None:
        if looks_like(body, "yaml"):
            structure = _read(body, "yaml", alone=True)
        if structure is None and looks_like(body, "markdown"):
            structure = _read(body, "markdown", alone=True)
    return structure and Structure(
        structure.format, structure.tree, structure.strict, structure.alone and alone
    )


def _read(text: str, format_: Structured, *, alone: bool) -> Structure | None:
    """Read a text strictly, else repaired; None if neither succeeds."""
    if format_ == "json":
        structure = _json_within(text, least_share=0.0)
        return structure and Structure("json", structure.tree, structure.strict, structure.alone and alone)
    try:
        return Structure(format_, _STRICT[format_](text), strict=True, alone=alone)
    except UnreadableError as error:
        _raise_if_limit(error)
    try:
        return Structure(format_, _REPAIR[format_](text), strict=False, alone=alone)
    except UnreadableError as error:
        _raise_if_limit(error)
        return None


def _raise_if_limit(error: UnreadableError) -> None:
    if error.reason in ("too_deep", "too_large"):
        raise error


def _json_within(text: str, *, least_share: float) -> Structure | None:
    if "{" not in text and "[" not in text:
        return None
    try:
        tree = read_json(text)
    except UnreadableError as error:
        _raise_if_limit(error)
    else:
        # A bare string or number is prose as far as answers go.
        return None if isinstance(tree, str) else Structure("json", tree, strict=True, alone=True)
    excerpt = find_json(text)
    if excerpt is None or excerpt.end - excerpt.start < least_share * len(text):
        return None
    quoted = text[excerpt.start + 1 : excerpt.start + _PEEK].lstrip()[:1] in ("'", '"', "“")
    if not excerpt.strict and not quoted and not _has_values(excerpt.tree):
        # Commas do not make bracketed prose an array, nor words an object.
        return None
    if not excerpt.strict and isinstance(excerpt.tree, dict) and not all(map(_KEY.fullmatch, excerpt.tree)):
        # Nor do colons make a block of code an object.
        return None
    alone = not text[: excerpt.start].strip() and not text[excerpt.end :].strip()
    return Structure("json", excerpt.tree, excerpt.strict, alone)


def _has_values(tree: Tree) -> bool:
    if isinstance(tree, dict):
        return any(tree.values())
    return any(isinstance(item, dict) and _has_values(item) for item in tree)


def _markup_within(text: str, wanted: Structured | None, *, least_share: float) -> Structure | None:
    start = text.find("<?xml") if "<?xml" in text else -1
    first = _FIRST_TAG.search(text)
    if first is None:
        return None
    start = first.start() if start < 0 else min(start, first.start())
    end = text.rfind(">") + 1
    if wanted is None:
        is_html = first[1].lower() in TAGS and "<?xml" not in text
        if end - start < least_share * len(text) or f"</{first[1]}" not in text:
            return None
        wanted = "html" if is_html else "xml"
    if wanted == "html" and first[1].lower() in MARKS:
        # Text beside a mark, as in "a<br>b", is a part of the fragment.
        return _read(text, wanted, alone=True)
    # Behind the last tag there may be a value that was cut.
    talk = text[end:].strip()
    alone = not text[:start].strip() and not talk
    return _read(text[start:end] if end > start else text[start:], wanted, alone=alone)


def looks_like(text: str, format_: Structured) -> bool:
    """Return whether a stripped text may be YAML, or Markdown; the other formats have clearer marks."""
    if format_ == "yaml":
        fields = []
        for match in _YAML_FIELD.finditer(text):
            fields.append(match[0].strip())
        # Keys of several words are headings of prose far more often than of records.
        single = sum(" " not in field.removeprefix("- ") for field in fields)
        if len(fields) < _LEAST_FIELDS or single < _SINGLE_WORD_SHARE * len(fields):
            return False
        return all(map(_YAML_LINE.match, text.split("\n")))
    return construct_count(text) > 0
