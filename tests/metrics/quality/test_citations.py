"""Citations without a judge: read by their spelling, counted by sentence."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.core.pair import Answer, Pair
from evenkeel.core.verdict import Failure, QualityScore
from evenkeel.metrics.quality.stand_ins import CitationsProxy, Cited, labels_in, read_citations
from tests.cases import cases

CASES = cases(__file__)
PROMPT = """\
user: Answer from the documents and cite them.

Doc 1: The pool opens at seven.

Doc 2: Guests wear a yellow band.

Doc 3: The sauna is closed on Mondays.

Question: When does the pool open?"""


def rated(text: str, context: str = PROMPT) -> int | Failure:
    return CitationsProxy().rate_now(Answer(text), context).outcome


@pytest.mark.parametrize(("text", "rating"), CASES["sentences must cite what is there"])
def test_sentences_must_cite_what_is_there(text: str, rating: int) -> None:
    """All in order 3, half of them 2, fewer 1; invented labels are out of order in any form."""
    assert rated(text) == rating


@pytest.mark.parametrize("text", CASES["the format of an answer makes no difference"])
def test_the_format_of_an_answer_makes_no_difference(text: str) -> None:
    """Two sentences and two sources in any form; with one invented, one unit of three is bad."""
    assert read_citations(text) == Cited((frozenset(), frozenset()), ("Doc 1", "Doc 2"))
    assert rated(text) == 3
    assert rated(text.replace("Doc 2", "Doc 9")) == 2


def test_the_share_is_in_the_details() -> None:
    """One of three sentences is 1/3."""
    rating = CitationsProxy().rate_now(
        Answer("The pool opens at seven [1]. Guests wear a band. Sauna is closed Mondays."), PROMPT
    )
    assert rating.details == {"sentences_cited": pytest.approx(1 / 3)}
    assert rating.explanation == "1 of 3 sentences cite documents of the prompt."


@pytest.mark.parametrize("kind", ["letters", "tags"])
def test_letters_and_tags_are_labels_too(kind: str) -> None:
    """Sources A and B, and documents in tags with an id."""
    for text, rating in CASES[kind]["ratings"]:
        assert rated(text, CASES[kind]["prompt"]) == rating


def test_a_prompt_without_documents_is_left_out() -> None:
    """There is nothing to cite: no score and no failure for the pair, a reason for the single answer."""
    pair = Pair(Answer("a [1]"), Answer("b"), "user: what is two and two?", "question_answering")
    assert asyncio.run(CitationsProxy().measure(pair)).outcome is None
    outcome = rated("The pool opens at seven [1].", "user: hello")
    assert isinstance(outcome, Failure)
    assert (outcome.metric, outcome.reason) == ("citations_proxy", "no_documents")


def test_lost_citations_are_a_change_for_the_worse() -> None:
    """Both answers are rated against the same prompt."""
    pair = Pair(Answer("It opens at seven [1]."), Answer("It opens at seven."), PROMPT, "question_answering")
    outcome = asyncio.run(CitationsProxy().measure(pair)).outcome
    assert outcome == QualityScore("citations_proxy", 1, 3, 1)
    assert outcome.direction == "worse"


@pytest.mark.parametrize(("text", "labels"), CASES["labels"])
def test_labels_are_read_from_brackets_and_names(text: str, labels: list[str]) -> None:
    """Numbers in round brackets are mostly something else, so they need a name."""
    assert labels_in(text) == set(labels)


def test_headings_questions_and_lead_ins_are_no_sentences() -> None:
    """Only statements need citations; a citation behind a sentence belongs to it."""
    text = "## Answer\nThis is what I found:\n- It opens early today. [1]\n- Bands are yellow [2].\nMore?"
    assert read_citations(text) == Cited((frozenset("1"), frozenset("2")), ())


@pytest.mark.parametrize("piece", ["[1]", "[", "a. ", "sources:\n", "doc ", '{"sources":', "- ", "("])
def test_hostile_answers_are_rated_in_linear_time(piece: str) -> None:
    """Half a million characters of any one pattern; quadratic time would exceed the time limit."""
    assert rated(piece * (500_000 // len(piece))) in {1, 2, 3}


@given(st.text(max_size=200))
def test_any_text_is_rated(text: str) -> None:
    """Never an exception, always on the scale."""
    assert rated(text) in {1, 2, 3}
