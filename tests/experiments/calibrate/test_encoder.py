"""Scores by an encoder: in batches, once for every text, kept for the next run."""

from __future__ import annotations

from evenkeel.experiments.calibrate.candidates import places, source_of
from evenkeel.experiments.calibrate.columns import chosen_columns, encoder_columns
from evenkeel.experiments.calibrate.encoder import KeptEncoder
from evenkeel.experiments.calibrate.scoring import Task, scored_with_encoder
from evenkeel.experiments.goldens.files import load_goldens
from evenkeel.metrics.languages import ANY_LANGUAGE
from evenkeel.metrics.similarity.embeddings import Embeddings
from tests.experiments.calibrate.planted_goldens import data, workflow, write_goldens


class Bag:
    """An encoder that counts letters."""

    def __init__(self):
        self.calls = []

    def encode(self, texts):
        self.calls.append(len(texts))
        return [
            [float(text.lower().count(letter)) for letter in "abcdefghijklmnopqrstuvwxyz"] for text in texts
        ]


def score(path, form, bag, vectors):
    with KeptEncoder(bag, "bag", vectors) as kept:
        columns = encoder_columns(Embeddings(kept, model="bag", name="bag"), kept, ANY_LANGUAGE)
        columns = chosen_columns(columns, ["json_similarity", "workflow_chain_f1", "workflow_tau_weighted"])
        missing = dict.fromkeys(places(form), frozenset(column.key for column in columns))
        tasks = [Task(source_of(golden, ""), form, 0, missing, {}) for golden in load_goldens(path)]
        return [row for rows in scored_with_encoder(tasks, columns, kept) for row in rows]


def test_some_hundred_candidates_are_encoded_in_one_call(tmp_path):
    """Twenty goldens are two batches; a second run over kept vectors calls nothing and scores the same."""
    path = write_goldens(tmp_path / "goldens.jsonl", 20, workflow)
    bag = Bag()
    rows = score(path, "workflow", bag, tmp_path / "v.sqlite")
    assert len(bag.calls) == 2
    assert len(rows) == 20 * 18
    scores = [row.scores["workflow_chain_f1@1:bag"] for row in rows if row.undegradable is None]
    assert all(isinstance(one, float) for one in scores)
    assert len(set(scores)) > 5
    again = score(path, "workflow", bag, tmp_path / "v.sqlite")
    assert len(bag.calls) == 2
    assert [row.scores for row in again] == [row.scores for row in rows]


def test_values_of_data_are_encoded_as_they_are_compared(tmp_path):
    """What the metric asks for is encoded, without anybody knowing beforehand what that is."""
    path = write_goldens(tmp_path / "goldens.jsonl", 3, data)
    bag = Bag()
    rows = score(path, "data", bag, None)
    assert len(bag.calls) == 1
    assert all(isinstance(row.scores["json_similarity@1:bag"], float) for row in rows if not row.undegradable)
