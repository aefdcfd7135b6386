"""Documents and list items in another order, unless their order means something.

Steps, turns of a conversation and entries of a log keep their order.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from evenkeel.core.pair import AS_BEFORE
from evenkeel.core.rewordings import Rewording
from evenkeel.shadow.perturbations.positional.order import broken
from evenkeel.shadow.perturbations.positional.passages import CATEGORY, COLONS, laid_out, layouts
from evenkeel.shadow.perturbations.protocol import NOTHING, NotApplicable
from evenkeel.shadow.prompt.references import announces_an_order, goes_on, points_by_order

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence

    from evenkeel.shadow.perturbations.positional.passages import Layout
    from evenkeel.shadow.prompt import PromptView, Segment


_BULLET: Final = re.compile(r"([ \t]*[-*+•–])[ \t]+(?=\S)")
_FENCE: Final = re.compile(r"[ \t]*(?:```|~~~)")
_FEWEST = 2


@dataclass(frozen=True, slots=True)
class BulletList:
    """Bulleted list: consecutive items of one level and marker."""

    start: int
    items: tuple[str, ...]
    """Items with everything indented under them, and the blanks after that."""
    introduction: str
    """Line before the list, "" if there is none."""

    @property
    def end(self) -> int:
        """Return the index in the text at which the list ends."""
        return self.start + sum(map(len, self.items))

    @property
    def texts(self) -> tuple[str, ...]:
        """Return the items in order, without the blanks after them."""
        return tuple(item.rstrip() for item in self.items)

    def in_order(self, order: Sequence[int]) -> str:
        """Return the list's text with the items in another order.

        The blanks between items keep their places.
        """
        texts = self.texts
        return "".join(
            texts[chosen] + item[len(text) :]
            for chosen, item, text in zip(order, self.items, texts, strict=True)
        )


def bullet_lists(
    text: str, *, begins_line: bool = True, ends_line: bool = True, introduction: str = ""
) -> list[BulletList]:
    """Return the outermost bulleted lists of at least two items in a text, in order.

    Not lists: numbered ones, anything in a code fence, and a run whose last item goes on in an unindented
    line, as its end is unknown.

    Args:
        text: Any text.
        begins_line: Whether its first line is the beginning of one.
        ends_line: Whether its last line is complete.
        introduction: The line above it, "" if there is none.
    """
    found: list[BulletList] = []
    items: list[str] = []
    marker = above = ""
    start = at = 0
    is_fenced = is_after_blank = False

    def finish(*, is_complete: bool) -> None:
        if len(items) >= _FEWEST and is_complete:
            found.append(BulletList(start, tuple(items), above))
        items.clear()

    for line in text.splitlines(keepends=True):
        bullet = None if is_fenced or not (at or begins_line) else _BULLET.match(line)
        stands_out = bool(line.strip()) and not is_fenced and line[0] not in " \t"
        is_fenced ^= _FENCE.match(line) is not None
        if bullet is not None and items and bullet[1] == marker:
            items.append(line)
        elif items and not stands_out and (bullet is None or len(bullet[1]) > len(marker)):
            items[-1] += line
        else:
            if items and line.strip():
                finish(is_complete=is_after_blank or bullet is not None)
            if bullet is not None:
                start, marker, above = at, bullet[1], introduction
                items.append(line)
        if line.strip():
            introduction = line.strip()
        is_after_blank = not line.strip()
        at += len(line)
    finish(is_complete=ends_line or is_after_blank)
    return found


_ANSWERED: Final = re.compile(r"\s(?:A|Answer|Antwort|Respuesta|Réponse)\s?:")
"""The answer to a demonstration, on the line of its last option."""
_UNENDED: Final = re.compile(r"(?:[,;]|\b(?:and|or|und|oder|et|ou|y|o|e|en|of))\s*\Z", re.IGNORECASE)
_NUMBERED_EVENT: Final = re.compile(
    r"[\W_]*(?:step|turn|day|week|round|phase|stage|chapter|message|update|event|reply|comment|post|schritt|tag"
    r"|paso|étape|passo|stap)\s?\d",
    re.IGNORECASE,
)
_THEN: Final = re.compile(r"\bthen\b", re.IGNORECASE)
_CONDITION: Final = re.compile(r"\b(?:if|when|whenever|where|unless)\b", re.IGNORECASE)
# A date or a time at the beginning, as in logs and histories
_DATED: Final = re.compile(
    r"""[\W_]* (?:
        \d{4}-\d{1,2}(?:-\d{1,2})? | \d{1,2}[./]\d{1,2}[./]\d{2,4} | \d{1,2}:\d{2} | \d{4}年 | \d{1,2}月
      | (?:\d{1,2}\.?\ )? (?:jan|feb|mar|apr|may|jun|jul|aug|sept?|oct|nov|dec)[a-z]{0,6}\.?\ \d{1,4}
      | (?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?\b
      | t\ ?[+-]\ ?\d )""",
    re.IGNORECASE | re.VERBOSE,
)
_SPEAKER: Final = re.compile(r"[\W_]*([^\W\d_][\w .'’-]{0,30}):\s")
_FIRST_LINES = 2
"""Lines of a document that are read: its label, and the line after that."""


def order_matters(items: Sequence[str], introduction: str = "") -> bool:
    """Return whether the order of items carries meaning.

    Too eager is harmless: such items are left alone.

    Args:
        items: Each with its marker or label.
        introduction: The line above them, "" if there is none.
    """
    if announces_an_order(introduction):
        return True
    if any(goes_on(item) or _tells_a_sequence(item) or _ANSWERED.search(item) for item in items):
        return True
    # "a; b; and c." is one sentence; an item that ends in a colon leads in to what follows
    if any(_UNENDED.search(item) for item in items[:-1]) or any(item.endswith(COLONS) for item in items):
        return True
    if sum(_DATED.match(item) is not None for item in items) > 1:
        return True
    speakers = [match[1].casefold() for item in items if (match := _SPEAKER.match(item))]
    # Two turns of one speaker: a talk, not a list of named things
    return len(speakers) > len(set(speakers))


def is_chronicle(documents: Sequence[str]) -> bool:
    """Return whether documents are entries of a log, turns or steps, by how they begin.

    Args:
        documents: Each with its label.
    """
    heads = [document.split("\n", _FIRST_LINES)[:_FIRST_LINES] for document in documents]
    if any(_NUMBERED_EVENT.match(line) for lines in heads for line in lines):
        return True
    return sum(any(_DATED.match(line) for line in lines) for lines in heads) > 1


def _tells_a_sequence(item: str) -> bool:
    then = _THEN.search(item)
    return then is not None and not _CONDITION.search(item[: then.start()])


_RUN: Final = re.compile(r"c{2,}")
_LISTS: Final = ("instructions", "list", "text")


class Reordering:
    """Puts documents and the items of bulleted lists into another order, each with its label.

    Steps, numbered lists, transcripts, logs and whatever else says something by its order stay.
    """

    name: Final = "positional.reordering"
    rewording: Final = Rewording(CATEGORY, phrase="reordering", order=30)
    version: Final = 2
    graded: Final = False
    requires: Final = NOTHING
    wanted: Final = AS_BEFORE

    def apply(self, view: PromptView, severity: float, rng: random.Random) -> PromptView | NotApplicable:
        """A variant with its documents and lists in another order, as `Perturbation.apply`.

        Not applicable: "nothing_to_reorder"; "order_matters" where all there is says something by its
        order.
        """
        del severity
        known = layouts(view)
        orders = [_documents(layout, rng) for layout in known]
        found, free = (
            (sum(counts) for counts in zip(*((runs, free) for _, runs, free in orders), strict=True))
            if orders
            else (0, 0)
        )
        arranged = [order for order, _, _ in orders]
        if free and broken(known, arranged):
            arranged, free = known, 0
        changed = laid_out(view, arranged) if free else view
        texts: dict[int, str] = {}
        for segment, lists in _lists(changed):
            free_lists = [one for one in lists if not order_matters(one.texts, one.introduction)]
            found += len(lists)
            free += len(free_lists)
            if free_lists:
                texts[segment.index] = _reordered(segment.text, free_lists, rng)
        if not found:
            return NotApplicable(
                "nothing_to_reorder", "the prompt holds no documents and no list without numbers"
            )
        if free and points_by_order(_said(view)):
            return NotApplicable("bound", "the prompt speaks of items or documents by their place")
        if not free:
            return NotApplicable(
                "order_matters", "the documents and lists are steps, turns or entries of a log"
            )
        changed = changed.with_texts(texts)
        if changed.text == view.text:
            return NotApplicable("nothing_to_reorder", "the documents or items are all alike")
        return changed


def _said(view: PromptView) -> str:
    """Return the application's words, or everybody's if those are not known."""
    own = [one.text for one in view.segments if one.kind == "template" and one.type != "document"]
    return "\n".join(own or (one.text for one in view.segments if one.type not in ("document", "code")))


def _documents(layout: Layout, rng: random.Random) -> tuple[Layout, int, int]:
    """Return the slot with its neighbouring documents in another order.

    Returns: it, how many runs of documents it holds, and how many of them may be in any order.
    """
    passages = list(layout.passages)
    parts = "".join("c" if passage.is_document else "-" for passage in passages)
    runs = [match.span() for match in _RUN.finditer(parts)]
    free = [
        (start, end)
        for start, end in runs
        if len({one.level for one in passages[start:end]}) == 1
        and not is_chronicle([one.text for one in passages[start:end]])
        and not (start and announces_an_order(passages[start - 1].text.rpartition("\n")[2]))
    ]
    for start, end in free:
        run = passages[start:end]
        order = _another_order([one.text for one in run], rng)
        # The blanks stay in their places, so that the last one closes the slot as before.
        passages[start:end] = [
            run[chosen].followed_by(one.gap) for chosen, one in zip(order, run, strict=True)
        ]
    return replace(layout, passages=tuple(passages)), len(runs), len(free)


def _lists(view: PromptView) -> list[tuple[Segment, list[BulletList]]]:
    """Return the bulleted lists of each segment whose kind and type allow reordering."""
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
    """Return positions in another order, in which the texts read differently unless all are alike."""
    order = rng.sample(range(len(texts)), len(texts))
    if all(texts[chosen] == text for chosen, text in zip(order, texts, strict=True)):
        # One step further it reads differently, whatever is alike in it
        order = [*order[1:], order[0]]
    return order
