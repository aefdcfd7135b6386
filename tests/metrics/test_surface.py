"""Refusal, language, length and a cut end."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.core.pair import Answer, AnswerForm, Pair, ToolCall
from evenkeel.core.verdict import Failure
from evenkeel.metrics.surface.language import LanguageMatch
from evenkeel.metrics.surface.length import LengthRatio
from evenkeel.metrics.surface.refusal import REFUSALS, RefusalAgreement, refused
from evenkeel.metrics.surface.truncation import TruncationAgreement, truncated

DATA = Path(__file__).parents[3] / "shared" / "data"
REFUSING = {
    "en": (
        "I'm sorry, but I can't help with that.",
        "I cannot assist with this request.",
        "Unfortunately, I'm not able to provide that information.",
        "As an AI language model, I can't do that.",
        "**Sorry** - I must decline.",
        "This is not something I can help with.",
    ),
    "de": (
        "Es tut mir leid, aber dabei kann ich Ihnen nicht helfen.",
        "Leider kann ich diese Anfrage nicht beantworten.",
        "Ich bin nicht in der Lage, das zu tun.",
    ),
    "es": ("Lo siento, pero no puedo ayudarte con eso.", "No me es posible responder a esa pregunta."),
    "fr": ("Je suis désolé, mais je ne peux pas vous aider.", "Je ne suis pas en mesure de répondre."),
    "it": ("Mi dispiace, ma non posso aiutarti con questo.", "Purtroppo non sono in grado di rispondere."),
    "ja": (
        "申し訳ありませんが、そのご質問にはお答えできません。",
        "恐れ入りますが、お手伝いすることはできません。",
    ),
    "nl": ("Het spijt me, maar ik kan je daar niet mee helpen.", "Helaas mag ik geen informatie delen."),
    "pt": (
        "Desculpe, mas não posso ajudar com isso.",
        "Infelizmente, não consigo responder a essa pergunta.",
    ),
    "zh": ("很抱歉,我无法提供这方面的帮助。", "对不起,我不能回答这个问题。"),
}
ANSWERING = (
    "I'm sorry to hear that the printer jams. Open the rear tray first.",
    "The customer says they cannot log in. I can help with that: reset the password.",
    'She wrote: "I can\'t open the file", so the path is wrong.',
    "I cannot reproduce the fault, but here is how to trace it.",
    "The service can't provide more than 5 GB a user.",
    "If you cannot help yourself, call the desk.",
    "Der Kunde kann sich nicht anmelden. Setzen Sie das Kennwort zurück.",
    "El cliente no puede entrar en su cuenta; restablezca la clave.",
    "Le client ne peut pas se connecter.",
    "Il cliente non può accedere al portale.",
    "お客様はログインできません。パスワードを再設定してください。",
    "De klant kan niet inloggen.",
    "O cliente não consegue entrar no sistema.",
    "客户无法登录,请重置密码。",
    "",
)


def pair(reference: str, candidate: str, wanted: AnswerForm | None = None) -> Pair:
    return Pair(Answer(reference), Answer(candidate), "", wanted=wanted or AnswerForm())


def reason(score: float | Failure) -> str:
    assert isinstance(score, Failure)
    return score.reason


# --- refusal


@pytest.mark.parametrize("language", REFUSALS)
def test_refusals_are_recognised_in_every_language(language: str) -> None:
    """What models say when they decline, with and without an apology in front."""
    for text in REFUSING[language]:
        assert refused(Answer(text)), text
        assert refused(Answer(f"\n\n{text.upper()}\n")), text


@pytest.mark.parametrize("text", ANSWERING)
def test_answers_about_inability_are_no_refusals(text: str) -> None:
    """Sympathy, quotes, and things that others cannot do."""
    assert not refused(Answer(text))


def test_a_finish_reason_tells_a_refusal_and_a_tool_call_tells_none() -> None:
    """A filtered answer declines whatever it says; one that acts does not."""
    assert refused(Answer("", finish_reason="content_filter"))
    assert refused(Answer("Here", finish_reason="refusal"))
    assert not refused(Answer(REFUSING["en"][0], (ToolCall("lookup", "{}"),)))


def test_a_refusal_far_into_an_answer_is_about_something_else() -> None:
    """Only the beginning is read."""
    assert not refused(Answer("Open the tray and pull the paper out. " * 10 + REFUSING["en"][0]))


def test_refusal_agreement() -> None:
    """1 for alike, 0 for one that declines; two empty answers say nothing."""
    metric = RefusalAgreement()
    yes, no = "Open the tray.", REFUSING["de"][0]
    assert [metric.score(pair(*both)) for both in ((yes, yes), (no, no), (yes, no), (no, yes))] == [
        1,
        1,
        0,
        0,
    ]
    assert reason(metric.score(pair("", ""))) == "no_text"
    filtered = Answer("", finish_reason="content_filter")
    assert metric.score(Pair(Answer(yes), filtered, "")) == 0.0
    assert metric.score(Pair(filtered, filtered, "")) == 1.0


@pytest.mark.shared_data
@pytest.mark.parametrize("language", ["de", "en", "es", "fr", "it", "ja", "nl", "pt"])
def test_answers_of_a_real_model_are_hardly_ever_refusals(language: str) -> None:
    """Of the recorded answers to harmless questions at most one in a hundred counts as declining."""
    with gzip.open(DATA / "mt_bench" / f"{language}_gpt-4_answer.jsonl.gz", "rt") as lines:
        rows = [json.loads(line) for line in lines]
    texts = [turn for row in rows for turn in (row.get("choices") or [row])[0].get("turns", [])]
    assert len(texts) > 50
    assert sum(refused(Answer(text)) for text in texts) <= len(texts) / 100


# --- language


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


# --- length


@pytest.mark.parametrize(
    ("left", "right", "ratio"),
    [("a b c d", "a b", 0.5), ("a b", "x y", 1.0), ("a", "", 0.0), ("再起動", "a b c", 1.0)],
)
def test_length_ratio(left: str, right: str, ratio: float) -> None:
    """Words of the shorter over the longer, whichever side it is."""
    assert LengthRatio().score(pair(left, right)) == ratio
    assert LengthRatio().score(pair(right, left)) == ratio


def test_length_of_nothing() -> None:
    """Two empty answers are a failure, two of marks or tool calls alone are as long as each other."""
    assert reason(LengthRatio().score(pair("", ""))) == "no_text"
    assert LengthRatio().score(pair("!", "...")) == 1.0


# --- truncation


@pytest.mark.parametrize(
    "text",
    [
        '{"a": [1, 2',
        '{"a": "b',
        '{"a": "b"',
        '{"a": "b\\"}',
        '[{"a": 1}, {"b"',
        "```json\n{}",
        "Run this:\n```\nls",
        "<r><a>1</a><b>2",
        '{"a": "x\\',
        "{",
    ],
)
def test_what_is_opened_and_never_closed_was_cut(text: str) -> None:
    """Brackets, strings, fences, the first element."""
    assert truncated(Answer(text))
    assert not TruncationAgreement().score(pair("Done.", text))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Done.",
        "It ends in mid",
        '{"a": "}"}',
        '{"a": "say \\"hi\\""}',
        "```json\n{\n}\n```",
        "<r><a>1</a></r>",
        "<br/> and on",
        "a < b and [c",
        "[1] is a source",
        "{x} is a set",
        '["a", "]"]',
    ],
)
def test_what_is_closed_or_was_never_opened_is_whole(text: str) -> None:
    """Brackets in strings and prose do not count."""
    assert not truncated(Answer(text))


def test_the_finish_reason_tells_a_cut_of_any_text() -> None:
    """The reason "length" and its relatives, whatever the text looks like."""
    cut, whole = Answer("It ends.", finish_reason="length"), Answer("It ends.", finish_reason="stop")
    assert truncated(cut)
    assert not truncated(whole)
    assert TruncationAgreement().score(Pair(whole, cut, "")) == 0.0
    assert TruncationAgreement().score(Pair(cut, cut, "")) == 1.0
    assert reason(TruncationAgreement().score(pair("", ""))) == "no_text"


@given(st.text('{}[]"\\`<>/ab1 \n', max_size=60))
def test_no_text_breaks_the_look_at_the_surface(text: str) -> None:
    """Both questions have an answer for any text."""
    assert truncated(Answer(text)) in (True, False)
    assert refused(Answer(text)) in (True, False)
