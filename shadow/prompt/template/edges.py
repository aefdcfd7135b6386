"""Words added to a template right beside a gap: the old fragments still fit, so only the gap shows them."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Final, NamedTuple

from evenkeel.shadow.prompt.template.skeleton import gaps, place
from evenkeel.shadow.prompt.template.tokens import readable, words_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkeel.shadow.prompt.template.skeleton import Span

RUN: Final = 5
"""Requests in a row whose values begin, or end, with a word that no value began or ended with before."""
_MOST_EDGES: Final = 2_048
_READ: Final = 64
_FEWEST_WORDS: Final = 2


class Edge(NamedTuple):
    """One end of a gap."""

    text: int
    """Which text of the request."""
    gap: int
    is_end: bool


class EdgeWords:
    """The words at the ends of a template's gaps, and how long each has stayed the same."""

    def __init__(self) -> None:
        self._seen: OrderedDict[tuple[Edge, str], None] = OrderedDict()
        self._runs: dict[Edge, tuple[str, int]] = {}

    def observe(self, texts: Sequence[str], spans: Sequence[Sequence[Span]]) -> list[Edge]:
        """Take in a request.

        Returns: the ends of gaps at which a new word has now stood for `RUN` requests.
        """
        found: list[Edge] = []
        for number, (text, placed) in enumerate(zip(texts, spans, strict=True)):
            for index, gap in enumerate(gaps(placed)):
                # A date at the end of a gap changes by itself.
                first = words_of(readable(text[gap.start : min(gap.end, gap.start + _READ)])[0])
                last = words_of(readable(text[max(gap.start, gap.end - _READ) : gap.end])[-1])
                for edge, words in ((Edge(number, index, False), first), (Edge(number, index, True), last)):
                    word = words[-1 if edge.is_end else 0] if len(words) >= _FEWEST_WORDS else ""
                    if self._run(edge, word) == RUN:
                        found.append(edge)
        while len(self._seen) > _MOST_EDGES:
            self._seen.popitem(last=False)
        return found

    def _run(self, edge: Edge, word: str) -> int:
        last, length = self._runs.get(edge, ("", 0))
        known = (edge, word) in self._seen
        self._seen[edge, word] = None
        self._seen.move_to_end((edge, word))
        if word and word == last and length:
            self._runs[edge] = (word, length + 1)
        else:
            self._runs[edge] = (word, 0 if known or not word else 1)
        return self._runs[edge][1]


def extended(
    skeletons: tuple[tuple[str, ...], ...], edge: Edge, texts: Sequence[str]
) -> tuple[tuple[str, ...], ...]:
    """The skeletons with what all values have in common at one end of a gap made part of the fragment there.

    Args:
        skeletons: All fit the requests.
        edge: Where the common words stand.
        texts: Of the requests, the one text that holds the gap.
    """
    skeleton = list(skeletons[edge.text])
    values: list[str] = []
    for text in texts:
        spans = place(tuple(skeleton), text)
        if spans is None:
            return skeletons
        gap = gaps(spans)[edge.gap]
        values.append(text[gap.start : gap.end])
    shared = _shared_end([value[::-1] for value in values])[::-1] if edge.is_end else _shared_end(values)
    if shared in values:
        return skeletons  # the field has another value, all of it
    if edge.is_end:
        skeleton[edge.gap + 1] = _from_line_start(readable(shared)[-1]) + skeleton[edge.gap + 1]
    else:
        skeleton[edge.gap] += readable(shared)[0]
    return tuple(tuple(skeleton) if number == edge.text else one for number, one in enumerate(skeletons))


def _shared_end(values: Sequence[str]) -> str:
    """What all values begin with, without a word that is cut in two."""
    shortest = min(values, key=len)
    size = 0
    while size < len(shortest) and all(value[size] == shortest[size] for value in values):
        size += 1
    while size and any(_cuts_word(value, size) for value in values):
        size -= 1
    return shortest[:size]


def _from_line_start(shared: str) -> str:
    """Without the marks and words of a value that happen to end alike before the added line."""
    line = shared.find("\n")
    if line >= 0:
        return shared[line:]
    return shared.lstrip(".,;:!?")


def _cuts_word(value: str, at: int) -> bool:
    return at < len(value) and value[at].isalnum() and value[at - 1].isalnum()
