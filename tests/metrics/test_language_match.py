"""Language of an answer against the one it should have."""

from __future__ import annotations

from evenkeel.core.pair import Answer, AnswerForm, Pair
from evenkeel.core.verdict import Failure
from evenkeel.metrics.language_match import LanguageMatch
from evenkeel.metrics.obedience import ignored
from tests.kit.records import altered


def pair(reference: str, candidate: str, wanted: AnswerForm | None = None) -> Pair:
    return Pair(Answer(reference), Answer(candidate), "", wanted=wanted or AnswerForm())


def reason(score: float | Failure) -> str:
    assert isinstance(score, Failure)
    return score.reason


def by_mark(text: str) -> str | None:
    """Tells three languages by one word each."""
    return next(
        (tag for word, tag in (("the", "en"), ("der", "de"), ("la", "fr")) if word in text.split()), None
    )


def test_language_match_follows_what_was_asked_for_or_else_the_reference() -> None:
    """Regions do not count."""
    metric = LanguageMatch(by_mark)
    assert metric.score(pair("the tray", "open the tray")) == 1.0
    assert metric.score(pair("the tray", "der Schacht")) == 0.0
    assert metric.score(pair("the tray", "der Schacht", AnswerForm(language="de-AT"))) == 1.0
    assert metric.score(pair("the tray", "open the tray", AnswerForm(language="de"))) == 0.0


def test_only_values_of_a_structured_answer_tell_its_language() -> None:
    """English keys around German text are a German answer."""
    text = '{"the": "der Schacht klemmt"}'
    assert LanguageMatch(by_mark).score(pair("x", text, AnswerForm(language="de"))) == 1.0


def test_an_uncertain_language_is_a_failure() -> None:
    """Neither a short candidate nor a short reference is guessed at; no text is another reason."""
    metric = LanguageMatch(by_mark)
    assert reason(metric.score(pair("the tray", "ok"))) == "unknown_language"
    assert reason(metric.score(pair("ok", "the tray"))) == "unknown_language"
    assert metric.score(pair("ok", "the tray", AnswerForm(language="en"))) == 1.0
    assert reason(metric.score(pair("the tray", " "))) == "no_text"
    assert reason(metric.score(pair("", "the tray"))) == "no_text"


def test_an_extraction_owes_no_language() -> None:
    """Its values are copied from the prompt, in whatever language that is."""
    answered = pair("x", '{"a": "the tray is stuck"}', AnswerForm(language="de"))
    assert ignored(answered, by_mark) == ("language",)
    assert ignored(altered(answered, task="slot_filling"), by_mark) == ()
