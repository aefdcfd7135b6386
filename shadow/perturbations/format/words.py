"""What the formats are called in instructions, and one name put for another."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenkeel.core.pair import Format

_NAMES: Final[Mapping[Format, str]] = {
    "json": "JSON",
    "yaml": "YAML|YML",
    "xml": "XML",
    "html": "HTML5?",
    "markdown": "Markdown",
}
# Not inside file names, addresses, identifiers or media types
_EDGES: Final = (
    r"(?<![\w./@#`-])",
    r"(?![\w/@`]|\.\w|-(?!formatted|like|style|only|based|compatible|encoded))",
)
_ADJECTIVE: Final = r"(?:(?:well-formed|single|valid|strict|raw|pure|proper|parse?able|correct|clean)\s+)"
_DENSITY: Final = r"(?:(?:minified|compact|pretty-printed|one-line|single-line)\s+)"
_NOUN: Final = (
    r"objects?|documents?|dict(?:ionary)?|blobs?|strings?|arrays?|lists?|schemas?|keys?|properties"
    r"|property\ names?|attributes?|tags?|elements?(?:\ names?)?|headings?|headers?|fields?|format|form"
    r"|structure|template|syntax"
)
_FENCES: Final = re.compile(
    r"\b(?:markdown|json|yaml|xml|html)[ -](?=(?:code[ -])?(?:fences?|blocks?|backticks))", re.IGNORECASE
)
_AGAINST: Final = (
    r"(?:\b(?:no|not|non|without|never|avoid|instead\ of|rather\ than|omit)\s+"
    r"(?:(?:in|as|use|using|any|add|include|output|return|write)\s+){0,2})"
)
_KEYS: Final = frozenset({"key", "property", "attribute", "tag", "element", "heading", "header", "field"})
_DOCUMENTS: Final = frozenset({"object", "document", "dict", "dictionary", "blob", "string"})
_LISTS: Final = frozenset({"array", "list"})


@dataclass(frozen=True, slots=True)
class Words:
    """How instructions speak of one format."""

    name: str
    article: str
    """Before the name."""
    document: str
    """The name with what one answer is called: "JSON object"."""
    listing: str
    keys: str
    """What names the parts of an answer, plural."""
    form: str
    """The name where "format", "structure" and the like follow."""
    counted: bool = True
    """Whether `document` takes an article, and adjectives such as "valid"."""


def _mention(name: str) -> str:
    return f"{_EDGES[0]}(?:{name}){_EDGES[1]}"


def _phrase(name: str) -> re.Pattern[str]:
    return re.compile(
        rf"(?P<article>\b(?:an?|one)\s+)?{_DENSITY}?(?P<adjectives>{_ADJECTIVE}*){_DENSITY}?"
        rf"{_mention(name)}(?P<joined>-)?(?:(?P<blank>\s+)(?P<noun>{_NOUN})\b)?",
        re.IGNORECASE,
    )


_PHRASES: Final = {format_: _phrase(name) for format_, name in _NAMES.items()}
_ANY: Final = re.compile(
    rf"(?P<against>{_AGAINST}{_ADJECTIVE}*)?{_EDGES[0]}(?:"
    + "|".join(f"(?P<{format_}>{name})" for format_, name in _NAMES.items())
    + f"){_EDGES[1]}",
    re.IGNORECASE,
)
_MARKUP: Final = r"(?:\s+(?:formatting|syntax|markup))?"
_ASKS: Final = re.compile(
    r"\b(?:answers?|responds?|reply|replies|returns?|outputs?|write|give|provide|produce|generate|emit)\b"
    r"(?:\s+(?:[\w’']+\s+){0,4}?(?:in|as|only|using))?"
    rf"\s+(?:(?:the|an?|one|following)\s+|{_ADJECTIVE}){{0,3}}(?:{'|'.join(_NAMES.values())})\b",
    re.IGNORECASE,
)
_PROHIBITIONS: Final = {
    format_: re.compile(
        # A sentence of its own, or the end of another one
        r"(?:(?<=[.!?\n])|\A)[ ]*(?:do\ not|don['’]t|never|avoid|no|without|not)\s+"
        r"(?:(?:use|using|add|output|write|return|include)\s+)?"
        rf"(?:any\s+)?(?:{name}){_MARKUP}[.!]"
        r"|[ ]*(?:,\ *)?(?:\band\s+)?\b(?:no|without(?:\s+any)?|not)\s+(?:in\s+)?"
        rf"(?:{name}){_MARKUP}(?=[,.;:!\n]|\Z)",
        re.IGNORECASE,
    )
    for format_, name in _NAMES.items()
}

_AMONG_OTHERS: Final = {
    # "No Markdown or emoji"
    format_: re.compile(
        r"\b((?:no|not|without|avoid|(?:do\ not|don['’]t|never)\s+(?:use|add|output|write|include))"
        r"(?:\s+any)?)\s+"
        rf"(?:{name}){_MARKUP}\s*(?:,|\bor\b|\band\b|\bnor\b)(?!\s*\b(?:no|just|only|use|write))(?=\s+\w)",
        re.IGNORECASE,
    )
    for format_, name in _NAMES.items()
}


def named_format(text: str) -> Format | None:
    """The format that a text names first as the one to write in, None if none is.

    "No Markdown" and fences of code name none.
    """
    for match in _ANY.finditer(_FENCES.sub("", text)):
        if not match["against"]:
            return next(format_ for format_ in _NAMES if match[format_])
    return None


def asked_format(line: str) -> Format | None:
    """The format that a line of any text asks an answer to have, as in "You respond in JSON"."""
    asks = _ASKS.search(line)
    return named_format(line[asks.start() :]) if asks else None


def renamed(text: str, source: Format | None, target: Format, words: Words) -> str:
    """A text that speaks of another format.

    Args:
        text: An output instruction without its skeleton.
        source: The format it speaks of, None if of none.
        target: The format that it should speak of; what forbids it is taken out.
        words: How to speak of that.
    """
    text = _FENCES.sub("", text)
    if target in _PROHIBITIONS:
        text = _AMONG_OTHERS[target].sub(r"\1", _PROHIBITIONS[target].sub("", text))
    if source is None or source not in _PHRASES:
        return text
    return _PHRASES[source].sub(lambda match: _instead(match, words), text)


def _instead(match: re.Match[str], words: Words) -> str:
    noun = re.sub(r"\s+names?$", "", (match["noun"] or "").lower())
    singular = "property" if noun == "properties" else noun.removesuffix("s")
    joined = "-" if match["joined"] else ""
    counted = True
    if singular in _KEYS:
        put = words.keys
        counted = not match["article"]
    elif singular in _DOCUMENTS or (not noun and not joined and not words.counted):
        put, counted = words.document, words.counted
    elif singular in _LISTS:
        put, counted = words.listing, words.counted
    elif noun:
        blank = match["blank"]
        put = f"{words.form}{blank}{'structure' if singular == 'schema' else match['noun']}"
    else:
        put = words.name + joined
    before = match.string[: match.start()].rstrip(" \t")
    begins = not before or before[-1] in ".!?\n"
    if not counted:
        return put[0].upper() + put[1:] if begins else put
    adjectives = match["adjectives"] if words.counted else ""
    article = match["article"] or ""
    if article.strip().lower() in ("a", "an") and not adjectives:
        article = article.replace(article.strip(), words.article)
    return article + adjectives + put
