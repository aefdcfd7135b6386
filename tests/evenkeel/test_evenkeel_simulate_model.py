"""Which state an answer is in."""

from __future__ import annotations

import random
from math import sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.simulate import (
    Condition,
    Message,
    SimulatedModel,
    make_case,
    summary_prompt,
)
from evenkeel.simulate.model import prompt_digest, read

MESSAGES = st.lists(
    st.builds(Message, st.sampled_from(["system", "user", "assistant", "tool"]), st.text(max_size=60)),
    max_size=4,
)


def prompt(number: int) -> tuple[Message, ...]:
    """A prompt unlike all others."""
    return (Message("user", f"prompt number {number}"),)


def share(count: int, total: int, expected: float) -> bool:
    """Whether a count is within four standard errors of its expectation."""
    return abs(count / total - expected) <= 4 * sqrt(expected * (1 - expected) / total)


@given(MESSAGES, st.floats(0, 1), st.floats(0, 1))
def test_without_noise_the_bytes_decide(messages, fragility, worse_share):
    """Equal prompts get equal answers, whatever the random generator says."""
    model = SimulatedModel(fragility, 0.0, worse_share)
    assert model.answer(messages, random.Random(1)) == model.answer(list(messages), random.Random(2))




def test_shares_of_conditions():
    """Over many prompts the three states occur as often as planted."""
    model, rng = SimulatedModel(fragility=0.2, noise=0.1, worse_share=0.3), random.Random(7)
    total = 20_000
    seen = [model.condition(prompt(number), rng) for number in range(total)]
    # G = .8 × .9 = .72, W = .3 × .28 = .084, D = .7 × .28 = .196
    assert share(seen.count(Condition.GOOD), total, 0.72)
    assert share(seen.count(Condition.WORSE), total, 0.084)
    assert share(seen.count(Condition.DIFFERENT), total, 0.196)


def test_noise_spares_fragile_prompts():
    """Resending a fragile prompt gives the same bad answer each time; a sound one shows the noise."""
    model = SimulatedModel(fragility=0.5, noise=0.5, worse_share=0.5)
    rng = random.Random(3)
    steady = 0
    for number in range(200):
        seen = {model.condition(prompt(number), rng) for _ in range(40)}
        assert len(seen) == 1 or Condition.GOOD in seen
        steady += len(seen) == 1
    assert share(steady, 200, 0.5)






@pytest.mark.parametrize(
    ("left", "right"),
    [
        ([Message("user", "a")], [Message("system", "a")]),
        ([Message("user", "a")], [Message("user", "a ")]),
        ([Message("user", "ab"), Message("user", "c")], [Message("user", "a"), Message("user", "bc")]),
        ([Message("user", "a")], [Message("user", "a"), Message("user", "")]),
        ([Message("user", "auserb")], [Message("user", "a"), Message("user", "b")]),
        ([Message("user", "é")], [Message("user", "e\u0301")]),
        ([Message("user", "\ud800")], [Message("user", "\ud801")]),
    ],
)
def test_digest_sees_every_byte(left, right):
    """Roles, texts and where they end all count, half of a surrogate pair too."""
    assert prompt_digest(left) != prompt_digest(right)


def test_reading_prefers_the_user():
    """The user's words are read; a prompt of another role alone is read as a whole."""
    case = make_case(4)
    chat = [Message("system", "Mind INC-99999."), Message("user", summary_prompt(case))]
    assert read(chat).details == case.details
    assert read(chat).topic is case.topic
    assert read([Message("system", summary_prompt(case))]).topic is case.topic




def test_last_turn_of_other_talk():
    """Without a case the last thing that the user said is answered."""
    turns = [Message("user", "First question."), Message("assistant", "Yes."), Message("user", "And then?")]
    assert SimulatedModel().answer(turns, random.Random(0)) == "You wrote: And then."


