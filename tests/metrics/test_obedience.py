"""Form that a variant asks for, and answers that ignore it."""

import pytest

from evenkeel.core.languages import language_of
from evenkeel.core.pair import Answer, AnswerForm, Pair
from evenkeel.metrics.scoring import ignored, is_valid
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


@pytest.mark.parametrize(("wanted", "text"), CASES["in the language"])
def test_an_answer_in_the_language_asked_for_is_never_called_another(wanted, text):
    """Related languages, other tags of one, and quotations are not held against an answer."""
    pair = Pair(Answer("x"), Answer(text), "", wanted=AnswerForm(language=wanted))
    assert ignored(pair, language_of) == ()


@pytest.mark.parametrize(("form", "text"), CASES["in the format"])
def test_every_way_to_write_a_format_is_valid(form, text):
    """Unusual, and right all the same."""
    assert is_valid(text, form)
