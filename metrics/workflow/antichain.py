"""The largest set of items of a partial order of which none is related to another."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def largest_antichain(related: Sequence[Sequence[int]]) -> int:
    """Size of the largest antichain.

    Args:
        related: For each item, all items that it is above of; transitive, without itself.

    Source: Dilworth 1950: as many as the chains that cover the order, which are the items less a
        largest matching of the pairs; Hopcroft and Karp 1973 for that, pairs · √items steps.
    """
    return len(related) - _largest_matching(related)


def _largest_matching(related: Sequence[Sequence[int]]) -> int:
    below: list[int | None] = [None] * len(related)
    above: list[int | None] = [None] * len(related)
    size = 0
    while True:
        layer = _layers(related, below, above)
        found = sum(
            _augment(start, related, below, above, layer)
            for start, match in enumerate(below)
            if match is None
        )
        if not found:
            return size
        size += found


def _layers(
    related: Sequence[Sequence[int]], below: Sequence[int | None], above: Sequence[int | None]
) -> list[int]:
    """How many alternations each item is away from one that is free; -1 if it cannot be reached."""
    layer = [0 if match is None else -1 for match in below]
    queue = deque(index for index, match in enumerate(below) if match is None)
    while queue:
        here = queue.popleft()
        for other in related[here]:
            following = above[other]
            if following is not None and layer[following] < 0:
                layer[following] = layer[here] + 1
                queue.append(following)
    return layer


def _augment(
    start: int,
    related: Sequence[Sequence[int]],
    below: list[int | None],
    above: list[int | None],
    layer: list[int],
) -> bool:
    """Lengthen the matching by a path from a free item, if there is one through growing layers."""
    path: list[tuple[int, int]] = []
    choices = [iter(related[start])]
    items = [start]
    while items:
        here = items[-1]
        other = next(choices[-1], None)
        if other is None:
            # A dead end stays one for the rest of this round.
            layer[here] = -1
            items.pop()
            choices.pop()
            if path:
                path.pop()
            continue
        following = above[other]
        if following is None:
            for upper, lower in (*path, (here, other)):
                below[upper], above[lower] = lower, upper
            return True
        if layer[following] == layer[here] + 1:
            path.append((here, other))
            items.append(following)
            choices.append(iter(related[following]))
    return False
