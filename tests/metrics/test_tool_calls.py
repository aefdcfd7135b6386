"""Names, arguments and order of tool calls."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.core.pair import Answer, Pair, ToolCall
from evenkeel.core.verdict import Failure, ToolStep
from evenkeel.metrics.tool_calls import ToolArgumentsMatch, ToolNames, ToolOrder, compared
from tests.cases import cases

METRICS = {"names": ToolNames(), "arguments": ToolArgumentsMatch(), "order": ToolOrder()}


def calls(*named: str | tuple[str, str]) -> Answer:
    return Answer("", tuple(ToolCall(*((one, "{}") if isinstance(one, str) else one)) for one in named))


def pair(reference: Answer, candidate: Answer) -> Pair:
    return Pair(reference, candidate, "")


def reason(score: float | Failure) -> str:
    assert isinstance(score, Failure)
    return score.reason


@pytest.mark.parametrize(("metric", "left", "right", "expected"), cases(__file__)["scores"])
def test_scores_of_hand_worked_pairs(metric: str, left: list[Any], right: list[Any], expected: Any) -> None:
    """Names, arguments and order, each for itself; answers in words have no tools."""
    score = METRICS[metric].score(pair(calls(*left), calls(*right)))
    assert expected == (score.reason if isinstance(score, Failure) else pytest.approx(score, abs=1e-6))


@pytest.mark.parametrize(("before", "after", "shifted", "expected"), cases(__file__)["differences"])
def test_first_difference_of_tool_calls(
    before: list[Any],
    after: list[Any],
    shifted: bool | None,  # noqa: FBT001 - a column of the table
    expected: list[Any],
) -> None:
    """Tools and their order differ by name; arguments and texts if the judge says so."""
    difference, tool, instead, *arguments = expected
    step = compared(calls(*before), calls(*after), shifted=shifted)
    assert step == ToolStep(difference, tool, instead, tuple(arguments))


def test_hostile_arguments_are_failures() -> None:
    """Too much text and too many calls are reasons, not hours; deep nesting is compared as text."""
    large = calls(("say", "x" * 600_000))
    many = calls(*(("say", f'{{"a": {i}}}') for i in range(80)))
    deep = calls(("say", '{"a":' * 5000))
    assert reason(ToolArgumentsMatch().score(pair(large, large))) == "too_large"
    assert reason(ToolArgumentsMatch().score(pair(many, many))) == "too_large"
    assert ToolArgumentsMatch().score(pair(deep, calls(("say", '{"a":')))) == 0.0


CALLS = st.lists(
    st.tuples(
        st.sampled_from(("a", "b", "c")), st.sampled_from(("{}", '{"q": "disk"}', '{"q": "mail', "text"))
    ),
    max_size=5,
)


@given(CALLS, CALLS)
def test_tool_metrics_are_bounded_symmetric_and_1_for_equal_calls(left, right) -> None:
    """Which answer is the reference does not matter."""
    for metric in METRICS.values():
        there = metric.score(pair(calls(*left), calls(*right)))
        back = metric.score(pair(calls(*right), calls(*left)))
        if isinstance(there, Failure):
            assert reason(back) == there.reason
            continue
        assert 0 <= there <= 1
        assert there == pytest.approx(back)
        assert not left or metric.score(pair(calls(*left), calls(*left))) == pytest.approx(1.0)
