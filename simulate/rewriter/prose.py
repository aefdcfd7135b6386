"""What a rewriting may change of a text, and what it must leave as it is."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from evenkeel.shadow.perturbations.places import protected_spans

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class Piece(NamedTuple):
    """A part of a text."""

    text: str
    kept: bool
    """Whether it must survive as it is."""


# Labels of documents, and names of formats: the same in every language, and no rule of protection
# knows them.
_NAMES: Final = re.compile(
    r"\b(?:Doc(?:ument)?|Source)[ ]?\[?[0-9]{1,3}\]?:? | \b(?:JSON|YAML|XML|HTML|Markdown)\b", re.VERBOSE
)
_WORD: Final = re.compile(r"[^\W\d_]")


def pieces_of(text: str, also: re.Pattern[str] | None = None) -> Iterator[Piece]:
    """The text cut into what is kept and what lies between; joined, they are the text.

    Args:
        text: What is to be rewritten.
        also: Matches are kept as well, if no protected passage overlaps.
    """
    spans = [(span.start, span.end) for span in protected_spans(text)]
    spans += [match.span() for match in _NAMES.finditer(text)]
    if also is not None:
        spans += [match.span() for match in also.finditer(text)]
    at = 0
    for start, end in sorted(spans):
        if end <= at:
            continue
        # A passage that begins inside another one goes on where that ends.
        begin = max(start, at)
        if begin > at:
            yield Piece(text[at:begin], kept=False)
        yield Piece(text[begin:end], kept=True)
        at = end
    if at < len(text):
        yield Piece(text[at:], kept=False)


def rewrite_prose(text: str, change: Callable[[str], str]) -> str:
    """The text with every part that need not be kept put through `change`."""
    return "".join(piece.text if piece.kept else change(piece.text) for piece in pieces_of(text))


def open_with(text: str, opening: str) -> str:
    """The text with an opening before its first word; unchanged if all of it must be kept."""
    done = ""
    for piece in pieces_of(text):
        first = None if piece.kept else _WORD.search(piece.text)
        if first is not None:
            rest = text[len(done) + first.start() :]
            return f"{done}{piece.text[: first.start()]}{opening}{rest}"
        done += piece.text
    return text
