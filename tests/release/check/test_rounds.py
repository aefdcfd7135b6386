"""Rounds of a check with a scripted model: what failed answers count for."""

import asyncio
from dataclasses import replace

import pytest

from evenkeel.core.pair import Answer, ToolCall
from evenkeel.core.verdict import Failure, Judgement
from evenkeel.metrics.scoring import heuristic_scorer
from evenkeel.release.check.figures import FIRST, SECOND
from evenkeel.release.check.prompts import read_prompts
from evenkeel.release.check.rounds import RoundMaker, Variant
from evenkeel.release.check.run import CheckRequest, ModelAt, run_check
from evenkeel.release.kit.cost import Costs

(VIEW,) = read_prompts("Which plan fits a team of 12?", None, "p")


def planned(*arms, judge="j", prompts=1, **more):
    """A check of one category with a model of each arm."""
    models = dict.fromkeys(arms, ModelAt("planted", ""))
    rater = ModelAt(judge, "") if judge else None
    views = dict.fromkeys(arms, [VIEW] * prompts)
    return CheckRequest(prompts=views, models=models, kinds={"general": ()}, judge=rater, limit=0.1, **more)


class OneVariant:
    """Rewords nothing: the scripted model knows a variant by its draw."""

    async def make(self, view, round_number, open_categories):
        return [Variant("general", "general.casing", view)], {}


async def score(pairs):
    return [Judgement("judge", 3, rated_by="similarity@1") for _ in pairs]


def outcome_of(failing):
    """Return the outcome where each third of some calls, named by arm and end of their draw, fails."""

    async def ask(arm, view, draw):
        number, what = draw.split()
        fails = int(number) % 3 == 0 and (arm, what) in failing
        return Failure("replay", 1, "timeout") if fails else Answer("Pro.")

    request = planned(FIRST, SECOND, rounds=180)
    maker = RoundMaker(ask, score, OneVariant(), request.prompts, None)
    return asyncio.run(run_check(request, maker, Costs()))


@pytest.mark.parametrize(
    ("failing", "standing", "answer"),
    [
        ((), "within", "may_switch"),
        # Nothing is known of a round whose prompt got no answer, and nothing is wrong with the rewording.
        ([(FIRST, "first")], "within", "may_switch"),
        ([(FIRST, "general.casing")], "unknown", "not_yet"),
        ([(SECOND, "first")], "within", "not_yet"),
        ([(SECOND, "general.casing")], "within", "not_yet"),
    ],
)
def test_a_model_that_fails_at_rewordings_or_in_the_place_of_another_is_not_passed(failing, standing, answer):
    """All answers are the same, but a third of some may have moved, as far as anybody knows."""
    found = outcome_of(failing)
    assert (found.arms[FIRST][0].standing, found.switch.answer) == (standing, answer)


def silent_outcome(silent, *arms):
    """Return the outcome where one arm gives empty answers only; identity is all that is rated."""

    async def ask(arm, view, draw):
        return Answer("" if arm == silent else "Pro.")

    async def decided(pairs):
        judgements = await heuristic_scorer().score_all(pairs)
        return [replace(judgement, scorer="judge") for judgement in judgements]

    request = planned(*arms, judge="", rounds=60)
    maker = RoundMaker(ask, decided, OneVariant(), request.prompts, None)
    return asyncio.run(run_check(request, maker, Costs()))


def test_empty_answers_are_not_paid_for_to_the_end():
    """A few rounds show that nothing can be measured."""
    assert silent_outcome(FIRST, FIRST).stopped == "7 rounds measured nothing"


def test_a_model_that_says_nothing_differs_from_one_that_answers():
    """Its two empty answers are the same, so there is no noise in the difference."""
    found = silent_outcome(SECOND, FIRST, SECOND)
    assert (found.switch.answer, found.switch.because) == ("must_not", ("answers",))


def test_a_category_that_the_first_prompt_rules_out_is_tried_with_the_others():
    """Rows of a file differ; what does not fit one of them may fit the next."""

    class FitsThird:
        async def make(self, view, round_number, open_categories):
            if round_number % 3 < 2:
                return [], {"general": "nothing_to_change"}
            return [Variant("general", "general.casing", view)], {}

    async def ask(arm, view, draw):
        return Answer("Pro.")

    request = planned(FIRST, rounds=30, prompts=3)
    maker = RoundMaker(ask, score, FitsThird(), request.prompts, None)
    assert asyncio.run(run_check(request, maker, Costs())).arms[FIRST][0].points.n == 10


def test_an_answer_is_shown_with_the_tools_that_it_calls():
    """A rewording that makes the model call another tool has no text to compare."""

    async def ask(arm, view, draw):
        calls = (ToolCall("pay" if draw.endswith("casing") else "find", '{"id": 7}'),)
        return Answer("", calls, finish_reason="length")

    maker = RoundMaker(ask, score, OneVariant(), {FIRST: [VIEW]}, None)
    (trial,) = asyncio.run(maker.make(0, ("general",))).trials
    assert (trial.reference, trial.candidate) == ('→ find({"id": 7})', '→ pay({"id": 7})')
    assert (trial.moved, trial.cut, trial.unrated) == (False, True, False)

    async def unable(pairs):
        return [Judgement("judge", None, failures=(Failure("judge", 1, "timeout"),)) for _ in pairs]

    maker.score = unable
    (trial,) = asyncio.run(maker.make(0, ("general",))).trials
    assert (trial.moved, trial.failure, trial.unrated) == (None, "judge_timeout", True)
