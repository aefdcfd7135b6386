"""Prompts of the simulated application: made from a catalogue of cases, and recognised again."""

from __future__ import annotations

import pytest

from evenkeel.simulate import PromptMessage, make_case, make_prompt
from evenkeel.simulate.model import read
from evenkeel.simulate.recognition import find_topic
from evenkeel.simulate.tasks import TASKS
from evenkeel.simulate.topics import TOPICS


@pytest.mark.parametrize(
    "text",
    [
        "",
        "What is the capital of Australia, and since when?",
        "Explain sequential testing to a newcomer, with one example from medicine and one from brewing.",
        "My printer is broken.",
        TOPICS[0].name + " " + TOPICS[1].name,
    ],
)
def test_other_prompts_have_no_topic(text):
    """A question on something else, or a mere mention of a subject, is not taken for a case."""
    assert find_topic(text) is None


TASK = pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)


def messages(task, seed):
    """The prompt as the model sees it."""
    return [PromptMessage(raw["role"], raw["content"]) for raw in make_prompt(task, seed)]


@TASK
def test_prompts_are_read_back(task):
    """What a prompt was made of is what it is read as: task, topic and every identifier."""
    for seed in range(150):
        case = make_case(seed)
        reading = read(messages(task.name, seed))
        assert reading.task is task
        assert reading.topic is case.topic
        assert reading.details == case.details
        assert (reading.format, reading.language.tag) == ("json", "en")
