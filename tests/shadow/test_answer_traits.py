"""Traits of answers and sketches of prompts: what they tell, how far they go, and what they cost to store."""

from __future__ import annotations

import json
import random

import msgspec
import pytest

from evenkeel.core.answer_traits import MOST, STEP, TRAITS
from evenkeel.core.pair import Answer, ToolCall
from evenkeel.shadow.answer_traits import sketch_of, traits_of
from evenkeel.shadow.prompt import PromptView

PLACES = {trait.name: place for place, trait in enumerate(TRAITS)}


def value(answer: Answer | str, name: str) -> float:
    """A trait in its unit."""
    given = Answer(answer) if isinstance(answer, str) else answer
    place = PLACES[name]
    return TRAITS[place].value(traits_of(given)[place])


def prompt(user: str, system: str = "") -> PromptView:
    messages = [{"role": "system", "content": system}] if system else []
    return PromptView.parse(json.dumps({"messages": [*messages, {"role": "user", "content": user}]}).encode())


def cosine(one: PromptView, other: PromptView) -> float:
    a, b = sketch_of(one), sketch_of(other)
    norm = sum(x * x for x in a) * sum(x * x for x in b)
    return sum(x * y for x, y in zip(a, b, strict=True)) / norm**0.5


@pytest.mark.parametrize(
    ("answer", "name", "expected"),
    [
        ("x" * 400, "characters", 400),  # ln 401 / 3 = 1.998: rounded to 2.00, which is 402
        ("one two three four. Five six.", "words_a_sentence", 3),  # six words, two sentences
        ("# Head\n\n- a\n- b\n1. c", "bullets", 50),  # two of four lines
        ("# Head\n\n- a\n- b\n1. c", "headings", 25),
        ("I'm sorry, but I can't help with that.", "refusal", 100),
        ("Lo siento, no puedo ayudar con eso.", "refusal", 100),
        ("Here you are.", "refusal", 0),
        ("**a** and **b**", "bold", 2),
        ('{"a": 1}', "begins_object", 100),
        ("a,b,c,d,e,", "commas", 416),  # five of ten are 500 in 1,000, and the scale ends at 416
        (Answer("cut", finish_reason="length"), "cut_off", 100),
        (Answer("done", finish_reason="end_turn"), "odd_end", 0),
        (Answer("x" * 40, completion_tokens=10), "characters_a_token", 4),
        (Answer("", tool_calls=(ToolCall("f", "{}"),)), "tool_calls", 1),
        (Answer("a", mean_logprob=-0.5), "unlikeliness", 0.5),
    ],
)
def test_a_trait_is_told_in_its_unit(answer, name, expected):
    """What was counted by hand comes back, but for the rounding."""
    assert value(answer, name) == pytest.approx(expected, rel=0.05, abs=0.02)


def test_equal_answers_have_equal_traits_and_others_other_ones():
    """Opening words, closing words and vocabulary tell two answers of one length apart."""
    assert traits_of(Answer("Yes, it is.")) == traits_of(Answer("Yes, it is."))
    one, other = traits_of(Answer("Yes, it is so.")), traits_of(Answer("No, I am not."))
    assert one[PLACES["opening_word_0"] :] != other[PLACES["opening_word_0"] :]


HOSTILE = [
    "",
    " ",
    "\n" * 100_000,
    "\ud800",
    "\x00" * 50,
    "a" * 3_000_000,
    "`" * 500_000,
    "$a" * 500_000,
    "[.!?" * 250_000,
    '."' * 500_000,
    "中文。" * 200_000,
    "🙂" * 100_000,
    "x\u202e" * 10_000,
    "- " * 200_000,
    "١٢٣" * 1000,
]


@pytest.mark.parametrize("text", HOSTILE)
def test_any_text_has_traits_within_their_bounds(text):
    """Every trait is a multiple of the step in [0, 5.1], whatever the text."""
    found = traits_of(Answer(text, completion_tokens=1, finish_reason="\ud800"))
    assert len(found) == len(TRAITS)
    assert all(0 <= one <= MOST and one == round(round(one / STEP) * STEP, 2) for one in found)
    assert len(sketch_of(prompt(text or "x"))) == 32


def test_numbers_beyond_reason_stay_within_the_bounds():
    """An endpoint may claim any count of tokens or log-probability."""
    answer = Answer("a", completion_tokens=10**12, mean_logprob=-1e308)
    assert all(0 <= one <= MOST for one in traits_of(answer))


def test_a_note_stays_small():
    """Traits and sketch of a long answer in many words take less than 600 bytes."""
    chance = random.Random(1)
    text = " ".join("".join(chance.choices("abcdefgh", k=5)) for _ in range(2000))
    assert len(msgspec.json.encode((traits_of(Answer(text)), sketch_of(prompt(text))))) < 600


TEMPLATE = (
    "You are a helpful assistant of a shop. Answer politely, in one paragraph, and never mention prices. " * 5
)


def test_what_the_user_says_weighs_more_than_the_template():
    """Under one long template, other questions are unlike, and near-equal ones are alike."""
    question = prompt("How do I return a parcel that came damaged?", TEMPLATE)
    same = prompt("How do I return a parcel which came damaged?", TEMPLATE)
    other = prompt("Write a poem about winter in Norway, please.", TEMPLATE)
    assert cosine(question, same) > 0.8
    assert cosine(question, other) < 0.6
    assert cosine(question, question) == pytest.approx(1)


def test_an_empty_prompt_has_an_empty_sketch():
    """Nothing said is like nothing."""
    assert sketch_of(prompt("")) == (0,) * 32
