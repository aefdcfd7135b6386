"""Sentence embeddings, with a planted encoder and, where it is installed, the real one."""

from __future__ import annotations

import hashlib
import math
from typing import TYPE_CHECKING

import pytest

from evenkeel.core.pair import Answer, Pair
from evenkeel.core.verdict import Failure
from evenkeel.metrics.heuristic import HeuristicRater
from evenkeel.metrics.languages import Coverage
from evenkeel.metrics.similarity.embeddings import (
    Embeddings,
    EmbeddingsUnavailableError,
    available,
    check_weights,
    load_embeddings,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


DIRECTIONS = {"north": (0.0, 1.0), "east": (1.0, 0.0), "south": (0.0, -1.0)}


class Compass:
    """Encodes a text as the sum of its words' directions, and counts what it was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def encode(self, texts: Sequence[str]) -> list[list[float]]:
        """One vector per text."""
        self.asked += texts
        return [[sum(DIRECTIONS[w][i] for w in text.split()) for i in range(2)] for text in texts]


def score(first: str, second: str, encoder: Compass | None = None) -> float | Failure:
    return Embeddings(encoder or Compass()).score(Pair(Answer(first), Answer(second), ""))


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


def test_a_text_is_encoded_once() -> None:
    """A reference that is compared twice is in the cache the second time."""
    encoder = Compass()
    metric = Embeddings(encoder)
    for candidate in ("east", "south"):
        metric.score(Pair(Answer("north"), Answer(candidate), ""))
    assert encoder.asked == ["north", "east", "south"]


def test_missing_text_and_a_failing_model_are_failures() -> None:
    """No number is made up for a side without text or a model that raises."""
    empty, broken = score("", "north"), score("north", "up")
    assert isinstance(empty, Failure)
    assert empty.reason == "no_text"
    assert isinstance(broken, Failure)
    assert broken.reason == "encoder_failed"


def test_weights_with_another_digest_are_refused(tmp_path: Path) -> None:
    """A file that is not the expected one, or not there, is named in one line and not loaded."""
    weights = tmp_path / "model.safetensors"
    with pytest.raises(EmbeddingsUnavailableError, match=r"model\.safetensors"):
        check_weights(weights, "0" * 64)
    weights.write_bytes(b"weights")
    with pytest.raises(EmbeddingsUnavailableError, match="expected 000"):
        check_weights(weights, "0" * 64)
    check_weights(weights, hashlib.sha256(b"weights").hexdigest())


def test_without_the_extra_loading_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error is one line with the command."""
    monkeypatch.setattr("evenkeel.metrics.similarity.embeddings.find_spec", lambda _: None)
    assert not available()
    assert not available("any-model")
    with pytest.raises(EmbeddingsUnavailableError, match=r"pip install \"evenkeel\[semantic\]\""):
        load_embeddings()


@pytest.mark.skipif(
    not available(), reason="SKIPPED LOUDLY: extra `semantic` is not installed (make semantic)"
)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_the_packaged_model_tells_a_paraphrase_from_another_subject() -> None:
    """The verified MiniLM puts a paraphrase above 0.7 and another subject below 0.3."""
    metric = load_embeddings()
    reference = "The customer cannot sign in because the password has expired."
    near = metric.score(Pair(Answer(reference), Answer("Login fails for the client: expired password."), ""))
    far = metric.score(Pair(Answer(reference), Answer("Bees make honey from nectar."), ""))
    assert not isinstance(near, Failure)
    assert not isinstance(far, Failure)
    assert near > 0.7
    assert far < 0.3


def test_a_language_that_the_encoder_does_not_know_leaves_the_rating_to_the_others() -> None:
    """Two German answers under an English encoder: no cosine among the details; two English ones have it."""
    languages = {"north": "en", "north east": "en", "south": "de", "south east": "de"}
    coverage = Coverage(frozenset({"en"}), languages.get)
    rater = HeuristicRater(Embeddings(Compass(), coverage=coverage), language_of=languages.get)
    english = rater.rate_now(Pair(Answer("north"), Answer("north east"), ""))
    german = rater.rate_now(Pair(Answer("south"), Answer("south east"), ""))
    assert "embeddings" in english.details
    assert "embeddings" not in german.details
