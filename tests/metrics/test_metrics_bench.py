"""What `benchmarks.metrics` computes with, its tables on the page, and a small run of it on the public data."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.metrics import forms, human, page, preferences, reruns, speed
from benchmarks.metrics.character_ngrams import CharacterNGrams, character_f1
from benchmarks.metrics.columns import pairs_of
from benchmarks.metrics.combination import fit, halves, held_out, mean_of_ranks
from benchmarks.metrics.corpus import Run, gpt4o
from benchmarks.metrics.ranking import area, area_error, spearman, spearman_gain
from benchmarks.metrics.table import Table
from evenkeel.core.pair import Answer, Pair
from evenkeel.core.verdict import Failure

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks.metrics.table import Cell

needs_data = pytest.mark.shared_data


def test_spearman_of_a_hand_worked_order() -> None:
    """1 2 3 4 against 1 3 2 4 is 1 − 6·2/(4·15) = 0.8; a constant side has none."""
    assert spearman([10, 20, 30, 40], [1, 3, 2, 4]) == pytest.approx(0.8)
    assert spearman([1, 2, 3], [3, 2, 1]) == pytest.approx(-1)
    assert spearman([1, 1, 1], [1, 2, 3]) is None
    assert spearman([1], [1]) is None


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=3, max_size=30))
def test_spearman_agrees_with_scipy(pairs: list[tuple[int, int]]) -> None:
    """Ties included."""
    from scipy.stats import spearmanr  # noqa: PLC0415 - takes a second

    left, right = [one for one, _ in pairs], [other for _, other in pairs]
    found = spearman(left, right)
    if found is None:
        assert len(set(left)) == 1 or len(set(right)) == 1
    else:
        assert found == pytest.approx(spearmanr(left, right).statistic)


def test_area_counts_pairs_and_half_of_the_ties() -> None:
    """Of 2 × 2 comparisons three are won and one is a tie: 3.5 of 4."""
    assert area([0.9, 0.5], [0.5, 0.1]) == pytest.approx(3.5 / 4)
    assert area([1.0, 1.0], [1.0]) == pytest.approx(0.5)
    assert area([], [1.0]) is None


def test_errors_shrink_with_the_sample_and_are_repeatable() -> None:
    """The interval of an area over many pairs is narrower; the same seed gives the same width."""
    few, many = [0.2, 0.6, 0.8], [0.2, 0.6, 0.8] * 40
    wide = area_error(few, [0.1, 0.5, 0.7], random.Random(1))
    narrow = area_error(many, [0.1, 0.5, 0.7] * 40, random.Random(1))
    assert narrow < wide
    assert narrow == area_error(many, [0.1, 0.5, 0.7] * 40, random.Random(1))


def test_the_gain_over_something_worse_is_positive() -> None:
    """A score that is the truth gains over one that is its opposite by two, whatever is drawn."""
    truth = [float(one) for one in range(20)]
    low, high = spearman_gain(truth, [-one for one in truth], truth, random.Random(3))
    assert low == pytest.approx(2)
    assert high == pytest.approx(2)


def test_halves_are_everything_once() -> None:
    """Both halves together are all places, and differ by one in size at most."""
    one, other = halves(7, random.Random(2))
    assert sorted(one + other) == list(range(7))
    assert (len(one), len(other)) == (3, 4)


def test_mean_of_ranks_of_a_hand_worked_case() -> None:
    """Ranks 0 ½ 1 and 1 ½ 0 average to ½ each; twice the same column is its own ranks."""
    assert mean_of_ranks([[1, 2, 3], [30, 20, 10]]) == pytest.approx([0.5, 0.5, 0.5])
    assert mean_of_ranks([[5, 9, 7], [1, 3, 2]]) == pytest.approx([0, 1, 0.5])


def test_a_fit_finds_what_carries_the_truth() -> None:
    """The column that is the truth gets the weight, noise next to none, a constant none at all."""
    rng = random.Random(4)
    truth = [rng.random() for _ in range(200)]
    noise = [rng.random() for _ in truth]
    curve = fit([truth, noise, [0.3] * len(truth)], truth)
    assert curve.weights[1] > 10 * abs(curve.weights[2])
    assert curve.weights[3] == 0
    assert all(0 < one < 1 for one in curve.predict([truth, noise, [0.3] * len(truth)]))


def test_a_fit_does_not_see_the_half_it_is_told_on() -> None:
    """Other truths there change nothing in what is expected of it."""
    rng = random.Random(5)
    column = [rng.random() for _ in range(40)]
    truth = [rng.random() for _ in column]
    one, other = halves(40, rng)
    spoiled = [0.0 if place in other else value for place, value in enumerate(truth)]
    assert held_out([column], truth, one, other) == held_out([column], spoiled, one, other)


def test_character_ngrams_of_hand_worked_texts() -> None:
    """Precision 1 and recall (2/3 + 1/2)/2 give 14/19; ab and ac share a letter of two and no run."""
    assert character_f1("abc", "ab") == pytest.approx(14 / 19)
    assert character_f1("A b", "ac") == pytest.approx(0.25)
    assert (character_f1("", ""), character_f1("", "a"), character_f1("x", "y")) == (1.0, 0.0, 0.0)
    nothing = CharacterNGrams().score(Pair(Answer(""), Answer(" "), ""))
    assert isinstance(nothing, Failure)
    assert nothing.reason == "no_text"


@settings(max_examples=50, deadline=None)
@given(
    st.text("abcd \u00fc\u65e5", min_size=1, max_size=40),
    st.text("abcd \u00fc\u65e5", min_size=1, max_size=40),
)
def test_character_ngrams_agree_with_sacrebleu(reference: str, candidate: str) -> None:
    """On texts that have a letter, at β = 1."""
    chrf = pytest.importorskip("sacrebleu.metrics", reason="SKIPPED LOUDLY: sacrebleu is not installed").CHRF
    if not reference.strip() or not candidate.strip():
        return
    theirs = chrf(beta=1, lowercase=True).sentence_score(candidate, [reference]).score / 100
    assert character_f1(reference, candidate) == pytest.approx(theirs, abs=1e-9)


def test_pairs_of_answers_are_told_by_run_prompt_and_conclusion() -> None:
    """A second run is a rerun, another free prompt a rewording; prompts that ask for a form are left out."""
    found = [
        Run("0", "1", 0, "so (A)"),
        Run("0", "1", 1, "thus (B)"),
        Run("chomsky", "1", 0, "hence (A)"),
        Run("schema", "1", 0, '{"Answer": "A"}'),
        Run("0", "2", 0, "no option"),
    ]
    kinds = gpt4o(found)
    assert kinds["rerun"] == [("so (A)", "thus (B)")]
    assert kinds["reworded"] == [("so (A)", "hence (A)")]
    assert kinds["other conclusion"] == [("so (A)", "thus (B)")]
    assert kinds["same conclusion"] == [("so (A)", "hence (A)")]
    assert kinds["other question"] == [("so (A)", "no option"), ("no option", "so (A)")]


TABLE = Table("human", ("metric", "en"), (("one", -0.5), ("two", None), ("three", 1234)), 2, ("Three rows.",))


def test_a_table_is_readable_as_text_and_as_data(tmp_path: Path) -> None:
    """Missing figures are dashes, minus signs real ones, and JSON keeps everything."""
    assert TABLE.markdown().splitlines()[2:] == [
        "| one | \u22120.50 |",
        "| two | – |",
        "| three | 1,234 |",
        "",
        "Three rows.",
    ]
    page.write(tmp_path / "measured.json", [TABLE], seed=1)
    assert page.read(tmp_path / "measured.json") == [TABLE]


def test_tables_go_to_their_places_and_nowhere_else() -> None:
    """A second filling changes nothing; a place without table says so, a table without place is an error."""
    text = "Before.\n\n<!-- measured: human -->\nold\n<!-- end -->\n\nAfter.\n"
    once = page.filled(text, [TABLE])
    assert "old" not in once
    assert once.startswith("Before.")
    assert once.endswith("After.\n")
    assert page.filled(once, [TABLE]) == once
    assert "*Not measured yet.*" in page.filled(text, [])
    with pytest.raises(page.UnknownTableError, match="places for nothing"):
        page.filled("", [TABLE])


def test_the_page_shows_what_was_measured_last() -> None:
    """Tables in docs/metrics-quality.md are those of docs/metrics-measured.json."""
    text = page.PAGE.read_text(encoding="utf-8")
    assert page.filled(text, page.read()) == text


def cells(table: Table) -> dict[str, tuple[Cell, ...]]:
    return {str(row[0]): row[1:] for row in table.rows}


@needs_data
def test_a_small_measurement_of_human_similarity() -> None:
    """Without models: vocabulary follows people better than the floor, in the same order every time."""
    single, combined = human.measure(None, seed=1, most=200, elsewhere=20, languages=("en", "ja"))
    found = cells(single)
    assert single.columns == ("metric", "en", "ja")
    assert "embeddings" not in found
    floor, vocabulary = found["rouge_l (floor)"][0], found["content_words"][0]
    assert isinstance(floor, float)
    assert isinstance(vocabulary, float)
    assert 0.3 < floor < vocabulary < 0.9
    assert [row[0] for row in combined.rows] == ["mean of ranks: spelling", "fit: spelling"]
    again, _ = human.measure(None, seed=1, most=200, elsewhere=20, languages=("en", "ja"))
    assert again == single


@needs_data
def test_a_small_measurement_of_reruns() -> None:
    """Ratings of a kind add up to all of it, and answers to other questions are told from rewordings."""
    areas, ratings = reruns.measure(None, seed=1, most=10, learn_on=40)
    for row in ratings.rows:
        assert sum(cell for cell in row[1:] if isinstance(cell, float)) == pytest.approx(1)
    column = areas.columns.index("GPT-4o: reworded > other question") - 1
    told = cells(areas)["content_words"][column]
    assert isinstance(told, float)
    assert told > 0.7


@needs_data
def test_a_small_measurement_of_formats() -> None:
    """Who reads values knows the same answer in another form; who counts n-grams takes it for another."""
    (table,) = forms.measure(None, seed=1, most=15)
    yaml = table.columns.index("area: YAML") - 1
    assert cells(table)["json_rouge"][yaml] == 1
    assert cells(table)["bleu"][yaml] == 0


@needs_data
def test_a_small_measurement_of_preferences_and_speed() -> None:
    """Every share is one, and every time is positive."""
    (preferred,) = preferences.measure(None, seed=1, most=5)
    assert all(0 <= cell <= 1 for row in preferred.rows for cell in row[1:] if isinstance(cell, float))
    (timed,) = speed.measure(None, seed=1, most=3)
    assert all(cell > 0 for row in timed.rows for cell in row[1:] if isinstance(cell, float))
    assert timed.rows[0][0] == "cheap rating"


@needs_data
def test_texts_to_be_timed_have_the_length_that_is_said() -> None:
    """A text is cut after whole words, at most 200 tokens from its start."""
    text = "one, two " * 300
    ((first, second),) = speed.long_pairs([speed.Texts(text, text)], 5, random.Random(1))
    assert first == second
    assert text.startswith(first)
    assert 198 <= len(speed.tokens(first)) <= 200
    assert pairs_of([(first, second)])[0].reference.text == first


@pytest.mark.service("sentence_transformers")
@pytest.mark.filterwarnings("ignore")
def test_a_batch_scores_each_pair_as_it_would_alone() -> None:
    """Padding beside longer texts changes nothing that can be seen."""
    from evenkeel.metrics.similarity.bert_score import load_bert_score  # noqa: PLC0415 - takes seconds

    metric = load_bert_score()
    short = ("The queue is empty.", "Nothing waits in the queue.")
    long = ("The pump stops every ten minutes. " * 12, "Every ten minutes the pump comes to a halt. " * 9)
    pairs = pairs_of([short, long, ("Restart it.", "Bees make honey."), short])
    together = metric.score_all(pairs)
    assert together == pytest.approx([metric.score(one) for one in pairs], abs=1e-5)
    assert together[0] == together[3]
