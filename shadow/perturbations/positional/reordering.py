"""Documents and list items in another order."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from evenkeel.core.pair import AS_BEFORE
from evenkeel.shadow.perturbations.positional.layout import laid_out, layouts
from evenkeel.shadow.perturbations.positional.lists import bullet_lists
from evenkeel.shadow.perturbations.positional.order import is_chronicle, order_matters
from evenkeel.shadow.perturbations.protocol import NOTHING, NotApplicable

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence

    from evenkeel.shadow.perturbations.positional.layout import Layout
    from evenkeel.shadow.perturbations.positional.lists import BulletList
    from evenkeel.shadow.prompt import PromptView, Segment

_RUN: Final = re.compile(r"c{2,}")
_LISTS: Final = ("instructions", "list")


class Reordering:
    """Puts documents and the items of bulleted lists into another order, each with its label.

    Steps, numbered lists, transcripts, logs and whatever else says something by its order stay.
    """

    name: Final = "positional.reordering"
    version: Final = 1
    graded: Final = False
    requires: Final = NOTHING
    wanted: Final = AS_BEFORE

    def apply(self, view: PromptView, severity: float, rng: random.Random) -> PromptView | NotApplicable:
        """A variant with its documents and lists in another order, as `Perturbation.apply`.

        Not applicable: "nothing_to_reorder"; "order_matters" where all there is says something by its
        order.
        """
        del severity
        found, free = 0, 0
        changed = view
        for layout in layouts(view):
            order, runs, free_runs = _documents(layout, rng)
            found += runs
            free += free_runs
            if free_runs:
                changed = laid_out(changed, [order])
        texts: dict[int, str] = {}
        for segment, lists in _lists(changed):
            free_lists = [one for one in lists if not order_matters(one.texts, one.introduction)]
            found += len(lists)
            free += len(free_lists)
            if free_lists:
                texts[segment.index] = _reordered(segment.text, free_lists, rng)
        if not found:
            return NotApplicable("nothing_to_reorder", "the prompt holds no documents and no bulleted list")
        if not free:
            return NotApplicable(
                "order_matters", "the documents and lists are steps, turns or entries of a log"
            )
        changed = changed.with_texts(texts)
        if changed.text == view.text:
            return NotApplicable("nothing_to_reorder", "the documents or items are all alike")
        return changed


def _documents(layout: Layout, rng: random.Random) -> tuple[Layout, int, int]:
    """The slot with its neighbouring documents in another order.

    Returns: it, how many runs of documents it holds, and how many of them may be in any order.
    """
    passages = list(layout.passages)
    parts = "".join("c" if passage.is_document else "-" for passage in passages)
    runs = [match.span() for match in _RUN.finditer(parts)]
    free = [span for span in runs if not is_chronicle([one.text for one in passages[slice(*span)]])]
    for start, end in free:
        run = passages[start:end]
        order = _another_order([one.text for one in run], rng)
        # The blanks stay in their places, so that the last one closes the slot as before.
        passages[start:end] = [
            run[chosen].followed_by(one.gap) for chosen, one in zip(order, run, strict=True)
        ]
    return replace(layout, passages=tuple(passages)), len(runs), len(free)


def _lists(view: PromptView) -> list[tuple[Segment, list[BulletList]]]:
    """The bulleted lists of each segment that may be reordered by its kind and type."""
    found: list[tuple[Segment, list[BulletList]]] = []
    for place, segment in enumerate(view.segments):
        if segment.kind == "history" or segment.type not in _LISTS:
            continue
        before = _neighbour(view, segment, place - 1)
        after = _neighbour(view, segment, place + 1)
        lists = bullet_lists(
            segment.text,
            begins_line=before is None or before.text.endswith("\n") or segment.text.startswith("\n"),
            ends_line=after is None
            or segment.text.endswith("\n")
            or after.text.lstrip(" \t").startswith("\n"),
            introduction=before.text.rstrip().rpartition("\n")[2] if before is not None else "",
        )
        if lists:
            found.append((segment, lists))
    return found


def _neighbour(view: PromptView, segment: Segment, place: int) -> Segment | None:
    if not 0 <= place < len(view.segments):
        return None
    other = view.segments[place]
    return other if other.slot == segment.slot else None


def _reordered(text: str, lists: Sequence[BulletList], rng: random.Random) -> str:
    pieces: list[str] = []
    done = 0
    for one in lists:
        pieces += (text[done : one.start], one.in_order(_another_order(one.texts, rng)))
        done = one.end
    return "".join((*pieces, text[done:]))


def _another_order(texts: Sequence[str], rng: random.Random) -> list[int]:
    """Places in another order; the texts read differently then, unless they are all alike."""
    order = rng.sample(range(len(texts)), len(texts))
    if all(texts[chosen] == text for chosen, text in zip(order, texts, strict=True)):
        # One step further it reads differently, whatever is alike in it
        order = [*order[1:], order[0]]
    return order
