"""The prose of a text: without what must be kept anyway, weighed by script, and its language."""

from __future__ import annotations

import re
from typing import Final

from evenkeel.core.language_tags import base_tag, english_name
from evenkeel.core.languages import identifiable, language_of
from evenkeel.shadow.perturbations.protect import protected_spans

_DENSE: Final = re.compile(r"[\u1100-\u11ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
"""Kana, ideographs, syllables of Hangul: one of them says as much as two or three letters."""
_DENSE_WEIGHT: Final = 2.4

_SHORT: Final = 120
"""Weight below which a text may be too short for its language to be told: one Spanish sentence in
sixteen of 60 to 100 characters is not identified (STS-B in eight languages), but none wrongly apart
from the pairs below."""

TOO_SHORT: Final = 40
"""Below it what is identified as the original's own language is not relied on."""

_ALIKE: Final = (
    frozenset({"en", "pcm"}),
    frozenset({"de", "lb"}),
    frozenset({"nl", "af"}),
    frozenset({"pt", "gl"}),
    frozenset({"es", "an", "ast", "ext", "gl"}),
    frozenset({"it", "vec", "lij"}),
    frozenset({"no", "nb", "nn", "da"}),
    frozenset({"hr", "bs", "sr"}),
    frozenset({"id", "ms"}),
    frozenset({"zh", "yue", "wuu"}),
    frozenset({"tl", "fil"}),
)
"""Languages that are written so much alike that short texts do not tell them apart."""


def prose_of(text: str) -> str:
    """The text without its protected spans, on one line."""
    pieces: list[str] = []
    at = 0
    for span in protected_spans(text):
        pieces.append(text[at : span.start])
        at = span.end
    pieces.append(text[at:])
    return " ".join(" ".join(pieces).split())


def weight(text: str) -> float:
    """Length in letters of a script like the Latin one: an ideograph counts for 2.4."""
    return len(text) + (_DENSE_WEIGHT - 1) * len(_DENSE.findall(text))


def speaks(before: str, after: str, target: str | None) -> str:
    """What is wrong with the language of a rewritten text; "" if nothing is, or it can't be told.

    Regions are not told apart: fr-CA is checked as French. A language that can't be identified is
    a fault only in a text of some length, and what should stay in its language is not checked if it is
    very short.

    Args:
        before: Prose of the original.
        after: Prose of the result.
        target: Tag of the language it should be in; None for that of the original.
    """
    if target is None and weight(before) < TOO_SHORT:
        return ""
    wanted = language_of(before) if target is None else base_tag(target)
    if wanted is None or wanted not in identifiable():
        return ""
    found = language_of(after)
    if found is None:
        # An original that says little in words ("PowerShell 7, Excel, SharePoint?") gives a result like it.
        unclear = weight(after) >= _SHORT and language_of(before) is not None
        return f"The reply is not clearly in {english_name(target or wanted)}." if unclear else ""
    if found == wanted or any({found, wanted} <= group for group in _ALIKE):
        return ""
    return f"The reply is in {english_name(found)}, it must be in {english_name(target or wanted)}."
