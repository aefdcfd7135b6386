"""The two-stage score, with planted raters and with the heuristics."""

import asyncio
import threading
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.core.budget import Spend
from evenkeel.core.pair import Answer, AnswerForm, Pair, ToolCall
from evenkeel.core.verdict import (
    DECIDED_BY,
    Failure,
    stage_of,
)
from evenkeel.metrics import scoring
from evenkeel.metrics.judge import JudgedQuality
from evenkeel.metrics.protocol import Rating
from evenkeel.metrics.scoring import TwoStageScorer, heuristic_scorer, measure
from evenkeel.metrics.tasks import Task
from tests.cases import cases

CASES = cases(__file__)

CASE = (
    "Summarise the case. Ticket INC00469: on 2024-03-05 at 09:40 the VPN client 4.2.1 on host BER-12 stopped "
    "connecting with error 0x80070005. Support rolled the update back under CHG-881 and 35 users could work."
)
GOOD = "INC00469: VPN client 4.2.1 on BER-12 failed with 0x80070005, 2024-03-05 at 09:40; CHG-881 helped 35."
VAGUE = "The client stopped connecting and somebody found a remedy."


@dataclass
class PlantedRater:
    """A rater and a quality metric whose outcomes are given, by candidate or answer text."""

    outcomes: dict[str, int | str]
    name: str = "planted"
    version: int = 4
    tokens: int = 10
    seen: list[tuple[str, str]] = field(default_factory=list)
    measure = JudgedQuality.measure

    async def rate_all(self, pairs):
        return [await self.rate(pair) for pair in pairs]

    async def rate(self, subject, context=""):
        """The planted outcome; a string stands for the reason of a failure."""
        text = subject.candidate.text if isinstance(subject, Pair) else subject.text
        self.seen.append((text, context))
        outcome = self.outcomes[text]
        made = Failure(self.name, self.version, outcome) if isinstance(outcome, str) else outcome
        return Rating(made, "planted", {"closeness": 0.5}, spent=Spend(self.tokens, self.tokens / 1000))


BAD_SCHEMA = Failure("planted", 4, "bad_schema")


def scored(rating, faithfulness, completeness):
    measures = {Task.CHAT: (faithfulness, completeness)}
    scorer = TwoStageScorer("judge", PlantedRater({"b": rating}), measures)
    return asyncio.run(scorer.score(Pair(Answer("a"), Answer("b"), "context")))


@pytest.mark.parametrize("rating", [3, "bad_schema"])
def test_a_three_and_a_failure_end_after_the_first_stage(rating):
    """Quality is not asked for, and nothing but the attempt to rate is paid."""
    quality = PlantedRater({})
    judgement = scored(rating, quality, quality)
    assert (judgement.rating, judgement.failures) == ((3, ()) if rating == 3 else (None, (BAD_SCHEMA,)))
    assert (quality.seen, judgement.quality, judgement.spent) == ([], (), Spend(10, 0.01))


@pytest.mark.parametrize("rating", [2, 1])
def test_below_three_both_answers_go_through_every_metric(rating):
    """Each metric rates each answer alone against the context; tokens and cost of all five calls add up."""
    faithful, complete = (
        PlantedRater({"a": 3, "b": 3}, "faithful"),
        PlantedRater({"a": 2, "b": 1}, "complete", tokens=100),
    )
    judgement = scored(rating, faithful, complete)
    assert judgement.rating == rating
    assert [(s.metric, s.version, s.reference, s.candidate, s.changed) for s in judgement.quality] == [
        ("faithful", 4, 3, 3, False),
        ("complete", 4, 2, 1, True),
    ]
    assert sorted(faithful.seen) == [("a", "context"), ("b", "context")]
    assert judgement.spent.tokens == 10 + 2 * 10 + 2 * 100
    assert judgement.spent.usd == pytest.approx(0.23)


def test_a_rating_alone_asks_for_no_quality():
    """A shifted pair costs no more than its rating where only that is wanted."""
    quality = PlantedRater({})
    scorer = TwoStageScorer("judge", PlantedRater({"b": 1}), {Task.CHAT: (quality,)})
    judgement = asyncio.run(scorer.score(Pair(Answer("a"), Answer("b"), "context"), qualities=False))
    assert (judgement.rating, judgement.quality, judgement.spent.tokens) == (1, (), 10)
    assert quality.seen == []


