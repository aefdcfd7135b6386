"""Detection of answers that were cut off."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, ClassVar

from evenkeel.core.verdict import Failure
from evenkeel.metrics.identity import is_empty
from evenkeel.metrics.protocol import About

if TYPE_CHECKING:
    from evenkeel.core.pair import Answer, Pair

_FENCE = re.compile(r"^[ ]{0,3}(```|~~~)", re.MULTILINE)
_FENCED = re.compile(r"\A(?:```|~~~)[^\n]*\n(.*?)(?:\n[ ]{0,3}(?:```|~~~)[ \t]*)?\Z", re.DOTALL)
_JSON_BEGIN = re.compile(r"\{\s*(?:\"|\Z)|\[\s*(?:[\[{\"\d-]|\Z)")
_STRING_OR_BRACKET = re.compile(r'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)|[\[\]{}]', re.DOTALL)
_ROOT = re.compile(r"\A(?:<[?!][^>]*>\s*)*<([A-Za-z_][\w:.-]*)(?:\s[^<>]*)?(/?>)?")
_OPENING = {"]": "[", "}": "{"}


class TruncationAgreement:
    """Agreement of two answers in being cut off: both were, or neither."""

    name: ClassVar[str] = "truncation_agreement"
    version: ClassVar[int] = 1
    about: ClassVar[About] = About("surface")

    def score(self, pair: Pair) -> float | Failure:
        """Agreement of the two answers in being cut off; see `truncated`. Symmetric.

        Returns: 1.0 = both were cut or neither was; 0.0 = only one was. A `Failure` "no_text" if
            neither answer has text or a tool call.
        """
        if is_empty(pair.reference) and is_empty(pair.candidate):
            return Failure(self.name, self.version, "no_text", "Neither answer has text.")
        return float(truncated(pair.reference) == truncated(pair.candidate))


def truncated(answer: Answer) -> bool:
    """Return whether an answer was cut off.

    It was if its finish reason says so, or if it opens something and never closes it. Fences are checked, the
    brackets and strings of an answer that is JSON, and the first element of an answer that is XML or HTML.
    Prose that ends in mid-sentence is not noticed.
    """
    if answer.cut:
        return True
    text = answer.text.strip()
    if len(_FENCE.findall(text)) % 2:
        return True
    fenced = _FENCED.match(text)
    body = fenced[1].strip() if fenced else text
    if _JSON_BEGIN.match(body):
        return _is_open(body)
    root = _ROOT.match(body)
    if root is None or root[2] == "/>":
        return False
    # Something else than markup may begin with "<": it has no end tag at all.
    return f"</{root[1]}" not in body and "</" in body


def _is_open(text: str) -> bool:
    """Return whether a JSON text ends within a string or before its last bracket."""
    opened: list[str] = []
    for found in _STRING_OR_BRACKET.finditer(text):
        piece = found[0]
        if piece in ("[", "{"):
            opened.append(piece)
        elif piece in _OPENING:
            if opened and opened[-1] == _OPENING[piece]:
                opened.pop()
        elif found.end() == len(text) and not _is_closed(piece):
            return True
    return bool(opened)


def _is_closed(string: str) -> bool:
    return len(string) > 1 and string.endswith('"') and (len(string) - len(string[:-1].rstrip("\\"))) % 2 == 1
