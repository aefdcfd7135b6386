"""Ranks of new answers: by hand, and uniform while nothing changes."""

import functools
import random

import pytest

from evenkeel.core.pair import Answer, ToolCall
from evenkeel.metrics.similarity.likeness import likeness
from evenkeel.shadow.references.ranking import alike, ranked, text_of

SAME = [Answer("It is four days.")] * 3


def test_the_odd_answer_has_the_lowest_rank():
    """Each of the three is like two others and unlike the new one, which is unlike all."""
    odd = Answer("Please call our office; nobody here can say.")
    found = ranked(SAME, odd)
    assert (found.compared, found.below, found.ties) == (4, 0, 1)
    assert found.likeness == pytest.approx(likeness(SAME[0].text, odd.text))
    assert found.own == 1.0
    assert found.former is None


def test_the_same_answers_tie():
    found = ranked(SAME, SAME[0])
    assert (found.compared, found.below, found.ties, found.likeness, found.own) == (4, 0, 4, 1.0, 1.0)


def test_an_answer_in_the_middle():
    """The odd one ranks below the three that are alike."""
    found = ranked([*SAME, Answer("No idea at all, sorry!")], SAME[0])
    assert (found.compared, found.below, found.ties) == (5, 1, 4)
    assert found.own < found.likeness < 1.0


def test_without_earlier_answers_nothing_is_said():
    """One earlier answer is too few; answers from before the last change are compared apart."""
    assert ranked([], SAME[0]) == (1, 0, 1, 0.0, 0.0, None)
    assert ranked(SAME[:1], SAME[0])[:5] == (2, 0, 2, 1.0, 0.0)
    assert ranked([], SAME[0], SAME[:2]).former == 1.0


def test_calls_of_tools_are_compared_too():
    call = ToolCall("refund", '{"order": 7}')
    assert text_of(Answer("One moment.", (call,))) == 'One moment.\nrefund({"order": 7})'
    refunds = [Answer("", (call,))] * 3
    assert ranked(refunds, Answer("", (ToolCall("cancel", '{"order": 7, "why": "late"}'),))).below == 0
    assert ranked(refunds, Answer("", (call,))).ties == 4


def test_ranks_are_uniform_whatever_the_noise():
    """Over bags of five answers drawn from the same texts, each of five ranks comes as often as another."""
    chance = random.Random(5)
    texts = ["It is four days.", "Four days.", "About four days, I think.", "It takes four days or so."]
    counts = [0] * 5
    remembered = functools.cache(alike)
    for _ in range(5000):
        *bag, new = (Answer(text) for text in chance.choices(texts, weights=(6, 3, 2, 1), k=5))
        found = ranked(bag, new, alike=remembered)
        counts[found.below + chance.randrange(found.ties)] += 1
    # Chi-square of four degrees of freedom: above 18.5 in one of a thousand.
    assert sum((count - 1000) ** 2 / 1000 for count in counts) < 18.5
