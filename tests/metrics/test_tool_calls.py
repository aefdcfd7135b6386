"""Names, arguments and order of tool calls."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenkeel.core.pair import Answer, Pair, ToolCall
from evenkeel.core.verdict import Failure
from evenkeel.metrics.tool_calls import ToolArguments, ToolNames, ToolOrder, read_arguments


def calls(*named: str | tuple[str, str]) -> Answer:
    return Answer("", tuple(ToolCall(*((one, "{}") if isinstance(one, str) else one)) for one in named))


def pair(reference: Answer, candidate: Answer) -> Pair:
    return Pair(reference, candidate, "")


def reason(score: float | Failure) -> str:
    assert isinstance(score, Failure)
    return score.reason


def test_names_of_a_hand_worked_pair() -> None:
    """Find and open shared of three and two calls: 2·2 / 5; a repeated call counts as often as it occurs."""
    assert ToolNames().score(pair(calls("find", "open", "find"), calls("open", "find"))) == pytest.approx(0.8)
    assert ToolNames().score(pair(calls("find"), Answer("I looked."))) == 0.0


def test_arguments_are_compared_as_json() -> None:
    """Spelling, key order and a trailing comma do not count; one of two one-word values changed is 2 / 4."""
    left = calls(("open", '{"id": 7, "queue": "mail"}'))
    assert ToolArguments().score(pair(left, calls(("open", '{ "queue":"mail","id":7.0, }')))) == 1.0
    assert ToolArguments().score(pair(left, calls(("open", '{"id": 8, "queue": "mail"}')))) == 0.5


def test_calls_of_one_tool_are_assigned_so_that_most_agrees() -> None:
    """Two calls in another order are the same two; a third without counterpart does not count here."""
    one, two, three = (("get", f'{{"q": "{word}"}}') for word in ("disk", "mail", "fan"))
    assert ToolArguments().score(pair(calls(one, two), calls(two, one))) == 1.0
    assert ToolArguments().score(pair(calls(one, two, three), calls(two, one))) == 1.0


def test_order_of_a_hand_worked_pair() -> None:
    """A b c against c a b: "a b" in order, of three shared; calls of one side alone do not count."""
    assert ToolOrder().score(pair(calls("a", "b", "c"), calls("c", "a", "b"))) == pytest.approx(2 / 3)
    assert ToolOrder().score(pair(calls("a", "x", "b"), calls("a", "b", "y"))) == 1.0
    assert ToolOrder().score(pair(calls("a", "b"), calls("b", "a"))) == 0.5


def test_without_calls_there_is_nothing_to_measure() -> None:
    """Answers in words have no tools to compare, and two answers with other tools no arguments or order."""
    for metric in (ToolNames(), ToolArguments(), ToolOrder()):
        assert reason(metric.score(pair(Answer("a"), Answer("b")))) == "no_tool_calls"
    for metric in (ToolArguments(), ToolOrder()):
        assert reason(metric.score(pair(calls("a"), calls("b")))) == "no_shared_tool"


def test_arguments_that_are_no_json_are_text() -> None:
    """Free text is compared as such, nothing is an empty record."""
    assert read_arguments("hello there") == "hello there"
    assert read_arguments(" ") == {}
    assert ToolArguments().score(pair(calls(("say", "hello there")), calls(("say", "hello you")))) == 0.5


def test_hostile_arguments_are_failures() -> None:
    """Too much text, too many calls and too much nesting are reasons, not hours."""
    large = calls(("say", "x" * 600_000))
    many = calls(*(("say", f'{{"a": {i}}}') for i in range(80)))
    deep = calls(("say", '{"a":' * 5000))
    assert reason(ToolArguments().score(pair(large, large))) == "too_large"
    assert reason(ToolArguments().score(pair(many, many))) == "too_large"
    assert reason(ToolArguments().score(pair(deep, deep))) == "too_deep"


CALLS = st.lists(
    st.tuples(
        st.sampled_from(("a", "b", "c")), st.sampled_from(("{}", '{"q": "disk"}', '{"q": "mail', "text"))
    ),
    max_size=5,
)


@settings(max_examples=100, deadline=None)
@given(CALLS, CALLS)
def test_tool_metrics_are_bounded_symmetric_and_1_for_equal_calls(left, right) -> None:
    """Which answer is the reference does not matter."""
    for metric in (ToolNames(), ToolArguments(), ToolOrder()):
        there = metric.score(pair(calls(*left), calls(*right)))
        back = metric.score(pair(calls(*right), calls(*left)))
        if isinstance(there, Failure):
            assert reason(back) == there.reason
            continue
        assert 0 <= there <= 1
        assert there == pytest.approx(back)
        assert not left or metric.score(pair(calls(*left), calls(*left))) == pytest.approx(1.0)
