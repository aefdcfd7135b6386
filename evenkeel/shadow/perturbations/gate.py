"""Validity gate: checks that a rewriter's text may stand in for the original.

Pure functions that return all faults, the gravest first: its reason is counted, and the sentences of all of
them go to the rewriter for its next attempt.

A valid text keeps protected passages and numerals, each as often as before, and the marks that begin its
lines; it is in the right language and about as long. Whether it means the same is
for the judge to say (`meaning`).
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, get_args

from evenkeel.core.languages import base_tag, english_name, identifiable, language_of, told_apart
from evenkeel.core.protected_spans import protected_spans
from evenkeel.shadow.perturbations.places import prose_of
from evenkeel.shadow.perturbations.positional.listing import blocks_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evenkeel.shadow.perturbations.protocol import RewriteTask

Flaw = Literal[
    "chatter",
    "unchanged",
    "wrong_language",
    "lost_protected",
    "invented_number",
    "structure",
    "length",
    "meaning",
]
"""Reasons to reject a rewritten text."""

FLAWS: Final[frozenset[str]] = frozenset(get_args(Flaw))


@dataclass(frozen=True, slots=True)
class Rejection:
    """Why a text cannot be used, or there is none. The variant that needed the text is not made."""

    reason: str
    """A `Flaw` of the text, or the reason of `ModelClient.chat` for no text. Counted."""
    detail: str = ""
    """Sentence that says what to correct. Holds no credentials; may quote the text."""


_MARKER: Final = re.compile(r"<<<\s*/?\s*(?:BEGIN|END)\b", re.IGNORECASE)
# Translation of full-width digits to ASCII digits, which mean the same to a reader.
_DIGITS: Final = {0xFF10 + digit: ord("0") + digit for digit in range(10)}
_NUMERAL: Final = re.compile(r"\d+(?:[.,:/\-’']\d+)*")

# Words that look like paths, identifiers or calls, but may be replaced by other words.
_LOOSE: Final = re.compile(
    r"""
      [^\W\d_]+ / [^\W\d_]+                 # and/or
    | (?:[^\W\d_]{1,2}\.)+[^\W\d_]{0,2}     # e.g.  z.B.  U.S.
    | [a-zß-öø-ÿ]+ (?:-[a-zß-öø-ÿ]+)+       # state-of-the-art
    | [^\W\d_]+ \( (?:s|es|e|n|en|r|in|innen|x|a|as|os) \)   # customer(s)
    """,
    re.VERBOSE,
)
# Rules whose spans `layout` compares; it ignores blanks around them.
_LAYOUT: Final = frozenset({"marker"})


def passages_to_keep(task: RewriteTask) -> tuple[str, ...]:
    """Return the passages that must survive, in the order of the text, each as often as it occurs."""
    return tuple(_passages(task))


def _passages(task: RewriteTask) -> Iterator[str]:
    for span in protected_spans(task.text):
        passage = task.text[span.start : span.end].strip()
        if span.rule in _LAYOUT or not passage or _LOOSE.fullmatch(passage):
            continue
        if task.kind != "translation":
            yield passage
        elif span.rule in ("date", "number"):
            # Months, units and separators may be the other language's own.
            yield from _numerals(passage)
        elif span.rule == "quotation":
            # So may its quotation marks.
            if passage[1:-1].strip():
                yield passage[1:-1].strip()
        elif span.rule != "ideograph":
            yield passage


def _numerals(text: str) -> list[str]:
    return _NUMERAL.findall(text.translate(_DIGITS))


def lost_passages(task: RewriteTask, text: str) -> list[str]:
    """Return the passages that a rewriting lacks or has less often than the original."""
    passages = passages_to_keep(task)
    numerals = Counter(_numerals(text))
    if task.kind == "translation":
        text = text.translate(_DIGITS)
    lost: list[str] = []
    for passage, number in Counter(passages).items():
        if not _NUMERAL.fullmatch(passage):
            lost += [passage] * (number - text.count(passage))
    # Numerals are counted by themselves: "13" holds no "3", and the 5 in "5 kg" stands for no other 5.
    missing = Counter(_numerals("\n".join(passages))) - numerals - Counter(_numerals("\n".join(lost)))
    return [*lost, *missing.elements()]


_MARKS: Final = {
    "bulleted item": re.compile(r"^[ \t]*[-*+•・][ \t]+\S", re.MULTILINE),
    "numbered item": re.compile(r"^[ \t]*\d{1,3}[.)][ \t]+\S", re.MULTILINE),
    "lettered item": re.compile(r"^[ \t]*\(?[A-Za-z][.)][ \t]+\S", re.MULTILINE),
    "heading": re.compile(r"^[ \t]*#{1,6}[ \t]+\S", re.MULTILINE),
    "quoted line": re.compile(r"^[ \t]*>", re.MULTILINE),
    "table row": re.compile(r"^[ \t]*\|[^\n]*\|[ \t]*$", re.MULTILINE),
    "code fence": re.compile(r"^[ \t]*(?:```|~~~)", re.MULTILINE),
}


def layout_faults(before: str, after: str) -> list[str]:
    """Return how the layout of a rewriting differs: "3 bulleted items instead of 4"; empty if it does not."""
    faults: list[str] = []
    for name, mark in _MARKS.items():
        had, has = len(mark.findall(before)), len(mark.findall(after))
        if had != has:
            plural = name if has == 1 else f"{name}s"
            faults.append(f"{has} {plural} instead of {had}")
    return faults


# Kana, ideographs and Hangul syllables, each of which says as much as two or three letters.
_DENSE: Final = re.compile(r"[\u1100-\u11ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_DENSE_WEIGHT: Final = 2.4

# Weight below which a text may be too short to identify its language: one Spanish sentence in sixteen of 60
# to 100 characters is not identified (STS-B in eight languages), but none wrongly apart from the pairs below.
_SHORT: Final = 120

TOO_SHORT: Final = 40
"""Weight of the original below which identification of its language is not relied on."""


def weight(text: str) -> float:
    """Return the length in letters of a Latin-like script, where an ideograph counts for 2.4."""
    return len(text) + (_DENSE_WEIGHT - 1) * len(_DENSE.findall(text))


def speaks(before: str, after: str, target: str | None) -> str:
    """Return what is wrong with the language of a rewritten text; "" if it is right or unknown.

    Regions do not matter: fr-CA is checked as French. A language that can't be identified is
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
    language = language_of(after)
    if language is None:
        # An original that says little in words ("PowerShell 7, Excel, SharePoint?") gives a result like it.
        unclear = weight(after) >= _SHORT and language_of(before) is not None
        return f"The reply is not clearly in {english_name(target or wanted)}." if unclear else ""
    if not told_apart(language, wanted):
        return ""
    return f"The reply is in {english_name(language)}, it must be in {english_name(target or wanted)}."


