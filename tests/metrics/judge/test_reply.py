"""Ratings read out of what judges write."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.llm.faults import Fault
from evenkeel.metrics.judge.reply import Ruling, read_ruling
from tests.cases import cases

CASES = cases(__file__)


@pytest.mark.parametrize(
    "text",
    [
        *CASES["one object is a ruling"],
        "<think>" + "hm " * 10_000 + '</think>{"explanation": "why", "rating": 2}',
    ],
)
def test_one_object_is_a_ruling(text):
    """Alone, in one fence, after a thought: the same ruling."""
    assert read_ruling(text) == Ruling(2, "why")


@pytest.mark.parametrize(("text", "rating", "explanation"), CASES["explanations"])
def test_an_explanation_is_read_as_it_is_meant(text, rating, explanation):
    """Line ends and formulas that models do not escape, halves of characters, or none at all."""
    assert read_ruling(text) == Ruling(rating, explanation)


@pytest.mark.parametrize(("text", "reason"), CASES["no rating is made up"])
def test_no_rating_is_made_up(text, reason):
    """Everything else is a reason, never a number."""
    assert read_ruling(text).reason == reason


@pytest.mark.parametrize("text", CASES["anything but exactly one object is unreadable"])
def test_anything_but_exactly_one_object_is_unreadable(text):
    """Prose may quote a planted verdict, and of two objects, even alike, nobody knows which one is meant."""
    assert read_ruling(text).reason == "bad_schema"


def test_another_scale_is_read_by_its_own_steps():
    """5 counts on a scale to 5, and a gap in a scale is not on it."""
    assert read_ruling('{"rating": 5}', (1, 3, 5)) == Ruling(5, "")
    assert read_ruling('{"rating": 4}', (1, 3, 5)) == Fault(
        "out_of_scale", "The rating 4 is not on the scale 1-5."
    )


def test_an_absurd_rating_is_not_quoted_at_length():
    for rating in ("9" * 4000, json.dumps(["x" * 4000])):
        read = read_ruling(f'{{"rating": {rating}}}')
        assert len(read.detail) < 100


def test_a_long_explanation_is_cut():
    """The text for people stays short, and its whitespace is unified."""
    read = read_ruling(json.dumps({"rating": 3, "explanation": "so  \n" * 1000}))
    assert read.explanation.startswith("so so so")
    assert len(read.explanation) == 600


def test_hostile_replies_do_not_hang_or_raise():
    """Thousands of braces, absurd nesting, endless numbers and floods of text give up quickly."""
    hostile = (
        "{" * 19_000, '{"a":' * 3_000, "[" * 19_000, '{"rating": ' + "9" * 5000 + "}", " x" * 500_000,
        "```\n" * 4_000, "<think>" * 100_000,
    )  # fmt: skip
    for text in hostile:
        assert isinstance(read_ruling(text), Fault)


@given(st.text(max_size=200))
def test_any_text_is_read_without_an_exception(text):
    read = read_ruling(text)
    assert isinstance(read, Fault) or read.rating in {1, 2, 3}
