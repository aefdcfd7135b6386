"""Tokens, BLEU and GLEU, by hand and against the packages that define them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.lab.metrics.ngrams import bleu, count_ngrams, gleu, tokens

WORDS = ("the", "router", "drops", "packets", "at", "noon", ",", "again", "(twice)", "can't", "5.2")
PROSE = st.lists(st.sampled_from(WORDS), max_size=14).map(" ".join)
ODDITIES = (
    *"ab.,:;'\"`()[]{}<>-?!*$%&@#  \u2018\u2019“”«»—é1\n",
    *("n't", "cannot", "gimme", "'tis", "'ll", "--", "...", "wanna", "''"),
)
ODD = st.lists(st.sampled_from(ODDITIES), max_size=14).map("".join)


def ngrams(text):
    """Counted tokens of a text."""
    return count_ngrams(tokens(text))


def test_tokens_split_contractions_marks_and_characters_without_spaces():
    """Marks and clitics are tokens of their own, and so is every Chinese or Japanese character."""
    assert tokens("It can't resume, (v5.2).") == ["It", "ca", "n't", "resume", ",", "(", "v5.2", ")", "."]
    assert tokens("再起動 OK") == ["再", "起", "動", "OK"]
    assert tokens(" \n\t ") == []


@given(PROSE | ODD)
def test_tokens_are_those_of_the_reference_tokeniser(text):
    """Tokens are nltk's where no character needs parting, whatever marks stand next to each other."""
    from nltk.tokenize import word_tokenize  # noqa: PLC0415 - takes most of a second

    assert tokens(text) == word_tokenize(text, preserve_line=True)


def test_a_run_of_spaces_costs_no_time():
    """The rules are quadratic in white space, of which therefore only the ends are kept."""
    assert tokens("a." + " " * 49_000 + "b") == ["a.", "b"]


@given(PROSE, PROSE)
def test_bleu_and_gleu_agree_with_nltk(reference, candidate):
    """Method-1 smoothing and sentence GLEU, to 1e-9, wherever a side has tokens."""
    from nltk.translate.bleu_score import SmoothingFunction, sentence_bleu  # noqa: PLC0415 - takes a second
    from nltk.translate.gleu_score import sentence_gleu  # noqa: PLC0415 - takes a second

    left, right = tokens(reference), tokens(candidate)
    if not left or not right:
        return
    smoothing = SmoothingFunction().method1
    expected = sentence_bleu([left], right, smoothing_function=smoothing, auto_reweigh=True)
    assert bleu(ngrams(reference), ngrams(candidate)) == pytest.approx(expected, abs=1e-9)
    assert gleu(ngrams(reference), ngrams(candidate)) == pytest.approx(sentence_gleu([left], right), abs=1e-9)


@given(PROSE | ODD, PROSE | ODD)
def test_bleu_and_gleu_are_bounded_and_1_for_equal_texts(left, right):
    """Nothing against nothing is 1, against something 0; GLEU does not care which side is which."""
    for score in (bleu, gleu):
        assert 0 <= score(ngrams(left), ngrams(right)) <= 1
        assert score(ngrams(left), ngrams(left)) == 1.0
        assert score(ngrams(""), ngrams("reset it")) == score(ngrams("reset it"), ngrams("")) == 0.0
        assert score(ngrams(""), ngrams(" ")) == 1.0
    assert gleu(ngrams(left), ngrams(right)) == pytest.approx(gleu(ngrams(right), ngrams(left)), abs=1e-12)
