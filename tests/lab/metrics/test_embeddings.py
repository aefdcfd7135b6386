"""The encoder of this machine: scores, batches and languages."""

import hashlib
import math

import pytest

from evenkeel.core.verdict import Failure
from evenkeel.lab.metrics import bert_score, embeddings
from evenkeel.lab.metrics.bert_score import load_bert_score
from evenkeel.lab.metrics.embeddings import (
    MINILM,
    Embeddings,
    EmbeddingsUnavailableError,
    available,
    check_weights,
    load_embeddings,
    name_of,
)
from evenkeel.lab.metrics.languages import Coverage
from tests.lab.metrics.compass import Compass, by_mark, pair, reason


def score(first, second):
    return Embeddings(Compass()).score(pair(first, second))


def test_the_score_is_the_cosine_cut_at_zero():
    """45 degrees give 0.7071, a right angle and an opposite give 0, the same text 1."""
    assert score("north", "north east") == pytest.approx(math.sqrt(0.5))
    assert score("north", "east") == 0.0
    assert score("north", "south") == 0.0
    assert score("north", "north") == 1.0


def test_a_long_text_is_averaged_over_all_of_its_pieces():
    """300 words, half north and half east, point north-east instead of to their first half only."""
    text = " ".join(["north"] * 150 + ["east"] * 150)
    assert score(text, "north") == pytest.approx(math.sqrt(0.5))


def test_a_batch_of_pairs_is_one_call_of_the_encoder():
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


def test_a_broken_batch_fails_only_where_vectors_were_needed():
    """Equal texts need none."""
    broken, same = Embeddings(Compass()).score_all([pair("north", "broken"), pair("east", "east")])
    assert reason(broken) == "encoder_failed"
    assert same == 1.0


def test_two_answers_in_one_unknown_language_are_compared():
    """Only different languages are beyond an encoder: within one, it still sees shared words."""
    english = Coverage(frozenset(("en",)), by_mark)
    assert not isinstance(Embeddings(Compass(), coverage=english).score(pair("nord a", "nord b")), Failure)


def test_weights_with_another_digest_are_refused(tmp_path):
    """A file that is not the expected one, or not there, is named in one line and not loaded."""
    weights = tmp_path / "model.safetensors"
    with pytest.raises(EmbeddingsUnavailableError, match=r"model\.safetensors"):
        check_weights(weights, "0" * 64)
    weights.write_bytes(b"weights")
    with pytest.raises(EmbeddingsUnavailableError, match="expected 000"):
        check_weights(weights, "0" * 64)
    check_weights(weights, hashlib.sha256(b"weights").hexdigest())


@pytest.mark.parametrize("metric", [embeddings, bert_score], ids=["embeddings", "BERTScore"])
def test_without_the_extra_loading_says_what_to_install(monkeypatch, metric):
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
def test_the_packaged_model_tells_a_paraphrase_from_another_subject():
    """The verified MiniLM puts a paraphrase above 0.7 and another subject below 0.3."""
    metric = load_embeddings()
    reference = "The customer cannot sign in because the password has expired."
    near = metric.score(pair(reference, "Login fails for the client: expired password."))
    far = metric.score(pair(reference, "Bees make honey from nectar."))
    assert not isinstance(near, Failure)
    assert not isinstance(far, Failure)
    assert near > 0.7
    assert far < 0.3


def test_the_default_model_has_one_name():
    """However it is named, it is the same one."""
    assert {name_of(None), name_of(f"sentence-transformers/{MINILM}"), name_of(MINILM)} == {MINILM}
