"""Assignment of the values of one tree to those of another: one to one, with the best total fit."""

from __future__ import annotations

import math
import re
from collections import Counter
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

from rapidfuzz.distance import Indel

from evenkeel.metrics.structured.tree import Tree, flat, leaves

if TYPE_CHECKING:
    from collections.abc import Sequence


MOST_CELLS = 2_500
"""Most pairs of items that are compared with each other (0.1 s); beyond, callers use a simpler method."""


class ItemMatch(NamedTuple):
    """Indexes of an item in each list."""

    row: int
    column: int


def best_assignment(  # noqa: C901, PLR0912 - one algorithm, easier to check in one piece
    likeness: Sequence[Sequence[float]],
) -> list[ItemMatch]:
    """Assign rows to columns, one to one, so that the sum of their likeness is greatest.

    Written out because scipy, which has it, takes a second and 60 MB to load for lists of a
    handful of items.

    Args:
        likeness: One sequence a row, all of one length of at least 1; at least one row.

    Returns: as many assignments as the shorter side has items, ordered by row.
    Source: Hungarian method with potentials (Kuhn 1955, Jonker and Volgenant 1987), rows² · columns
        steps; its sum agrees with `scipy.optimize.linear_sum_assignment`.
    """
    if len(likeness) > len(likeness[0]):
        turned = best_assignment(list(zip(*likeness, strict=True)))
        return sorted(ItemMatch(column, row) for row, column in turned)
    rows, columns = len(likeness), len(likeness[0])
    # Index 0 stands for "none yet" on both sides, so rows and columns count from 1.
    row_potential, column_potential = [0.0] * (rows + 1), [0.0] * (columns + 1)
    row_of = [0] * (columns + 1)
    for row in range(1, rows + 1):
        row_of[0] = row
        column = 0
        nearest, came_from = [math.inf] * (columns + 1), [0] * (columns + 1)
        visited = [False] * (columns + 1)
        while row_of[column]:
            visited[column] = True
            here, step, following = row_of[column], math.inf, 0
            for other in range(1, columns + 1):
                if visited[other]:
                    continue
                cost = -likeness[here - 1][other - 1] - row_potential[here] - column_potential[other]
                if cost < nearest[other]:
                    nearest[other], came_from[other] = cost, column
                if nearest[other] < step:
                    step, following = nearest[other], other
            for other in range(columns + 1):
                if visited[other]:
                    row_potential[row_of[other]] += step
                    column_potential[other] -= step
                else:
                    nearest[other] -= step
            column = following
        while column:
            row_of[column] = row_of[came_from[column]]
            column = came_from[column]
    matches = []
    for column, row in enumerate(row_of):
        if column and row:
            matches.append(ItemMatch(row - 1, column - 1))
    return sorted(matches)


# Indel similarity from which two spellings count as one key; "first name" and "last name" have 0.71.
_SAME_KEY = 0.8
# Number of characters of an item that decide which other item it belongs to.
_COMPARED = 200
_SEPARATORS = re.compile(r"[\W_]+")
_DIGITS = re.compile(r"\d+")


class ValuePair(NamedTuple):
    """Scalar of each tree; None where the other tree has no counterpart."""

    reference: str | None
    candidate: str | None


def canonical_key(key: str) -> str:
    """Return a key without case, spaces, underscores and other marks: "Error code" is "errorCode"."""
    return _SEPARATORS.sub("", key.casefold()) or key


def align(reference: Tree, candidate: Tree) -> list[ValuePair]:
    """Pair the scalars of two trees.

    - Mappings: by `canonical_key`, then what is left by the likeness of the keys (the best
      assignment; keys that differ in digits never match).
    - Sequences: equal items first, then what is left by the best assignment of the items' texts.
      The order of items does not count. Beyond 50 by 50 items they are paired in order.
    - Different kinds: a mapping with one key stands for its value, a scalar for a sequence of one;
      otherwise all their text is compared. A mapping of one mapping also stands for it, so a
      wrapper around everything does not count.

    Returns: pairs that hold every scalar of both trees once, but for empty ones without
        counterpart: a value that is null says as much as one that is left out.
    """
    pairs: list[ValuePair] = []
    _align(reference, candidate, pairs)
    return pairs


def _align(left: Tree, right: Tree, pairs: list[ValuePair]) -> None:
    if left == right:
        pairs += (ValuePair(leaf, leaf) for leaf in leaves(left))
    elif isinstance(left, str) and isinstance(right, str):
        pairs.append(ValuePair(left, right))
    elif isinstance(left, dict) and isinstance(right, dict):
        _align_mappings(left, right, pairs)
    elif isinstance(left, dict) or isinstance(right, dict):
        if isinstance(left, dict) and len(left) == 1:
            _align(next(iter(left.values())), right, pairs)
        elif isinstance(right, dict) and len(right) == 1:
            _align(left, next(iter(right.values())), pairs)
        else:
            pairs.append(ValuePair(flat(left), flat(right)))
    else:
        assert not isinstance(left, dict)
        assert not isinstance(right, dict)
        _align_sequences(_as_sequence(left), _as_sequence(right), pairs)