@pytest.mark.parametrize(
    ("outcomes", "tokens"),
    [
        ({"a": "timeout", "b": 3}, 40),
        ({"a": 3, "b": "timeout"}, 50),
        ({"a": "timeout", "b": "timeout"}, 40),
    ],
)
def test_a_failed_quality_metric_is_counted_once_and_the_rest_stands(outcomes, tokens):
    """There is one failure and no score of that metric, whichever answer it failed on.

    Where it fails on the reference, the candidate is not asked about.
    """
    judgement = scored(2, PlantedRater(outcomes, "faithful"), PlantedRater({"a": 2, "b": 2}, "complete"))
    assert judgement.rating == 2
    assert [score.metric for score in judgement.quality] == ["complete"]
    assert judgement.failures == (Failure("faithful", 4, "timeout"),)
    assert judgement.spent.tokens == tokens


def test_two_empty_answers_are_a_failure():
    """Pairs without text and tool calls get no rating, and one reason."""
    judgement = asyncio.run(heuristic_scorer().score(Pair(Answer(""), Answer(""), CASE)))
    assert judgement.rating is None
    assert [failure.reason for failure in judgement.failures] == ["no_text"]


def cheap(reference, candidate, context=CASE, task=None):
    return asyncio.run(heuristic_scorer().score(Pair(Answer(reference), Answer(candidate), context, task)))


SAME = "The import of order 4711 failed at noon."


@pytest.mark.parametrize(("reference", "candidate", "outcome", "stage"), CASES["stages"])
def test_only_identical_and_empty_answers_need_no_judge(reference, candidate, outcome, stage):
    """Such answers cost nothing; all else costs a call, and is unsure without a judge."""
    sides = [
        Answer(side) if isinstance(side, str) else Answer("", (ToolCall(*side),))
        for side in (reference, candidate)
    ]
    pair = Pair(*sides, "question")
    judge = PlantedRater({sides[1].text: 2})
    judgement = asyncio.run(heuristic_scorer(local_judge=judge).score(pair))
    assert (judgement.rating, stage_of(judgement.details)) == (outcome, stage)
    assert (len(judge.seen), judgement.spent.tokens) == ((1, 10) if stage == "judge" else (0, 0))
    alone = asyncio.run(heuristic_scorer().score(pair))
    assert (alone.rating, alone.unsure) == ((None, True) if stage == "judge" else (outcome, False))


def test_a_judged_rating_keeps_the_scores_of_its_similarity():
    """Likeness stands beside the judge's word; a judge that fails is replaced by nothing."""
    pair = Pair(Answer("a b c"), Answer("a b d"), "question")
    judgement = asyncio.run(heuristic_scorer(local_judge=PlantedRater({"a b d": 2})).score(pair))
    assert judgement.explanation == "planted"
    assert {"likeness", "closeness"} <= set(judgement.details)
    assert judgement.similarity == judgement.details["likeness"]
    failed = asyncio.run(heuristic_scorer(local_judge=PlantedRater({"a b d": "timeout"})).score(pair))
    assert (failed.rating, failed.unsure, failed.spent.tokens) == (None, False, 10)
    assert [failure.reason for failure in failed.failures] == ["timeout"]


def test_an_unsure_judge_on_this_machine_says_why():
    """Nobody reads that a judge is missing where one was asked."""
    pair = Pair(Answer("a b c"), Answer("a b d"), "question")
    judgement = asyncio.run(heuristic_scorer(local_judge=PlantedRater({"a b d": None})).score(pair))
    assert (judgement.unsure, judgement.explanation) == (True, "planted")


def test_pairs_in_two_languages_go_to_the_judge():
    """Words in common decide nothing there."""
    german = "Der Import von Auftrag 4711 ist mittags gescheitert."
    pair = Pair(Answer(SAME), Answer(german), "", None, AnswerForm(language="de"))
    assert asyncio.run(heuristic_scorer(local_judge=PlantedRater({german: 3})).score(pair)).rating == 3


def test_a_stage_is_the_judges_unless_the_details_say_otherwise():
    """A number that no stage has was decided by none."""
    assert stage_of({}) == "judge"
    assert stage_of({DECIDED_BY: 17.0}) == "unsure"


