"""Agreement of workflows by rule, and the alignment by shared words behind it."""

import asyncio

import pytest

from evenkeel.core.pair import Answer, Pair, ToolCall
from evenkeel.metrics.quality.bundles import BUNDLES
from evenkeel.metrics.quality.workflow_steps import WorkflowSteps
from evenkeel.metrics.scoring import measure
from evenkeel.metrics.tasks import Task

STEPS = (
    "Open the valve of the boiler",
    "Read the pressure gauge",
    "Note the pressure in the log",
    "Close the valve again",
    "Report to the shift leader",
)


def listed(steps):
    return Answer("\n".join(f"{number}. {step}" for number, step in enumerate(steps, 1)))


def agreement(reference, candidate):
    return asyncio.run(BUNDLES[Task.WORKFLOW].by_rule[0].measure(Pair(reference, candidate, ""))).outcome


def test_reworded_steps_are_still_the_same_steps():
    """Each step in other words, half of its words kept: aligned one to one, so no quality changed."""
    reworded = (
        "Then open the boiler's valve slowly",
        "Read the gauge that shows the pressure",
        "Write the pressure into the log",
        "Close the valve",
        "Report this to your shift leader",
    )
    assert WorkflowSteps().score(Pair(listed(STEPS), listed(reworded), "")) == 1
    assert not agreement(listed(STEPS), listed(reworded)).changed


def test_two_lost_steps_of_five_are_a_change_and_one_is_none():
    """2 · 4 / 9 = .89 and 2 · 3 / 8 = .75 by hand; the tolerance lies between."""
    scores = [WorkflowSteps().score(Pair(listed(STEPS), listed(STEPS[:kept]), "")) for kept in (4, 3)]
    assert scores == [pytest.approx(8 / 9), pytest.approx(6 / 8)]
    assert not agreement(listed(STEPS), listed(STEPS[:4])).changed
    assert agreement(listed(STEPS), listed(STEPS[:3])).changed


def test_steps_in_quite_other_words_are_left_to_the_judge():
    """Each side has a step that the other lacks by its words: reworded, or another one."""
    other = (*STEPS[:4], "Tell your superior what you did")
    assert agreement(listed(STEPS), listed(other)) is None


def test_an_order_turned_round_is_a_change():
    """One of five steps in reverse is in order: 2 · 1 / 10."""
    assert agreement(listed(STEPS), listed(STEPS[::-1])).candidate == pytest.approx(0.2)


def test_calls_of_tools_are_steps():
    """Two calls in the other order share one step in order: 2 · 1 / 4."""
    calls = ToolCall("find", "{}"), ToolCall("book", "{}")
    score = agreement(Answer("", calls), Answer("", calls[::-1]))
    assert (score.candidate, score.changed) == (0.5, True)


def test_silent_where_nothing_is_a_workflow_and_zero_where_one_is():
    """Prose on both sides says nothing; prose in place of a workflow is worse, the other way round better."""
    prose = Answer("It is done.")
    assert agreement(prose, Answer("All is done.")) is None
    assert agreement(listed(STEPS), prose).direction == "worse"
    assert agreement(prose, listed(STEPS)).direction == "better"


def test_two_workflows_are_compared_whatever_the_task():
    """A chat answered by numbered steps loses three of five; prose, bullets and calls say nothing."""
    quality = next(rule for rule in BUNDLES[Task.CHAT].by_rule if rule.name == "workflow_steps")
    assert quality.measure_now(Pair(listed(STEPS), listed(STEPS[:2]), "")).changed
    assert quality.measure_now(Pair(listed(STEPS), Answer("It is done."), "")) is None
    bullets = Answer("\n".join(f"- {step}" for step in STEPS))
    assert quality.measure_now(Pair(bullets, bullets, "")) is None
    calls = Answer("", (ToolCall("find", "{}"), ToolCall("book", "{}")))
    assert quality.measure_now(Pair(calls, calls, "")) is None


def test_the_order_of_steps_and_a_lost_one_count_in_the_similarity():
    def rated(candidate):
        return measure(Pair(listed(STEPS), candidate, "", "workflow"))

    turned, shorter = rated(listed(STEPS[::-1])), rated(listed(STEPS[:4]))
    assert (turned.outcome, shorter.outcome) == (None, None)
    assert turned.similarity < shorter.similarity < 1


def test_a_broken_workflow_is_a_failure():
    """An edge to a step that does not exist cannot be read, and is no number."""
    broken = Answer("Node:\n1: Open\n2: Close\nEdge: (1,7)")
    found = agreement(listed(STEPS), broken)
    assert found.reason == "unknown_step"
