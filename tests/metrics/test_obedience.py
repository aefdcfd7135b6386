"""Form that a variant asks for, and answers that ignore it."""

from __future__ import annotations

import pytest

from evenkeel.core.pair import Answer, AnswerForm, Pair
from evenkeel.metrics.obedience import ignored
from tests.cases import cases

CASES = cases(__file__)


def by_mark(text):
    """Tells three languages by one word each."""
    for word, tag in (("the", "en"), ("der", "de"), ("la", "fr")):
        if word in text.split():
            return tag
    return None


@pytest.mark.parametrize(("candidate", "wanted", "expected"), CASES["answers"])
def test_an_answer_owes_the_language_asked_for(candidate, wanted, expected):
    pair = Pair(Answer("x"), Answer(candidate), "", wanted=AnswerForm(language=wanted))
    assert ignored(pair, by_mark) == tuple(expected)


def test_an_extraction_owes_no_language():
    """The values of an extraction are copied from the prompt, in whatever language that is."""
    answer = Answer('{"a": "the tray is stuck"}')
    assert ignored(Pair(Answer("x"), answer, "", "slot_filling", AnswerForm(language="de")), by_mark) == ()
