"""What models write around a text that they were asked for alone."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_COLON: Final = r"[:\uff1a]"
_WRITING: Final = (
    r"(?:version|text|translat\w+|paraphras\w+|re-?writ\w+|reword\w+|rephras\w+|übersetzung|traduction|texte"
    r"|traducción|texto|traduzione|testo|tradução|vertaling|tekst|翻訳|訳文|書き換え)"
)
_ASSENT: Final = (
    r"(?:sure|certainly|of\ course|absolutely|okay|ok|claro|natürlich|gerne|bien\ sûr|certo|zeker|natuurlijk"
    r"|もちろん(?:です)?)"
)
_POINTING: Final = (
    r"(?:here(?:\ is|\ are|['’]s)|below\ is|this\ is|the\ following\ is|hier\ (?:ist|folgt|is)|voici"
    r"|aquí\ (?:está|tienes|va)|aqui\ está|ecco|以下|こちら)"
)
_ALONE: Final = re.compile(
    rf"\s*(?:{_ASSENT}\s*[!,.。、\uff01]?\s*)?{_POINTING}[^\n]{{0,120}}{_COLON}[ \t]*\n", re.IGNORECASE
)
"""An introduction on a line of its own."""
_LABEL: Final = re.compile(
    rf"\s*(?:{_ASSENT}\s*[!,.。、\uff01]?\s*)?(?:{_POINTING}[^\n:]{{0,60}})?"
    rf"\W{{0,3}}(?:the\ )?\b{_WRITING}(?:\ {_WRITING})?\W{{0,3}}\s*{_COLON}"
    rf"|\s*{_POINTING}[^\n:]{{0,60}}{_WRITING}[^\n:]{{0,60}}{_COLON}",
    re.IGNORECASE,
)
"""One that speaks of the rewriting: "Here is the French version: …", "Translation: …"."""
_AGREES: Final = re.compile(rf"\s*{_ASSENT}\s*[!,.][^\n]{{0,120}}\n", re.IGNORECASE)
_CLOSER: Final = re.compile(
    r"""
    \n\s* (?: \W{0,2}note\b\W{0,2}\s*: | \(note\b | let\ me\ know\ (?:if|whether)\b
      | i\ hope\ (?:this|that)\ helps | feel\ free\ to\b
      | (?:i|we)(?:['’]ve|\ have)\ (?:kept|preserved|translated|rewritten|rephrased|changed)\b
      | (?:all|the)\ (?:numbers|passages)\b[^\n]*\b(?:kept|preserved|unchanged)\b
    ) [^\n]* \s* \Z
    """,
    re.VERBOSE | re.IGNORECASE,
)
_FENCED: Final = re.compile(r"\s*(```|~~~)[^\n]*\n.*\n\s*\1\s*", re.DOTALL)
_MARKER: Final = re.compile(r"<<<\s*/?\s*(?:BEGIN|END)\b", re.IGNORECASE)
_QUOTES: Final = ('""', "''", "“”", "„“", "„”", "«»", "「」", "『』")


def chatter_in(original: str, text: str, tag: str) -> str:
    """What a reply has around the text: "an introduction", "quotation marks" …; "" if nothing.

    What the original has itself is no chatter.
    """
    return next((name for name, there in _kinds(original, text, tag) if there), "")


def _kinds(original: str, text: str, tag: str) -> Iterator[tuple[str, bool]]:
    yield "a marker line", (bool(tag) and tag in text) or _new(_MARKER.search, original, text)
    # A text may begin with "This is what happened:", if its first line ended like that before.
    leads = re.match(rf"[^\n]*{_COLON}[ \t]*\n", original)
    yield (
        "an introduction",
        not leads and (_new(_ALONE.match, original, text) or _new(_AGREES.match, original, text)),
    )
    yield "an introduction", _new(_LABEL.match, original, text)
    yield "a remark at its end", _new(_CLOSER.search, original, text)
    yield "a code fence around it", _new(_FENCED.fullmatch, original, text)
    yield "quotation marks around it", _quoted(original, text)


def _new(rule: Callable[[str], object], original: str, text: str) -> bool:
    return bool(rule(text)) and not rule(original)


def _quoted(original: str, text: str) -> bool:
    """Whether a pair of marks stands around the text that the original has not got anywhere."""
    return any(
        text[:1] == opens
        and text[-1:] == closes
        and text.count(opens) + text.count(closes) > original.count(opens) + original.count(closes)
        for opens, closes in _QUOTES
    )
