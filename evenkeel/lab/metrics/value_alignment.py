"""Alignment of the values of two trees: those that belong together, one to one."""

from __future__ import annotations

import re
from collections import Counter
from itertools import chain
from typing import Any, NamedTuple

from rapidfuzz.distance import Indel

from evenkeel.metrics.assignment import MOST_CELLS, ItemMatch, best_assignment
from evenkeel.metrics.structured.tree import Tree, flat, leaves

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
