"""What tests of the readers share: drawn values, their tree, and why a text was refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import strategies as st

from evenkeel.metrics.structured.tree import Tree, UnreadableError, scalar

if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest

TEXTS = st.text(st.characters(exclude_categories=("Cs", "Cc")), max_size=8)
KEYS = st.text("abcdef é", min_size=1, max_size=6).map(str.strip).filter(bool)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-99, 99) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=12,
)


def as_tree(value: object) -> Tree:
    """The tree of a Python value, written apart from the readers."""
    if isinstance(value, dict):
        return {key: as_tree(item) for key, item in value.items()}
    if isinstance(value, list):
        return tuple(as_tree(item) for item in value)
    if isinstance(value, bool):
        return "true" if value else "false"
    return scalar(value)


def reason(caught: pytest.ExceptionInfo[UnreadableError]) -> str:
    return caught.value.reason


def outcome(read: Callable[[str], object], text: str) -> str:
    """The word "read", or the reason why it was not."""
    try:
        read(text)
    except UnreadableError as error:
        return error.reason
    return "read"
