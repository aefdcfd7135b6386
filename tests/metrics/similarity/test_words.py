"""Words, stems, typos, and the three wording metrics built on them."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rapidfuzz.distance import Indel, LCSseq

from evenkeel.core.pair import Answer, Pair, ToolCall
from evenkeel.core.verdict import Failure
from evenkeel.metrics.similarity.content_words import ContentWords, word_overlap
from evenkeel.metrics.similarity.sequence import (
    EditSimilarity,
    RougeL,
    common_length,
    edit_similarity,
    indel_similarity,
    rouge_l,
)
from evenkeel.metrics.similarity.words import _WORD as WORD
from evenkeel.metrics.similarity.words import (
    GLUE,
    content_words,
    matched_count,
    misspellable,
    nearest,
    same_word,
    stem,
    words,
)
from evenkeel.metrics.tool_calls import ToolCalls

METRICS = (RougeL(), EditSimilarity(), ContentWords(), ToolCalls())


def test_rouge_l_of_a_hand_worked_pair() -> None:
    """Six words against five with "the cat on mat" in common: F1 = 2 * 4 / 11."""
    assert rouge_l("the cat sat on the mat", "the cat lay on mat") == pytest.approx(8 / 11)


@pytest.mark.parametrize(
    ("first", "second", "score"), [("", "", 1.0), ("a", "", 0.0), ("a b", "c d", 0.0), ("A-b", "a b", 1.0)]
)
def test_rouge_l_at_its_ends(first: str, second: str, score: float) -> None:
    """Two empty sides are the same, one is nothing in common, case and punctuation do not count."""
    assert rouge_l(first, second) == score


@given(
    st.text(st.characters(max_codepoint=127), max_size=80),
    st.text(st.characters(max_codepoint=127), max_size=80),
)
def test_rouge_l_agrees_with_the_reference_package(first: str, second: str) -> None:
    """On ASCII text the score equals the rouge-score package's to 1e-9, empty sides aside."""
    from rouge_score.rouge_scorer import RougeScorer  # noqa: PLC0415 - imports nltk: only where it is needed

    if words(first) or words(second):
        expected = RougeScorer(["rougeL"]).score(first, second)["rougeL"].fmeasure
        assert rouge_l(first, second) == pytest.approx(expected, abs=1e-9)


def test_words_of_scripts_without_spaces_are_single_characters() -> None:
    """Japanese text gives comparable tokens instead of one long word or none."""
    assert words("接続OK、再起動") == ["接", "続", "ok", "再", "起", "動"]
    assert rouge_l("接続できない", "接続できた") > 0.7


def test_accented_words_stay_whole() -> None:
    """Letters beyond ASCII belong to their word."""
    assert words("Größe, déjà_vu") == ["größe", "déjà", "vu"]


def test_edit_similarity_of_a_hand_worked_pair() -> None:
    """Four letters against three of them: common subsequence 3, so 1 - (7 - 6) / 7."""
    assert edit_similarity("AB cd", "a-bd!") == pytest.approx(6 / 7)


def test_edit_similarity_survives_lost_spaces() -> None:
    """Glued words cost nothing in letters though they cost whole words."""
    assert edit_similarity("the server restarted", "theserver restarted") == 1.0
    assert rouge_l("the server restarted", "theserver restarted") < 0.5


def test_word_overlap_of_a_hand_worked_pair() -> None:
    """{printer, jam, floor} against {printer, jam}: (2 + 2) / 5, glue and order aside."""
    assert word_overlap("The printer jams on the floor", "a jam in this printer") == pytest.approx(4 / 5)


def test_word_overlap_forgives_typos_but_not_other_words() -> None:
    """A swapped, lost or doubled letter keeps a word; another word stays another."""
    assert word_overlap("customer password expired", "cusotmer pasword expierd") == 1.0
    assert word_overlap("password expired", "keyboard broken") == 0.0


@pytest.mark.parametrize(
    ("word", "other", "same"),
    [
        ("reset", "reste", True),
        ("server", "sevrer", True),
        ("cat", "car", False),
        ("authentication", "authentcatoin", True),
        ("inc00469", "inc00468", False),
        ("router", "printer", False),
    ],
)
def test_same_word_allows_typos_by_length(word: str, other: str, same: bool) -> None:  # noqa: FBT001 - a table
    """One edit from four letters, two from eight, none in short words and anything with digits."""
    assert same_word(word, other) is same
    assert (nearest(word, misspellable([other, "unrelated"])) is not None) is same


@given(
    st.lists(
        st.sampled_from(
            [
                "Plain",
                "caf\u00e9",
                "don\u2019t",
                "x_y",
                "\u2026",
                "\u2014",
                "\u6f22\u5b57",
                "5.2",
                "\u0130",
                "\n",
            ]
        )
        | st.text(max_size=5),
        max_size=60,
    ).map(" ".join)
)
def test_words_are_the_runs_of_letters_and_digits_however_they_are_cut(text: str) -> None:
    """In ASCII, with typographic marks and in other scripts, short and long: always the expression's runs."""
    plain = WORD.findall(text.lower())
    assert words(text) == words(text) == plain
    assert content_words(text) == (frozenset(plain) - GLUE or frozenset(plain))


