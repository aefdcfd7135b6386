"""The corpus of labelled pairs: what a rule may say of it, and what is left to the judge."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

from evenkeel.core.languages import language_of
from evenkeel.core.pair import Answer, Pair
from evenkeel.metrics.heuristic import HeuristicRater

CORPUS = Path(__file__).parents[1] / "corpus" / "pairs.jsonl"


def test_a_rule_rates_no_pair_wrongly() -> None:
    """No different pair is a 3, no pair of two answers is a 1, and nothing is a 2."""
    rater = HeuristicRater(language_of=language_of)
    wrong: list[str] = []
    for line in CORPUS.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        pair = Pair(
            Answer(row["reference"]), Answer(row["candidate"]), row.get("prompt", ""), row.get("task")
        )
        outcome = asyncio.run(rater.rate(pair)).outcome
        allowed = {3} if row["equal"] else {1} if row["kind"] == "empty" else set()
        if isinstance(outcome, int) and outcome not in allowed:
            wrong.append(row["id"])
    assert wrong == []
