"""Scores by an encoder: in batches, once for every text, kept for the next run."""

from __future__ import annotations

import pytest

from evenkeel.core.pair import Answer, Pair
from evenkeel.lab.calibrate.candidates import conditions, source_of
from evenkeel.lab.calibrate.columns import chosen_columns, encoder_columns
from evenkeel.lab.calibrate.degrade import Damage
from evenkeel.lab.calibrate.encoder import BatchEncoder, NotEncodedError
from evenkeel.lab.calibrate.scoring import Task, scored_with_encoder
from evenkeel.metrics.languages import ANY_LANGUAGE
from evenkeel.release.goldens.files import load_goldens
from tests.lab.calibrate.planted_goldens import write_goldens


class Counted:
    """An encoder that keeps its calls: by default the vector of a text is (its length, 1)."""

    def __init__(self, vector=lambda text: [float(len(text)), 1.0]):
        self.calls = []
        self.vector = vector

    def encode(self, texts):
        self.calls.append(list(texts))
        return [self.vector(text) for text in texts]


def letters(text):
    return [float(text.lower().count(letter)) for letter in "abcdefghijklmnopqrstuvwxyz"]


def score(path, bag):
    kept = BatchEncoder(bag, "bag")
    columns = encoder_columns("bag", kept, ANY_LANGUAGE)
    columns = chosen_columns(columns, ["workflow_chain_f1", "workflow_tau_weighted"])
    missing = dict.fromkeys(conditions(Damage()), frozenset(column.key for column in columns))
    tasks = [Task(source_of(golden, ""), Damage(), 0, missing) for golden in load_goldens(path)]
    return [row for rows in scored_with_encoder(tasks, columns, kept) for row in rows]


def test_some_hundred_candidates_are_encoded_in_one_call(tmp_path):
    """Twenty goldens are two batches."""
    path = write_goldens(tmp_path / "goldens.jsonl", 20)
    bag = Counted(letters)
    rows = score(path, bag)
    assert len(bag.calls) == 2
    assert len(rows) == 20 * 18
    scores = [row.scores["workflow_chain_f1@2:bag"] for row in rows if row.undegradable is None]
    assert all(isinstance(one, float) for one in scores)
    assert len(set(scores)) > 5


def vectors(encoder, *texts):
    return [[float(x) for x in vector] for vector in encoder.encode(texts)]


def test_what_is_missing_is_collected_and_encoded_in_one_call():
    """Nothing is encoded within the block; afterwards everything is there."""
    bare = Counted()
    kept = BatchEncoder(bare, "m")
    vectors(kept, "known")
    with kept.collecting():
        vectors(kept, "known")
        for texts in (("a", "known"), ("bb", "a")):
            with pytest.raises(NotEncodedError):
                kept.encode(texts)
    kept.encode_collected()
    vectors(kept, "a", "bb", "known")
    assert bare.calls == [["known"], ["a", "bb"]]


def test_the_columns_of_an_encoder_take_the_place_of_the_cheap_ones():
    """Metrics of workflows are aligned by meaning, and every key names the encoder."""
    kept = BatchEncoder(Counted(), "m")
    columns = encoder_columns("m", kept, ANY_LANGUAGE)
    assert {column.metric.name for column in columns} == {
        "workflow_chain_f1", "workflow_graph_f1", "workflow_graph_f1_published", "workflow_tau",
        "workflow_tau_weighted",
    }  # fmt: skip
    assert all(column.key.endswith(":m") for column in columns)
    by_name = {column.metric.name: column.metric for column in columns}
    pair = Pair(Answer("1. abcd\n2. ef"), Answer("1. wxyz\n2. gh"), "")
    # Texts of one length have one vector, so every step has its counterpart.
    assert by_name["workflow_chain_f1"].score(pair) == 1
