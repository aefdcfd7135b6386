"""Bundles by task, their wordings, and qualities that an application describes itself."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, cast

import pytest

from evenkeel.core.budget import Spend
from evenkeel.core.pair import Answer, Pair
from evenkeel.core.verdict import Failure, QualityScore
from evenkeel.metrics.judge import JudgedQuality, Reply
from evenkeel.metrics.judge.reply import Ruling
from evenkeel.metrics.quality.bundles import BUNDLES, RESERVED, Bundle, bundles_by, chosen, custom_prompt
from evenkeel.metrics.quality.measurement import measure_all
from evenkeel.metrics.tasks import Task, find_task
from tests.cases import cases

if TYPE_CHECKING:
    from evenkeel.metrics.judge import Judge
    from evenkeel.metrics.judge.prompts import Question

CASES = cases(__file__)
JUDGED = [(task, prompt) for task, bundle in BUNDLES.items() for prompt in bundle.judged]
CONTEXT = (
    "user: Summarise the case. On 2024-03-05 the VPN client 4.2.1 on host BER-12 failed with 0x80070005; 35 "
    "users could work again after change CHG-881."
)
SCALE = {3: "Polite throughout.", 2: "Neutral.", 1: "Rude."}
POLITE = custom_prompt("politeness", "Is it polite?", SCALE)


@dataclass
class TableJudge:
    """Answers by the prompt's name and what the answer says; a string is the reason of a failure."""

    ratings: dict[tuple[str, str], int | str]
    asked: list[Question] = field(default_factory=list)

    async def ask(self, question, *, vote=0, fresh=False):
        """The scripted rating; 100 + 20 tokens for 1 cent."""
        del vote, fresh
        self.asked.append(question)
        shown = re.findall(r"<<<BEGIN ANSWER \w+>>>\n(.*?)\n<<<END", question.messages[1].content, re.DOTALL)
        found = self.ratings[question.prompt, shown[0]]
        outcome = (
            Failure(question.prompt, question.version, found) if isinstance(found, str) else Ruling(found, "")
        )
        return Reply(outcome, Spend(120, 0.01))


def scripted(ratings):
    judge = TableJudge(ratings)
    return judge, partial(JudgedQuality, cast("Judge", judge))


@pytest.mark.parametrize(("task", "judged"), CASES["qualities of a task with and without a judge"])
def test_qualities_of_a_task_with_and_without_a_judge(task, judged):
    """The paper's qualities by judge, none of them without one, and rules in both."""
    bundle = BUNDLES[find_task(task)]
    _, judges = scripted({})
    rules = ["slot_match" if task == "slot_filling" else "workflow_steps", "tool_calls"]
    assert [quality.name for quality in bundle.measures(judges)] == judged + rules
    assert [quality.name for quality in bundle.measures()] == rules


def test_wordings_of_one_name_have_versions_of_their_own():
    """Faithfulness to a case and to documents are not the same metric: name and version tell them apart."""
    words = {}
    for _, prompt in JUDGED:
        words.setdefault((prompt.name, prompt.version), set()).add(prompt.question + prompt.scale)
    assert all(len(different) == 1 for different in words.values())
    assert {version for name, version in words if name == "faithfulness"} == {2, 101, 201, 301}


@pytest.mark.parametrize(
    ("task", "prompt"), JUDGED, ids=lambda value: getattr(value, "prompt_version", str(value))
)
def test_rubrics_explain_all_three_ratings(task, prompt):
    """Each says what 3, 2 and 1 mean; those of tasks tell the judge to mind neither language nor format."""
    assert re.findall(r"^(\d) - \S", prompt.scale, re.MULTILINE) == ["3", "2", "1"]
    assert prompt.steps == (1, 2, 3)
    if prompt.version > 100 or task == Task.QUESTION_ANSWERING:
        assert "another language" in prompt.question
        assert "another format" in prompt.question


def test_a_scripted_judge_scores_a_bundle():
    """Both answers in the task's own words: completeness falls, faithfulness stays, all calls are paid."""
    ratings = {("faithfulness", text): 3 for text in ("good", "vague")}
    judge, judged = scripted(ratings | {("completeness", "good"): 3, ("completeness", "vague"): 1})
    pair = Pair(Answer("good"), Answer("vague"), CONTEXT, "case_summary")
    qualities = asyncio.run(measure_all(BUNDLES[find_task(pair.task)].measures(judged), pair))
    assert qualities.scores == (
        QualityScore("faithfulness", 101, 3, 3),
        QualityScore("completeness", 101, 3, 1),
    )
    assert qualities.failures == ()
    assert qualities.spent.tokens == 4 * 120
    assert qualities.spent.usd == pytest.approx(0.04)
    assert all(CONTEXT in question.messages[1].content for question in judge.asked)
    assert {question.version for question in judge.asked} == {101}


def test_the_version_of_a_described_quality_follows_from_its_words():
    """Any change of wording is another version, white space is none, and all are beyond the built-in ones."""
    assert custom_prompt("politeness", " Is  it polite?\n", SCALE).version == POLITE.version
    assert custom_prompt("politeness", "Is it very polite?", SCALE).version != POLITE.version
    assert custom_prompt("politeness", "Is it polite?", SCALE | {2: "So so."}).version != POLITE.version
    assert POLITE.version >= 1_000_000


@pytest.mark.parametrize(("name", "scale", "message"), CASES["a description that cannot be used says why"])
def test_a_description_that_cannot_be_used_says_why(name, scale, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        custom_prompt(name, "Is it polite?", scale)


def test_every_built_in_judged_name_is_reserved():
    assert {prompt.name for _, prompt in JUDGED} <= RESERVED


def test_settings_choose_qualities_by_name():
    """Qualities are asked in the order named and in the task's words where it has them; or none at all."""
    bundle = chosen(BUNDLES[Task.CASE_SUMMARY], ["politeness", "completeness", "conciseness"], [POLITE])
    assert [(prompt.name, prompt.version) for prompt in bundle.judged] == [
        ("politeness", POLITE.version), ("completeness", 101), ("conciseness", 1),
    ]  # fmt: skip
    assert bundle.by_rule == BUNDLES[Task.CASE_SUMMARY].by_rule
    nothing = chosen(BUNDLES[Task.CHAT], [])
    assert nothing.judged == ()
    assert nothing.by_rule


def test_settings_change_the_bundles_of_some_tasks():
    """The others keep theirs; described qualities apply where they are named."""
    bundles = bundles_by({"chat": ["politeness"], "case-summary": ["faithfulness"]}, [POLITE])
    assert bundles[Task.CHAT].judged == (POLITE,)
    assert [(prompt.name, prompt.version) for prompt in bundles[Task.CASE_SUMMARY].judged] == [
        ("faithfulness", 101)
    ]
    assert bundles[Task.CHAT_SUMMARY] is BUNDLES[Task.CHAT_SUMMARY]
    assert set(bundles) == set(Task)


@pytest.mark.parametrize(("tasks", "message"), CASES["wrong settings"])
def test_settings_with_wrong_names_say_where(tasks, message):
    """Task and quality are named in the message, with what was probably meant, described ones included."""
    with pytest.raises(ValueError, match=re.escape(message)):
        bundles_by(tasks, [POLITE])


def test_an_empty_bundle_measures_nothing():
    """Which leaves quality unknown, not unchanged."""
    qualities = asyncio.run(measure_all(Bundle(()).measures(), Pair(Answer("a"), Answer("b"), "")))
    assert (qualities.scores, qualities.failures) == ((), ())
