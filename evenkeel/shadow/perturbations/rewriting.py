"""Texts for the rewriter: cut into pieces of the length of one call, and joined again."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from evenkeel.core.protected_spans import protected_spans
from evenkeel.shadow.perturbations.places import prose_of
from evenkeel.shadow.perturbations.protocol import Draft, NotApplicable, RewriteTask
from evenkeel.shadow.prompt.blocks import BLANK_LINES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

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
    if len(text) <= longest:
        return _parts(text)
    gaps = list(_gaps(text))
    parts: list[str] = []
    start = 0
    for number, (last, resume) in enumerate(gaps):
        next_gap = gaps[number + 1][0] if number + 1 < len(gaps) else len(text)
        if next_gap - start > longest and last > start:
            parts += [*_parts(text[start:last]), text[last:resume]]
            start = resume
    return [*parts, *_parts(text[start:])]


def _gaps(text: str) -> Iterator[tuple[int, int]]:
    """Yield start and end of each run of blank lines outside of what is protected."""
    spans = iter(protected_spans(text))
    span = next(spans, None)
    for gap in BLANK_LINES.finditer(text):
        while span is not None and span.end <= gap.start():
            span = next(spans, None)
        if span is None or span.start >= gap.end():
            yield gap.span()


def _parts(piece: str) -> list[str]:
    """Return a stretch of text as the white space before it, the stretch, and that behind it."""
    body = piece.strip()
    lead, _, tail = piece.partition(body) if body else (piece, "", "")
    return [part for part in (lead, body, tail) if part]


def has_prose(text: str) -> bool:
    """Return whether the unprotected text has at least two words or two ideographs that can be reworded."""
    prose = prose_of(text)
    return len(_WORD.findall(prose)) > 1 or len(_KANA_OR_IDEOGRAPH.findall(prose)) > 1
