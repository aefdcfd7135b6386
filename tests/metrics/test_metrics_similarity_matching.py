"""Matching many words at once gives what matching them one by one gives."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenkeel.metrics.similarity import words
from evenkeel.metrics.similarity.words import matched_count, misspellable, nearest, same_word, stem

WORDS = st.lists(
    st.sampled_from(("restart", "restarted", "restrat", "printer", "pritner", "cat", "car", "inc42", "queue"))
    | st.text("abcdrest1", min_size=1, max_size=10),
    max_size=12,
)


def find_word(word: str, others: list[str]) -> str | None:
    """The word of `others` that is the same word, a typo aside; None if there is none."""
    return word if word in others else nearest(word, misspellable(others))


@settings(max_examples=200, deadline=None)
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
    monkeypatch.setattr(words, "_CELLS", 3)
    assert matched_count(["printr", "queeu", "plug"], ["printer", "queue", "cable", "sockets"]) == 2


def test_words_of_any_length_have_a_stem() -> None:
    """Also those too long to be kept."""
    assert stem("connections") == "connection"
    assert stem("connection" * 10 + "s") == "connection" * 10
