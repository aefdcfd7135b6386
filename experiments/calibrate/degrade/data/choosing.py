"""Choosing array items that together hold about as many values as a severity asks for."""

from __future__ import annotations

from itertools import chain
from operator import itemgetter
from typing import TYPE_CHECKING

from evenkeel.experiments.calibrate.degrade.data.tree import Path, branches, leaf_paths, weight
from evenkeel.experiments.calibrate.degrade.protocol import NotDegradableError
from evenkeel.experiments.calibrate.degrade.severity import touched_with

if TYPE_CHECKING:
    import random

    from evenkeel.experiments.calibrate.degrade.data.tree import Branch


_HALF_MORE = 1.5
"""No more than that is changed, and no less than half, of what is asked for."""


def chosen_items(
    root: Branch, severity: float, rng: random.Random, *, apart: bool, left: int
) -> dict[Path, list[int]]:
    """Items of arrays with max(1, ⌈n · severity⌉) of the n values in them, to the nearest item.

    Args:
        root: The data.
        severity: Share of all values, those outside of arrays included.
        rng: Makes the choice.
        apart: Whether no chosen item may stand within another one.
        left: How many items of each array must be left over; if any, arrays of equal items do not count.

    Returns: for arrays by path the indices of items, ascending.

    Raises:
        NotDegradableError: "no_array": none has an item to choose; "too_few_units": they hold too few values;
            "coarse_items": the smallest item holds half as much again as is asked for.
    """
    touched = touched_with(sum(1 for _ in leaf_paths(root)), severity, left=0)
    room: dict[Path, int] = {}
    items: list[tuple[Path, int]] = []
    for path, branch in branches(root):
        nodes = [entry.node for entry in branch.entries]
        if branch.is_array and (not left or any(node != nodes[0] for node in nodes)):
            room[path] = len(nodes) - left
            items += [((*path, index), weight(node)) for index, node in enumerate(nodes)]
    if not items:
        raise NotDegradableError("no_array", "the data have no array whose items can be chosen")
    taken: dict[Path, list[int]] = {}
    within: set[Path] = set()
    """All paths above and at chosen items."""
    chosen: set[Path] = set()
    missing = touched
    rng.shuffle(items)
    # All that fit, in the order drawn; then one more if the total comes nearer by it.
    for (path, size), most in chain(
        ((item, 1) for item in items), ((item, _HALF_MORE) for item in sorted(items, key=itemgetter(1)))
    ):
        array = path[:-1]
        if size > most * missing or not room[array] or path in chosen:
            continue
        if apart and (path in within or any(path[:depth] in chosen for depth in range(1, len(path)))):
            continue
        chosen.add(path)
        within.update(path[:depth] for depth in range(1, len(path) + 1))
        room[array] -= 1
        missing -= size
        taken.setdefault(array, []).append(path[-1])
    if not taken:
        raise NotDegradableError("coarse_items", f"no item holds as few as {touched} values")
    if 2 * missing > touched:
        raise NotDegradableError("too_few_units", f"items hold {touched - missing} values, not {touched}")
    return {path: sorted(indices) for path, indices in sorted(taken.items())}