def _as_sequence(tree: Any) -> tuple[Tree, ...]:
    if isinstance(tree, tuple):
        return tree
    return (tree,) if tree else ()


def _align_mappings(left: dict[str, Tree], right: dict[str, Tree], pairs: list[ValuePair]) -> None:
    keys = _match_keys(left, right)
    if not keys:
        if _wraps(left) and not _wraps(right):
            _align(next(iter(left.values())), right, pairs)
            return
        if _wraps(right) and not _wraps(left):
            _align(left, next(iter(right.values())), pairs)
            return
    for left_key, other in keys:
        _align(left[left_key], right[other], pairs)
    matched = {left for left, _ in keys}, {other for _, other in keys}
    _unmatched([value for key, value in left.items() if key not in matched[0]], [], pairs)
    _unmatched([], [value for key, value in right.items() if key not in matched[1]], pairs)


def _wraps(mapping: dict[str, Tree]) -> bool:
    return len(mapping) == 1 and isinstance(next(iter(mapping.values())), dict)


def _match_keys(left: dict[str, Tree], right: dict[str, Tree]) -> list[tuple[str, str]]:
    exact: dict[str, list[str]] = {}
    for key in right:
        exact.setdefault(canonical_key(key), []).append(key)
    pairs: list[tuple[str, str]] = []
    rest: list[str] = []
    for key in left:
        same = exact.get(canonical_key(key))
        if same:
            # The same spelling first, where several keys are one in canonical spelling.
            other = key if key in same else same[0]
            same.remove(other)
            pairs.append((key, other))
        else:
            rest.append(key)
    others = list(chain.from_iterable(exact.values()))
    if not rest or not others or len(rest) * len(others) > MOST_CELLS:
        return pairs
    names = [canonical_key(key) for key in rest], [canonical_key(key) for key in others]
    likeness = _likeness(*names)
    for row, column in best_assignment(likeness):
        same_digits = _DIGITS.findall(names[0][row]) == _DIGITS.findall(names[1][column])
        if likeness[row][column] >= _SAME_KEY and same_digits:
            pairs.append((rest[row], others[column]))
    return pairs


def _align_sequences(left: tuple[Tree, ...], right: tuple[Tree, ...], aligned: list[ValuePair]) -> None:
    left_over, other = _take_equal(left, right, aligned)
    if not left_over or not other:
        _unmatched(left_over, other, aligned)
        return
    if len(left_over) * len(other) > MOST_CELLS:
        pairs = []
        for index in range(min(len(left_over), len(other))):
            pairs.append(ItemMatch(index, index))
    else:
        texts = [flat(item)[:_COMPARED] for item in left_over], [flat(item)[:_COMPARED] for item in other]
        pairs = best_assignment(_likeness(*texts))
    for row, column in pairs:
        _align(left_over[row], other[column], aligned)
    rows, columns = {row for row, _ in pairs}, {column for _, column in pairs}
    _unmatched([item for index, item in enumerate(left_over) if index not in rows], [], aligned)
    _unmatched([], [item for index, item in enumerate(other) if index not in columns], aligned)


def _take_equal(
    left: tuple[Tree, ...], right: tuple[Tree, ...], pairs: list[ValuePair]
) -> tuple[list[Tree], list[Tree]]:
    """Pair the items that occur on both sides. Return also what is left of each."""
    keys = [repr(item) for item in left], [repr(item) for item in right]
    shared = Counter(keys[0]) & Counter(keys[1])
    rest: tuple[list[Tree], list[Tree]] = [], []
    for side, items in enumerate((left, right)):
        taken = shared.copy()
        for item, key in zip(items, keys[side], strict=True):
            if taken[key]:
                taken[key] -= 1
                if side == 0:
                    pairs += (ValuePair(leaf, leaf) for leaf in leaves(item))
            else:
                rest[side].append(item)
    return rest


def _unmatched(left: list[Tree], right: list[Tree], pairs: list[ValuePair]) -> None:
    for item in left:
        pairs += (ValuePair(leaf, None) for leaf in leaves(item) if leaf)
    for item in right:
        pairs += (ValuePair(None, leaf) for leaf in leaves(item) if leaf)


def _likeness(left: list[str], right: list[str]) -> list[list[float]]:
    table = []
    for item in left:
        table.append([Indel.normalized_similarity(item, other) for other in right])
    return table
