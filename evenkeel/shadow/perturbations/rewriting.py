"""Texts for the rewriter: cut into pieces of the length of one call, and joined again."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from evenkeel.core.protected_spans import protected_spans
from evenkeel.shadow.perturbations.places import prose_of
from evenkeel.shadow.perturbations.protocol import Draft, NotApplicable, RewriteTask
from evenkeel.shadow.prompt.blocks import BLANK_LINES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from evenkeel.shadow.perturbations.protocol import Outcome
    from evenkeel.shadow.prompt import PromptView, Segment

# A longer text goes to the rewriter in several pieces, cut at blank lines.
_PIECE_CHARS: Final = 4_000
_WORD: Final = re.compile(r"[^\W\d_]{2,}")
_KANA_OR_IDEOGRAPH: Final = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")

NO_PROSE: Final = NotApplicable("nothing_to_change")


def draft(
    view: PromptView,
    segments: Iterable[Segment],
    task: Callable[[str], RewriteTask | None],
    then: Callable[[PromptView], Outcome] = lambda view: view,
) -> Draft | NotApplicable:
    """A variant with segments rewritten; white space around each piece stays as it is.

    Args:
        view: The original.
        segments: What to rewrite; code is left alone.
        task: What to ask of the rewriter for one piece of text; None leaves it as it is.
        then: What is to happen with the rewritten prompt.

    Returns: the draft, or "nothing_to_change" if no piece gives a task.
    """
    tasks: list[RewriteTask] = []
    plans: dict[int, list[tuple[str, int | None]]] = {}
    for segment in segments:
        if segment.type == "code":
            continue
        plan: list[tuple[str, int | None]] = []
        for piece in pieces(segment.text):
            wanted = task(piece) if has_prose(piece) else None
            plan.append((piece, None if wanted is None else len(tasks)))
            tasks += [] if wanted is None else [wanted]
        plans[segment.index] = plan
    if not tasks:
        return NO_PROSE

    def finish(texts: Sequence[str]) -> Outcome:
        if len(texts) != len(tasks):
            raise ValueError(f"{len(texts)} texts for {len(tasks)} tasks")
        rewritten: dict[int, str] = {}
        for index, plan in plans.items():
            rewritten[index] = "".join(piece if number is None else texts[number] for piece, number in plan)
        changed = view.with_texts(rewritten)
        return NO_PROSE if changed.segments == view.segments else then(changed)

    return Draft(tuple(tasks), finish)


def pieces(text: str, longest: int = _PIECE_CHARS) -> list[str]:
    """Return the text cut into stretches to rewrite and the white space between and around them.

    A stretch passes `longest` only where it has no blank line outside of what is protected. Joined,
    the pieces are the text.
    """
    protected = protected_spans(text) if len(text) > longest else ()
    passed = 0
    """Number of spans that end before the current gap."""
    found: list[str] = []
    start = 0
    last = 0
    """End of the current stretch if it is cut at the last possible gap; `resume` is the start of the next."""
    resume = 0
    for gap in BLANK_LINES.finditer(text):
        while passed < len(protected) and protected[passed].end <= gap.start():
            passed += 1
        if passed < len(protected) and protected[passed].start < gap.end():
            continue
        if gap.start() - start > longest and last > start:
            found += (text[start:last], text[last:resume])
            start = resume
        last, resume = gap.span()
    if len(text) - start > longest and last > start:
        found += (text[start:last], text[last:resume])
        start = resume
    found.append(text[start:])
    parts: list[str] = []
    for piece in found:
        parts += filter(None, _bare(piece))
    return parts


def _bare(piece: str) -> tuple[str, str, str]:
    body = piece.strip()
    if not body:
        return ("", "", piece)
    at = piece.index(body)
    return (piece[:at], body, piece[at + len(body) :])


def has_prose(text: str) -> bool:
    """Return whether the unprotected text has at least two words or two ideographs that can be reworded."""
    prose = prose_of(text)
    return len(_WORD.findall(prose)) > 1 or len(_KANA_OR_IDEOGRAPH.findall(prose)) > 1
