"""The workflow judge: what it shows, how calls are averaged, and how they fail."""

import asyncio

import pytest

from evenkeel.core.budget import Spend
from evenkeel.core.pair import Answer, Pair
from evenkeel.core.verdict import Failure
from evenkeel.lab.metrics.workflow_judge import WORKFLOW, WorkflowJudge
from evenkeel.metrics.judge.reply import Reply, Ruling, read_ruling
from evenkeel.metrics.workflow.workflow import sequence
from tests.metrics.judge.scripted_judge import judging, rated

GOLD, CANDIDATE = sequence(["open tray", "add paper"]), sequence(["open tray"])
DOWN = Failure("workflow_judge", 1, "timeout", "Nothing came.")


class TurnJudge:
    """Gives outcomes in turn and records what it was asked."""

    def __init__(self, *outcomes):
        self.outcomes = outcomes
        self.asked = []

    async def ask(self, question, *, vote=0):
        self.asked.append((question, vote))
        outcome = self.outcomes[vote]
        return Reply(
            Ruling(outcome, f"said {outcome}") if isinstance(outcome, int) else outcome, Spend(15, 0.25)
        )


def judged(*outcomes, **options):
    judge = TurnJudge(*outcomes)
    return asyncio.run(WorkflowJudge(judge).judged(GOLD, CANDIDATE, **options)), judge


def test_three_calls_are_averaged_over_five():
    """2, 3 and 3 of 5 are 8/15; tokens and cost are of all three."""
    found, judge = judged(2, 3, 3)
    assert found.outcome == pytest.approx(8 / 15)
    assert (found.ratings, found.explanation, found.spent) == ((2, 3, 3), "said 2", Spend(45, 0.75))
    assert [vote for _, vote in judge.asked] == [0, 1, 2]


def test_the_rating_before_the_check_is_read_and_written_down_first():
    """A judge that corrects 2 to 3 gives both; the prompt asks for each step's finding before the rating."""
    reply = '{"both": "2, 1", "initial_rating": 2, "check": "no", "explanation": "tray", "rating": 3}'
    assert read_ruling(reply, WORKFLOW.steps) == Ruling(3, "tray", 2)
    assert read_ruling('{"initial_rating": 9, "rating": 3}', WORKFLOW.steps) == Ruling(3, "")
    asked = WORKFLOW.fill({"REFERENCE WORKFLOW": "x"}).messages[-1].content
    form = asked.rpartition("{")[2]
    fields = ["both", "matches", "differences", "initial_rating", "check", "explanation", "rating"]
    places = [form.index(f'"{field}":') for field in fields]
    assert places == sorted(places)


def test_one_failed_call_is_left_out_and_two_are_a_failure():
    """A mean of two calls stands; a single rating does not, nor none."""
    assert judged(5, DOWN, 4)[0].outcome == pytest.approx(0.9)
    alone = judged(5, DOWN, DOWN)[0]
    assert (alone.outcome.reason, alone.ratings, alone.spent.tokens) == ("timeout", (5,), 45)
    mixed = judged(DOWN, Failure("workflow_judge", 1, "refused"), DOWN)[0].outcome
    assert mixed.reason == "too_few_votes"
    assert "timeout x 2" in mixed.detail


def test_the_question_shows_both_workflows_as_data_on_a_scale_of_six():
    """The task only if there is one; zero is a rating."""
    found, judge = judged(0, 0, 0, task="Fill the printer.")
    question, _ = judge.asked[0]
    assert found.outcome == 0.0
    assert question.scale == (0, 1, 2, 3, 4, 5)
    shown = question.messages[1].content
    for part in ("BEGIN TASK", "BEGIN REFERENCE WORKFLOW", "2: add paper", "(1,2) (2,END)", "Check yourself"):
        assert part in shown
    assert "BEGIN TASK" not in judged(1, 1, 1)[1].asked[0][0].messages[1].content


def test_answers_are_read_before_the_judge_is_asked():
    """Prose is a failure without a call; pairs are scored in order."""
    judge = TurnJudge(5, 5, 5)
    metric = WorkflowJudge(judge)
    good = Pair(Answer("1. a\n2. b"), Answer("1. a\n2. b"), "")
    bad, fine = asyncio.run(metric.score_all([Pair(Answer("1. a"), Answer("no"), ""), good]))
    assert bad.reason == "no_workflow"
    assert fine == 1.0
    assert len(judge.asked) == 3


def test_a_real_judge_client_is_asked_three_times_with_three_seeds():
    """Over HTTP: the schema has the scale, and each call another seed."""

    async def scene():
        async with judging([rated(4), rated(5), rated(4)]) as (judge, scripted):
            return await WorkflowJudge(judge).judged(GOLD, CANDIDATE), scripted.asked

    found, asked = asyncio.run(scene())
    assert found.outcome == pytest.approx(13 / 15)
    assert len({request["seed"] for request in asked}) == 3
    rating = asked[0]["response_format"]["json_schema"]["schema"]["properties"]["rating"]
    assert rating["enum"] == [0, 1, 2, 3, 4, 5]


def test_every_step_of_the_scale_has_words():
    assert [line[0] for line in WORKFLOW.scale.splitlines()[1:]] == list("543210")
