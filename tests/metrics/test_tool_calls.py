"""Names, arguments and order of tool calls."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.core.pair import Answer, Pair, ToolCall
from evenkeel.core.verdict import ToolStep
from evenkeel.metrics.tool_calls import SameCalls, compared
from tests.cases import cases


def calls(*named):
    return Answer("", tuple(ToolCall(*((call, "{}") if isinstance(call, str) else call)) for call in named))


def pair(reference, candidate):
    return Pair(reference, candidate, "")


def share(reference, candidate):
    score = SameCalls().measure_now(pair(reference, candidate))
    return None if score is None else score.candidate


@pytest.mark.parametrize(("left", "right", "expected"), cases(__file__)["scores"])
def test_scores_of_hand_worked_pairs(left, right, expected):
    """Only the same calls in the same order agree."""
    assert share(calls(*left), calls(*right)) == (
        None if expected is None else pytest.approx(expected, abs=1e-6)
    )


@pytest.mark.parametrize(("before", "after", "shifted", "expected"), cases(__file__)["differences"])
def test_first_difference_of_tool_calls(
    before,
    after,
    shifted,
    expected,
):
    """Tools and their order differ by name; arguments and texts if the judge says so."""
    difference, tool, instead, *arguments = expected
    step = compared(calls(*before), calls(*after), shifted=shifted)
    assert step == ToolStep(difference, tool, instead, tuple(arguments))


def test_hostile_arguments_are_compared_as_text():
    """Deep nesting and many calls take no hours."""
    deep = calls(("say", '{"a":' * 5000))
    many = calls(*(("say", f'{{"a": {number}}}') for number in range(500)))
    assert share(deep, calls(("say", '{"a":'))) == 0.0
    assert share(many, calls(*(("say", f'{{"a": {number}}}') for number in range(1, 501)))) == 499 / 500


CALLS = st.lists(
    st.tuples(
        st.sampled_from(("a", "b", "c")), st.sampled_from(("{}", '{"q": "disk"}', '{"q": "mail', "text"))
    ),
    max_size=5,
)


@given(CALLS, CALLS)
def test_agreement_of_calls_is_bounded_symmetric_and_1_for_equal_calls_alone(left, right):
    """Which answer is the reference does not matter."""
    there, back = share(calls(*left), calls(*right)), share(calls(*right), calls(*left))
    if there is None:
        assert back is None
        return
    assert there == back
    assert 0 <= there <= 1
    assert (there == 1) == (left == right)