def test_the_list_of_words_is_the_callers_own() -> None:
    """What is done to it does not change what the next caller gets."""
    text = "restart the pump " * 20
    words(text).clear()
    assert words(text)[:3] == ["restart", "the", "pump"]


@given(st.text("abc", max_size=12), st.text("abc", max_size=12))
def test_comparisons_that_let_other_threads_run_are_those_that_do_not(left: str, right: str) -> None:
    """Lengths of common subsequences and likenesses are those of rapidfuzz's functions for one pair."""
    assert common_length(list(left), list(right)) == LCSseq.similarity(left, right)
    assert indel_similarity(left, right) == Indel.normalized_similarity(left, right)


def test_forms_of_a_word_share_a_stem() -> None:
    """Plural, past and -ing forms come together, also of words ending in e."""
    assert len({stem(form) for form in ("restart", "restarts", "restarted", "restarting")}) == 1
    assert len({stem(form) for form in ("update", "updates", "updated", "updating")}) == 1
    assert stem("address") == "address"
    assert stem("inc00469") == "inc00469"


def test_a_text_of_glue_keeps_its_words() -> None:
    """Answers of function words alone can still be told apart."""
    assert content_words("It is") == {"it", "is"}
    assert word_overlap("I do", "you did") == 0.0


@given(st.text(max_size=60), st.text(max_size=60))
def test_every_metric_is_a_ratio_symmetric_and_one_on_itself(first: str, second: str) -> None:
    """Whatever the texts: a finite value in [0, 1], the same both ways round, 1 for equal sides."""
    for metric in METRICS:
        there = metric.score(Pair(Answer(first), Answer(second), ""))
        back = metric.score(Pair(Answer(second), Answer(first), ""))
        if isinstance(there, Failure):
            assert there.reason == "no_text"
            assert not first.strip()
            assert not second.strip()
            continue
        assert not isinstance(back, Failure)
        assert 0.0 <= there <= 1.0
        assert math.isclose(there, back, abs_tol=1e-9)
        if first.strip():
            assert metric.score(Pair(Answer(first), Answer(first), "")) == 1.0


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_metrics_fail_on_two_empty_answers(metric: object) -> None:
    """No metric makes a number out of nothing; the failure carries its name and version."""
    outcome = metric.score(Pair(Answer(""), Answer("  "), "context"))
    assert isinstance(outcome, Failure)
    assert (outcome.metric, outcome.version, outcome.reason) == (metric.name, metric.version, "no_text")


def test_wording_metrics_take_answers_of_tool_calls_alone() -> None:
    """Two answers that only call tools have equal (empty) texts."""
    pair = Pair(Answer("", (ToolCall("f", "{}"),)), Answer("", (ToolCall("g", "{}"),)), "")
    assert [metric.score(pair) for metric in (RougeL(), EditSimilarity(), ContentWords())] == [1.0, 1.0, 1.0]


WORDS = st.lists(
    st.sampled_from(("restart", "restarted", "restrat", "printer", "pritner", "cat", "car", "inc42", "queue"))
    | st.text("abcdrest1", min_size=1, max_size=10),
    max_size=12,
)


def find_word(word: str, others: list[str]) -> str | None:
    """The word of `others` that is the same word, a typo aside; None if there is none."""
    return word if word in others else nearest(word, misspellable(others))


@given(WORDS, WORDS)
def test_words_matched_together_are_those_that_are_found_alone(some: list[str], others: list[str]) -> None:
    """A word counts if its stem is there or it is found within its typos."""
    alone = sum(
        stem(word) in {stem(other) for other in others} or find_word(word, others) is not None
        for word in some
    )
    assert matched_count(some, others) == alone


def test_the_nearest_spelling_is_found() -> None:
    """Of words within the typos the nearest one, of equally near ones the first; short ones must be equal."""
    assert find_word("printers", ["pointer", "printer"]) == "printer"
    assert find_word("plant", ["plants", "planet"]) == "plants"
    assert find_word("cat", ["car"]) is None
    assert find_word("inc42", ["inc43"]) is None


@pytest.mark.parametrize("others", [["pointer", "spinters"], ["spinters", "pointer"]])
def test_the_order_of_equally_near_words_does_not_count(others: list[str]) -> None:
    """Both are two edits away, which only the one of eight letters is forgiven, wherever it stands."""
    assert find_word("printers", others) == "spinters"
    assert matched_count(["printers"], others) == 1
    assert not same_word("printers", "pointer")


def test_words_are_matched_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """More words than distances are held at once for give the same count."""
    monkeypatch.setattr("evenkeel.metrics.similarity.words._CELLS", 3)
    assert matched_count(["printr", "queeu", "plug"], ["printer", "queue", "cable", "sockets"]) == 2


def test_words_of_any_length_have_a_stem() -> None:
    """Also those too long to be kept."""
    assert stem("connections") == "connection"
    assert stem("connection" * 10 + "s") == "connection" * 10
