"""The encoder of this machine: scores, batches, languages, and what a rating does with them."""

from __future__ import annotations

import asyncio
import hashlib
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from evenkeel.core.budget import NOTHING, Spend
from evenkeel.core.pair import AnswerForm, Pair
from evenkeel.core.verdict import Failure
from evenkeel.metrics.heuristic import HeuristicRater, nearer_by_meaning
from evenkeel.metrics.languages import Coverage
from evenkeel.metrics.scoring import heuristic_scorer
from evenkeel.metrics.similarity import bert_score, embeddings
from evenkeel.metrics.similarity.bert_score import load_bert_score
from evenkeel.metrics.similarity.embeddings import (
    MINILM,
    Embeddings,
    EmbeddingsUnavailableError,
    available,
    check_weights,
    load_embeddings,
    name_of,
)
from evenkeel.metrics.similarity.meaning import EncoderMeaning, MeaningScore
from evenkeel.metrics.similarity.vectors import VectorCache
from evenkeel.metrics.structured.json_similarity import JsonSimilarity
from evenkeel.metrics.tasks import Task
from tests.metrics.similarity.compass import Compass, by_mark, pair, reason

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from evenkeel.metrics.protocol import Rating


def score(first: str, second: str) -> float | Failure:
    return Embeddings(Compass()).score(pair(first, second))


def test_the_score_is_the_cosine_cut_at_zero() -> None:
    """45 degrees give 0.7071, a right angle and an opposite give 0, the same text 1."""
    assert score("north", "north east") == pytest.approx(math.sqrt(0.5))
    assert score("north", "east") == 0.0
    assert score("north", "south") == 0.0
    assert score("north", "north") == 1.0


def test_a_long_text_is_averaged_over_all_of_its_pieces() -> None:
    """300 words, half north and half east, point north-east instead of to their first half only."""
    text = " ".join(["north"] * 150 + ["east"] * 150)
    assert score(text, "north") == pytest.approx(math.sqrt(0.5))


def test_a_batch_of_pairs_is_one_call_of_the_encoder() -> None:
    """Failures stay with their pairs; the order is kept."""
    encoder = Compass()
    scores = Embeddings(encoder).score_all(
        [pair("north", "east"), pair("", "east"), pair("east", "east"), pair("south", "south north")]
    )
    assert len(encoder.batches) == 1
    assert scores[0] == 0.0
    assert reason(scores[1]) == "no_text"
    assert scores[2:] == [1.0, 0.0]
    assert Embeddings(encoder).score_all([]) == []
    assert len(encoder.batches) == 1


def test_a_broken_batch_fails_only_where_vectors_were_needed() -> None:
    """Equal texts need none."""
    broken, same = Embeddings(Compass()).score_all([pair("north", "broken"), pair("east", "east")])
    assert reason(broken) == "encoder_failed"
    assert same == 1.0


def test_json_similarity_runs_on_the_local_encoder() -> None:
    """Values "north" / "north east" have 0.7071 (3 words), 1 / 1 are equal (2 words); one call for all."""
    encoder = Compass()
    metric = JsonSimilarity(Embeddings(encoder, coverage=Coverage(frozenset(("en",)), by_mark)))
    score = metric.score(pair('{"way": "north", "step": 1}', "way: north east\nstep: 1\n"))
    assert score == pytest.approx((3 * math.sqrt(0.5) + 2) / 5)
    assert len(encoder.batches) == 1
    foreign = metric.score(pair('{"way": "north"}', '{"way": "nord"}'))
    assert isinstance(foreign, Failure)
    assert (foreign.metric, foreign.reason) == ("json_similarity", "cross_language")


def test_encoders_share_a_cache_by_model() -> None:
    """The second encoder of the same name finds the vectors, one of another name does not."""
    cache, second, third = VectorCache(), Compass(), Compass()
    Embeddings(Compass(), model="a", cache=cache).score(pair("north", "east"))
    Embeddings(second, model="a", cache=cache).score(pair("north", "east"))
    Embeddings(third, model="b", cache=cache).score(pair("north", "east"))
    assert (second.batches, len(third.batches)) == ([], 1)


def test_two_answers_in_one_unknown_language_are_compared() -> None:
    """Only different languages are beyond an encoder: within one, it still sees shared words."""
    english = Coverage(frozenset(("en",)), by_mark)
    assert not isinstance(Embeddings(Compass(), coverage=english).score(pair("nord a", "nord b")), Failure)


def test_weights_with_another_digest_are_refused(tmp_path: Path) -> None:
    """A file that is not the expected one, or not there, is named in one line and not loaded."""
    weights = tmp_path / "model.safetensors"
    with pytest.raises(EmbeddingsUnavailableError, match=r"model\.safetensors"):
        check_weights(weights, "0" * 64)
    weights.write_bytes(b"weights")
    with pytest.raises(EmbeddingsUnavailableError, match="expected 000"):
        check_weights(weights, "0" * 64)
    check_weights(weights, hashlib.sha256(b"weights").hexdigest())


@pytest.mark.parametrize("metric", [embeddings, bert_score], ids=["embeddings", "BERTScore"])
def test_without_the_extra_loading_says_what_to_install(monkeypatch: Any, metric: Any) -> None:
    """The error is one line with the command."""
    monkeypatch.setattr(metric, "find_spec", lambda _: None)
    assert not metric.available()
    assert not metric.available("any-model")
    with pytest.raises(EmbeddingsUnavailableError, match=r"pip install \"evenkeel-proxy\[semantic\]\""):
        (load_embeddings if metric is embeddings else load_bert_score)()


