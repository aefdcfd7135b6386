"""Words, stems, and ROUGE-L of them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rapidfuzz.distance import LCSseq

from evenkeel.core.pair import Answer, Pair, ToolCall
from evenkeel.metrics.similarity.sequence import RougeL, common_length, rouge_l
from evenkeel.metrics.similarity.words import _WORD as WORD
from evenkeel.metrics.similarity.words import (
    GLUE,
    content_words,
    stem,
    words,
)
from evenkeel.metrics.tool_calls import ToolCalls

METRICS = (RougeL(), ToolCalls())


@pytest.mark.parametrize(
    ("first", "second", "score"), [("", "", 1.0), ("a", "", 0.0), ("a b", "c d", 0.0), ("A-b", "a b", 1.0)]
)
def test_rouge_l_at_its_ends(first, second, score):
    """Two empty sides are the same, one is nothing in common, case and punctuation do not count."""
    assert rouge_l(first, second) == score


@given(
    st.text(st.characters(max_codepoint=127), max_size=80),
    st.text(st.characters(max_codepoint=127), max_size=80),
)
def test_rouge_l_agrees_with_the_reference_package(first, second):
    """The score of ASCII texts equals the rouge-score package's to 1e-9, empty sides aside."""
    from rouge_score.rouge_scorer import RougeScorer  # noqa: PLC0415 - imports nltk: only where it is needed

    if words(first) or words(second):
        expected = RougeScorer(["rougeL"]).score(first, second)["rougeL"].fmeasure
        assert rouge_l(first, second) == pytest.approx(expected, abs=1e-9)


def test_words_of_scripts_without_spaces_are_single_characters():
    """Japanese text gives comparable tokens instead of one long word or none."""
    assert words("接続OK、再起動") == ["接", "続", "ok", "再", "起", "動"]
    assert rouge_l("接続できない", "接続できた") > 0.7


def test_accented_words_stay_whole():
    assert words("Größe, déjà_vu") == ["größe", "déjà", "vu"]


@given(
    st.lists(
        st.sampled_from("Plain caf\u00e9 don\u2019t x_y \u2026 \u2014 \u6f22\u5b57 5.2 \u0130 \n".split(" "))
        | st.text(max_size=5),
        max_size=60,
    ).map(" ".join)
)
def test_words_are_the_runs_of_letters_and_digits_however_they_are_cut(text):
    """Words are the expression's runs in ASCII, with typographic marks and in other scripts."""
    plain = WORD.findall(text.lower())
    assert words(text) == words(text) == plain
    assert content_words(text) == (frozenset(plain) - GLUE or frozenset(plain))


def test_the_list_of_words_is_the_callers_own():
    text = "restart the pump " * 20
    words(text).clear()
    assert words(text)[:3] == ["restart", "the", "pump"]


@given(st.text("abc", max_size=12), st.text("abc", max_size=12))
def test_comparisons_that_let_other_threads_run_are_those_that_do_not(left, right):
    """Lengths of common subsequences are those of rapidfuzz's functions for one pair."""
    assert common_length(list(left), list(right)) == LCSseq.similarity(left, right)


def test_forms_of_a_word_share_a_stem():
    """Plural, past and -ing forms come together, also of words ending in e."""
    assert len({stem(form) for form in ("restart", "restarts", "restarted", "restarting")}) == 1
    assert len({stem(form) for form in ("update", "updates", "updated", "updating")}) == 1
    assert stem("address") == "address"
    assert stem("inc00469") == "inc00469"


def test_a_text_of_glue_keeps_its_words():
    """Answers of function words alone can still be told apart."""
    assert content_words("It is") == {"it", "is"}


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_metrics_fail_on_two_empty_answers(metric):
    """No metric makes a number out of nothing; the failure carries its name and version."""
    outcome = metric.score(Pair(Answer(""), Answer("  "), "context"))
    assert (outcome.metric, outcome.version, outcome.reason) == (metric.name, metric.version, "no_text")


def test_rouge_l_takes_answers_of_tool_calls_alone():
    """Two answers that only call tools have equal (empty) texts."""
    pair = Pair(Answer("", (ToolCall("f", "{}"),)), Answer("", (ToolCall("g", "{}"),)), "")
    assert RougeL().score(pair) == 1.0


def test_words_of_any_length_have_a_stem():
    assert stem("connections") == "connection"
    assert stem("connection" * 10 + "s") == "connection" * 10
