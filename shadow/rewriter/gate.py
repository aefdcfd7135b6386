"""The validity gate: what a rewritten text must fulfil before a variant is made of it.

Pure functions of the task and the text. All faults are found, the gravest first: its reason is
counted, and the sentences of all go back to the model.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from evenkeel.core.languages import language_of
from evenkeel.shadow.rewriter.chatter import chatter_in
from evenkeel.shadow.rewriter.keep import invented_numbers, lost_passages
from evenkeel.shadow.rewriter.layout import layout_faults
from evenkeel.shadow.rewriter.script import TOO_SHORT, prose_of, speaks, weight

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evenkeel.shadow.perturbations.protocol import RewriteTask
    from evenkeel.shadow.rewriter.protocol import Fault


@dataclass(frozen=True, slots=True)
class GateFault:
    """One thing that is wrong with a rewritten text."""

    reason: Fault
    detail: str
    """One sentence that tells the model what to put right."""


_LENGTHS: Final = {"paraphrase": (0.5, 2.0), "tone": (0.5, 2.2), "translation": (0.45, 2.4)}
"""Least and greatest ratio of the weights of result and original."""
_LENGTH_SLACK: Final = 30
"""Weight by which short texts may pass these bounds: a greeting doubles a sentence of three words."""
_SHOWN: Final = 8
_SHOWN_CHARS: Final = 120


def faults_of(task: RewriteTask, text: str, tag: str = "") -> tuple[GateFault, ...]:
    """What is wrong with a rewritten text; empty if nothing is.

    Args:
        task: What was asked for.
        text: What came back.
        tag: The tag of the markers around the original, which must not show up.
    """
    return tuple(_faults(task, text, tag))


def may_stay(text: str) -> bool:
    """Whether a text may have no other wording: a few words of no language, as names are.

    Learned templates leave such values as segments of their own ("Mara Jonas", "Windows 11 Pro").
    """
    prose = prose_of(text)
    return weight(prose) < TOO_SHORT and language_of(prose) is None


def _faults(task: RewriteTask, text: str, tag: str) -> Iterator[GateFault]:
    added = chatter_in(task.text, text, tag)
    if added:
        yield GateFault("chatter", f"The reply holds more than the rewritten text: {added}.")
    if _plain(task.text) == _plain(text):
        yield GateFault("unchanged", "The reply is the original text again.")
    before, after = prose_of(task.text), prose_of(text)
    spoken = speaks(before, after, task.target if task.kind == "translation" else None)
    if spoken:
        yield GateFault("wrong_language", spoken)
    lost = lost_passages(task, text)
    if lost:
        yield GateFault("lost_protected", f"These passages are missing or altered: {_shown(lost)}.")
    invented = invented_numbers(task, text)
    if invented:
        yield GateFault(
            "invented_number", f"These numerals are not in the original, or not so often: {_shown(invented)}."
        )
    differing = layout_faults(task.text, text)
    if differing:
        yield GateFault("structure", f"The layout differs: {'; '.join(differing)}.")
    least, most = _LENGTHS[task.kind]
    size, wanted = weight(after), weight(before)
    if size < least * wanted - _LENGTH_SLACK:
        yield GateFault("length", "The reply is much shorter than the original: something is left out.")
    elif size > most * wanted + _LENGTH_SLACK:
        yield GateFault("length", "The reply is much longer than the original: something is added.")


def _plain(text: str) -> str:
    return " ".join(text.split()).casefold()


def _shown(passages: list[str]) -> str:
    cut = [one if len(one) <= _SHOWN_CHARS else f"{one[:_SHOWN_CHARS]}…" for one in passages[:_SHOWN]]
    more = len(passages) - len(cut)
    return ", ".join(f"«{one}»" for one in cut) + (f" and {more} more" if more else "")