@pytest.mark.parametrize(("outcome", "ratings"), [("timeout", [None, None]), (None, [3, None]), (2, [3, 2])])
def test_what_needs_no_judge_does_not_count_while_the_judge_of_its_exchange_fails(outcome, ratings):
    """An outage would leave only identical answers, which look steady, or empty ones, which look broken."""
    rater = TwoStageScorer("judge", PlantedRater({"b": outcome}), {})
    pairs = [Pair(Answer("a"), Answer(candidate), "context") for candidate in ("a", "b", "")]
    same, other, empty = asyncio.run(rater.score_all(pairs))
    assert [same.rating, other.rating] == ratings
    assert empty.rating == (1 if ratings[0] else None)
    if ratings[0] is None:
        assert same.failures == other.failures == empty.failures
        assert (same.shifted, same.similarity, same.unsure) == (None, None, False)


@pytest.mark.parametrize(("where", "paid"), [("deciding", 0), ("rating", 0), ("measuring", 10)])
def test_an_exception_spoils_the_pair_that_it_is_about(monkeypatch, where, paid):
    """The other pairs keep their ratings, and the spoiled one says what it has cost."""

    def ignored(pair, _):
        if where == "deciding" and pair.candidate.text == "odd":
            raise KeyError("planted")
        return ()

    monkeypatch.setattr("evenkeel.metrics.scoring.ignored", ignored)
    outcomes = {"one": 2, "two": 2, "odd": 2, "three": 2}
    # A text without an outcome raises KeyError.
    known = {text: outcomes[text] for text in ("one", "two", "three")}
    rater = PlantedRater(known if where == "rating" else outcomes)
    quality = PlantedRater(known if where == "measuring" else outcomes)
    scorer = TwoStageScorer("judge", rater, {Task.CHAT: (quality,)})
    pairs = [Pair(Answer("one"), Answer(text), "context") for text in ("two", "odd", "three")]
    before, odd, behind = asyncio.run(scorer.score_all(pairs))
    assert before.rating == behind.rating == 2
    assert len(before.quality) == len(behind.quality) == 1
    assert [failure.reason for failure in odd.failures] == ["internal_error"]
    assert (odd.rating, odd.unsure, odd.spent.tokens) == (None, False, paid)


def test_scoring_leaves_the_event_loop_alone(monkeypatch):
    threads = []
    original = scoring.likeness

    def noted(*given):
        threads.append(threading.current_thread())
        return original(*given)

    monkeypatch.setattr(scoring, "likeness", noted)
    cheap(GOOD, VAGUE)
    assert threads
    assert threading.main_thread() not in threads


@pytest.mark.parametrize(
    ("reference", "candidate", "wanted", "expected"),
    [
        ("The client is fixed", "Der Client geht", "de", "cross_language"),
        ("Yes, restarted.", "Ja, neu gestartet.", "de", "cross_language"),
        ("The client is fixed", "Der Client geht", None, None),
        ("Er hat sich erholt", "Er hat sich gut erholt", "de", None),
        ("42 %", "43 %", "de", None),
    ],
)
def test_an_answer_in_the_language_asked_for_is_compared_with_no_other_one(
    reference, candidate, wanted, expected
):
    """Unless the reference is certainly in that language; numbers alone are comparable."""
    pair = Pair(Answer(reference), Answer(candidate), "", None, AnswerForm(language=wanted))
    outcome = measure(pair, lambda text: "de" if " sich " in text else None).outcome
    assert (outcome.reason if isinstance(outcome, Failure) else outcome) == expected


_TEXT = st.text(st.sampled_from('ab1 .(){}":,*_\n\u00df\u3042'), max_size=40)


@given(_TEXT, _TEXT, _TEXT)
def test_any_texts_give_a_rating_or_a_reason(reference, candidate, context):
    """Never an exception; a rating, a similarity, or one reason why not; quality only below 3."""
    judgement = cheap(reference, candidate, context)
    if judgement.rating is None:
        assert judgement.unsure is not (len(judgement.failures) == 1 and judgement.similarity is None)
    else:
        assert judgement.rating in {1, 2, 3}
        assert judgement.rating < 3 or not (judgement.quality or judgement.failures)
    assert judgement.similarity is None or 0.0 <= judgement.similarity <= 1.0
    assert judgement.spent.tokens == 0
