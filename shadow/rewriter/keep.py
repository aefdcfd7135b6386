"""What of a text must stand in its rewriting: protected passages and numerals, each as often as before."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Final

from evenkeel.shadow.perturbations.protect import protected_spans

if TYPE_CHECKING:
    from evenkeel.shadow.perturbations.protocol import RewriteTask

_DIGITS: Final = {0xFF10 + digit: ord("0") + digit for digit in range(10)}
"""Full-width digits, which are those of ASCII to a reader."""
_NUMERAL: Final = re.compile(r"\d+(?:[.,:/\-’']\d+)*")
_WORD: Final = re.compile(r"[a-z]+")
_CARDINALS: Final = "one two three four five six seven eight nine ten eleven twelve"
_ORDINALS: Final = "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth"
_SPELLED: Final = {
    word: str(number) for words in (_CARDINALS, _ORDINALS) for number, word in enumerate(words.split(), 1)
}
_MONTHS: Final = frozenset(map(str, range(1, 13)))
_T: Final = r"[^\s\u3000-\u30ff\u4e00-\u9fff]"
_CORE: Final = re.compile(rf"{_T}*[A-Za-z]{_T}*\d[A-Za-z]* | {_T}*\d(?:{_T}*\d)?", re.VERBOSE)
"""What a translation keeps of a token with digits: all of a code ("0x1F2E", "v2beta"), and of an amount
with its unit ("3kg") what stands up to the last digit."""

_LOOSE: Final = re.compile(
    r"""
      [^\W\d_]+ / [^\W\d_]+                 # and/or
    | (?:[^\W\d_]{1,2}\.)+[^\W\d_]{0,2}     # e.g.  z.B.  U.S.
    | [a-zß-öø-ÿ]+ (?:-[a-zß-öø-ÿ]+)+       # state-of-the-art
    | [^\W\d_]+ \( (?:s|es|e|n|en|r|in|innen|x|a|as|os) \)   # customer(s)
    """,
    re.VERBOSE,
)
"""Words that look like paths, identifiers or calls, and may well be put into other words."""
_LAYOUT: Final = frozenset({"marker"})
"""Rules whose spans are compared by `layout`, which knows that blanks around them do not matter."""


def passages_to_keep(task: RewriteTask) -> tuple[str, ...]:
    """The passages that must survive, in the order of the text, each as often as it occurs.

    Verbatim, with these allowances: words that only look protected ("and/or") are free; and in a
    translation an amount keeps its number, not its unit ("3 hours"), a date its numerals, and a
    quotation its words, not its marks; months may be named or numbered.
    """
    kept: list[str] = []
    for span in protected_spans(task.text):
        passage = task.text[span.start : span.end].strip()
        if span.rule in _LAYOUT or not passage or _LOOSE.fullmatch(passage):
            continue
        if task.kind != "translation":
            kept.append(passage)
        elif span.rule == "date":
            kept += _NUMERAL.findall(passage)
        elif span.rule == "number" and not passage.endswith("月"):
            kept += [core[0] for core in _CORE.finditer(passage.translate(_DIGITS))]
        elif span.rule == "quotation":
            kept.append(passage[1:-1].strip())
        elif span.rule != "number":
            kept.append(passage)
    return tuple(one for one in kept if one)


def lost_passages(task: RewriteTask, text: str) -> list[str]:
    """The passages that a rewriting has not got, or not as often as the original."""
    if task.kind == "translation":
        text = text.translate(_DIGITS)
    lost: list[str] = []
    # The longest first, each taking its place, so that the 5 in "5 kg" does not stand for another 5.
    for passage in sorted(passages_to_keep(task), key=len, reverse=True):
        found = _as_a_whole(passage).search(text)
        if found:
            text = f"{text[: found.start()]}\0{text[found.end() :]}"
        else:
            lost.append(passage)
    return lost


def invented_numbers(task: RewriteTask, text: str) -> list[str]:
    """The numerals of a rewriting that the original has not got, or not as often.

    A translation may number a month for each date of the original ("May 3" → "5月3日"), and write in
    digits what English spells out ("two" → "2つ").
    """
    known = Counter(_NUMERAL.findall(task.text.translate(_DIGITS)))
    if task.kind == "translation":
        known.update(_SPELLED[word] for word in _WORD.findall(task.text.lower()) if word in _SPELLED)
    invented = list((Counter(_NUMERAL.findall(text.translate(_DIGITS))) - known).elements())
    if invented and task.kind == "translation":
        dates = sum(span.rule == "date" for span in protected_spans(task.text))
        for month in [one for one in invented if one in _MONTHS][:dates]:
            invented.remove(month)
    return invented


def _as_a_whole(passage: str) -> re.Pattern[str]:
    """Finds it where it does not go on at its edges: "13" and "3.5" are no "3", but "3rd" is one."""
    if not any(map(str.isalpha, passage)):
        goes_on_before, goes_on_behind = r"(?<!\d)(?<!\d[.,])", r"(?![.,]?\d)"
    else:
        goes_on_before, goes_on_behind = r"(?<![0-9A-Za-z])", r"(?![0-9A-Za-z])"
    opens = goes_on_before if passage[0].isalnum() and passage[0].isascii() else ""
    closes = goes_on_behind if passage[-1].isalnum() and passage[-1].isascii() else ""
    return re.compile(f"{opens}{re.escape(passage)}{closes}")
