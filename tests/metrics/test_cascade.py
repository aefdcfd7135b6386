"""The cascade: who decides, and what it saves on real reruns."""

from __future__ import annotations

import asyncio
import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.core.budget import Spend
from evenkeel.core.pair import Answer, AnswerForm, Pair, ToolCall, draw
from evenkeel.core.verdict import (
    DECIDED_BY,
    JUDGED_AGAIN,
    JUDGED_SWAPPED,
    PROVENANCE,
    Failure,
    stage_of,
)
from evenkeel.metrics.cascade import CascadeRater
from evenkeel.metrics.heuristic import HeuristicRater
from evenkeel.metrics.judge.raters import JudgeNoise
from evenkeel.metrics.protocol import Rating
from evenkeel.metrics.scoring import TwoStageScorer
from evenkeel.metrics.similarity.meaning import MeaningScore
from tests.kit.public import DATA
from tests.kit.recorded import gpt4o_kinds
from tests.kit.records import altered

if TYPE_CHECKING:
    from collections.abc import Sequence

SAME, OTHER = "The import of order 4711 failed at noon.", ""
NEAR = f"{SAME}\n"
"""Identical to `SAME`."""


@dataclass
class Script:
    """A judge that says what it is told and remembers what it saw."""

    outcome: int | Failure = 2
    seen: list[Pair] = field(default_factory=list)

    async def rate_all(self, pairs: Sequence[Pair]) -> list[Rating]:
        """As `rate`."""
        return [await self.rate(pair) for pair in pairs]

    async def rate(self, pair: Pair) -> Rating:
        """The planted outcome, at ten tokens."""
        self.seen.append(pair)
        return Rating(self.outcome, "the judge's words", {"spread": 0.0}, tokens=10, cost_usd=0.5)


def rated(pair: Pair, judge: Script) -> Rating:
    rater = HeuristicRater(language_of=lambda _: "en")
    (rating,) = asyncio.run(CascadeRater(rater, judge).rate_all([pair]))
    return rating


def pair_of(reference: str, candidate: str, wanted: AnswerForm | None = None) -> Pair:
    return Pair(Answer(reference), Answer(candidate), "question", None, wanted or AnswerForm())


@pytest.mark.parametrize(
    ("candidate", "outcome", "stage"),
    [
        (SAME.upper(), 2, "judge"),
        (NEAR, 3, "equality"),
        (OTHER, 1, "empty"),
        (SAME.replace("4711", "4712"), 2, "judge"),
        (SAME.replace("failed", "succeeded"), 2, "judge"),
        (SAME.replace("failed", "did not fail"), 2, "judge"),
        (SAME + " It was tried twice.", 2, "judge"),
    ],
)
def test_the_first_stage_that_is_sure_decides(candidate, outcome, stage):
    """Identical and empty answers cost nothing; all else costs a call."""
    judge = Script()
    rating = rated(pair_of(SAME, candidate), judge)
    assert (rating.outcome, stage_of(rating.details)) == (outcome, stage)
    assert len(judge.seen) == (stage == "judge")
    assert (rating.tokens, rating.cost_usd) == ((10, 0.5) if stage == "judge" else (0, 0.0))


def test_a_judged_rating_keeps_the_scores_behind_the_doubt():
    """Likeness and similarity stand beside the judge's word."""
    rating = rated(pair_of(SAME, SAME.replace("4711", "4712")), Script())
    assert rating.explanation == "the judge's words"
    assert rating.details[DECIDED_BY] == 2
    assert {"likeness", "spread"} <= set(rating.details)
    assert rating.similarity == rating.details["likeness"]


def test_a_judge_that_fails_on_a_doubtful_pair_leaves_no_rating():
    """Heuristics never stand in for a judge that was needed."""
    down = Failure("similarity", 1, "timeout")
    rating = rated(pair_of(SAME, SAME.replace("4711", "4712")), Script(down))
    assert rating.outcome == down
    assert rating.tokens == 10


def test_pairs_in_two_languages_go_to_the_judge():
    """No words in common decides nothing there."""
    judge = Script(3)
    pair = pair_of(SAME, "Der Import von Auftrag 4711 ist mittags gescheitert.", AnswerForm(language="de"))
    assert rated(pair, judge).outcome == 3
    assert judge.seen == [pair]


def test_the_whole_chain_leaves_its_trace_in_the_judgement():
    """Scorer, cascade and noise sampler together: who decided, and both second ratings."""
    judge, fresh = Script(2), Script(3)
    noise = JudgeNoise(judge, fresh=fresh, share=1.0)
    cascade = CascadeRater(HeuristicRater(language_of=lambda _: "en"), noise)
    judgement = asyncio.run(TwoStageScorer("judge", cascade, {}).score(pair_of(SAME, NEAR)))
    assert (judgement.rating, stage_of(judgement.details), judge.seen) == (3, "equality", [])
    (rating,) = asyncio.run(cascade.rate_all([pair_of(SAME, SAME.upper())]))
    trace = {name: rating.details[name] for name in PROVENANCE & rating.details.keys()}
    assert trace == {DECIDED_BY: 2, JUDGED_AGAIN: 3, JUDGED_SWAPPED: 3}
    assert (rating.outcome, rating.tokens, len(fresh.seen)) == (2, 30, 2)


