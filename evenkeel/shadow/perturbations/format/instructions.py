"""Parts of an output instruction: the format it names, and skeletons that show the answer's structure.

Also rewrites an instruction from one format to another.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache, partial
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple

from evenkeel.shadow.perturbations.format.outline import Unreadable, outline_at

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from evenkeel.core.pair import Format


_NAMES: Final[Mapping[Format, str]] = {
    "json": "JSON",
    "yaml": "YAML|YML",
    "xml": "XML",
    "html": "HTML5?",
    "markdown": "Markdown",
}
NAME_OF: Final[Mapping[Format, str]] = {
    "free": "plain prose",
    "json": "JSON",
    "yaml": "YAML",
    "xml": "XML",
    "html": "HTML",
    "markdown": "Markdown",
}
"""Names of the formats for people."""
_NAME_END: Final = "(?![A-Za-z0-9_À-ÿ])"
# Boundaries of a format's name: not inside file names, addresses, identifiers or media types.
_EDGES: Final = (
    r"(?<![A-Za-z0-9_À-ÿ./@#`-])",
    (
        r"(?![A-Za-z0-9_À-ÿ/@`]|\.\w|-(?!formatted|like|style|only|based|compatible|encoded|obje[ck]t|forma"
        r"|indeling|do[ck]ument|array|list|wörterbuch|woordenboek|fragment|stru[ck]tu|string|schema|schlüssel"
        r"|sleutel|antw|ausgabe))"
    ),
)
_ADJECTIVE: Final = r"(?:(?:well-formed|single|valid|strict|raw|pure|proper|parse?able|correct|clean)\s+)"
_FENCES: Final = re.compile(
    r"\b(?:markdown|json|yaml|xml|html)[ -](?=(?:code[ -])?(?:fences?|blocks?|backticks))", re.IGNORECASE
)
_AGAINST: Final = (
    r"(?:\b(?:no|not|non|without|never|avoid|instead\ of|rather\ than|omit|kein(?:e[nmrs]?)?|ohne"
    r"|nicht|sin|sans|pas\ de|senza|niente|geen|zonder|sem|nem|ni|né|não\ use|no\ uses)\s+"
    r"(?:(?:in|as|use|using|any|add|include|output|return|write)\s+){0,2})"
)
_ANY: Final = re.compile(
    rf"(?P<against>{_AGAINST}{_ADJECTIVE}*)?{_EDGES[0]}(?:"
    + "|".join(f"(?P<{format_}>{name})" for format_, name in _NAMES.items())
    + f"){_EDGES[1]}",
    re.IGNORECASE,
)
_ANY_NAME: Final = "|".join(_NAMES.values())
# Also inside a compound ("JSON-Zeichenkette")
_COMPOUND: Final = re.compile(
    rf"(?P<against>{_AGAINST}{_ADJECTIVE}*)?(?<![A-Za-z0-9_./@#`-])(?:{_ANY_NAME})(?![A-Za-z0-9_/@`]|\.\w)",
    re.IGNORECASE,
)
# Requests for a format in languages other than English.
_ASKS_ELSEWHERE: Final = re.compile(
    r"(?:\b(?:im|als|ins?|en|au|sous|em|nel|como|come|einen?|une?|una|een|um)\s+(?:[\w’']+\s+){0,2}?"
    rf"|\bformat[oe]?\s+)(?:{_ANY_NAME})(?![A-Za-z0-9_])"
    rf"|(?:{_ANY_NAME})(?:-(?:Format|formaat|Objekt|object)|形式|オブジェクト|で)",
    re.IGNORECASE,
)
_ASKS: Final = re.compile(
    r"\b(?:answers?|responds?|reply|replies|returns?|outputs?|write|give|provide|produce|generate|emit)\b"
    r"(?:\s+(?:[\w’']+\s+){0,4}?(?:in|as|only|using))?"
    rf"\s+(?:(?:the|an?|one|following)\s+|{_ADJECTIVE}){{0,3}}(?:{'|'.join(_NAMES.values())})\b",
    re.IGNORECASE,
)


def named_format(text: str) -> Format | None:
    """Return the first format that a text names for its answer; None if it names none.

    "No Markdown" and the names in "JSON code fence" do not count.
    """
    return next(iter(named_formats(text)), None)


def named_formats(text: str) -> tuple[Format, ...]:
    """Return every format that a text names for its answer, in order, repeated ones included."""
    wanted: list[Format] = []
    for mention in _mentions(_FENCES.sub("", text)):
        if not mention.against:
            wanted.append(mention.format)
    return tuple(wanted)


def speaks_of_format(text: str) -> bool:
    """Return whether a text names a format other than to forbid it, in a way that may not be understood."""
    for match in _COMPOUND.finditer(text):
        if not match["against"]:
            return True
    return False


class _Mention(NamedTuple):
    format: Format
    against: bool


@lru_cache(maxsize=16)  # every format asks about the same text
def _mentions(text: str) -> tuple[_Mention, ...]:
    mentions: list[_Mention] = []
    for match in _ANY.finditer(text):
        named = next(format_ for format_ in _NAMES if match[format_])
        mentions.append(_Mention(named, bool(match["against"])))
    return tuple(mentions)


def asked_format(line: str) -> Format | None:
    """Return the format that a line requests of an answer, as in "You respond in JSON"; else None."""
    asks = _ASKS.search(line) or _ASKS_ELSEWHERE.search(line)
    return named_format(line[asks.start() :]) if asks else None


def forbids(text: str, format_: Format) -> bool:
    """Return whether a text forbids a format for the answer."""
    for mention in _mentions(text):
        if mention.against and mention.format == format_:
            return True
    return False


@dataclass(frozen=True, slots=True)
class Speech:
    """Wording of one language for formats; see `formats.toml`."""

    request: str
    answer: Mapping[Format, str]
    tells: str = ""
    objects: Sequence[Sequence[str]] = ()
    prose: Sequence[Sequence[str]] = ()
    elisions: Mapping[str, str] = field(default_factory=dict)
    mended: Sequence[Sequence[str]] = ()

    def asked(self, format_: Format) -> str:
        """Return the sentence that asks for a format."""
        return self.request.format(answer=self.answer[format_])

    def renamed(self, text: str, source: Format | None, target: Format) -> str:
        """Return an output instruction with the name of its format replaced.

        Args:
            text: Output instruction without its skeleton.
            source: Format that it names; None if it names none.
            target: Format that it should name.
        """
        text = _FENCES.sub("", text)
        if source is None or source not in _NAMES:
            return text
        old = f"{_EDGES[0]}(?:{_NAMES[source]})"
        if target == "free":
            for phrase, instead in self.prose:
                whole = rf"(?<![A-Za-zÀ-ÿ]){phrase.replace('NAME', old + _NAME_END)}"
                text = re.sub(whole, partial(_begun, instead), text, flags=re.IGNORECASE)
            return text
        name = NAME_OF[target]
        before = "|".join(map(re.escape, self.elisions)) or "(?!)"
        for phrase, instead in self.objects:
            whole = f"(?P<before>{before})?{phrase.replace('NAME', old + _NAME_END)}"
            put = partial(self._elided, instead.format(name=name))
            text = re.sub(whole, put, text, flags=re.IGNORECASE)
        text = re.sub(old + _NAME_END, name, text, flags=re.IGNORECASE)
        for words, instead in self.mended:
            text = re.sub(words, instead, text)
        return text

    def _elided(self, instead: str, match: re.Match[str]) -> str:
        """Return the replacement, with the article before it adapted. All replacements have one gender."""
        before = match["before"] or ""
        return self.elisions.get(before.lower(), before) + match.expand(instead)


def _begun(instead: str, match: re.Match[str]) -> str:
    """Return the replacement, capitalised if it begins a sentence."""
    before = match.string[max(0, match.start() - LONGEST_LINE) : match.start()].rstrip(" \t")
    begins = not before or before[-1] in ".!?\n"
    return instead[0].upper() + instead[1:] if begins else instead


LONGEST_LINE: Final = 300
"""Most characters read before a position. Bounds the time for a very long line with many positions."""


def line_before(text: str, end: int) -> str:
    """Return the last line before a position that is not blank; of a long one only its end."""
    return text[max(0, end - LONGEST_LINE) : end].rstrip().rpartition("\n")[2]


# Most characters of a skeleton; a longer text is data.
_LONGEST: Final = 8_000
# The closing fence has the same mark and is at least as long.
_FENCED: Final = re.compile(
    r"(?P<fence>(?<!`)`{3,}+|(?<!~)~{3,}+)[ \t]*+(?P<tag>[\w+-]*+)[ \t]*+\n?"
    rf"(?P<content>.{{0,{_LONGEST}}}?)(?P=fence)",
    re.DOTALL,
)
_TAGS: Final[Mapping[str, Format]] = {
    "json": "json",
    "jsonc": "json",
    "json5": "json",
    "yaml": "yaml",
    "yml": "yaml",
    "xml": "xml",
    "html": "html",
    "markdown": "markdown",
    "md": "markdown",
}
_HTML_TAG: Final = re.compile(
    r"<(?:html|body|div|h[1-6]|p|ul|ol|li|table|section|article|dl)\b", re.IGNORECASE
)
_JSON_START: Final = re.compile(
    r"(?:^[ \t]*|[:\uff1a][ \t]+|\b(?:like|as|format|schema|form|structure|object)[ \t]+)"
    r"(?=[{\[][\s{\"'}\[<]|\{\w+[ ]?:)",
    re.MULTILINE,
)
_XML_START: Final = re.compile(r"^[ \t]*<([A-Za-z_][\w.:-]*)(?:\s[^<>]*)?>", re.MULTILINE)
# First line of a structure in a format that has no brackets, after a line that ends in a colon.
_FIRST_LINE: Final[Mapping[Format | None, re.Pattern[str]]] = {
    "yaml": re.compile(r":\s*\n(?P<line>[\w\"'][^:\n]{0,60}:(?:[ \t]|$))", re.MULTILINE),
    "markdown": re.compile(r":\s*\n(?P<line>#{1,6}[ \t])"),
}
# Most opening brackets that are tried as the start of a skeleton, since each attempt may take long.
_MOST_TRIES = 16


@dataclass(frozen=True, slots=True)
class Skeleton:
    """Part of an output instruction that shows the answer's structure."""

    start: int
    end: int
    outline: str | None
    """Names and hints of the skeleton, in the syntax of no format; None if it could not be read."""
    format: Format | None
    """Format of the skeleton; None if it is not recognisable."""


