"""The entailment model in the judge's place."""

import asyncio

import pytest

from evenkeel.core.pair import Answer, Pair, ToolCall
from evenkeel.metrics.judge.local import (
    CrossEncoderModel,
    LocalJudge,
    LocalJudgeUnavailableError,
    entailment_label,
    sentences,
)


class PlantedEntailment:
    """Model that knows which sentences follow from which, word for word."""

    def __init__(self, *follows):
        self.follows = set(follows)

    def entailment(self, pairs):
        return [float(pair in self.follows or pair[0] == pair[1]) for pair in pairs]


def pair_of(reference, candidate):
    return Pair(reference, candidate, "What does it cost?")


def rated(reference, candidate, *follows):
    return LocalJudge(PlantedEntailment(*follows)).rate_now(pair_of(Answer(reference), Answer(candidate)))


A, B, C, D = "It costs 5 euros.", "The price is 5 euros.", "It is blue.", "It ships today."
E = "Blue, for 5 euros."


@pytest.mark.parametrize(
    ("reference", "candidate", "follows", "rating"),
    [
        (A, B, [(A, B), (B, A)], 3),
        (f"{A} {C}", f"- {B}\n- {C}", [(A, B), (B, A)], 3),
        (f"{A} {C}", f"- {C}\n- {B}", [(A, B), (B, A)], None),
        (f"{A} {C}", E, [(f"{A} {C}", E), (E, A), (E, C)], 3),
        (f"{A} {C} {D}", f"{B} {C}", [(A, B), (B, A)], 2),
        (A, B, [(A, B)], 1),
        (f"{A} {C}", f"{A} {D}", [], 1),
    ],
)  # fmt: skip
def test_both_answers_have_to_follow_from_each_other(reference, candidate, follows, rating):
    """Sentence by sentence, from one or two neighbours; what lacks support on either side decides."""
    found = rated(reference, candidate, *follows)
    assert found.outcome == rating
    assert found.prompt_version == ("" if rating is None else "local_judge@1")


def test_the_reason_names_the_sentence():
    """The first one that does not follow."""
    assert rated(A, f"{A} {D}").explanation.endswith(D)


@pytest.mark.parametrize(
    "text", ["```\nrm -rf /\n```", '{"a": 1}', "| a | b |", "A.\n    return 1", "x " * 3 + ". y" * 70, ""]
)
def test_what_is_no_prose_is_unsure(text):
    """Code, data, tables and very many sentences: the model was not made for them."""
    assert rated(A, text).outcome is None
    assert rated(text, A).outcome is None


def test_tool_calls_are_unsure():
    call = Answer("", tool_calls=(ToolCall("refund", '{"amount": 5}'),))
    assert LocalJudge(PlantedEntailment()).rate_now(pair_of(Answer(A), call)).outcome is None


def test_pairs_are_rated_in_order():
    pairs = [pair_of(Answer(A), Answer(A)), pair_of(Answer(A), Answer(D))]
    assert [rating.outcome for rating in asyncio.run(LocalJudge(PlantedEntailment()).rate_all(pairs))] == [
        3,
        1,
    ]


def test_sentences_of_other_scripts_end_at_their_marks():
    """Chinese and Japanese have no space after a full stop."""
    assert sentences("很好。不行。\n1. One. Two?") == ["很好。", "不行。", "One.", "Two?"]


@pytest.mark.parametrize(
    ("labels", "place"),
    [
        ({0: "contradiction", 1: "entailment", 2: "neutral"}, 1),
        ({0: "ENTAILMENT", 1: "not_entailment"}, 0),
    ],
)
def test_the_order_of_labels_is_the_model_s_own(labels, place):
    assert entailment_label(labels) == place


def test_a_model_without_an_entailment_label_is_refused():
    """A reranker has one nameless label."""
    with pytest.raises(LocalJudgeUnavailableError, match="labels are LABEL_0"):
        entailment_label({0: "LABEL_0"})


@pytest.mark.skipif("not __import__('importlib').util.find_spec('sentence_transformers')")
def test_a_cross_encoder_is_loaded_from_a_folder(tmp_path):
    """A tiny one with RANDOM weights: that loading, labels, lengths and both directions work, no more."""
    transformers = pytest.importorskip("transformers")
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "it", "costs", "5", "euros", "is", "blue", "."]
    (tmp_path / "vocab.txt").write_text("\n".join(words), encoding="utf-8")
    transformers.BertTokenizerFast(str(tmp_path / "vocab.txt"), model_max_length=32).save_pretrained(tmp_path)
    config = transformers.BertConfig(
        vocab_size=len(words), hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
        intermediate_size=16, max_position_embeddings=32, num_labels=3,
        id2label={0: "contradiction", 1: "entailment", 2: "neutral"},
    )  # fmt: skip
    transformers.BertForSequenceClassification(config).save_pretrained(tmp_path)
    model = CrossEncoderModel(str(tmp_path))
    likely = model.entailment([(A, C), (C, A)])
    assert len(likely) == 2
    assert all(0 <= share <= 1 for share in likely)
    assert model.entailment([("it costs 5 euros . " * 20, C)]) is None
    assert LocalJudge(model).rate_now(pair_of(Answer(A), Answer(C))).outcome in {1, 2, 3}


def test_a_model_that_cannot_be_loaded_says_so(tmp_path):
    with pytest.raises(LocalJudgeUnavailableError, match=r"needs: pip install|cannot be loaded"):
        CrossEncoderModel(str(tmp_path))
