"""Normalisation and the free first step of the cascade."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.core.pair import Answer, Pair, ToolCall
from evenkeel.core.verdict import Failure
from evenkeel.metrics.similarity.normalised import NormalisedEquality, canonical_json, normalise, parse_json
from evenkeel.metrics.similarity.statements import claims


def equal(reference: Answer | str, candidate: Answer | str) -> float | Failure:
    sides = [Answer(side) if isinstance(side, str) else side for side in (reference, candidate)]
    return NormalisedEquality().score(Pair(*sides, context=""))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("The VPN is down.", "the  vpn is\ndown"),
        ("**Main problem:** the VPN", "Main problem: the VPN"),
        ("# Summary\n- one\n- two", "Summary\none\ntwo"),
        ("He said \u201cstop\u201d\u2026", 'He said "stop"...'),
        ("\uff21\uff22\uff23 \uff11\uff12\uff13", "abc 123"),
        ("use `kubectl get`", "use kubectl get"),
        ('{"a": 1, "b": [true, "X."]}', '```json\n{"b":[true,"x"],"a":1.0}\n```'),
    ],
)
def test_differences_without_content_are_equal(first: str, second: str) -> None:
    """Case, spacing, marks, quotes, width and JSON spelling do not make answers differ."""
    assert equal(first, second) == 1.0


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("12 users", "13 users"),
        ("the VPN is up", "the VPN is not up"),
        ("2*3", "23"),
        ("5!", "5"),
        ("snake_case", "snakecase"),
        ("version 1.2", "version 12"),
        ('{"a": [1, 2]}', '{"a": [2, 1]}'),
        ('{"a": true}', '{"a": 1}'),
        ("text", ""),
    ],
)
def test_differences_with_content_are_kept(first: str, second: str) -> None:
    """A digit, a negation, an operator, array order and a missing side stay differences."""
    assert equal(first, second) == 0.0


def test_equal_text_with_other_tool_calls_is_not_equal() -> None:
    """Tool calls are part of an answer, compared by name and JSON arguments."""
    call = Answer("ok", (ToolCall("close", '{"id": 7, "note": "Done."}'),))
    respelled = Answer("OK.", (ToolCall("close", '{"note":"done","id":7.0}'),))
    other = Answer("ok", (ToolCall("close", '{"id": 8, "note": "Done."}'),))
    assert equal(call, respelled) == 1.0
    assert equal(call, other) == 0.0
    assert equal(call, Answer("ok")) == 0.0


def test_two_answers_without_anything_cannot_be_compared() -> None:
    """Neither text nor tool call on both sides is a failure, never a perfect score."""
    outcome = equal(" \n", "")
    assert isinstance(outcome, Failure)
    assert (outcome.metric, outcome.reason) == ("normalised", "no_text")


def test_only_objects_and_arrays_are_read_as_json() -> None:
    """A bare number or word is prose, a fenced object is JSON, broken JSON is prose."""
    assert parse_json("42") is None
    assert parse_json('"word"') is None
    assert parse_json("```json\n[1]\n```") == [1]
    assert parse_json("{oops") is None
    assert parse_json("[" * 100_000) is None


@given(st.text())
def test_normalising_twice_changes_nothing(text: str) -> None:
    """The normal form of a normal form is itself, so equality is transitive."""
    once = normalise(text)
    assert normalise(once) == once


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-1000, 1000) | st.text("abc .", max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text("abc", max_size=3), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(_JSON)
def test_canonical_json_survives_respelling(value: object) -> None:
    """Indentation and escapes of the same JSON value give one canonical form."""
    respelled = json.loads(json.dumps(value, indent=3, ensure_ascii=True))
    assert canonical_json(respelled) == canonical_json(value)


@pytest.mark.parametrize(
    ("depth", "is_read"), [(1, True), (100, True), (101, False), (600, False), (50_000, False)]
)
def test_json_nested_beyond_reason_counts_as_text(depth: int, is_read: bool) -> None:  # noqa: FBT001 - a table
    """Deep nesting is no way to break a metric: below a hundred levels it is JSON, beyond it text."""
    text = "[" * depth + "7 " + "]" * depth
    assert (parse_json(text) is not None) == is_read
    assert equal(text, text.replace("7 ", "7")) == float(is_read)
    called = [Answer("", (ToolCall("f", arguments),)) for arguments in (text, text.replace("7 ", "7"))]
    pair = Pair(*called, context="")
    assert NormalisedEquality().score(pair) == float(is_read)
    assert claims(called[0])
