"""Recognising topics in clean, mistyped and unrelated text."""

from __future__ import annotations

import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.simulate import make_case, summary_prompt
from evenkeel.simulate.recognition import TopicVote
from evenkeel.simulate.topics import TOPICS

VOTE = TopicVote()


def mistype(text: str, share: float, rng: random.Random) -> str:
    """Swap, drop, double or replace one letter in a share of all longer words."""

    def word(match: re.Match[str]) -> str:
        letters = match.group()
        if rng.random() >= share:
            return letters
        at = rng.randrange(1, len(letters) - 1)
        before, here, after = letters[:at], letters[at], letters[at + 1 :]
        return before + rng.choice((after[0] + here + after[1:], after, here + here + after, "q" + after))

    return re.sub(r"[A-Za-z]{4,}", word, text)






@pytest.mark.parametrize("share", [0, 0.5, 1])
def test_cases_are_recognised_with_typing_errors(share):
    """Even with an error in every longer word, and in capitals, every case is recognised."""
    for seed in range(150):
        case = make_case(seed)
        text = mistype(summary_prompt(case), share, random.Random(seed))
        assert VOTE.recognise(text) is case.topic
        assert VOTE.recognise(text.upper()) is case.topic


@given(st.text(max_size=300))
def test_arbitrary_text_has_no_topic(text):
    """Text that is not about the catalogue is no topic's."""
    assert VOTE.recognise(text) is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "What is the capital of Australia, and since when?",
        "Explain sequential testing to a newcomer, with one example from medicine and one from brewing.",
        "My printer is broken.",
        TOPICS[0].name + " " + TOPICS[1].name,
    ],
)
def test_other_prompts_have_no_topic(text):
    """A question on something else, or a mere mention of a subject, is not taken for a case."""
    assert VOTE.recognise(text) is None


def test_two_topics_are_no_topic():
    """A text that is as much about one topic as about another is given to neither."""
    clauses = [" ".join((*topic.first, *topic.second)) for topic in TOPICS[:2]]
    assert VOTE.recognise(clauses[0]) is TOPICS[0]
    assert VOTE.recognise(" ".join(clauses)) is None


