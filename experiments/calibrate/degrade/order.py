"""Bringing a number of things out of order, exactly so many and in linear time."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import random


def out_of_order(size: int, moved: int, rng: random.Random) -> list[int]:
    """An order of `size` things of which exactly `moved` must move back to sort it.

    The moved ones are put, the last first, into a gap in which none of them stood before. So they are
    in order neither with each other nor with what now surrounds them, and the longest part that is still in
    order is that of the others.

    Args:
        size: How many things there are.
        moved: In [0, size − 1].
        rng: Chooses the gap and what moves.

    Returns: for each place the index of the thing that stands there now.
    """
    gap = rng.randrange(size + 1)
    # On both sides of the gap stands something that stays.
    staying = {index for index in (gap - 1, gap) if 0 <= index < size}
    if size - len(staying) < moved:
        gap = rng.choice((0, size))
        staying = {0 if gap == 0 else size - 1}
    chosen = set(rng.sample([index for index in range(size) if index not in staying], moved))
    before = [index for index in range(gap) if index not in chosen]
    after = [index for index in range(gap, size) if index not in chosen]
    return [*before, *sorted(chosen, reverse=True), *after]