# Least and greatest ratio of the weights of result and original.
_LENGTHS: Final = {
    "paraphrase": (0.5, 2.0),
    "tone": (0.5, 2.2),
    "translation": (0.45, 2.4),
    "contrast": (0.4, 2.5),
}
# Weight by which short texts may exceed these bounds: a greeting doubles a sentence of three words.
_LENGTH_SLACK: Final = 30
_SHOWN: Final = 8
_SHOWN_CHARS: Final = 120


def faults_of(task: RewriteTask, text: str) -> tuple[Rejection, ...]:
    """Return the faults of a rewritten text, or of a list of blocks; empty if it has none.

    Args:
        task: What was asked for.
        text: What came back.
    """
    if task.kind == "blocks":
        blocks = blocks_of(task.text, text)
        return (Rejection("structure", blocks),) if isinstance(blocks, str) else ()
    return tuple(_faults(task, text))


def may_stay(text: str) -> bool:
    """Return whether a text can have no other wording: a few words of no language, such as names.

    Learned templates leave such values as segments of their own ("Mara Jonas", "Windows 11 Pro").
    """
    prose = prose_of(text)
    return weight(prose) < TOO_SHORT and language_of(prose) is None


def _faults(task: RewriteTask, text: str) -> Iterator[Rejection]:
    if _MARKER.search(text) and not _MARKER.search(task.text):
        yield Rejection("chatter", "The rewritten text holds a marker line.")
    if _plain(task.text) == _plain(text):
        yield Rejection("unchanged", "The reply is the original text again.")
    before, after = prose_of(task.text), prose_of(text)
    spoken = speaks(before, after, task.target if task.kind == "translation" else None)
    if spoken:
        yield Rejection("wrong_language", spoken)
    if task.kind != "contrast":
        yield from _lost_or_invented(task, text)
    differing = layout_faults(task.text, text)
    if differing:
        yield Rejection("structure", f"The layout differs: {'; '.join(differing)}.")
    least, most = _LENGTHS[task.kind]
    size, wanted = weight(after), weight(before)
    if size < least * wanted - _LENGTH_SLACK:
        yield Rejection("length", "The reply is much shorter than the original: something is left out.")
    elif size > most * wanted + _LENGTH_SLACK:
        yield Rejection("length", "The reply is much longer than the original: something is added.")


def _lost_or_invented(task: RewriteTask, text: str) -> Iterator[Rejection]:
    """Yield a fault if protected passages are gone, or numerals came."""
    lost = lost_passages(task, text)
    if lost:
        yield Rejection("lost_protected", f"These passages are missing or altered: {_shown(lost)}.")
    # Another language may write in digits what this one spells out ("two" → "2つ"), and number its months.
    invented = list((Counter(_numerals(text)) - Counter(_numerals(task.text))).elements())
    if invented and task.kind != "translation":
        yield Rejection(
            "invented_number", f"These numerals are not in the original, or not so often: {_shown(invented)}."
        )


def _plain(text: str) -> str:
    return " ".join(text.split()).casefold()


def _shown(passages: list[str]) -> str:
    quoted: list[str] = []
    for passage in passages[:_SHOWN]:
        dots = "…" if len(passage) > _SHOWN_CHARS else ""
        quoted.append(f"«{passage[:_SHOWN_CHARS]}{dots}»")
    more = len(passages) - len(quoted)
    return ", ".join(quoted) + (f" and {more} more" if more else "")
