"""The corpus of labelled pairs: what heuristics prove of it, and what the cascade asks a judge."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from evenkeel.core.languages import language_of
from evenkeel.core.pair import Answer, Pair
from evenkeel.core.verdict import stage_of
from evenkeel.metrics.cascade import CascadeRater
from evenkeel.metrics.heuristic import HeuristicRater
from evenkeel.metrics.protocol import Rating

if TYPE_CHECKING:
    from collections.abc import Sequence

CORPUS = Path(__file__).parents[1] / "corpus" / "pairs.jsonl"
OTHER = ("refusal", "empty", "subject")
"""Kinds whose answers are plainly other ones."""


def pairs() -> list[tuple[dict[str, Any], Pair]]:
    """Each row, and its pair."""
    rows = [json.loads(line) for line in CORPUS.read_text(encoding="utf-8").splitlines()]
    return [
        (
            row,
            Pair(Answer(row["reference"]), Answer(row["candidate"]), row.get("prompt", ""), row.get("task")),
        )
        for row in rows
    ]


@pytest.fixture(scope="module")
def rated() -> list[tuple[dict[str, Any], Rating]]:
    """Each row and its rating without a judge."""
    rater = HeuristicRater(language_of=language_of)
    return [(row, rater.rate_now(pair)) for row, pair in pairs()]


def test_what_is_rated_without_a_judge_is_right(rated: list[tuple[dict[str, Any], Rating]]) -> None:
    """Of different pairs at most 1 % are rated 3, of equal ones at most 1 % are rated 1 or 2."""
    found = Counter(
        (row["equal"], rating.outcome) for row, rating in rated if isinstance(rating.outcome, int)
    )
    equal = sum(row["equal"] for row, _ in rated)
    wrong = [row["id"] for row, rating in rated if rating.outcome == 3 and not row["equal"]]
    assert len(wrong) <= 0.01 * (len(rated) - equal), wrong
    lost = [row["id"] for row, rating in rated if rating.outcome in {1, 2} and row["equal"]]
    assert len(lost) <= 0.01 * equal, lost
    # What is not unsure is worth having: a tenth of both halves and more.
    assert found[True, 3] > 0.1 * equal
    assert found[False, 2] > 0.1 * (len(rated) - equal)


class Labels:
    """A judge that knows the labels."""

    def __init__(self) -> None:
        self._rows = {(pair.reference.text, pair.candidate.text): row for row, pair in pairs()}
        self.calls = 0

    async def rate_all(self, pairs: Sequence[Pair]) -> list[Rating]:
        """3 for equal answers, 1 for plainly other ones, else 2."""
        self.calls += len(pairs)
        return [Rating(self.right(pair)) for pair in pairs]

    def right(self, pair: Pair) -> int:
        """What the label means as a rating."""
        row = self._rows[pair.reference.text, pair.candidate.text]
        return 3 if row["equal"] else 1 if row["kind"] in OTHER else 2


def test_the_cascade_says_what_a_judge_that_is_right_would_say() -> None:
    """On at least 99 % of the pairs, with fewer calls."""
    judge = Labels()
    cascade = CascadeRater(HeuristicRater(language_of=language_of), judge, audit_share=0.0)
    rows = list(pairs())
    ratings = asyncio.run(cascade.rate_all([pair for _, pair in rows]))
    found = [(row, pair, rating) for (row, pair), rating in zip(rows, ratings, strict=True)]
    wrong = [row["id"] for row, pair, rating in found if rating.outcome != judge.right(pair)]
    assert len(wrong) <= 0.01 * len(found), wrong
    decided = [row["id"] for row, _, rating in found if stage_of(rating.details) != "judge"]
    assert judge.calls == len(found) - len(decided) < len(found)
