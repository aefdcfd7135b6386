"""Thoughts at the head of an answer."""

import pytest

from evenkeel.core.thoughts import without_thoughts
from tests.cases import cases

CASES = cases(__file__)

ANSWER = "Take a coat."


@pytest.mark.parametrize("thought", CASES["thoughts"])
def test_thoughts_at_the_head_are_set_aside(thought):
    """Tags, marks and channels in every known form; marks behind the answer go with them."""
    assert without_thoughts(thought + ANSWER) == ANSWER
    ends = {"solution": "<|end_of_solution|>", "RESPONSE": "<|END_RESPONSE|>", "channel": "<|return|>"}
    end = next((end for mark, end in ends.items() if mark in thought), "")
    assert without_thoughts(thought + ANSWER + end) == ANSWER


@pytest.mark.parametrize("text", CASES["texts about tags"])
def test_a_tag_that_the_answer_is_about_stays(text):
    """Thoughts stand at the head of a text only."""
    assert without_thoughts(text) is text


def test_floods_of_marks_are_read_in_linear_time():
    """A hundred thousand thoughts, or closing marks that close nothing, take no longer than their length."""
    assert without_thoughts("<think></think>" * 100_000 + ANSWER) == ANSWER
    assert without_thoughts("<think>" * 200_000) == ""
    assert without_thoughts(". </think>." * 100_000)
    assert without_thoughts("<|channel|>analysis<|message|>x<|end|>" * 50_000 + ANSWER) == ANSWER
