"""The tree of structured answers: scalars, containers, order."""

from __future__ import annotations

import pytest

from evenkeel.metrics.structured.tree import Tree, flat, gather, leaves, scalar


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, ""),
        (True, "true"),
        ("False", "false"),
        ("NULL", ""),
        ("1.0", "1"),
        (2.5, "2.5"),
        (" a ", "a"),
        ("007", "007"),
    ],
)
def test_a_scalar_has_one_spelling_in_all_formats(value: object, text: str) -> None:
    """Nulls are empty, booleans lower case, whole numbers without a fraction; the rest is kept."""
    assert scalar(value) == text


def test_entries_are_gathered_by_their_keys() -> None:
    """Repeated keys become a sequence, loose text has a key only beside others, one value is itself."""
    assert gather([("a", "1"), ("a", "2"), (None, "x")]) == {"a": ("1", "2"), "text": "x"}
    assert gather([(None, "x"), (None, "y")]) == ("x", "y")
    assert gather([(None, "x")]) == "x"
    assert gather([]) == ""


def test_leaves_and_flat_text_keep_the_order() -> None:
    """Every scalar once, an empty container as one empty scalar; keys are no text."""
    tree: Tree = {"a": "1", "b": ("2", {"c": "3"}), "d": ()}
    assert list(leaves(tree)) == ["1", "2", "3", ""]
    assert flat(tree) == "1\n2\n3"