class Paid:
    """Embeddings of another model than the default, at three tokens a pair."""

    encoder = "other"

    def on_scale(self, _):
        """Always."""
        return True

    def expense(self, texts_chars):
        """A token a character."""
        return Spend(texts_chars, 0.0)

    async def measure(self, _):
        """The same for all."""
        return MeaningScore(0.9, 3, 0.25)


@pytest.mark.parametrize(
    ("outcome", "ratings"), [(2, [1, 2]), (Failure("judge", 1, "timeout"), [None, None])]
)
def test_an_empty_answer_does_not_count_while_the_judge_of_its_exchange_fails(outcome, ratings):
    """Of an outage only the empty answers would be left, and every cell would look broken."""
    cascade = CascadeRater(HeuristicRater(language_of=lambda _: "en"), Script(outcome))
    pairs = [pair_of(SAME, candidate) for candidate in (OTHER, SAME.upper())]
    judgements = asyncio.run(TwoStageScorer("judge", cascade, {}).score_all(pairs))
    assert [judgement.rating for judgement in judgements] == ratings


def test_paid_embeddings_are_part_of_a_ratings_price():
    """The encoder's three tokens beside the judge's ten."""
    cascade = CascadeRater(HeuristicRater(Paid()), Script(2))
    (rating,) = asyncio.run(cascade.rate_all([pair_of(SAME, SAME.replace("4711", "4712"))]))
    assert (rating.tokens, rating.cost_usd) == (13, 0.75)


def test_nothing_to_compare_is_nobodys_case():
    """Two empty answers are a failure, and no call."""
    judge = Script()
    outcome = rated(pair_of("", " "), judge).outcome
    assert isinstance(outcome, Failure)
    assert outcome.reason == "no_text"
    assert judge.seen == []


def test_data_is_compared_by_its_values():
    """JSON and YAML of the same content are equal; another value is for the judge."""
    judge = Script()
    reference = '{"site": "Berlin", "count": 4, "open": true}'
    same = rated(pair_of(reference, "count: 4\nopen: true\nsite: Berlin\n", AnswerForm("yaml")), judge)
    assert (same.outcome, same.details[DECIDED_BY]) == (3, 0)
    changed = rated(pair_of(reference, "count: 5\nopen: true\nsite: Berlin\n", AnswerForm("yaml")), judge)
    assert changed.details[DECIDED_BY] == 2


def test_a_rating_that_does_not_say_who_decided_is_the_judges():
    """One that names a stage there is not was not decided by any."""
    assert stage_of({}) == "judge"
    assert stage_of({DECIDED_BY: 17.0}) == "unsure"


TEXT = st.text(st.sampled_from("ab{}:\ud800é "), max_size=6)


@given(TEXT, TEXT, TEXT, st.sampled_from(["audit", "noise"]))
def test_lots_are_fair_and_repeatable(reference, candidate, context, purpose):
    """In [0, 1), the same each time, another for the other purpose."""
    pair = Pair(Answer(reference), Answer(candidate), context)
    lot = draw(pair, purpose)
    assert 0 <= lot < 1
    assert lot == draw(altered(pair), purpose)
    assert lot != draw(pair, purpose + "2")


def test_lots_keep_texts_apart_that_join_to_the_same():
    """Where one text ends and the next begins counts, and so do calls."""
    pairs = [
        Pair(Answer("ab"), Answer("c"), ""),
        Pair(Answer("a"), Answer("bc"), ""),
        Pair(Answer("a"), Answer("b"), "c"),
        Pair(Answer("a", (ToolCall("b", ""),)), Answer("c"), ""),
        Pair(Answer("a"), Answer("c", (ToolCall("b", ""),)), ""),
    ]
    assert len({draw(pair, "x") for pair in pairs}) == len(pairs)


def test_a_lot_is_the_head_of_a_hash():
    """Worked out beside the code: length-prefixed parts, the first 53 bits of SHA-256."""
    parts = ["audit", "question", "ab", "1", "f", "{}", "c", "0"]
    data = b"".join(len(part).to_bytes(8, "big") + part.encode() for part in parts)
    bits = int(hashlib.sha256(data).hexdigest(), 16) >> (256 - 53)
    pair = Pair(Answer("ab", (ToolCall("f", "{}"),)), Answer("c"), "question")
    assert draw(pair, "audit") == bits / 2**53


def test_real_reruns_are_decided_without_mistaking_a_changed_conclusion():
    """Identity takes some of GPT-4o's unchanged reruns from the judge, and no changed one."""
    if not DATA.is_dir():
        pytest.skip("no data beside the repository (../shared/data): llm_stability reruns not checked")
    kinds, rater = gpt4o_kinds(), HeuristicRater(language_of=lambda _: "en")

    def saved(kind: str) -> float:
        ratings = [asyncio.run(rater.rate(pair_of(*texts))) for texts in kinds[kind]]
        return sum(stage_of(rating.details) in {"equality", "empty"} for rating in ratings) / len(ratings)

    assert saved("rerun, same conclusion") > 0.1
    assert saved("rerun, other conclusion") == 0