def skeletons(text: str, named: Format | None) -> tuple[Skeleton, ...]:
    """Return the skeletons in an output instruction, in order and without overlap.

    Args:
        text: Output instruction.
        named: Format that its words name. YAML and Markdown without a fence are searched only if named.
    """
    fenced = tuple(_fenced(text, named))
    if fenced:
        return fenced
    bare = _bare_json(text) or _bare_other(text, named)
    return () if bare is None else (bare,)


def _fenced(text: str, named: Format | None) -> Iterator[Skeleton]:
    for match in _FENCED.finditer(text):
        content = match["content"].strip()
        shape = _TAGS.get(match["tag"].lower()) or _shape(content, named)
        outline = _outline(content) if shape == "json" else None
        yield Skeleton(match.start(), match.end(), outline, shape)


def _shape(content: str, named: Format | None) -> Format | None:
    if content.startswith(("{", "[")):
        return "json"
    if content.startswith("<") and "</" in content:
        return "html" if named == "html" or (named != "xml" and _HTML_TAG.match(content)) else "xml"
    if content.startswith("#"):
        return "markdown"
    return named


def _outline(content: str) -> str | None:
    """Return the outline of a JSON skeleton; None if it cannot be read. Only JSON skeletons have outlines."""
    try:
        outline = outline_at(content, 0)
    except Unreadable:
        return None
    return outline.text if outline.end == len(content) else None


def _bare_json(text: str) -> Skeleton | None:
    failed = -1
    for match in islice(_JSON_START.finditer(text), _MOST_TRIES):
        if match.start() < failed:
            continue
        try:
            outline = outline_at(text[: match.end() + _LONGEST], match.end())
        except Unreadable:
            # A bracket that cannot be read begins data. Skip the rest of its line, which is data, too.
            failed = text.find("\n", match.end())
            failed = len(text) if failed < 0 else failed
            continue
        return Skeleton(match.end(), outline.end, outline.text, "json")
    return None


def _bare_other(text: str, named: Format | None) -> Skeleton | None:
    """Return a skeleton in another syntax, which has no outline. It is taken to be the rest of the text."""
    tag = _XML_START.search(text)
    if tag is not None and text.find(f"</{tag[1]}>", tag.end()) >= 0:
        start = tag.start(1) - 1
        return Skeleton(start, len(text), None, "html" if _HTML_TAG.match(text, start) else "xml")
    line = _FIRST_LINE[named].search(text) if named in _FIRST_LINE else None
    return None if line is None else Skeleton(line.start("line"), len(text), None, named)
