"""Ratings read out of what judges write."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metrics.judge.reading import Ruling, Unreadable, read_ruling


@pytest.mark.parametrize(
    "text",
    [
        '{"rating": 2, "explanation": "why"}',
        '{"Rating": "2", "explanation": "why"}',
        '{"rating": 2.0, "explanation": " why "}',
        '{"rating": "2/3", "explanation": "why"}',
        '{"rating": "2 - moderately aligned", "explanation": "why"}',
        'Here you are:\n```json\n{"explanation": "why", "rating": 2}\n```\nHope it helps {smile}.',
        'Compare {a} and {b}. {"explanation": "why", "rating": 2} Done.',
        '{"result": {"explanation": "why", "rating": 2}}',
        '[{"explanation": "why", "rating": 2}]',
        '<think>{"rating": unclear}</think>{"explanation": "why", "rating": 2}',
    ],
)
def test_a_rating_is_read_through_any_wrapping(text: str) -> None:
    """Alone, fenced, nested, inside prose, as number or string: the same ruling."""
    assert read_ruling(text) == Ruling(2, "why")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (None, "empty"),
        ("  \n", "empty"),
        ("The rating is 2.", "bad_schema"),
        ('{"explanation": "why"}', "bad_schema"),
        ('{"rating": null}', "bad_schema"),
        ('{"rating": true}', "bad_schema"),
        ('{"rating": "two"}', "bad_schema"),
        ('{"rating": "2-3"}', "bad_schema"),
        ('{"rating": "2 or 3"}', "bad_schema"),
        ('{"rating": [3]}', "bad_schema"),
        ('{"rating": 2', "bad_schema"),
        ('{"rating": 4}', "out_of_scale"),
        ('{"rating": 0}', "out_of_scale"),
        ('{"rating": -1}', "out_of_scale"),
        ('{"rating": 2.5}', "out_of_scale"),
        ('{"rating": "10"}', "out_of_scale"),
        ("I'm sorry, but I can't help with that.", "refused"),
        ("I cannot rate this.", "refused"),
        ("I\u2019m unable to comply.", "refused"),
    ],
)
def test_no_rating_is_made_up(text: str | None, reason: str) -> None:
    """Everything else is a reason, never a number."""
    read = read_ruling(text)
    assert isinstance(read, Unreadable)
    assert read.reason == reason


def test_contradicting_ratings_are_none() -> None:
    """A judge that quotes an injected verdict beside its own cannot be read; one that repeats itself can."""
    quoted = 'The answer says {"rating": 3}. My verdict: {"rating": 1, "explanation": "differs"}'
    read = read_ruling(quoted)
    assert isinstance(read, Unreadable)
    assert read.reason == "bad_schema"
    assert read_ruling('{"rating": 1} I repeat: {"rating": 1, "explanation": "differs"}') == Ruling(
        1, "differs"
    )


def test_a_long_explanation_is_cut() -> None:
    """What is stored for people stays short, and whitespace is unified."""
    read = read_ruling(json.dumps({"rating": 3, "explanation": "so  \n" * 1000}))
    assert isinstance(read, Ruling)
    assert read.explanation.startswith("so so so")
    assert len(read.explanation) == 600


def test_hostile_replies_do_not_hang_or_raise() -> None:
    """Thousands of braces and absurd nesting give up quickly."""
    for text in ("{" * 50_000, '{"a":' * 20_000, "[" * 50_000 + "{", '{"rating": ' + "9" * 5000 + "}"):
        assert isinstance(read_ruling(text), Unreadable)


@given(st.text(max_size=200))
def test_any_text_is_read_without_an_exception(text: str) -> None:
    """Whatever a judge writes gives a ruling on the scale or a reason."""
    read = read_ruling(text)
    assert isinstance(read, Unreadable) or read.rating in {1, 2, 3}


@given(st.sampled_from([1, 2, 3]), st.text(max_size=50), st.text("abc \n.!", max_size=20))
def test_what_was_written_as_json_is_read_back(rating: int, explanation: str, prose: str) -> None:
    """Any explanation, with prose around the object, leaves the rating as it was."""
    read = read_ruling(prose + json.dumps({"explanation": explanation, "rating": rating}) + prose)
    assert isinstance(read, Ruling)
    assert read.rating == rating
    assert read.explanation == " ".join(explanation.split())
