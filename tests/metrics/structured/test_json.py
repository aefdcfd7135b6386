"""JSON into the tree: valid, slightly broken, and hostile texts."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenkeel.metrics.structured.json import find_json, read_json
from evenkeel.metrics.structured.tree import UnreadableError, leaves
from tests.metrics.structured_values import KEYS, VALUES, as_tree, outcome, reason


@settings(max_examples=80, deadline=None)
@given(st.dictionaries(KEYS, VALUES, max_size=4))
def test_json_that_is_valid_is_read_as_it_is(value: dict[str, object]) -> None:
    """The tree of the text is the tree of the value, strictly and within other text."""
    text = json.dumps(value, ensure_ascii=False)
    assert read_json(text) == as_tree(value)
    if value:
        assert find_json(text).tree == as_tree(value)


@pytest.mark.parametrize(
    "text",
    [
        '{"name": "Kim", "tags": ["a", "b"], "age": 4,}',
        "{'name': 'Kim', 'tags': ['a', 'b'], 'age': 4}",
        '{name: "Kim", tags: ["a", "b"], age: 4}',
        '{"name": "Kim", // who\n "tags": ["a", "b" /* two */], "age": 4}',
        '{"name": "Kim" "tags": ["a" "b"] "age": 4}',
        '{\n"name": "Kim"\n"tags": ["a", "b"]\n"age": 4\n}',
        '{"name": "Kim", "tags": ["a", "b"], "age": 4',
        '{"name": "Kim", "tags": ["a", "b", "age": 4}',
        "{“name”: “Kim”, “tags”: [“a”, “b”], “age”: 4}",
        'Here you are: {"name": "Kim", "tags": ["a", "b"], "age": 4,} Anything else?',
    ],
)
def test_json_with_the_slips_of_models_is_repaired(text: str) -> None:
    """Commas, quotes, comments and brackets that are wrong or missing do not hide the content."""
    found = find_json(text)
    assert found is not None
    assert not found.strict
    assert found.tree == {"name": "Kim", "tags": ("a", "b"), "age": "4"}


def test_json_cut_at_any_place_keeps_what_came_before() -> None:
    """Every cut of a record gives a part of it, in order, and never an error."""
    text = '{"title": "Printer \\"jam\\"", "steps": ["open", "pull"], "done": false}'
    whole = list(leaves(read_json(text)))
    for end in range(len('{"title": "P'), len(text)):
        found = find_json(text[:end])
        assert found is not None
        got = [leaf for leaf in leaves(found.tree) if leaf]
        assert got[:-1] == whole[: len(got) - 1]
        assert whole[len(got) - 1].startswith(got[-1].rstrip("\\"))


def test_quotes_within_strings_do_not_end_them() -> None:
    """A quote ends a string only where something can follow."""
    assert find_json('{"a": "he said "stop" twice", "b": \'it\'s\'}').tree == {
        "a": 'he said "stop" twice',
        "b": "it's",
    }


def test_escapes_are_resolved_in_repaired_strings_too() -> None:
    """Line breaks, code points and both halves of a surrogate pair."""
    assert find_json(r"""{'a': 'x\ny \u00e9 \ud83d\ude00 \q',}""").tree == {"a": "x\ny é 😀 q"}


def test_python_literals_are_values() -> None:
    """A dict printed by Python is read like the JSON it stands for."""
    assert find_json("{'a': True, 'b': None, 'c': [1.0, -2]}").tree == {
        "a": "true",
        "b": "",
        "c": ("1", "-2"),
    }


def test_numbers_keep_their_digits() -> None:
    """No rounding, and no limit on how many there are."""
    digits = "9" * 6000
    assert read_json(f'{{"a": {digits}, "b": 0.10}}') == {"a": digits, "b": "0.10"}


def test_a_repeated_key_keeps_all_values() -> None:
    """Nothing a model wrote is dropped silently."""
    assert read_json('{"a": 1, "a": 2}') == {"a": ("1", "2")}


@pytest.mark.parametrize("text", ["NaN", '{"a": NaN}', "{", "{'a': 1}", '{"a": 1,}', "", "hello"])
def test_json_that_is_not_valid_is_refused_by_the_strict_reader(text: str) -> None:
    """Strict means the standard."""
    with pytest.raises(UnreadableError) as caught:
        read_json(text)
    assert reason(caught) == "malformed"


def test_prose_holds_no_json() -> None:
    """Brackets around nothing are none."""
    assert find_json("plain words") is None
    assert find_json("{} and []") is None


@pytest.mark.parametrize("opener", ["[", '{"a":', "[{", '{"a":[', "{ "])
def test_deep_json_is_refused(opener: str) -> None:
    """A hundred thousand levels neither overflow the stack nor run into the test's time limit."""
    with pytest.raises(UnreadableError) as caught:
        read_json(opener * 100_000)
    assert reason(caught) in ("too_deep", "malformed")
    assert outcome(find_json, opener * 100_000) in ("too_deep", "read")


@settings(max_examples=150, deadline=None)
@given(st.text("{}[]\"':,\\ \nab1“”/*", max_size=60))
def test_no_text_breaks_the_json_reader(text: str) -> None:
    """Whatever brackets and quotes do, there is a value or there is none."""
    found = find_json(text)
    assert found is None or 0 <= found.start < found.end <= len(text)
