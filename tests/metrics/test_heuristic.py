"""The heuristic rating: how near two answers are, and which cannot be compared."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from evenkeel.core.languages import language_of
from evenkeel.core.pair import Answer, AnswerForm, Pair, ToolCall
from evenkeel.core.verdict import Failure, stage_of
from evenkeel.metrics.heuristic import MEANING_WEIGHT, HeuristicRater, nearer_by_meaning
from evenkeel.metrics.similarity.embeddings import Embeddings
from evenkeel.metrics.tool_calls import ToolCalls

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkeel.metrics.protocol import Rating

REFERENCE = (
    "The VPN client on host BER-12 stopped connecting at 09:40 after update 4.2.1. Support rolled the "
    "update back, and 35 users could work again by noon."
)
Outcome = int | Failure | None


def rated(rater: HeuristicRater, pair: Pair) -> Rating:
    return asyncio.run(rater.rate(pair))


def rate(reference: Answer | str, candidate: Answer | str, rater: HeuristicRater | None = None) -> Outcome:
    sides = [Answer(side) if isinstance(side, str) else side for side in (reference, candidate)]
    return rated(rater or HeuristicRater(language_of=language_of), Pair(*sides, context="")).outcome


def call(name: str, arguments: str, text: str = "") -> Answer:
    return Answer(text, (ToolCall(name, arguments),))


def test_tool_call_score_of_a_hand_worked_pair() -> None:
    """Names and two arguments each, one argument differs: 2 * 2 / 6."""
    pair = Pair(call("f", '{"a": 1, "b": "x"}'), call("f", '{"a": 1, "b": "y"}'), "")
    assert ToolCalls().score(pair) == pytest.approx(4 / 6)


def test_a_rating_is_unsure_and_shows_how_near_the_answers_are() -> None:
    rating = rated(HeuristicRater(), Pair(Answer(REFERENCE), Answer(REFERENCE.replace("35", "99")), ""))
    assert (rating.outcome, stage_of(rating.details)) == (None, "unsure")
    assert rating.similarity == rating.details["likeness"]
    assert 0.85 < rating.similarity < 1


class PlantedEncoder:
    """Vectors by first word, so that meaning is whatever the test says."""

    def __init__(self, vectors: dict[str, tuple[float, float]]) -> None:
        self.vectors = vectors

    def encode(self, texts: Sequence[str]) -> list[tuple[float, float]]:
        """The planted vector of each text."""
        return [self.vectors[text.split()[0]] for text in texts]


def test_meaning_counts_in_the_similarity_and_proves_nothing() -> None:
    """Cosine 1 without a common word: up by its weight, and still unsure."""
    rater = HeuristicRater(Embeddings(PlantedEncoder({"Automobiles": (1, 0), "Cars": (1, 0)})))
    pair = Pair(Answer("Automobiles need petrol"), Answer("Cars consume fuel"), "")
    with_meaning, without = rated(rater, pair), rated(HeuristicRater(), pair)
    assert (with_meaning.outcome, without.outcome) == (None, None)
    assert without.similarity is not None
    assert with_meaning.similarity == pytest.approx(
        without.similarity + (1 - without.similarity) * MEANING_WEIGHT
    )


def test_a_high_cosine_counts_far_more_than_a_middling_one() -> None:
    """From 0.4 in words, a cosine of 1 takes 15 % of the 0.6 to 1 away, one of a half a sixteenth of that."""
    assert nearer_by_meaning(0.4, 1) == pytest.approx(0.49)
    assert nearer_by_meaning(0.4, 0.5) == pytest.approx(0.405625)
    assert (nearer_by_meaning(0.4, 0), nearer_by_meaning(1, 0.3)) == (0.4, 1)


def test_an_encoder_that_fails_leaves_likeness_alone() -> None:
    """A broken model costs its score, not the similarity."""
    counted: list[Failure] = []
    rater = HeuristicRater(Embeddings(PlantedEncoder({})), count=counted.append)
    rating = rated(rater, Pair(Answer(REFERENCE), Answer(REFERENCE + " Indeed."), ""))
    assert rating.similarity == rating.details["likeness"]
    assert [failure.reason for failure in counted] == ["encoder_failed"]


GERMAN = (
    "Der VPN-Client auf BER-12 verbindet sich seit dem Update nicht mehr; die Kollegen haben es entfernt."
)


def known_language(text: str) -> str | None:
    return "de" if " sich " in text else "en" if " the " in text.lower() else None


@pytest.mark.parametrize(
    ("reference", "candidate", "wanted", "expected"),
    [
        (REFERENCE, GERMAN, "de", "cross_language"),
        (REFERENCE, GERMAN, None, "cross_language"),
        (GERMAN, GERMAN + " Danke.", "de", None),
        ("Yes, restarted.", "Ja, neu gestartet.", "de", "cross_language"),
        ("Yes, restarted.", "Printer jam upstairs.", None, None),
        ("42 %", "43 %", "de", None),
    ],
)
def test_two_languages_get_no_rating(
    reference: str, candidate: str, wanted: str | None, expected: int | str | None
) -> None:
    """Texts in two languages, or that may be: a failure; numbers alone and an ignored wish are comparable."""
    pair = Pair(Answer(reference), Answer(candidate), "", None, AnswerForm(language=wanted))
    outcome = rated(HeuristicRater(language_of=known_language), pair).outcome
    assert (outcome.reason if isinstance(outcome, Failure) else outcome) == expected


def test_a_language_that_is_mistaken_for_another_does_not_cost_the_comparison() -> None:
    """Answers that share their words are in one language, whatever the identifier says of one of them."""
    rater = HeuristicRater(language_of=lambda text: "nl" if text.endswith("!") else "en")
    assert rate(REFERENCE, REFERENCE + " Indeed!", rater) is None
