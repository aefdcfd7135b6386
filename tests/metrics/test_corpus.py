"""The corpora of pairs: what a rule may say of them, and what is left to the judge."""

import asyncio
import json
from pathlib import Path

import pytest

from evenkeel.core.languages import language_of
from evenkeel.metrics.pairs import read_pair
from evenkeel.metrics.scoring import heuristic_scorer

CORPUS = Path(__file__).parents[1] / "corpus"
ALLOWED = {"identical": {3}, "empty": {1}, "same": {3, None}, "different": {2, None}, "nothing": {1, None}}


def rows(name):
    with (CORPUS / name).open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def expected(row):
    """Ratings that a row of either file is expected to have."""
    if "expect" in row:
        return str(row["expect"])
    if row["kind"] == "empty":
        return "nothing"  # "N/A" and the like among them, which say that there is nothing
    return "same" if row["equal"] else "different"


def turned(row):
    return row | {"reference": row["candidate"], "candidate": row["reference"]}


@pytest.mark.parametrize(
    ("name", "is_turned"), [("pairs.jsonl", False), ("attacks.jsonl", False), ("attacks.jsonl", True)]
)
def test_a_rule_rates_no_pair_wrongly(name, *, is_turned):
    """No different pair is a 3, no pair of two answers is a 1, and what is identical needs no judge.

    Either answer may be the reference unless a format was asked for, in which the other one is invalid.
    """
    listed = [row for row in rows(name) if not (is_turned and "wanted" in row)]
    scorer = heuristic_scorer(language_of)
    pairs = [read_pair(turned(row) if is_turned else row) for row in listed]
    wrong = []
    for row, judgement in zip(listed, asyncio.run(scorer.score_all(pairs)), strict=True):
        if judgement.rating not in ALLOWED[expected(row)]:
            wrong.append(row["id"])
    assert wrong == []