@pytest.mark.skipif(
    not available(), reason="SKIPPED LOUDLY: extra `semantic` is not installed (make semantic)"
)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_the_packaged_model_tells_a_paraphrase_from_another_subject() -> None:
    """The verified MiniLM puts a paraphrase above 0.7 and another subject below 0.3."""
    metric = load_embeddings()
    reference = "The customer cannot sign in because the password has expired."
    near = metric.score(pair(reference, "Login fails for the client: expired password."))
    far = metric.score(pair(reference, "Bees make honey from nectar."))
    assert not isinstance(near, Failure)
    assert not isinstance(far, Failure)
    assert near > 0.7
    assert far < 0.3


def test_a_language_that_the_encoder_does_not_know_leaves_the_rating_to_the_others() -> None:
    """Two German answers under an English encoder: no cosine among the details; two English ones have it."""
    languages = {"north": "en", "north east": "en", "south": "de", "south east": "de"}
    coverage = Coverage(frozenset({"en"}), languages.get)
    rater = HeuristicRater(Embeddings(Compass(), coverage=coverage), language_of=languages.get)
    english = asyncio.run(rater.rate(pair("north", "north east")))
    german = asyncio.run(rater.rate(pair("south", "south east")))
    assert "embeddings" in english.details
    assert "embeddings" not in german.details


APART = pair("Automobiles need petrol", "Cars consume fuel")
"""No word in common, and as long: .1 by likeness, for the length alone."""
DOWN = Failure("endpoint_embeddings", 1, "timeout")


@dataclass
class Planted:
    """An endpoint that says the same of every pair, at five tokens."""

    outcome: float | Failure
    encoder: str = MINILM
    asked: list[Pair] = field(default_factory=list)

    def on_scale(self, pair: Pair) -> bool:
        """Not for pairs whose reference says so."""
        return "unknown" not in pair.reference.text

    def expense(self, texts_chars: int) -> Spend:
        """A token a character, a cent each."""
        return Spend(texts_chars, texts_chars / 100)

    async def measure_all(self, pairs: Sequence[Pair]) -> list[MeaningScore]:
        """The planted outcome."""
        self.asked += pairs
        return [MeaningScore(self.outcome, 5, 0.05) for _ in pairs]


def rate(rater: HeuristicRater, pair: Pair = APART) -> Rating:
    return asyncio.run(rater.rate(pair))


def test_the_endpoints_score_counts_in_the_similarity_and_its_price_is_the_ratings() -> None:
    """A part of the similarity is the cosine, for five tokens; nothing is decided by it."""
    rating = rate(HeuristicRater(Planted(0.95)))
    assert (rating.outcome, rating.tokens, rating.cost_usd) == (None, 5, 0.05)
    assert rating.details["embeddings"] == 0.95
    assert rating.similarity == nearer_by_meaning(rating.details["likeness"], 0.95)


def test_a_failure_is_counted_and_likeness_stays() -> None:
    """What was spent on it is booked all the same."""
    counted: list[Failure] = []
    rating = rate(HeuristicRater(Planted(DOWN), count=counted.append))
    assert (rating.outcome, rating.tokens) == (None, 5)
    assert rating.similarity == rating.details["likeness"]
    assert counted == [DOWN]


@pytest.mark.parametrize(
    "both",
    [
        pair("One.", "One.\n"),
        pair("One.", ""),
        pair("unknown tongue here", "another text there"),
        pair("One two three", "eins zwei drei", AnswerForm(language="de")),
    ],
)
def test_nobody_is_asked_where_no_answer_would_count(both: Pair) -> None:
    """Identical, missing, off the encoder's scale, or in two languages."""
    endpoint = Planted(0.95)
    judgement = asyncio.run(heuristic_scorer(HeuristicRater(endpoint)).score(both))
    assert (endpoint.asked, judgement.tokens) == ([], 0)


def test_the_estimate_of_a_scorer_counts_paid_embeddings() -> None:
    """100 characters of answers at a cent each; nothing without embeddings."""
    scorer = heuristic_scorer(HeuristicRater(Planted(0.9)))
    assert scorer.estimate(100, 5000, Task.CHAT.value) == Spend(100, 1.0)
    assert heuristic_scorer().estimate(100, 5000, None) == NOTHING


def test_a_judgement_pays_for_the_embeddings() -> None:
    """The two-stage score of a pair without a judge has their tokens."""
    judgement = asyncio.run(heuristic_scorer(HeuristicRater(Planted(0.95))).score(APART))
    assert (judgement.unsure, judgement.tokens, judgement.cost_usd) == (True, 5, 0.05)


def test_pairs_of_an_exchange_are_encoded_together() -> None:
    """Ten pairs are one batch, and each is what it is alone."""
    pairs = [pair(f"north {n}", f"{'east ' * n}north {n}") for n in range(10)]
    encoder = Compass()
    ratings = asyncio.run(HeuristicRater(Embeddings(encoder)).rate_all(pairs))
    assert len(encoder.batches) == 1
    assert [rating.details["embeddings"] for rating in ratings] == Embeddings(Compass()).score_all(pairs)


def test_the_local_encoder_keeps_its_name_and_languages() -> None:
    """However the default model is named, it is the same one, and it costs nothing."""
    assert {name_of(None), name_of(f"sentence-transformers/{MINILM}"), name_of(MINILM)} == {MINILM}
    english = Coverage(frozenset(("en",)), by_mark)
    meaning = EncoderMeaning(Embeddings(Compass(), name="compass", coverage=english))
    assert (meaning.encoder, meaning.expense(1000)) == ("compass", NOTHING)
    assert not meaning.on_scale(pair("nord", "nord"))
